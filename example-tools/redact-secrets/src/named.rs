//! Values that are secrets because of their name: `password=..`, `"apiKey": ".."`, `Authorization: Bearer ..`, and the
//! password in a URL.

use std::ops::Range;

/// Shorter bare words are not worth a guess.
const SHORTEST_BARE: usize = 4;

/// Whether a name says that its value is a secret.
pub fn is_secret_name(name: &str) -> bool {
    const ENDINGS: &[&str] = &[
        "password",
        "passwd",
        "passphrase",
        "secret",
        "secrets",
        "credential",
        "credentials",
        "authorization",
        "apikey",
        "accesskey",
        "secretkey",
        "privatekey",
        "accountkey",
        "encryptionkey",
        "signingkey",
        "accesstoken",
        "authtoken",
        "refreshtoken",
        "sessiontoken",
        "bearertoken",
        "bottoken",
        "apitoken",
        "idtoken",
        "securitytoken",
    ];
    let plain = name.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '.'));
    let plain: String = plain.map(|c| c.to_ascii_lowercase()).collect();
    ENDINGS.iter().any(|ending| plain.ends_with(ending))
}

/// A value that stands where a secret will be: a variable, a mask, a type's name, nothing.
pub fn is_stand_in(value: &str) -> bool {
    const WORDS: &[&str] = &[
        "any",
        "bool",
        "bytes",
        "false",
        "int",
        "nil",
        "none",
        "null",
        "number",
        "object",
        "optional",
        "required",
        "str",
        "string",
        "true",
        "undefined",
        "unknown",
    ];
    let value = value.trim();
    let word = value.trim_start_matches(['&', '*']).trim_end_matches('?');
    value.is_empty()
        || value.starts_with('$')
        || value.starts_with("{{")
        || (value.starts_with('<') && value.ends_with('>'))
        || (value.starts_with('%') && value.len() <= 3)
        || (value.len() > 2 && value.chars().all(|c| matches!(c, '*' | '.' | '•' | 'x' | 'X' | '-' | '_')))
        || WORDS.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// Where named values lie in a text, in order.
pub fn find(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(gap) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| matches!(byte, b':' | b'='))) {
        let separator = at + gap;
        at = separator + 1;
        let Some(behind) = separator_end(bytes, separator) else { continue };
        let Some(name) = name_before(text, separator).filter(|name| is_secret_name(name)) else { continue };
        if let Some(range) = value_at(text, behind, name) {
            at = range.end;
            found.push(range);
        }
    }
    found
}

/// Where passwords of URLs (`scheme://user:password@host`) lie in a text, in order.
pub fn find_in_urls(text: &str) -> Vec<Range<usize>> {
    let password = |(at, scheme_end): (usize, &str)| {
        let start = at + scheme_end.len();
        let rest = text.get(start..)?;
        let authority = rest.split(|c: char| c.is_whitespace() || "/\"'<>`".contains(c)).next()?;
        let (userinfo, _) = authority.rsplit_once('@')?;
        let (user, password) = userinfo.split_once(':')?;
        let start = start + user.len() + 1;
        (!is_stand_in(password)).then_some(start..start + password.len())
    };
    text.match_indices("://").filter_map(password).collect()
}

/// Behind `:`, `=`, `:=` or `=>`; `None` for `==`, `::`, `<=` and the like.
fn separator_end(bytes: &[u8], at: usize) -> Option<usize> {
    let before = at.checked_sub(1).and_then(|at| bytes.get(at));
    let pair = (bytes.get(at)?, bytes.get(at + 1));
    match pair {
        (b'=', _) if matches!(before, Some(b'=' | b'!' | b'<' | b'>')) => None,
        (b':', _) if before == Some(&b':') => None,
        (b'=', Some(b'=')) | (b':', Some(b':')) => None,
        (b':', Some(b'=')) | (b'=', Some(b'>')) => Some(at + 2),
        _ => Some(at + 1),
    }
}

