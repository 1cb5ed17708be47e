//! Secrets that the host puts into requests, so that the guest never holds them.

use std::fmt;

use super::grant::{HostPattern, HttpConfigError, config_error, is_token};
use super::target::{Scheme, Target, split_port};

/// What stands where a secret was.
pub const REDACTED: &str = "[redacted]";

/// Below this many bytes a secret would be found in ordinary text, and redaction would tell more than it hides.
const MIN_BYTES: usize = 8;

/// Headers that carry the message itself; a secret in them would break or redirect it.
const FRAMING: [&str; 11] = [
    "connection",
    "content-encoding",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Where a secret may go: scheme, host, port.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    scheme: Scheme,
    host: HostPattern,
    port: u16,
}

/// One entry of a plugin's `secrets`: a header that the host sets in requests to named hosts.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretGrant {
    name: String,
    value: String,
    origins: Vec<Origin>,
    header: String,
    format: String,
}

impl SecretGrant {
    /// A secret `name` (for messages) with its `value`, sent to `hosts` as `authorization: Bearer VALUE`.
    ///
    /// A host is `api.example.com`, which means https and its port, or has a scheme and a port of its own as in
    /// `http://127.0.0.1:8080`. `*` alone is refused.
    pub fn new<S: AsRef<str>>(
        name: &str,
        value: &str,
        hosts: impl IntoIterator<Item = S>,
    ) -> Result<Self, HttpConfigError> {
        if value.len() < MIN_BYTES {
            let problem = format!("the value is shorter than {MIN_BYTES} bytes, too short to redact");
            return Err(config_error("secrets", name, problem));
        }
        if !value.bytes().all(|b| b.is_ascii_graphic() || b == b' ') {
            let problem = "the value has characters that no header can carry (a line break at its end?)";
            return Err(config_error("secrets", name, problem));
        }
        let origins = hosts.into_iter().map(|host| origin(host.as_ref())).collect::<Result<Vec<_>, _>>()?;
        if origins.is_empty() {
            return Err(config_error("hosts", "", format!("the secret {name:?} names no host")));
        }
        Ok(Self {
            name: name.into(),
            value: value.into(),
            origins,
            header: "authorization".into(),
            format: "Bearer {}".into(),
        })
    }

    /// `header` and `format`, where `{}` stands for the value. Default `authorization` and `Bearer {}`.
    pub fn header(mut self, header: &str, format: &str) -> Result<Self, HttpConfigError> {
        let lower = header.to_ascii_lowercase();
        if !is_token(&lower) {
            return Err(config_error("header", header, "not the name of a header"));
        }
        if FRAMING.contains(&lower.as_str()) {
            return Err(config_error("header", header, "the host sets this header by itself"));
        }
        if format.matches("{}").count() != 1 {
            return Err(config_error("format", format, "write {} once, where the value goes"));
        }
        if !format.bytes().all(|b| b.is_ascii_graphic() || b == b' ') {
            return Err(config_error("format", format, "has characters that no header can carry"));
        }
        self.header = lower;
        self.format = format.into();
        Ok(self)
    }

    /// What the operator calls it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The header's name, lower case, and its value, for a request that goes where the secret may go.
    pub(crate) fn header_for(&self, target: &Target) -> Option<(&str, String)> {
        let granted = |o: &Origin| o.scheme == target.scheme && o.port == target.port && o.host.matches(&target.host);
        self.origins.iter().any(granted).then(|| (&*self.header, self.format.replacen("{}", &self.value, 1)))
    }

    /// Every spelling to look for in what comes back.
    pub(super) fn needles(&self) -> impl Iterator<Item = Vec<u8>> {
        let mut escaped = String::new();
        for b in self.value.bytes() {
            if b.is_ascii_alphanumeric() || b"-._~".contains(&b) {
                escaped.push(char::from(b));
            } else {
                escaped.push_str(&format!("%{b:02X}"));
            }
        }
        let lower = self.value.to_ascii_lowercase();
        let mut all = vec![self.value.clone().into_bytes(), escaped.clone().into_bytes(), lower.into_bytes()];
        all.push(escaped.to_ascii_lowercase().into_bytes());
        all.dedup();
        all.into_iter()
    }
}

