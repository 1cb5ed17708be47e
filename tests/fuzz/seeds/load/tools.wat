(component
  ;; One function of the contract, with an answer of another type.
  (core module $m
    (memory (export "memory") 1)
    (table 10 funcref)
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) (i32.const 64))
    (func (export "definitions") (result i32) (i32.const 8))
    (data (i32.const 8) "\20\00\00\00\01\00\00\00"))
  (core instance $i (instantiate $m))
  (func $definitions (result (list string))
    (canon lift (core func $i "definitions") (memory (core memory $i "memory")) (realloc (core func $i "realloc"))))
  (instance $e (export "definitions" (func $definitions)))
  (export "toolgate:plugin/tools@0.1.0" (instance $e)))
