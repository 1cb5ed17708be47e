//! One HTTP grant: which requests a plugin may send, with words for each way a request misses it.

use std::fmt;
use std::net::IpAddr;

use super::address::{Special, special};
use super::path;
use super::target::{Host, Scheme, Target};

/// A value of the configuration that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} = {value:?}: {problem}")]
pub struct HttpConfigError {
    /// The key, below `http` or `secrets`.
    pub key: &'static str,
    /// What stands there; never a secret's value.
    pub value: String,
    /// What is wrong with it and what to write instead.
    pub problem: String,
}

pub(super) fn config_error(key: &'static str, value: impl fmt::Display, problem: impl Into<String>) -> HttpConfigError {
    HttpConfigError { key, value: value.to_string(), problem: problem.into() }
}

/// Hosts as a grant names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostPattern {
    /// `*`: any host.
    Any,
    /// `*.example.com`: every name below, at any depth, not `example.com` itself.
    Below(String),
    /// One host.
    Exactly(Host),
}

impl HostPattern {
    /// Reads `example.com`, `*.example.com`, `192.0.2.1`, `::1`, `[::1]` or `*`. The error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text == "*" {
            return Ok(Self::Any);
        }
        if text.contains("://") || text.contains('/') {
            return Err("only the host belongs here; the scheme and the path have keys of their own".into());
        }
        if let Ok(IpAddr::V6(addr)) = text.parse() {
            return Ok(Self::Exactly(Host::Addr(addr.into())));
        }
        if text.contains(':') && !text.starts_with('[') {
            return Err("only the host belongs here; the port has a key of its own".into());
        }
        if let Some(parent) = text.strip_prefix("*.") {
            return match Host::parse(parent)? {
                Host::Name(name) => Ok(Self::Below(name)),
                Host::Addr(_) => Err("`*.` goes with a name, not with an address".into()),
            };
        }
        if text.contains('*') {
            return Err("`*` stands alone or as the first label, as in *.example.com".into());
        }
        Host::parse(text).map(Self::Exactly)
    }

    /// Whether a host is meant.
    pub fn matches(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Any, _) => true,
            (Self::Exactly(exactly), host) => exactly == host,
            (Self::Below(parent), Host::Name(name)) => {
                name.strip_suffix(parent.as_str()).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
            }
            (Self::Below(_), Host::Addr(_)) => false,
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Below(parent) => write!(f, "*.{parent}"),
            Self::Exactly(host) => host.fmt(f),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Ports {
    OfScheme,
    Any,
    These(Vec<u16>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Methods {
    Any,
    These(Vec<String>),
}

/// One entry of a plugin's `http` grants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpGrant {
    host: HostPattern,
    schemes: Vec<Scheme>,
    ports: Ports,
    methods: Methods,
    path: String,
    private: bool,
}

/// For example `GET, HEAD https://api.example.com/v1`.
impl fmt::Display for HttpGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let methods = match &self.methods {
            Methods::Any => "any method".into(),
            Methods::These(methods) => methods.join(", "),
        };
        let schemes = self.schemes.iter().map(ToString::to_string).collect::<Vec<_>>().join("|");
        let ports = match &self.ports {
            Ports::OfScheme => String::new(),
            Ports::Any => ":*".into(),
            Ports::These(ports) => format!(":{}", ports.iter().map(ToString::to_string).collect::<Vec<_>>().join("|")),
        };
        let private = if self.private { " (private addresses too)" } else { "" };
        write!(f, "{methods} {schemes}://{}{ports}{}{private}", self.host, self.path)
    }
}

impl HttpGrant {
    /// `host`: GET and HEAD of any path over https, on the scheme's own port, at public addresses or the address named.
    pub fn new(host: &str) -> Result<Self, HttpConfigError> {
        let host = HostPattern::parse(host).map_err(|problem| config_error("host", host, problem))?;
        Ok(Self {
            host,
            schemes: vec![Scheme::Https],
            ports: Ports::OfScheme,
            methods: Methods::These(vec!["GET".into(), "HEAD".into()]),
            path: "/".into(),
            private: false,
        })
    }

    /// `schemes`: `http`, `https`. Default https.
    pub fn schemes<S: AsRef<str>>(mut self, schemes: impl IntoIterator<Item = S>) -> Result<Self, HttpConfigError> {
        self.schemes = schemes
            .into_iter()
            .map(|text| {
                let text = text.as_ref();
                Scheme::parse(text).ok_or_else(|| config_error("schemes", text, "write http or https"))
            })
            .collect::<Result<_, _>>()?;
        if self.schemes.is_empty() {
            return Err(config_error("schemes", "", "an empty list grants nothing; leave the key out for https"));
        }
        Ok(self)
    }