impl fmt::Debug for SecretGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretGrant")
            .field("name", &self.name)
            .field("value", &REDACTED)
            .field("origins", &self.origins)
            .field("header", &self.header)
            .field("format", &self.format)
            .finish()
    }
}

fn origin(text: &str) -> Result<Origin, HttpConfigError> {
    let error = |problem: String| config_error("hosts", text, problem);
    let (scheme, rest) = match text.split_once("://") {
        Some((scheme, rest)) => {
            (Scheme::parse(scheme).ok_or_else(|| error("the scheme is neither http nor https".into()))?, rest)
        }
        None => (Scheme::Https, text),
    };
    let bare_v6 = rest.parse::<std::net::Ipv6Addr>().is_ok();
    let (host, port) = if bare_v6 { (rest, None) } else { split_port(rest).map_err(error)? };
    let host = HostPattern::parse(host).map_err(error)?;
    if host == HostPattern::Any {
        return Err(error("a secret goes to named hosts only".into()));
    }
    Ok(Origin { scheme, host, port: port.unwrap_or(scheme.default_port()) })
}

#[cfg(test)]
#[allow(clippy::expect_used)]
mod tests {
    use super::*;

    fn sent(secret: &SecretGrant, scheme: &str, authority: &str) -> Option<String> {
        let target = Target::parse(scheme, authority).expect(authority);
        secret.header_for(&target).map(|(name, value)| format!("{name}: {value}"))
    }

    #[test]
    fn a_secret_goes_to_its_hosts_only() {
        let secret =
            SecretGrant::new("t", "s3cr3t-token", ["api.example.com", "*.example.org:8443", "http://[::1]:80"])
                .expect("valid");
        let bearer = Some("authorization: Bearer s3cr3t-token".to_owned());
        for (scheme, authority, expect) in [
            ("https", "api.example.com", true),
            ("https", "API.example.com.:443", true),
            ("http", "api.example.com", false),
            ("http", "api.example.com:443", false),
            ("https", "api.example.com:8443", false),
            ("https", "evil-api.example.com", false),
            ("https", "a.example.org:8443", true),
            ("https", "a.example.org", false),
            ("http", "[::1]", true),
            ("http", "[::1]:81", false),
        ] {
            assert_eq!(sent(&secret, scheme, authority), bearer.clone().filter(|_| expect), "{scheme} {authority}");
        }
        let custom = secret.header("X-Api-Key", "{}").expect("valid");
        assert_eq!(sent(&custom, "https", "api.example.com").as_deref(), Some("x-api-key: s3cr3t-token"));
    }

    #[test]
    fn unusable_values_are_named_but_never_the_secret() {
        let valid = || SecretGrant::new("t", "s3cr3t-token", ["a.example"]).expect("valid");
        for (result, words) in [
            (SecretGrant::new("t", "s3cr3t", ["a.example"]), "too short"),
            (SecretGrant::new("t", "s3cr3t-token\n", ["a.example"]), "line break"),
            (SecretGrant::new("t", "s3cr3t-token", [""; 0]), "names no host"),
            (SecretGrant::new("t", "s3cr3t-token", ["*"]), "named hosts only"),
            (SecretGrant::new("t", "s3cr3t-token", ["ftp://a.example"]), "neither http"),
            (SecretGrant::new("t", "s3cr3t-token", ["a.example/x"]), "only the host"),
            (valid().header("Host", "{}"), "sets this header"),
            (valid().header("a b", "{}"), "not the name"),
            (valid().header("x", "Bearer"), "write {} once"),
            (valid().header("x", "{}{}"), "write {} once"),
            (valid().header("x", "a\r\nb: {}"), "no header can carry"),
        ] {
            let error = result.expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
            assert!(!error.contains("s3cr3t"), "{error}");
        }
        assert!(!format!("{:?}", valid()).contains("s3cr3t"));
    }
}
