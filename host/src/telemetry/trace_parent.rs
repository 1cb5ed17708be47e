//! A place in a distributed trace, as W3C Trace Context writes it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The value of a `traceparent` header, checked: `00-{32 hex digits}-{16 hex digits}-{2 hex digits}`, neither id all
/// zeros (W3C Trace Context, level 1, section 3.2). Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceParent(Arc<str>);

/// Not a `traceparent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not a traceparent of version 00: 00-TRACE-SPAN-FLAGS with 32, 16 and 2 lower-case hexadecimal digits, no id all zeros"
)]
pub struct InvalidTraceParent;

impl TraceParent {
    /// As a header's value.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TraceParent {
    type Err = InvalidTraceParent;

    fn from_str(text: &str) -> Result<Self, InvalidTraceParent> {
        let hex = |part: &str, len| part.len() == len && part.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let id = |part: &str, len| hex(part, len) && part.bytes().any(|b| b != b'0');
        let parts: Vec<&str> = text.split('-').collect();
        match parts[..] {
            ["00", trace, span, flags] if id(trace, 32) && id(span, 16) && hex(flags, 2) => Ok(Self(text.into())),
            _ => Err(InvalidTraceParent),
        }
    }
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::TraceParent;

    #[test]
    fn only_a_whole_traceparent_of_version_00_is_one() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(good.parse::<TraceParent>().map(|t| t.to_string()), Ok(good.to_owned()));
        for bad in [
            "",
            "00",
            "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0\n",
            "00-4bf92f3577b34da6a3ce929d0e0e473é-00f067aa0ba902b7-01",
        ] {
            assert!(bad.parse::<TraceParent>().is_err(), "{bad:?}");
        }
    }
}
