//! What wit-bindgen makes of the contract: one module per world, so that a component exports only what it has.
//! The contract's records are the SDK's own types, given constructors and builders in the modules beside this one.
#![allow(missing_docs, unsafe_code, clippy::all)]

/// The world of a component with tools; also the home of all shared types and imports.
pub mod tools {
    wit_bindgen::generate!({
        path: "../../wit/plugin",
        world: "tool-plugin",
        additional_derives: [PartialEq],
        generate_unused_types: true,
        pub_export_macro: true,
        export_macro_name: "__export_tools",
        default_bindings_module: "toolgate_sdk::bindings::tools",
    });
}

/// The world of a component with hooks.
pub mod hooks {
    wit_bindgen::generate!({
        path: "../../wit/plugin",
        world: "hook-plugin",
        additional_derives: [PartialEq],
        generate_unused_types: true,
        pub_export_macro: true,
        export_macro_name: "__export_hooks",
        default_bindings_module: "toolgate_sdk::bindings::hooks",
        with: {
            "toolgate:plugin/types@0.1.0": crate::bindings::tools::toolgate::plugin::types,
            "toolgate:plugin/cancellation@0.1.0": crate::bindings::tools::toolgate::plugin::cancellation,
            "toolgate:plugin/log@0.1.0": crate::bindings::tools::toolgate::plugin::log,
            "toolgate:plugin/state@0.1.0": crate::bindings::tools::toolgate::plugin::state,
            "toolgate:plugin/config@0.1.0": crate::bindings::tools::toolgate::plugin::config,
            "toolgate:plugin/batch@0.1.0": crate::bindings::tools::toolgate::plugin::batch,
        },
    });
}