    /// `ports`. Default the scheme's own: 80 or 443.
    pub fn ports(mut self, ports: impl IntoIterator<Item = u16>) -> Result<Self, HttpConfigError> {
        let ports: Vec<u16> = ports.into_iter().collect();
        if ports.is_empty() {
            return Err(config_error("ports", "", "an empty list grants nothing; leave the key out for 80 and 443"));
        }
        if ports.contains(&0) {
            return Err(config_error("ports", 0, "ports go from 1 to 65535"));
        }
        self.ports = Ports::These(ports);
        Ok(self)
    }

    /// Every port.
    pub fn any_port(mut self) -> Self {
        self.ports = Ports::Any;
        self
    }

    /// `methods`, or `*` for all. Default GET and HEAD. CONNECT and TRACE are never granted: one opens a tunnel past
    /// these checks, the other hands injected secrets back.
    pub fn methods<S: AsRef<str>>(mut self, methods: impl IntoIterator<Item = S>) -> Result<Self, HttpConfigError> {
        let mut these = Vec::new();
        for method in methods {
            let method = method.as_ref();
            if method == "*" {
                self.methods = Methods::Any;
                return Ok(self);
            }
            let upper = method.to_ascii_uppercase();
            if !is_token(&upper) {
                return Err(config_error("methods", method, "not the name of a method"));
            }
            if is_refused(&upper) {
                return Err(config_error("methods", method, "CONNECT and TRACE can't be granted"));
            }
            these.push(upper);
        }
        if these.is_empty() {
            return Err(config_error(
                "methods",
                "",
                "an empty list grants nothing; leave the key out for GET and HEAD",
            ));
        }
        self.methods = Methods::These(these);
        Ok(self)
    }

    /// `path`: the request's path is this or below it, on segment borders. Default `/`, every path.
    pub fn path(mut self, path: &str) -> Result<Self, HttpConfigError> {
        let problem = if !path.starts_with('/') {
            Some("must start with /")
        } else if path.contains(['?', '#', '%', '\\', '*']) || !path.bytes().all(|b| b.is_ascii_graphic()) {
            Some("a plain path prefix, without query, escapes and patterns")
        } else if path.contains("//") || path::escape(path).is_some() {
            Some("must not have empty, `.` or `..` segments")
        } else {
            None
        };
        if let Some(problem) = problem {
            return Err(config_error("path", path, problem));
        }
        self.path = path.into();
        Ok(self)
    }

    /// `private`: whether the host may be at loopback, private and other non-public addresses. Default false. Cloud
    /// metadata, link-local, multicast and reserved addresses are granted only by naming them as `host`.
    pub fn private(mut self, private: bool) -> Self {
        self.private = private;
        self
    }

    /// The hosts meant.
    pub fn host(&self) -> &HostPattern {
        &self.host
    }

    /// Whether a request is covered.
    pub(super) fn covers(&self, method: &str, target: &Target, path: &str) -> Result<(), Miss> {
        let Self { host, .. } = self;
        let miss = |near, rule| Err(Miss { near, rule });
        if !host.matches(&target.host) {
            return miss(
                0,
                format!("no grant in plugins.NAME.http covers the host; add one with host = \"{}\"", target.host),
            );
        }
        if !self.schemes.contains(&target.scheme) {
            return miss(
                1,
                format!(
                    "the grant for {host} in plugins.NAME.http does not cover the scheme; add \"{}\" to its `schemes`",
                    target.scheme
                ),
            );
        }
        let port = match &self.ports {
            Ports::OfScheme => target.port == target.scheme.default_port(),
            Ports::Any => true,
            Ports::These(ports) => ports.contains(&target.port),
        };
        if !port {
            return miss(
                2,
                format!(
                    "the grant for {host} in plugins.NAME.http does not cover the port; add {} to its `ports`",
                    target.port
                ),
            );
        }
        let granted = match &self.methods {
            Methods::Any => true,
            Methods::These(methods) => methods.iter().any(|m| m == method),
        };
        if !granted {
            return miss(
                3,
                format!(
                    "the grant for {host} in plugins.NAME.http does not cover the method; add \"{method}\" to its `methods`"
                ),
            );
        }
        if !path::is_under(&self.path, path) {
            return miss(
                4,
                format!("the grant for {host} in plugins.NAME.http covers {} only; change its `path`", self.path),
            );
        }
        if self.path != "/"
            && let Some(what) = path::escape(path)
        {
            return miss(5, format!("the path has {what}, which could lead out of the granted `path` {}", self.path));
        }
        Ok(())
    }

