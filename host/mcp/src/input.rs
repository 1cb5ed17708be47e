//! What a message may hold before it is parsed.
//!
//! A parsed number takes two hundred times the bytes of its text in the untagged types that rmcp reads messages with, so
//! bytes alone bound memory badly.

/// Values in one message: arrays, objects and what is in them. A long list of numbers has room, a bomb has not.
pub(crate) const MAX_VALUES: usize = 100_000;

/// Whether a message has more values than [`MAX_VALUES`]. Counts commas and openings outside strings: never less than
/// there are values, less one.
pub(crate) fn too_many_values(message: &[u8]) -> bool {
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
}
