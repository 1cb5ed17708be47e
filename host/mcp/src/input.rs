//! What a message may hold before it is parsed.
//!
//! A parsed number takes two hundred times the bytes of its text in the untagged types that rmcp reads messages with, so
//! bytes alone bound memory badly.

use toolgate::model::{Json, JsonError};

/// Values in one message: arrays, objects and what is in them. A long list of numbers has room, a bomb has not.
const MAX_VALUES: usize = 100_000;

/// Why a message is not to be parsed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("a message of more than {MAX_VALUES} values is not read; send less at once")]
    TooMany,
    /// In an object with one of its private keys the JSON library would read what the key holds anew, however deep.
    #[error(transparent)]
    Private(JsonError),
}

/// Looks a message through before it is parsed.
pub(crate) fn check(message: &[u8]) -> Result<(), Unreadable> {
    if too_many_values(message) {
        return Err(Unreadable::TooMany);
    }
    match std::str::from_utf8(message).map(Json::verify) {
        Ok(Err(error @ JsonError::Reserved)) => Err(Unreadable::Private(error)),
        // The parser's own words are better.
        _ => Ok(()),
    }
}

/// Whether a message has more values than [`MAX_VALUES`]. Counts commas and openings outside strings: never less than
/// there are values, less one.
fn too_many_values(message: &[u8]) -> bool {
    let (mut count, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in message {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b',' | b'[' | b'{' if !in_string => count += 1,
            _ => {}
        }
    }
    count > MAX_VALUES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_outside_strings() {
        let many = "1,".repeat(MAX_VALUES + 1);
        assert!(too_many_values(format!("[{many}1]").as_bytes()));
        assert!(too_many_values("[".repeat(MAX_VALUES + 1).as_bytes()));
        assert!(!too_many_values(format!(r#"["{many}\",{many}"]"#).as_bytes()));
        assert!(!too_many_values(br#"{"a": [1, 2, 3]}"#));
    }

    #[test]
    fn the_librarys_private_keys_are_not_parsed() {
        for text in [r#"{"a":{"$serde_json::private::RawValue":"[]"}}"#, r#"{"\u0024serde_json::private::Number":"1"}"#]
        {
            assert!(matches!(check(text.as_bytes()), Err(Unreadable::Private(_))), "{text}");
        }
        assert!(check(br#"{"a":"$serde_json::private::RawValue"}"#).is_ok());
        assert!(check(b"{").is_ok());
    }
}
