//! Whether a request's path lies under a granted one, whatever the server makes of dots, escapes and backslashes.

/// How often a path may be percent-encoded over itself. Servers behind proxies decode twice; more is an attack.
const ROUNDS: usize = 3;

/// Whether `path` (no query) is `prefix` or below it, on segment borders.
pub(super) fn is_under(prefix: &str, path: &str) -> bool {
    match path.strip_prefix(prefix) {
        Some(rest) => rest.is_empty() || prefix.ends_with('/') || rest.starts_with('/'),
        None => false,
    }
}

/// What could lead a server out of the prefix again, where something could. A doubled or an encoded slash alone can't.
pub(super) fn escape(path: &str) -> Option<&'static str> {
    let mut bytes = path.as_bytes().to_vec();
    for _ in 0..=ROUNDS {
        if bytes.iter().any(u8::is_ascii_control) {
            return Some("control characters");
        }
        let dots = bytes.split(|b| matches!(b, b'/' | b'\\')).any(|segment| {
            // Some servers cut `;parameters` off before they look at dots.
            let name = segment.split(|b| *b == b';').next().unwrap_or_default();
            matches!(name, b"." | b"..")
        });
        if dots {
            return Some("`.` or `..` segments");
        }
        match decode(&bytes) {
            Some(decoded) => bytes = decoded,
            None => return None,
        }
    }
    Some("too many layers of percent-encoding")
}

/// One layer of percent-encoding less; `None` where there is none.
fn decode(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    let mut changed = false;
    while let [first, tail @ ..] = rest {
        rest = tail;
        if let (b'%', [high, low, after @ ..]) = (first, tail)
            && let (Some(high), Some(low)) = (hex(*high), hex(*low))
        {
            out.push(high << 4 | low);
            rest = after;
            changed = true;
        } else {
            out.push(*first);
        }
    }
    changed.then_some(out)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|d| u8::try_from(d).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_end_on_segment_borders() {
        for (prefix, path, expect) in [
            ("/", "/", true),
            ("/", "/a/b", true),
            ("/v1", "/v1", true),
            ("/v1", "/v1/", true),
            ("/v1", "/v1/users", true),
            ("/v1", "/v1//users", true),
            ("/v1", "/v10", false),
            ("/v1", "/v1.json", false),
            ("/v1", "/v1\\x", false),
            ("/v1", "/v1%2fx", false),
            ("/v1", "/V1", false),
            ("/v1", "//v1", false),
            ("/v1", "/%761", false),
            ("/v1", "/", false),
            ("/v1/", "/v1", false),
            ("/v1/", "/v1/x", true),
        ] {
            assert_eq!(is_under(prefix, path), expect, "{path} under {prefix}");
        }
    }

    #[test]
    fn ways_out_of_a_prefix_are_seen() {
        for path in [
            "/v1/..",
            "/v1/../admin",
            "/v1/./x",
            "/v1/%2e%2e/admin",
            "/v1/%2E./admin",
            "/v1/.%2e%2fadmin",
            "/v1/..%2fadmin",
            "/v1/x%2f..%2f..%2fadmin",
            "/v1/..\\admin",
            "/v1/x\\..\\..\\admin",
            "/v1/..%5cadmin",
            "/v1/%252e%252e/admin",
            "/v1/%25252e%25252e/admin",
            "/v1/..;/admin",
            "/v1/..;a=b/admin",
            "/v1/%2e%2e%3b/admin",
            "/v1/..%00/admin",
            "/v1/..%0d%0a",
            "/v1/%2525252525252e",
        ] {
            assert!(escape(path).is_some(), "{path}");
        }
        for path in [
            "/v1/a..b",
            "/v1/...",
            "/v1/.well-known",
            "/v1/group%2Fproject",
            "/v1/x//y",
            "/v1/100%",
            "/v1/%zz",
            "/v1/a%20b",
            "/v1/%C3%A9",
            "/v1/a;b=c",
        ] {
            assert_eq!(escape(path), None, "{path}");
        }
    }
}
