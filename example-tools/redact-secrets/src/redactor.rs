//! Finds secrets in a text and replaces them. The engine's time is linear in the text, whatever the pattern.

use regex_lite::{Captures, Regex};
use toolgate_sdk::serde_json;

use crate::rules::{Accept, RULES, is_secret_key, is_stand_in};

pub struct Redactor {
    patterns: Vec<Regex>,
    /// Longest first, so that one within another does not spoil it.
    literals: Vec<String>,
    replacement: String,
}

impl Redactor {
    pub fn new(patterns: &[String], literals: Vec<String>, replacement: String) -> Result<Self, String> {
        let patterns = patterns.iter().enumerate().map(|(index, pattern)| {
            let regex = Regex::new(pattern).map_err(|error| format!("patterns[{index}] {pattern:?}: {error}"))?;
            if regex.is_match("") {
                return Err(format!("patterns[{index}] {pattern:?} matches the empty text; it would match everywhere"));
            }
            Ok(regex)
        });
        let patterns = patterns.collect::<Result<_, _>>()?;
        if let Some(index) = literals.iter().position(String::is_empty) {
            return Err(format!("literals[{index}] is empty; it would match everywhere"));
        }
        // Within a JSON document that is part of a text, a literal may stand escaped.
        let escaped = literals.iter().filter_map(|literal| {
            let json = serde_json::to_string(literal).ok()?;
            let inner = json.strip_prefix('"')?.strip_suffix('"')?;
            (inner != literal).then(|| inner.to_owned())
        });
        let mut literals: Vec<String> = escaped.chain(literals.iter().cloned()).collect();
        literals.sort_by_key(|literal| std::cmp::Reverse(literal.len()));
        Ok(Self { patterns, literals, replacement })
    }

    /// The text without its secrets, and how many there were; `None` where there is none.
    pub fn text(&self, text: &str) -> Option<(String, usize)> {
        let mut redaction = Redaction { text: text.to_owned(), count: 0, replacement: &self.replacement };
        for literal in &self.literals {
            let count = redaction.text.matches(literal.as_str()).count();
            if count > 0 {
                redaction.text = redaction.text.replace(literal.as_str(), &self.replacement);
                redaction.count += count;
            }
        }
        for pattern in &self.patterns {
            redaction.apply(pattern, Accept::Always);
        }
        let lower = text.to_ascii_lowercase();
        for rule in RULES.iter().filter(|rule| rule.hints.iter().any(|hint| lower.contains(hint))) {
            // Every rule compiles, a test says so; one that did not must not let its secrets through in silence.
            match Regex::new(rule.regex) {
                Ok(regex) => redaction.apply(&regex, rule.accept),
                Err(error) => panic!("a built-in pattern is broken: {error}"),
            }
        }
        (redaction.count > 0).then_some((redaction.text, redaction.count))
    }

    /// The same for a string that is a JSON value, which may be a secret because of its key.
    pub fn value(&self, key: &str, text: &str) -> Option<(String, usize)> {
        if is_secret_key(key) && !text.is_empty() && !is_stand_in(text) && text != self.replacement {
            return Some((self.replacement.clone(), 1));
        }
        self.text(text)
    }
}

struct Redaction<'a> {
    text: String,
    count: usize,
    replacement: &'a str,
}

impl Redaction<'_> {
    fn apply(&mut self, regex: &Regex, accept: Accept) {
        let mut out = String::new();
        let mut copied = 0;
        for captures in regex.captures_iter(&self.text) {
            let Some((start, end)) = secret(&captures) else { continue };
            if start < copied || start == end || !self.is_secret(start, end, accept) {
                continue;
            }
            out.push_str(self.text.get(copied..start).unwrap_or_default());
            out.push_str(self.replacement);
            copied = end;
            self.count += 1;
        }
        if copied > 0 {
            out.push_str(self.text.get(copied..).unwrap_or_default());
            self.text = out;
        }
    }

    fn is_secret(&self, start: usize, end: usize, accept: Accept) -> bool {
        let (Some(before), Some(value), Some(after)) =
            (self.text.get(..start), self.text.get(start..end), self.text.get(end..))
        else {
            return false;
        };
        // Also what an earlier rule has replaced within a longer value.
        if !self.replacement.is_empty() && value.contains(self.replacement) {
            return false;
        }
        match accept {
            Accept::Always => true,
            Accept::WithDigit => value.bytes().any(|byte| byte.is_ascii_digit()),
            Accept::Value => !is_stand_in(value),
            Accept::BareValue => {
                !is_stand_in(value) && !self.replacement.starts_with(value) && !is_code(before, value, after)
            }
        }
    }
}

