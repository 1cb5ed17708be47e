//! Raw sockets and name look-ups are never granted. They are linked, since toolchains import them unasked, and each
//! attempt is noted.

use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::p2::bindings::sockets::ip_name_lookup::ResolveAddressStream;
use wasmtime_wasi::p2::bindings::sockets::network::{ErrorCode, IpAddressFamily, Network};
use wasmtime_wasi::p2::bindings::sockets::tcp::TcpSocket;
use wasmtime_wasi::p2::bindings::sockets::udp::UdpSocket;

use crate::component::instance::CallState;

const RULE: &str = "raw sockets are never granted; HTTP is, by plugins.NAME.http";

/// Puts refusals in the place of what makes a socket or looks a name up. There is no other way to one.
pub fn shadow(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    linker.instance("wasi:sockets/tcp-create-socket@0.2.12")?.func_wrap(
        "create-tcp-socket",
        |mut store, (family,): (IpAddressFamily,)| {
            refuse(store.data_mut(), format!("TCP socket ({})", version(family)));
            Ok((Err::<Resource<TcpSocket>, _>(ErrorCode::AccessDenied),))
        },
    )?;
    linker.instance("wasi:sockets/udp-create-socket@0.2.12")?.func_wrap(
        "create-udp-socket",
        |mut store, (family,): (IpAddressFamily,)| {
            refuse(store.data_mut(), format!("UDP socket ({})", version(family)));
            Ok((Err::<Resource<UdpSocket>, _>(ErrorCode::AccessDenied),))
        },
    )?;
    linker.instance("wasi:sockets/ip-name-lookup@0.2.12")?.func_wrap(
        "resolve-addresses",
        |mut store, (_, name): (Resource<Network>, String)| {
            refuse(store.data_mut(), format!("look up {name}"));
            Ok((Err::<Resource<ResolveAddressStream>, _>(ErrorCode::AccessDenied),))
        },
    )
}

fn refuse(state: &mut CallState, subject: String) {
    state.host_calls += 1;
    state.deny("network", subject, RULE);
}

fn version(family: IpAddressFamily) -> &'static str {
    match family {
        IpAddressFamily::Ipv4 => "IPv4",
        IpAddressFamily::Ipv6 => "IPv6",
    }
}
