//! wasi:http against real servers on loopback, as the host sends it: what arrives, what is denied, what ends a request.
#![cfg(feature = "component")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod access;
mod limits;
mod secrets;
mod support;
mod tls;
