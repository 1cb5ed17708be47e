//! Private keys in PEM: whole, cut off by a limit of lines, and cut off at the front.

use std::ops::Range;

/// Less between the markers is no key.
const SHORTEST_BODY: usize = 16;

/// Where private keys lie in a text, in order.
pub fn find(text: &str) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> = Vec::new();
    let mut free = 0;
    for (at, _) in text.match_indices("-----") {
        if at < free {
            continue;
        }
        let range = match marker(text, at, "-----BEGIN ") {
            Some(body) => from_begin(text, at, body),
            None => marker(text, at, "-----END ").and_then(|end| up_to_end(text, free, at, end)),
        };
        if let Some(range) = range {
            free = range.end;
            found.push(range);
        }
    }
    found
}

/// Behind the marker of a private key that begins at `at`.
fn marker(text: &str, at: usize, begin: &str) -> Option<usize> {
    let rest = text.get(at..)?.strip_prefix(begin)?;
    let (label, _) = rest.split_once("-----")?;
    let is_label = label.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
    let is_private = label.ends_with("PRIVATE KEY") || label.ends_with("PRIVATE KEY BLOCK");
    (is_label && is_private).then(|| at + begin.len() + label.len() + "-----".len())
}

fn from_begin(text: &str, at: usize, body: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut end = body;
    while let Some(&byte) = bytes.get(end) {
        if byte == b'-'
            && let Some(behind) = marker(text, end, "-----END ")
        {
            return (end - body >= SHORTEST_BODY).then_some(at..behind);
        }
        if !is_around_key(byte) {
            break;
        }
        end += 1;
    }
    // Cut off.
    let body_text = text.get(body..end)?.trim_end();
    (body_text.len() >= SHORTEST_BODY).then(|| at..body + body_text.len())
}

fn up_to_end(text: &str, free: usize, at: usize, end: usize) -> Option<Range<usize>> {
    let before = text.get(free..at)?;
    let body = before.bytes().rev().take_while(|byte| is_key(*byte)).count();
    (body >= SHORTEST_BODY).then(|| at - body..end)
}

fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte.is_ascii_whitespace() || matches!(byte, b'+' | b'/' | b'=' | b'\\')
}

/// What else stands between the markers: headers, the quotes of a source's string literals, a diff's or a search's
/// line beginnings. Not what a program that looks for keys has there.
fn is_around_key(byte: u8) -> bool {
    is_key(byte) || matches!(byte, b':' | b',' | b'.' | b'"' | b'\'' | b'|' | b'>' | b'*' | b'-')
}