    /// Whether the host may be at this address.
    pub(super) fn covers_address(&self, addr: IpAddr) -> Result<(), String> {
        let Some(special) = special(addr) else { return Ok(()) };
        if self.host == HostPattern::Exactly(Host::Addr(addr)) {
            return Ok(());
        }
        let host = &self.host;
        match special {
            Special::Private(_) if self.private => Ok(()),
            Special::Private(kind) => Err(format!(
                "{addr} is a {kind} address; set `private = true` in the grant for {host} in plugins.NAME.http, or name the address as `host`"
            )),
            Special::Literal(kind) => Err(format!(
                "{addr} is a {kind} address; only a grant in plugins.NAME.http with it as `host` allows it"
            )),
        }
    }
}

/// How a request misses a grant: the nearer, the more of it fits.
pub(super) struct Miss {
    pub near: u8,
    pub rule: String,
}

/// Methods that no grant covers.
pub(super) fn is_refused(method: &str) -> bool {
    method.eq_ignore_ascii_case("CONNECT") || method.eq_ignore_ascii_case("TRACE")
}

/// A token of RFC 9110: methods and header names.
pub(super) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

#[cfg(test)]
#[allow(clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn host_patterns_match_hosts_not_strings() {
        for (pattern, host, expect) in [
            ("example.com", "example.com", true),
            ("Example.COM.", "example.com", true),
            ("example.com", "a.example.com", false),
            ("example.com", "notexample.com", false),
            ("example.com", "example.com.evil.net", false),
            ("*.example.com", "a.example.com", true),
            ("*.example.com", "a.b.example.com", true),
            ("*.example.com", "example.com", false),
            ("*.example.com", "notexample.com", false),
            ("*.example.com", "a.example.com.evil.net", false),
            ("*", "anything.example", true),
            ("*", "10.0.0.1", true),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "[::ffff:127.0.0.1]", false),
            ("::1", "[0:0::1]", true),
            ("[::1]", "[::1]", true),
        ] {
            let host = Host::parse(host).expect(host);
            assert_eq!(HostPattern::parse(pattern).expect(pattern).matches(&host), expect, "{pattern} {host}");
        }
    }

    #[test]
    fn unusable_values_are_named() {
        let grant = || HttpGrant::new("example.com").expect("valid");
        let error = |result: Result<HttpGrant, HttpConfigError>| result.expect_err("refused").to_string();
        for (text, words) in [
            (error(HttpGrant::new("https://example.com")), "host = \"https://example.com\": only the host"),
            (error(HttpGrant::new("example.com/v1")), "only the host"),
            (error(HttpGrant::new("example.com:443")), "the port has a key"),
            (error(HttpGrant::new("a.*.com")), "first label"),
            (error(HttpGrant::new("*.1.2.3.4")), "not with an address"),
            (error(HttpGrant::new("2130706433")), "four decimal numbers"),
            (error(HttpGrant::new("b\u{fc}cher.example")), "punycode"),
            (error(HttpGrant::new("")), "empty"),
            (error(grant().schemes(["ftp"])), "schemes = \"ftp\""),
            (error(grant().schemes([""; 0])), "grants nothing"),
            (error(grant().ports([0])), "from 1 to 65535"),
            (error(grant().ports([])), "grants nothing"),
            (error(grant().methods(["connect"])), "can't be granted"),
            (error(grant().methods(["GE T"])), "methods = \"GE T\""),
            (error(grant().methods([""; 0])), "grants nothing"),
            (error(grant().path("v1")), "must start with /"),
            (error(grant().path("/v1/../x")), "`..` segments"),
            (error(grant().path("/v1//x")), "empty"),
            (error(grant().path("/v1%2f")), "plain path"),
            (error(grant().path("/v1?x")), "plain path"),
        ] {
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn addresses_need_the_flag_or_their_own_name() {
        let check = |grant: &HttpGrant, addr: &str| grant.covers_address(addr.parse().expect(addr));
        let any = HttpGrant::new("*").expect("valid");
        assert_eq!(check(&any, "1.1.1.1"), Ok(()));
        for addr in ["127.0.0.1", "10.0.0.1", "::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "fd00::1", "100.64.0.1"] {
            let rule = check(&any, addr).expect_err(addr);
            assert!(rule.contains("`private = true`"), "{rule}");
            assert_eq!(check(&any.clone().private(true), addr), Ok(()), "{addr}");
        }
        for addr in [
            "169.254.169.254",
            "::ffff:169.254.169.254",
            "fe80::1",
            "fd00:ec2::254",
            "0.0.0.0",
            "224.0.0.1",
            "192.0.2.1",
        ] {
            let rule = check(&any.clone().private(true), addr).expect_err(addr);
            assert!(rule.contains("with it as `host`"), "{rule}");
            let named = HttpGrant::new(addr).expect(addr);
            assert_eq!(check(&named, addr), Ok(()), "{addr}");
        }
        // Naming one address grants no other spelling of another.
        let named = HttpGrant::new("127.0.0.1").expect("valid");
        assert!(check(&named, "127.0.0.2").is_err());
        assert!(check(&named, "::1").is_err());
    }
}
