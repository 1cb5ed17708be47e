//! Where a request goes, read so that what is checked is what is connected to: one spelling for each host, or a refusal.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How to talk to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Over TLS.
    Https,
}

impl Scheme {
    /// Reads `http` or `https`, in any case.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            _ if text.eq_ignore_ascii_case("http") => Some(Self::Http),
            _ if text.eq_ignore_ascii_case("https") => Some(Self::Https),
            _ => None,
        }
    }

    /// As it stands in a URL.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The port of a URL that names none.
    pub fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

impl fmt::Display for Scheme {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A host in its one spelling.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Host {
    /// A DNS name: lower case, no trailing dot, never one that a resolver would read as a number.
    Name(String),
    /// An address.
    Addr(IpAddr),
}

impl Host {
    /// Reads a host as it stands in a URL (IPv6 in brackets). The error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if let Some(inner) = text.strip_prefix('[') {
            let inner = inner.strip_suffix(']').ok_or("the address lacks its closing bracket")?;
            return match inner.parse::<Ipv6Addr>() {
                Ok(addr) => Ok(Self::Addr(addr.into())),
                Err(_) => Err(format!("[{inner}] is not an IPv6 address (zones are not supported)")),
            };
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        if name.is_empty() {
            return Err("the host is empty".into());
        }
        if !name.is_ascii() {
            return Err("the host has characters outside ASCII; write it in punycode (xn--…)".into());
        }
        if name.len() > 253 {
            return Err("the host is longer than 253 characters".into());
        }
        let name = name.to_ascii_lowercase();
        for label in name.split('.') {
            if label.is_empty() {
                return Err("the host has an empty label".into());
            }
            if label.len() > 63 {
                return Err("the host has a label longer than 63 characters".into());
            }
            if let Some(c) = label.chars().find(|c| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))) {
                return Err(format!("the host has the character {c:?}"));
            }
        }
        // Resolvers read 2130706433, 127.1, 0177.0.0.1 and 0x7f.1 as addresses. Only the ordinary spelling is one here,
        // and none of the others is a name.
        if name.rsplit('.').next().is_some_and(is_number) {
            return match name.parse::<Ipv4Addr>() {
                Ok(addr) => Ok(Self::Addr(addr.into())),
                Err(_) => Err(format!("{name} is a number, not a name; write an address as four decimal numbers")),
            };
        }
        Ok(Self::Name(name))
    }
}

fn is_number(label: &str) -> bool {
    let hex = label.strip_prefix("0x").map(|rest| rest.bytes().all(|b| b.is_ascii_hexdigit()));
    hex.unwrap_or_else(|| label.bytes().all(|b| b.is_ascii_digit()))
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Addr(IpAddr::V4(addr)) => write!(f, "{addr}"),
            Self::Addr(IpAddr::V6(addr)) => write!(f, "[{addr}]"),
        }
    }
}

/// Scheme, host and port of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// How.
    pub scheme: Scheme,
    /// Where.
    pub host: Host,
    /// The port, the scheme's own where the URL names none.
    pub port: u16,
}

impl Target {
    /// Reads what a request names. The error says what is wrong with it.
    pub fn parse(scheme: &str, authority: &str) -> Result<Self, String> {
        let scheme = Scheme::parse(scheme).ok_or("the scheme is neither http nor https")?;
        if authority.contains('@') {
            return Err("user and password in a URL are not supported".into());
        }
        let (host, port) = split_port(authority)?;
        Ok(Self { scheme, host: Host::parse(host)?, port: port.unwrap_or(scheme.default_port()) })
    }

    /// Host and port as the `Host` header has them.
    pub fn authority(&self) -> String {
        if self.port == self.scheme.default_port() {
            self.host.to_string()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority())
    }
}

/// Cuts `host:port`; an IPv6 address keeps its brackets.
pub(super) fn split_port(authority: &str) -> Result<(&str, Option<u16>), String> {
    let border = match authority.strip_prefix('[') {
        Some(inner) => inner.find(']').ok_or("the address lacks its closing bracket")? + 2,
        None => 0,
    };
    let (bracketed, rest) = authority.split_at(border);
    let Some(colon) = rest.find(':') else { return Ok((authority, None)) };
    let port = &rest[colon + 1..];
    // `parse` alone would take "+80".
    let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    match port.parse::<u16>() {
        Ok(number) if digits && number != 0 => Ok((&authority[..bracketed.len() + colon], Some(number))),
        _ => Err(format!("{port:?} is not a port from 1 to 65535")),
    }
}

