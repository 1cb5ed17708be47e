//! What a plugin may ask of the network over HTTP: grants, secrets, limits and the decision on one request. Pure data;
//! `component::http` carries it out.

mod address;
mod grant;
mod path;
mod secret;
mod target;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

pub use grant::{HostPattern, HttpConfigError, HttpGrant};
pub use secret::{REDACTED, SecretGrant};
pub use target::{Host, Scheme, Target};

/// A request that is not granted, or a limit that ended one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// Method and URL without user, password and query.
    pub subject: String,
    /// Why not, and the key that would grant it.
    pub rule: String,
}

/// Limits of a plugin's HTTP requests. The guest may ask for shorter times, never for longer ones; the deadline of the
/// call holds besides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpLimits {
    /// `http-response-bytes`: body of one response, as sent. Default 16 MiB, above what a model can read.
    pub response_bytes: u64,
    /// `http-header-bytes`: status line and headers of one response. Default 64 KiB, several times what browsers and
    /// proxies take. At least 8 KiB.
    pub header_bytes: usize,
    /// `http-connect-ms`: name look-up, connecting and TLS together. Default 10 s.
    pub connect: Duration,
    /// `http-first-byte-ms`: from the connection to the response's headers. Default 30 s.
    pub first_byte: Duration,
    /// `http-between-bytes-ms`: waiting for more of a body. Default 10 s.
    pub between_bytes: Duration,
    /// `http-connections`: open at once in one call. Default 8.
    pub connections: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            response_bytes: 16 << 20,
            header_bytes: 64 << 10,
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(30),
            between_bytes: Duration::from_secs(10),
            connections: 8,
        }
    }
}

/// Everything about HTTP for one plugin. The default grants nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpPolicy {
    grants: Vec<Arc<HttpGrant>>,
    secrets: Vec<SecretGrant>,
    needles: Vec<Vec<u8>>,
    limits: HttpLimits,
}

impl HttpPolicy {
    /// A policy of the plugin's grants, secrets and limits. Where two secrets set one header of a request, the later
    /// counts.
    pub fn new(grants: Vec<HttpGrant>, secrets: Vec<SecretGrant>, limits: HttpLimits) -> Self {
        let mut needles: Vec<_> = secrets.iter().flat_map(SecretGrant::needles).collect();
        // Longest first: a secret that begins like a shorter one must not leave its rest behind.
        needles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        needles.dedup();
        Self { grants: grants.into_iter().map(Arc::new).collect(), secrets, needles, limits }
    }

    /// Whether nothing at all is granted.
    pub fn is_empty(&self) -> bool {
        self.grants.is_empty()
    }

    /// The limits.
    pub fn limits(&self) -> &HttpLimits {
        &self.limits
    }

    /// Decides on a request as the guest words it; `path` may have a query. What the host's name resolves to is decided
    /// by [`Permit::check_address`].
    pub fn check_request(&self, method: &str, scheme: &str, authority: &str, path: &str) -> Result<Permit, Denied> {
        let bare = path.split(['?', '#']).next().unwrap_or_default();
        let subject = subject(method, scheme, authority, bare);
        let denied = |rule: String| Err(Denied { subject: subject.clone(), rule });
        if !grant::is_token(method) || grant::is_refused(method) {
            return denied("CONNECT, TRACE and malformed methods are never granted".into());
        }
        let target = match Target::parse(scheme, authority) {
            Ok(target) => target,
            Err(problem) => return denied(format!("{problem}; such a URL is never granted")),
        };
        if !bare.starts_with('/') {
            return denied("the path does not start with /; such a URL is never granted".into());
        }
        let mut grants = Vec::new();
        let mut nearest = grant::Miss {
            near: 0,
            rule: format!(
                "no http is granted to this plugin; add [[plugins.NAME.http]] with host = \"{}\"",
                target.host
            ),
        };
        for (index, grant) in self.grants.iter().enumerate() {
            match grant.covers(method, &target, bare) {
                Ok(()) => grants.push(grant.clone()),
                Err(miss) if index == 0 || miss.near > nearest.near => nearest = miss,
                Err(_) => {}
            }
        }
        if grants.is_empty() {
            return denied(nearest.rule);
        }
        Ok(Permit { target, subject, grants })
    }

