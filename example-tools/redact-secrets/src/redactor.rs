//! Finds secrets in a text and replaces them, in time linear in the text whatever the patterns.

use std::ops::Range;

use regex_lite::{Captures, Regex};
use toolgate_sdk::serde_json;

use crate::{named, private_key, tokens};

/// Says where secrets lie in a text, in order.
type Finder = fn(&str) -> Vec<Range<usize>>;

/// In the order they are applied: what a name or a URL holds is often a token of its own.
const FINDERS: &[Finder] = &[private_key::find, tokens::find, named::find_in_urls, named::find];

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
            redaction.apply(redaction.text.match_indices(literal).map(|(at, found)| at..at + found.len()).collect());
        }
        for pattern in &self.patterns {
            redaction.apply(pattern.captures_iter(&redaction.text).filter_map(|captures| secret(&captures)).collect());
        }
        for find in FINDERS {
            redaction.apply(find(&redaction.text));
        }
        (redaction.count > 0).then_some((redaction.text, redaction.count))
    }

    /// The same for a string that is a JSON value, which may be a secret because of its key.
    pub fn value(&self, key: &str, text: &str) -> Option<(String, usize)> {
        if named::is_secret_name(key) && !named::is_stand_in(text) && text != self.replacement {
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
    /// Replaces what lies at `ranges`, which are in order.
    fn apply(&mut self, ranges: Vec<Range<usize>>) {
        let mut out = String::new();
        let mut copied = 0;
        for range in ranges {
            let Some(value) = self.text.get(range.clone()) else { continue };
            // What an earlier step has replaced, also within or at the start of this value, is no secret any more.
            let is_replaced = !self.replacement.is_empty()
                && (value.contains(self.replacement) || self.replacement.starts_with(value));
            if value.is_empty() || is_replaced || range.start < copied {
                continue;
            }
            out.push_str(self.text.get(copied..range.start).unwrap_or_default());
            out.push_str(self.replacement);
            copied = range.end;
            self.count += 1;
        }
        if copied > 0 {
            out.push_str(self.text.get(copied..).unwrap_or_default());
            self.text = out;
        }
    }
}

/// Where the first group that took part lies, or, without one, the whole match.
fn secret(captures: &Captures<'_>) -> Option<Range<usize>> {
    captures.iter().skip(1).flatten().next().or_else(|| captures.get(0)).map(|found| found.range())
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
        assert_eq!(redacted(&format!("a\n{begin}\n{body}")), "a\n[redacted]\n");
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
