//! Tokens that are known by how they begin.
//!
//! Tables and loops rather than regular expressions: a fresh instance would compile them for every result, and this
//! looks at each byte of everyone's results.

use std::ops::Range;

struct Token {
    prefixes: &'static [&'static str],
    body: fn(u8) -> bool,
    /// Bytes of the body, at least.
    min: usize,
    kind: Kind,
}

#[derive(PartialEq)]
enum Kind {
    Plain,
    /// The body has exactly `min` bytes.
    Exact,
    /// The body holds a digit: a name in kebab case does not.
    WithDigit,
    /// As `WithDigit`; the prefix, in letters of any case, stays.
    Scheme,
    /// The prefix stays.
    Address,
}

const TOKENS: &[Token] = &[
    // AWS access key ids.
    Token { prefixes: &["AKIA", "ASIA", "ABIA", "ACCA"], body: is_alphanumeric, min: 16, kind: Kind::Exact },
    // GitHub, GitLab.
    Token { prefixes: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], body: is_alphanumeric, min: 30, kind: Kind::Plain },
    Token { prefixes: &["github_pat_", "glpat-"], body: is_base64url, min: 20, kind: Kind::Plain },
    // Slack: tokens and webhooks.
    Token {
        prefixes: &["xoxa-", "xoxb-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xoxo-", "xoxp-", "xoxr-", "xoxs-", "xapp-"],
        body: is_base64url,
        min: 10,
        kind: Kind::Plain,
    },
    Token { prefixes: &["hooks.slack.com/services/"], body: is_base64, min: 20, kind: Kind::Address },
    // OpenAI, Anthropic and those who took after them; Stripe.
    Token { prefixes: &["sk-"], body: is_base64url, min: 20, kind: Kind::WithDigit },
    Token {
        prefixes: &["sk_live_", "sk_test_", "rk_live_", "rk_test_"],
        body: is_alphanumeric,
        min: 16,
        kind: Kind::Plain,
    },
    // Google: API keys, OAuth tokens and client secrets.
    Token { prefixes: &["AIza"], body: is_base64url, min: 35, kind: Kind::Plain },
    Token { prefixes: &["ya29.", "GOCSPX-"], body: is_base64url, min: 20, kind: Kind::Plain },
    // Package registries and model hubs.
    Token { prefixes: &["npm_", "hf_"], body: is_alphanumeric, min: 30, kind: Kind::Plain },
    Token { prefixes: &["pypi-"], body: is_base64url, min: 50, kind: Kind::Plain },
    // HTTP authorization, where no name stands before it.
    Token { prefixes: &["bearer "], body: is_credential, min: 20, kind: Kind::Scheme },
];

/// Where tokens lie in a text, in order.
pub fn find(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    let mut in_word = false;
    while let Some(&byte) = bytes.get(at) {
        let starts_word = !in_word && byte.is_ascii_alphabetic();
        if starts_word && let Some(range) = token(bytes, at).or_else(|| web_token(bytes, at)) {
            at = range.end;
            in_word = true;
            found.push(range);
            continue;
        }
        in_word = byte.is_ascii_alphanumeric() || byte == b'_';
        at += 1;
    }
    found
}

fn token(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    let rest = bytes.get(at..)?;
    TOKENS.iter().find_map(|token| {
        let prefix = token.prefixes.iter().find(|prefix| match token.kind {
            Kind::Scheme => rest.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes())),
            _ => rest.starts_with(prefix.as_bytes()),
        })?;
        let start = at + prefix.len();
        let body = run(bytes, start, token.body);
        let length_fits = if token.kind == Kind::Exact { body.len() == token.min } else { body.len() >= token.min };
        let digit_fits = !matches!(token.kind, Kind::WithDigit | Kind::Scheme) || body.iter().any(u8::is_ascii_digit);
        let from = if matches!(token.kind, Kind::Scheme | Kind::Address) { start } else { at };
        (length_fits && digit_fits).then(|| from..start + body.len())
    })
}

/// A JSON web token: header and payload are JSON objects, so both begin with `eyJ` in base64; a signature may follow.
fn web_token(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    const SHORTEST: usize = 11;
    let part = |at: usize| {
        let part = run(bytes, at, is_base64url);
        (part.starts_with(b"eyJ") && part.len() >= SHORTEST).then(|| at + part.len())
    };
    let header = part(at)?;
    let dot = |at: usize| bytes.get(at) == Some(&b'.');
    let payload = dot(header).then(|| part(header + 1))??;
    let end = if dot(payload) { payload + 1 + run(bytes, payload + 1, is_base64url).len() } else { payload };
    Some(at..end)
}

fn run(bytes: &[u8], at: usize, body: fn(u8) -> bool) -> &[u8] {
    let rest = bytes.get(at..).unwrap_or_default();
    let length = rest.iter().position(|byte| !body(*byte)).unwrap_or(rest.len());
    rest.get(..length).unwrap_or_default()
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'_')
}

fn is_credential(byte: u8) -> bool {
    is_base64url(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/' | b'=')
}