#[cfg(test)]
#[allow(clippy::expect_used)]
mod tests {
    use super::*;

    fn read(scheme: &str, authority: &str) -> Result<String, String> {
        Target::parse(scheme, authority).map(|t| format!("{}://{}:{}", t.scheme, t.host, t.port))
    }

    #[test]
    fn one_spelling_for_each_host() {
        for (scheme, authority, expect) in [
            ("https", "example.com", "https://example.com:443"),
            ("HTTP", "EXAMPLE.com.", "http://example.com:80"),
            ("http", "example.com:0080", "http://example.com:80"),
            ("https", "xn--bcher-kva.example:8443", "https://xn--bcher-kva.example:8443"),
            ("http", "127.0.0.1:65535", "http://127.0.0.1:65535"),
            ("http", "127.0.0.1.", "http://127.0.0.1:80"),
            ("http", "[::1]:81", "http://[::1]:81"),
            ("http", "[0:0:0::FFFF:169.254.169.254]", "http://[::ffff:169.254.169.254]:80"),
            ("http", "a_b.example", "http://a_b.example:80"),
            ("http", "3com.example", "http://3com.example:80"),
            ("http", "0xcafe.example", "http://0xcafe.example:80"),
        ] {
            assert_eq!(read(scheme, authority).as_deref(), Ok(expect), "{authority}");
        }
    }

    #[test]
    fn other_spellings_are_refused_with_words() {
        for (scheme, authority, words) in [
            ("ftp", "example.com", "neither http nor https"),
            ("http", "", "empty"),
            ("http", ".", "empty"),
            ("http", "a..b", "empty label"),
            ("http", ".a", "empty label"),
            ("http", "a..", "empty label"),
            ("http", "2130706433", "four decimal numbers"),
            ("http", "0177.0.0.1", "four decimal numbers"),
            ("http", "127.0.0.01", "four decimal numbers"),
            ("http", "0x7f.1", "four decimal numbers"),
            ("http", "0x7f000001", "four decimal numbers"),
            ("http", "127.1", "four decimal numbers"),
            ("http", "1.2.3.4.5", "four decimal numbers"),
            ("http", "example.0x", "four decimal numbers"),
            ("http", "256.0.0.1", "four decimal numbers"),
            ("http", "user:pw@example.com", "user and password"),
            ("http", "example.com@127.0.0.1", "user and password"),
            ("http", "example.com:", "not a port"),
            ("http", "example.com:0", "not a port"),
            ("http", "example.com:+80", "not a port"),
            ("http", "example.com:65536", "not a port"),
            ("http", "example.com:80:80", "not a port"),
            ("http", "::1", "not a port"),
            ("http", "[::1", "closing bracket"),
            ("http", "[fe80::1%25eth0]", "zones"),
            ("http", "[127.0.0.1]", "not an IPv6"),
            ("http", "[::1]x", "closing bracket"),
            ("http", "[::1]x:80", "closing bracket"),
            ("http", "exa%6dple.com", "character '%'"),
            ("http", "exa mple.com", "character ' '"),
            ("http", "b\u{fc}cher.example", "punycode"),
            ("http", "127\u{3002}0\u{3002}0\u{3002}1", "punycode"),
            ("http", "a\r\nHost: b", "not a port"),
        ] {
            let error = read(scheme, authority).expect_err(authority);
            assert!(error.contains(words), "{authority}: {error}");
        }
        assert!(read("http", &"a".repeat(64)).is_err());
        assert!(read("http", &["a"; 128].join(".")).is_err());
    }

    #[test]
    fn the_host_header_leaves_the_default_port_out() {
        for (scheme, authority, expect) in [
            ("https", "a.example:443", "a.example"),
            ("http", "a.example:443", "a.example:443"),
            ("http", "[::1]", "[::1]"),
        ] {
            assert_eq!(Target::parse(scheme, authority).map(|t| t.authority()).as_deref(), Ok(expect));
        }
    }
}
