(component (instance $e) (export "toolgate:plugin/tools@0.2.0" (instance $e)))
