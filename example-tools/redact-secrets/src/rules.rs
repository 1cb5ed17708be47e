//! What secrets look like. A rule whose hints are not in a text is not even compiled, which makes clean results cheap.

pub struct Rule {
    /// One of them, in lower case, is part of every match.
    pub hints: &'static [&'static str],
    /// The first group that took part in a match is the secret; without groups, all of it.
    pub regex: &'static str,
    pub accept: Accept,
}

/// What a secret must be besides matching.
#[derive(Clone, Copy, PartialEq)]
pub enum Accept {
    Always,
    /// Holds a digit: a name in kebab case does not.
    WithDigit,
    /// Is no stand-in for a secret, see [`is_stand_in`].
    Value,
    /// As `Value`, and is not code: see [`crate::redactor`].
    BareValue,
}

macro_rules! private_key {
    ($marker:literal) => {
        concat!("-----", $marker, " (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
    };
}
// What stands between the markers, also in a source's string literals, a diff or numbered lines; nothing of a program.
macro_rules! key_body {
    () => {
        r#"[A-Za-z0-9+/=\s\\:,."'|>*-]"#
    };
}
// The end of a name that says "secret": DB_PASSWORD, apiKey, client-secret. In JSON the quote behind may be escaped.
macro_rules! secret_name {
    () => {
        r#"(?i)(?:password|passwd|passphrase|secret|credentials?|(?:api|access|secret|private|account|encryption|signing)[_-]?key|(?:access|auth|refresh|session|bearer|bot|api|id|security)[_-]?token)(?:\\?["'])?"#
    };
}

/// In the order they are applied: what a named value holds is often a token of its own.
pub const RULES: &[Rule] = &[
    // Private keys in PEM: whole; cut off by a limit of lines; cut off at the front.
    Rule {
        hints: &["private key"],
        regex: concat!(private_key!("BEGIN"), key_body!(), "{16,}?", private_key!("END")),
        accept: Accept::Always,
    },
    Rule {
        hints: &["private key"],
        regex: concat!(private_key!("BEGIN"), key_body!(), "{16,}"),
        accept: Accept::Always,
    },
    Rule {
        hints: &["private key"],
        regex: concat!(r"[A-Za-z0-9+/=\s\\]{16,}", private_key!("END")),
        accept: Accept::Always,
    },
    // AWS access key ids.
    Rule {
        hints: &["akia", "asia", "abia", "acca"],
        regex: r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b",
        accept: Accept::Always,
    },
    // GitHub, GitLab.
    Rule {
        hints: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"],
        regex: r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,}|glpat-[A-Za-z0-9_-]{20,})",
        accept: Accept::Always,
    },
    // Slack: tokens and webhooks.
    Rule {
        hints: &["xox", "xapp-", "hooks.slack.com"],
        regex: r"\b(?:xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,})|hooks\.slack\.com/services/([A-Za-z0-9_/]{20,})",
        accept: Accept::Always,
    },
    // OpenAI, Anthropic and those who took after them; Stripe.
    Rule { hints: &["sk-"], regex: r"\bsk-[A-Za-z0-9_-]{20,}", accept: Accept::WithDigit },
    Rule { hints: &["k_live_", "k_test_"], regex: r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}", accept: Accept::Always },
    // Google: API keys, OAuth tokens and client secrets.
    Rule {
        hints: &["aiza", "ya29.", "gocspx-"],
        regex: r"\b(?:AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,})",
        accept: Accept::Always,
    },
    // Package registries and model hubs.
    Rule {
        hints: &["npm_", "pypi-", "hf_"],
        regex: r"\b(?:npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}|hf_[A-Za-z0-9]{30,})",
        accept: Accept::Always,
    },
    // JSON web tokens.
    Rule {
        hints: &["eyj"],
        regex: r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",
        accept: Accept::Always,
    },
    // HTTP authorization.
    Rule {
        hints: &["authorization"],
        regex: r#"(?i)authorization(?:\\?["'])?\s*[:=]\s*(?:\\?["'])?(?:bearer|basic|token)\s+([A-Za-z0-9._~+/=-]{8,})"#,
        accept: Accept::Value,
    },
    Rule { hints: &["bearer "], regex: r"(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{20,})", accept: Accept::WithDigit },
    // The password in a URL.
    Rule { hints: &["://"], regex: r#"://[^\s/:@"'<>]*:([^\s/@"'<>]+)@"#, accept: Accept::Value },
    // Named values: quoted; then bare.
    Rule {
        hints: NAMES,
        regex: concat!(
            secret_name!(),
            r#"\s*(?::=|=>|:|=)\s*(?:"((?:[^"\\\n]|\\.)+)"|'((?:[^'\\\n]|\\.)+)'|\\"((?:[^"\\\n]|\\[^"])+)\\")"#
        ),
        accept: Accept::Value,
    },
    Rule {
        hints: NAMES,
        regex: concat!(secret_name!(), r#"\s*[:=]\s*([^\s"'`,;&<>(){}\[\]\\$|:=][^\s"'`,;&<>(){}\[\]\\$|]{3,})"#),
        accept: Accept::BareValue,
    },
];

const NAMES: &[&str] = &["passw", "passphrase", "secret", "credential", "key", "token"];

/// Whether a JSON key says that its value is a secret.
pub fn is_secret_key(key: &str) -> bool {
    const ENDINGS: &[&str] = &[
        "password",
        "passwd",
        "passphrase",
        "secret",
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
    let key: String = key.chars().filter(|c| !matches!(c, '_' | '-' | ' ' | '.')).collect();
    let key = key.to_ascii_lowercase();
    ENDINGS.iter().any(|ending| key.ends_with(ending))
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
    let inner = value.trim_start_matches(['&', '*']).trim_end_matches('?');
    value.starts_with('$')
        || value.starts_with("{{")
        || (value.starts_with('<') && value.ends_with('>'))
        || (value.starts_with('%') && value.len() <= 3)
        || (value.len() > 2 && value.chars().all(|c| matches!(c, '*' | '.' | '•' | 'x' | 'X' | '-' | '_')))
        || WORDS.iter().any(|word| inner.eq_ignore_ascii_case(word))
}
