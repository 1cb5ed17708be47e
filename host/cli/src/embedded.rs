//! What `build.rs` put into the program: the SDKs, the templates and the contract.

mod files {
    include!(concat!(env!("OUT_DIR"), "/embedded.rs"));
}

pub use files::{SDKS, TEMPLATES, WIT};
