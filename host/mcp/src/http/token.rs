//! The bearer token.

use subtle::ConstantTimeEq as _;

/// Shortest token: 16 random characters are out of reach of guessing over a network.
const MIN: usize = 16;

/// What clients must know. Not shown by `Debug`.
#[derive(Clone)]
pub struct BearerToken(String);

/// Why a text is no token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// Too easily guessed.
    #[error("a bearer token needs at least {MIN} characters, and this one has {0}")]
    Short(usize),
    /// It could not be sent in a header.
    #[error("a bearer token is made of visible ASCII characters, without blanks")]
    Characters,
}

impl BearerToken {
    /// A token; blanks and line ends around it are taken off.
    ///
    /// # Errors
    ///
    /// It is short, or holds what a header cannot carry.
    pub fn new(text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::Characters);
        }
        if text.len() < MIN {
            return Err(TokenError::Short(text.len()));
        }
        Ok(Self(text.to_owned()))
    }

    /// Whether the value of an `Authorization` header holds it. How long that takes says nothing about the token but its
    /// length.
    pub(crate) fn is_in(&self, header: &[u8]) -> bool {
        let Some((scheme, given)) = header.split_at_checked(7) else { return false };
        scheme.eq_ignore_ascii_case(b"bearer ") && given.trim_ascii().ct_eq(self.0.as_bytes()).into()
    }
}

impl std::fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BearerToken(…)")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_the_whole_token_opens() {
        let token = BearerToken::new(" 0123456789abcdef\n").unwrap();
        for (header, opens) in [
            ("Bearer 0123456789abcdef", true),
            ("bearer  0123456789abcdef ", true),
            ("Bearer 0123456789abcdeF", false),
            ("Bearer 0123456789abcdef0", false),
            ("Bearer ", false),
            ("Basic 0123456789abcdef", false),
            ("", false),
        ] {
            assert_eq!(token.is_in(header.as_bytes()), opens, "{header}");
        }
        assert!(BearerToken::new("short").is_err());
        assert!(BearerToken::new("0123456789 abcdef").is_err());
        assert_eq!(format!("{token:?}"), "BearerToken(…)");
    }
}