/// The name in front of a separator, without the quotes it may stand in (escaped ones, where JSON lies within JSON).
fn name_before(text: &str, separator: usize) -> Option<&str> {
    let before = text.get(..separator)?.trim_end_matches([' ', '\t']);
    let before = match before.strip_suffix(['"', '\'']) {
        Some(inner) => inner.strip_suffix('\\').unwrap_or(inner),
        None => before,
    };
    let length = before
        .bytes()
        .rev()
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
        .count();
    before.get(before.len() - length..)
}

fn value_at(text: &str, at: usize, name: &str) -> Option<Range<usize>> {
    let rest = text.get(at..)?;
    let value = rest.trim_start_matches([' ', '\t']);
    let start = at + rest.len() - value.len();
    for quote in ["\\\"", "\"", "'"] {
        if let Some(inner) = value.strip_prefix(quote) {
            let start = start + quote.len();
            return quoted(inner, quote).and_then(|inner| without_scheme(inner, start));
        }
    }
    let bare = bare(value);
    if name.to_ascii_lowercase().ends_with("authorization") {
        // Bare, it is the header: a scheme, and behind a blank the credential.
        let after = value.get(bare.len()..)?;
        let credential = self::bare(after.trim_start_matches([' ', '\t']));
        let start = start + value.len() - after.trim_start_matches([' ', '\t']).len();
        return (is_scheme(bare) && credential.len() >= SHORTEST_BARE).then(|| start..start + credential.len());
    }
    let spaced = text.get(..start)?.ends_with([' ', '\t']);
    let is_secret =
        bare.len() >= SHORTEST_BARE && !is_stand_in(bare) && !is_code(spaced, bare, value.get(bare.len()..)?);
    is_secret.then(|| start..start + bare.len())
}

/// Up to the closing quote; up to the end of the line where that was cut off.
fn quoted<'a>(inner: &'a str, quote: &str) -> Option<&'a str> {
    let line = inner.split('\n').next()?;
    let bytes = line.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        if bytes.get(at..)?.starts_with(quote.as_bytes()) {
            return line.get(..at);
        }
        at += if *byte == b'\\' { 2 } else { 1 };
    }
    Some(line.trim_end_matches('\r'))
}

fn without_scheme(value: &str, start: usize) -> Option<Range<usize>> {
    let end = start + value.len();
    let start = match value.split_once(' ') {
        Some((scheme, credential)) if is_scheme(scheme) => end - credential.len(),
        _ => start,
    };
    (!is_stand_in(value)).then_some(start..end)
}

fn is_scheme(word: &str) -> bool {
    ["basic", "bearer", "digest", "token"].iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

fn bare(value: &str) -> &str {
    let ends = |c: char| c.is_ascii_whitespace() || "\"'`,;&<>(){}[]\\$|".contains(c);
    value.split(ends).next().unwrap_or_default()
}

/// Whether an unquoted value is rather an expression: `password = read_password()`, `password: &str`,
/// `api_key=config.api_key`. Settings have no blank before the value, or it is the last of its line.
fn is_code(spaced: bool, value: &str, after: &str) -> bool {
    if after.starts_with(['(', '[', '{', '<', '`', '$']) || value.contains("::") {
        return true;
    }
    let is_path = value.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'&' | b'*' | b'?'));
    if is_path && is_secret_name(value) {
        return true; // password=password, key: self.api_key
    }
    if !is_path || value.bytes().any(|c| c.is_ascii_digit()) || !spaced {
        return false;
    }
    let rest = after.trim_start_matches([' ', '\t', '\r']);
    let ends_line = rest.is_empty() || rest.starts_with('\n');
    !ends_line || value.contains(['_', '.'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_by_their_end_that_they_hold_a_secret() {
        for name in ["password", "DB_PASSWORD", "apiKey", "x-api-key", "client_secret", "Authorization", "app.secret"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["", "key", "secret_name", "next_page_token", "max_tokens", "AWS_ACCESS_KEY_ID", "passwordless"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn a_value_cut_off_in_its_quotes_is_found_up_to_the_end_of_the_line() {
        let text = "password: \"abc\\\"def\nnext";
        assert_eq!(find(text).first().and_then(|range| text.get(range.clone())), Some("abc\\\"def"));
    }
}
