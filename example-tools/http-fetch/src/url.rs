//! URLs as models and servers write them, made strict: what is sent is what was read.

use std::fmt;

use fluent_uri::{Uri, UriRef};

/// An http or https URL without user, password and fragment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url(Uri<String>);

impl Url {
    /// Reads a URL. The error is for the model.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        // Models leave the scheme out.
        let full = if text.contains("://") { text.to_owned() } else { format!("https://{text}") };
        let uri =
            Uri::parse(escape(&full)).map_err(|_| format!("{text:?} is not a URL; write it as https://host/path"))?;
        Self::check(uri)
    }

    /// Reads a reference, as in `href` or `Location`, relative to this URL.
    pub fn join(&self, reference: &str) -> Result<Self, String> {
        let bad = || format!("{reference:?} is not a URL");
        let reference = UriRef::parse(escape(reference.trim())).map_err(|_| bad())?;
        Self::check(reference.resolve_against(&self.0).map_err(|_| bad())?)
    }

    fn check(uri: Uri<String>) -> Result<Self, String> {
        let scheme = uri.scheme().as_str();
        if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
            return Err(format!("{uri} is neither http nor https"));
        }
        let Some(authority) = uri.authority().filter(|a| !a.host().is_empty()) else {
            return Err(format!("{uri} names no host"));
        };
        if authority.has_userinfo() {
            return Err("user and password in a URL are not supported; leave them out".into());
        }
        if authority.host().contains('%') {
            return Err(format!(
                "the host {} has characters outside ASCII; write it in punycode (xn--…)",
                authority.host()
            ));
        }
        Ok(Self(uri))
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    pub fn is_https(&self) -> bool {
        self.0.scheme().as_str().eq_ignore_ascii_case("https")
    }

    /// Host and port.
    pub fn authority(&self) -> &str {
        self.0.authority().map_or("", |a| a.as_str())
    }

    /// The host alone.
    pub fn host(&self) -> &str {
        self.0.authority().map_or("", |a| a.host())
    }

    /// Path and query, as they go to the server.
    pub fn target(&self) -> String {
        let path = self.0.path().as_str();
        let mut target = if path.is_empty() { "/".to_owned() } else { path.to_owned() };
        if let Some(query) = self.0.query() {
            target.push('?');
            target.push_str(query.as_str());
        }
        target
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Percent-encodes what may not stand in a URL but does, and drops the fragment.
fn escape(text: &str) -> String {
    let text = text.split('#').next().unwrap_or_default();
    let host = match text.find("//") {
        Some(at) if text.get(..at).is_some_and(|scheme| scheme.is_empty() || scheme.ends_with(':')) => at + 2,
        _ => 0,
    };
    let path = match host {
        0 => 0,
        _ => text.get(host..).and_then(|rest| rest.find(['/', '?'])).map_or(text.len(), |at| host + at),
    };
    let mut out = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let allowed = match c {
            '[' | ']' => at < path,
            '%' => text.get(at + 1..at + 3).is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit())),
            // Line breaks inside a URL are layout.
            '\t' | '\n' | '\r' => continue,
            c => c.is_ascii_alphanumeric() || "-._~:/?@!$&'()*+,;=".contains(c),
        };
        if allowed {
            out.push(c);
        } else {
            let mut bytes = [0; 4];
            for b in c.encode_utf8(&mut bytes).bytes() {
                out.push_str(&format!("%{b:02X}"));
            }
        }
    }
    // The empty path and `/` are one.
    if host > 0 && path == text.len() {
        out.push('/');
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_people_write_becomes_a_url() {
        for (text, expect) in [
            ("https://a.example", "https://a.example/"),
            (" https://a.example/x?y=z#frag ", "https://a.example/x?y=z"),
            ("a.example/x", "https://a.example/x"),
            ("HTTP://A.example:8080/", "HTTP://A.example:8080/"),
            ("https://a.example/a b|c", "https://a.example/a%20b%7Cc"),
            ("https://a.example/\u{e9}?q=\u{20ac}", "https://a.example/%C3%A9?q=%E2%82%AC"),
            ("https://a.example/100%?x[]=1", "https://a.example/100%25?x%5B%5D=1"),
            ("https://a.example/a%20b", "https://a.example/a%20b"),
            ("http://[::1]:80/x", "http://[::1]:80/x"),
            ("https://a.example?q", "https://a.example?q"),
        ] {
            assert_eq!(Url::parse(text).as_ref().map(Url::as_str), Ok(expect), "{text}");
        }
        let url = Url::parse("https://a.example:1?q").unwrap();
        assert_eq!((url.authority(), url.host(), url.target().as_str()), ("a.example:1", "a.example", "/?q"));
    }

    #[test]
    fn what_is_no_url_says_so() {
        for (text, words) in [
            ("", "names no host"),
            ("ftp://a.example/", "neither http nor https"),
            ("file:///etc/passwd", "neither http nor https"),
            ("https:///x", "names no host"),
            ("https://u:p@a.example/", "user and password"),
            ("https://b\u{fc}cher.example/", "punycode"),
            ("https://a b/", "punycode"),
            ("https://a.example:x/", "not a URL"),
        ] {
            let error = Url::parse(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn references_are_resolved() {
        let base = Url::parse("https://a.example/b/c?d").unwrap();
        for (reference, expect) in [
            ("e", "https://a.example/b/e"),
            ("../e", "https://a.example/e"),
            ("/e f", "https://a.example/e%20f"),
            ("?g", "https://a.example/b/c?g"),
            ("//b.example/x", "https://b.example/x"),
            ("http://b.example", "http://b.example/"),
            ("#frag", "https://a.example/b/c?d"),
            ("../../../../e", "https://a.example/e"),
        ] {
            assert_eq!(base.join(reference).as_ref().map(Url::as_str), Ok(expect), "{reference}");
        }
        assert!(base.join("javascript:alert(1)").is_err());
        assert!(base.join("mailto:a@b.example").is_err());
    }
}
