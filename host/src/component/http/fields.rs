//! Headers a guest may not set, noted where it tries: the error it gets does not say which or why.

use wasmtime::component::{Linker, Resource};
use wasmtime_wasi_http::p2::bindings::http::types::{FieldName, FieldValue, HeaderError, HostFields};
use wasmtime_wasi_http::p2::HeaderResult;
use wasmtime_wasi_http::{FieldMap, WasiHttpView};

use crate::component::instance::CallState;

const RULE: &str = "headers about the connection and the message's framing are the host's alone";

type Answer<T> = wasmtime::Result<(Result<T, HeaderError>,)>;

/// Puts the ways to set a header in the place of their originals.
pub fn shadow(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    linker.allow_shadowing(true);
    let mut types = linker.instance("wasi:http/types@0.2.12")?;
    types.func_wrap(
        "[method]fields.append",
        |mut store, (fields, name, value): (Resource<FieldMap>, FieldName, FieldValue)| {
            let state: &mut CallState = store.data_mut();
            let answer = state.http().append(fields, name.clone(), value);
            noted(state, &name, answer)
        },
    )?;
    types.func_wrap(
        "[method]fields.set",
        |mut store, (fields, name, values): (Resource<FieldMap>, FieldName, Vec<FieldValue>)| {
            let state: &mut CallState = store.data_mut();
            let answer = state.http().set(fields, name.clone(), values);
            noted(state, &name, answer)
        },
    )?;
    types.func_wrap(
        "[static]fields.from-list",
        |mut store, (entries,): (Vec<(FieldName, FieldValue)>,)| {
            let state: &mut CallState = store.data_mut();
            let names: Vec<_> = entries.iter().map(|(name, _)| name.clone()).filter(|name| forbidden(name)).collect();
            let answer = state.http().from_list(entries);
            noted(state, &names.join(", "), answer)
        },
    )?;
    linker.allow_shadowing(false);
    Ok(())
}

fn forbidden(name: &str) -> bool {
    name.parse().is_ok_and(|name| super::is_forbidden(&name))
}

fn noted<T>(state: &mut CallState, name: &str, answer: HeaderResult<T>) -> Answer<T> {
    state.host_calls += 1;
    let error = match answer {
        Ok(done) => return Ok((Ok(done),)),
        Err(error) => error.downcast()?,
    };
    if matches!(error, HeaderError::Forbidden) {
        state.deny("http", format!("set the header {name}"), RULE);
    }
    Ok((Err(error),))
}
