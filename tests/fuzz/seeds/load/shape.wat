(component
  ;; The right name, and nothing of what belongs behind it.
  (component $inner (core module $m (memory 1) (func (export "f"))) (core instance (instantiate $m)))
  (instance (instantiate $inner))
  (instance $e)
  (export "toolgate:plugin/tools@0.1.0" (instance $e)))