    /// The headers that secrets set in a request, names in lower case. Never log them.
    pub fn secret_headers<'a>(&'a self, target: &Target) -> impl Iterator<Item = (&'a str, String)> {
        self.secrets.iter().filter_map(|secret| secret.header_for(target))
    }

    /// A response header's value or name without any secret of this plugin; `None` where there is none in it.
    pub fn redact(&self, text: &[u8]) -> Option<Vec<u8>> {
        let mut redacted: Option<Vec<u8>> = None;
        for needle in &self.needles {
            let current = redacted.as_deref().unwrap_or(text);
            if let Some(next) = replace(current, needle) {
                redacted = Some(next);
            }
        }
        redacted
    }
}

fn replace(text: &[u8], needle: &[u8]) -> Option<Vec<u8>> {
    let find = |from: &[u8]| from.windows(needle.len()).position(|window| window == needle);
    let mut at = find(text)?;
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    loop {
        let (before, found) = rest.split_at(at);
        out.extend_from_slice(before);
        out.extend_from_slice(REDACTED.as_bytes());
        rest = found.get(needle.len()..).unwrap_or_default();
        match find(rest) {
            Some(next) => at = next,
            None => break,
        }
    }
    out.extend_from_slice(rest);
    Some(out)
}

/// A granted request, on its way to an address.
#[derive(Clone, Debug)]
pub struct Permit {
    /// Where it goes; connect to this and nothing else.
    pub target: Target,
    subject: String,
    grants: Vec<Arc<HttpGrant>>,
}

impl Permit {
    /// Decides on an address the host's name resolved to, or the one it is. Check every one, and connect to what was
    /// checked.
    pub fn check_address(&self, addr: IpAddr) -> Result<(), Denied> {
        let mut rule = None;
        for grant in &self.grants {
            match grant.covers_address(addr) {
                Ok(()) => return Ok(()),
                Err(miss) => rule = rule.or(Some(miss)),
            }
        }
        Err(self.denied(rule.unwrap_or_default()))
    }

    /// A denial of this request.
    pub fn denied(&self, rule: String) -> Denied {
        Denied { subject: self.subject.clone(), rule }
    }
}

/// Longest URL in a denial. The guest words it.
const SUBJECT_CHARS: usize = 300;

fn subject(method: &str, scheme: &str, authority: &str, path: &str) -> String {
    let host = authority.rsplit('@').next().unwrap_or_default();
    let mut out = String::new();
    for c in format!("{method} {scheme}://{host}{path}").chars().take(SUBJECT_CHARS) {
        if c.is_ascii_graphic() || c == ' ' {
            out.push(c);
        } else {
            out.extend(c.escape_unicode());
        }
    }
    out
}

#[cfg(test)]
#[allow(clippy::expect_used)]
mod tests {
    use super::*;

    fn policy(grants: Vec<Result<HttpGrant, HttpConfigError>>) -> HttpPolicy {
        let grants = grants.into_iter().collect::<Result<_, _>>().expect("valid");
        HttpPolicy::new(grants, Vec::new(), HttpLimits::default())
    }

    fn ask(policy: &HttpPolicy, request: &str) -> Result<Permit, Denied> {
        let (method, url) = request.split_once(' ').expect(request);
        let (scheme, rest) = url.split_once("://").expect(request);
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        policy.check_request(method, scheme, authority, if path.is_empty() { "/" } else { path })
    }

