(component
  (import "acme:stuff/thing@1.0.0" (instance (export "f" (func (param "a" string) (result (list u8))))))
  (instance $e)
  (export "toolgate:plugin/hooks@0.1.0" (instance $e)))
