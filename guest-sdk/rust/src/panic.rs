//! A panic ends the instance by a trap, which carries no text. The host takes the message from the last log line that
//! starts with `panicked at `.

/// Makes panics of this instance reach the host with their message.
#[cfg(target_family = "wasm")]
pub fn report() {
    std::panic::set_hook(Box::new(|info| {
        let message = info.payload_as_str().unwrap_or("(no message)");
        match info.location() {
            Some(place) => crate::log::error(format_args!("panicked at {place}: {message}")),
            None => crate::log::error(format_args!("panicked at unknown place: {message}")),
        }
    }));
}

/// Natively a panic belongs to the test that runs.
#[cfg(not(target_family = "wasm"))]
pub fn report() {}