    #[test]
    fn a_grant_covers_what_it_names_and_a_denial_names_the_key() {
        let policy = policy(vec![
            HttpGrant::new("api.example.com").and_then(|g| g.methods(["GET", "POST"])?.path("/v1")),
            HttpGrant::new("*.cdn.example"),
            HttpGrant::new("127.0.0.1").and_then(|g| g.schemes(["http"])?.ports([8080])),
            HttpGrant::new("any.example").and_then(|g| g.any_port().schemes(["http", "https"])?.methods(["*"])),
        ]);
        for request in [
            "GET https://api.example.com/v1",
            "POST https://api.example.com:443/v1/users?x=/../..",
            "GET https://API.EXAMPLE.COM./v1/users",
            "HEAD https://a.cdn.example/",
            "GET https://a.cdn.example/x/../y",
            "GET http://127.0.0.1:8080/",
            "PURGE http://any.example:1/",
        ] {
            assert!(ask(&policy, request).is_ok(), "{request}");
        }
        for (request, words) in [
            (
                "GET https://example.com/",
                "no grant in plugins.NAME.http covers the host; add one with host = \"example.com\"",
            ),
            ("GET https://api.example.com.evil.net/v1", "api.example.com.evil.net"),
            ("GET http://api.example.com/v1", "add \"http\" to its `schemes`"),
            ("GET https://api.example.com:8443/v1", "add 8443 to its `ports`"),
            ("DELETE https://api.example.com/v1", "add \"DELETE\" to its `methods`"),
            ("get https://api.example.com/v1", "add \"get\" to its `methods`"),
            ("GET https://api.example.com/v2", "change its `path`"),
            ("GET https://api.example.com/v10", "change its `path`"),
            ("GET https://api.example.com/v1/%2e%2e/admin", "lead out of the granted `path`"),
            ("GET https://api.example.com/v1/..\\admin", "lead out of the granted `path`"),
            ("GET https://cdn.example/", "host = \"cdn.example\""),
            ("GET http://127.0.0.1:8081/", "add 8081 to its `ports`"),
            ("GET http://[::ffff:127.0.0.1]:8080/", "host = \"[::ffff:127.0.0.1]\""),
            ("GET http://2130706433:8080/", "four decimal numbers"),
            ("GET http://0177.0.0.1:8080/", "four decimal numbers"),
            ("GET http://0x7f.1:8080/", "four decimal numbers"),
            ("GET http://user@127.0.0.1:8080/", "user and password"),
            ("CONNECT https://any.example/", "never granted"),
            ("TRACE https://any.example/", "never granted"),
            ("GE\tT https://any.example/", "never granted"),
            ("GET ftp://any.example/", "neither http nor https"),
        ] {
            let denied = ask(&policy, request).expect_err(request);
            assert!(denied.rule.contains(words), "{request}: {}", denied.rule);
        }
        assert!(policy.check_request("OPTIONS", "https", "any.example", "*").is_err());
    }

    #[test]
    fn nothing_granted_says_so() {
        let denied = ask(&HttpPolicy::default(), "GET https://a.example/x").expect_err("denied");
        assert!(denied.rule.contains("[[plugins.NAME.http]] with host = \"a.example\""), "{}", denied.rule);
    }

    #[test]
    fn any_covering_grant_may_grant_the_address() {
        let policy = policy(vec![
            HttpGrant::new("*").and_then(|g| g.schemes(["http"])),
            HttpGrant::new("localhost").and_then(|g| g.private(true).schemes(["http"])),
        ]);
        let loopback = IpAddr::from([127, 0, 0, 1]);
        assert_eq!(ask(&policy, "GET http://localhost/").expect("granted").check_address(loopback), Ok(()));
        let denied = ask(&policy, "GET http://rebound.example/x?token=1").expect("granted").check_address(loopback);
        let denied = denied.expect_err("denied");
        assert_eq!(denied.subject, "GET http://rebound.example/x");
        assert!(denied.rule.contains("127.0.0.1 is a loopback address"), "{}", denied.rule);
    }

    #[test]
    fn subjects_hold_no_password_no_query_and_no_control_characters() {
        let denied =
            ask(&HttpPolicy::default(), "GET https://u:hunter2@a.example/\u{1b}[31m\u{202e}x?k=v").expect_err("denied");
        assert_eq!(denied.subject, "GET https://a.example/\\u{1b}[31m\\u{202e}x");
        let long = format!("GET https://a.example/{}", "x".repeat(10_000));
        assert!(ask(&HttpPolicy::default(), &long).expect_err("denied").subject.len() <= SUBJECT_CHARS);
    }

    #[test]
    fn secrets_are_redacted_in_every_spelling() {
        let secret = |value: &str| SecretGrant::new("t", value, ["a.example"]).expect("valid");
        let policy =
            HttpPolicy::new(Vec::new(), vec![secret("Tok/en=1"), secret("Tok/en=1-longer")], HttpLimits::default());
        let redact = |text: &str| policy.redact(text.as_bytes()).map(|out| String::from_utf8_lossy(&out).into_owned());
        assert_eq!(redact("nothing here"), None);
        assert_eq!(redact("Tok/en=1").as_deref(), Some("[redacted]"));
        assert_eq!(redact("a=Tok/en=1; b=Tok/en=1").as_deref(), Some("a=[redacted]; b=[redacted]"));
        assert_eq!(redact("Tok/en=1-longer!").as_deref(), Some("[redacted]!"));
        assert_eq!(redact("/next?t=Tok%2Fen%3D1").as_deref(), Some("/next?t=[redacted]"));
        assert_eq!(redact("/next?t=tok%2fen%3d1").as_deref(), Some("/next?t=[redacted]"));
    }
}
