//! WebAssembly components as tools and hooks; everything that knows wasmtime.

pub mod http;