/// Where the first group that took part lies, or, without one, the whole match.
fn secret(captures: &Captures<'_>) -> Option<(usize, usize)> {
    let group = captures.iter().skip(1).flatten().next().or_else(|| captures.get(0))?;
    Some((group.start(), group.end()))
}

/// Whether an unquoted value is rather an expression: `password = read_password()`, `password: &str`,
/// `api_key=config.api_key`. Settings have no blanks around `=`, or the value is the last of its line.
fn is_code(before: &str, value: &str, after: &str) -> bool {
    if after.starts_with(['(', '[', '{', '<', '`', '$']) || value.contains("::") {
        return true;
    }
    let is_path = value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '&' | '*' | '?'));
    if is_path && is_secret_key(value) {
        return true; // password=password, key: self.api_key
    }
    let is_word = value.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '.' | '&' | '*' | '?'));
    if !is_word || !before.ends_with([' ', '\t']) {
        return false;
    }
    let rest = after.trim_start_matches([' ', '\t', '\r']);
    let ends_line = rest.is_empty() || rest.starts_with('\n');
    !ends_line || value.contains(['_', '.'])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn redactor() -> Redactor {
        Redactor::new(&[], vec![], "[redacted]".into()).unwrap()
    }

    fn redacted(text: &str) -> String {
        redactor().text(text).map_or_else(|| text.to_owned(), |(text, _)| text)
    }

    #[test]
    fn every_built_in_pattern_compiles() {
        for rule in RULES {
            Regex::new(rule.regex).unwrap();
        }
    }

    // Put together, so that no scanner of repositories takes them for leaked ones.
    fn fake(prefix: &str, length: usize) -> String {
        format!("{prefix}{}", "a1B2c3D4e5".repeat(length / 10 + 1).get(..length).unwrap())
    }

    #[test]
    fn known_tokens_go_wherever_they_stand() {
        let upper = fake("AKIA", 16).to_uppercase();
        for token in [
            upper,
            fake("ghp_", 36),
            fake("github_pat_", 40),
            fake("glpat-", 20),
            fake("xoxb-", 30),
            fake("sk-", 40),
            fake("sk-proj-", 60),
            fake("sk-ant-api03-", 80),
            fake("sk_live_", 24),
            fake("AIza", 35),
            fake("GOCSPX-", 24),
            fake("npm_", 36),
            format!("{}.{}.{}", fake("eyJ", 20), fake("eyJ", 30), fake("", 40)),
        ] {
            for (before, after) in [("", ""), ("key: \"", "\"\n"), ("(", ")."), ("https://h/?x=", "&y=1"), ("a ", " b")]
            {
                let text = redacted(&format!("{before}{token}{after}"));
                assert_eq!(text, format!("{before}[redacted]{after}"), "{token}");
            }
        }
    }

    #[test]
    fn a_private_key_goes_whole_and_cut() {
        let body = format!("{}\n{}\n", fake("", 64), fake("", 30));
        let begin = "-----BEGIN RSA PRIVATE KEY-----";
        let end = "-----END RSA PRIVATE KEY-----";
        assert_eq!(redacted(&format!("a\n{begin}\n{body}{end}\nb")), "a\n[redacted]\nb");
        let escaped = format!("{{\"k\": \"{begin}\\n{}\\n{end}\\n\", oops", fake("", 64));
        assert_eq!(redacted(&escaped), "{\"k\": \"[redacted]\\n\", oops");
        assert_eq!(redacted(&format!("a\n{begin}\n{body}")), "a\n[redacted]");
        assert_eq!(redacted(&format!("(cut)\n{body}{end}\nb")), "(cut)[redacted]\nb");
        // A program that looks for keys holds none.
        let source = format!("if text.contains(\"{begin}\") && text.contains(\"{end}\") {{ warn(); }}");
        assert_eq!(redacted(&source), source);
        let public = "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----";
        assert_eq!(redacted(public), public);
    }

    #[test]
    fn values_with_a_telling_name_go_and_the_name_stays() {
        for (text, expected) in [
            ("PASSWORD=hunter2", "PASSWORD=[redacted]"),
            ("DB_PASSWORD=correcthorse\nHOST=x", "DB_PASSWORD=[redacted]\nHOST=x"),
            ("api_key: abcd-efgh", "api_key: [redacted]"),
            ("password: correcthorse\n", "password: [redacted]\n"),
            ("password = correcthorse", "password = [redacted]"),
            ("apiKey: 'abc'", "apiKey: '[redacted]'"),
            ("client_secret := \"a \\\"b\"", "client_secret := \"[redacted]\""),
            ("see {\"password\": \"x\"} there", "see {\"password\": \"[redacted]\"} there"),
            ("\"{\\\"password\\\":\\\"x1\\\"}\"", "\"{\\\"password\\\":\\\"[redacted]\\\"}\""),
            ("GET /?access_token=abcd1234&page=2", "GET /?access_token=[redacted]&page=2"),
            ("aws_secret_access_key = wJalr/XUtn+FEMI", "aws_secret_access_key = [redacted]"),
            ("postgres://ann:pa55@db:5432/x", "postgres://ann:[redacted]@db:5432/x"),
            ("Authorization: Bearer abcdefgh12", "Authorization: Bearer [redacted]"),
            ("curl -H 'authorization: token abcdefgh12'", "curl -H 'authorization: token [redacted]'"),
        ] {
            assert_eq!(redacted(text), expected);
        }
    }

    #[test]
    fn code_and_prose_stay_as_they_are() {
        for text in [
            "struct Login { password: String, token: &'a str }",
            "fn login(password: &str) -> bool {",
            "let password = read_password();\nlet secret = config.secret;",
            "connect(password=password, api_key=self.api_key)",
            "password = os.environ[\"PASSWORD\"]",
            "PASSWORD=${PASSWORD}\nAPI_KEY=<key>\npassword: \"********\"",
            "password: \"\"",
            "the secret: always be kind to others",
            "if password == other { return Secret::new(x) }",
            "interface A { password?: string; secretKey: string | null }",
            "next_page_token=abc123def456ghi789 max_tokens: 4096",
            "class=\"sk-folding-cube-with-long-name\"",
            "task-1234567890abcdefghijklmn",
            "https://example.com:8080/a@b",
            "a sha256 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "hosts: Asia, AKIA",
            "",
        ] {
            assert_eq!(redactor().text(text), None, "{text}");
        }
    }

    #[test]
    fn each_secret_counts_once() {
        let text = format!("api_key={0}\nx {0} password: \"{0}\"", fake("ghp_", 36));
        let (text, count) = redactor().text(&text).unwrap();
        assert_eq!((text.as_str(), count), ("api_key=[redacted]\nx [redacted] password: \"[redacted]\"", 3));
        assert_eq!(redactor().text(&text), None);
    }

    #[test]
    fn a_replacement_of_any_shape_is_not_redacted_again() {
        for replacement in ["***", "REDACTED", "<a secret was here>", "", "$1"] {
            let redactor = Redactor::new(&[], vec!["s3cr3t-literal".into()], replacement.into()).unwrap();
            let (text, count) = redactor.text("password=s3cr3t-literal").unwrap();
            assert_eq!((text, count), (format!("password={replacement}"), 1));
        }
    }

    #[test]
    fn literals_go_longest_first_and_escaped_too() {
        let literals = vec!["abc".into(), "abc\"def".into()];
        let redactor = Redactor::new(&[], literals, "-".into()).unwrap();
        assert_eq!(redactor.text("abc\"def abc {\"x\": \"abc\\\"def\"").unwrap(), ("- - {\"x\": \"-\"".into(), 3));
    }

    #[test]
    fn a_json_value_is_a_secret_by_its_key() {
        for key in ["password", "DB_PASSWORD", "apiKey", "x-api-key", "client_secret", "Authorization"] {
            assert_eq!(redactor().value(key, "letmein"), Some(("[redacted]".into(), 1)), "{key}");
        }
        for (key, value) in [
            ("password", ""),
            ("password", "${PW}"),
            ("secret", "[redacted]"),
            ("name", "x"),
            ("next_page_token", "abc1"),
        ] {
            assert_eq!(redactor().value(key, value), None, "{key}");
        }
    }
}
