//! From bytes to text: what kind of document it is, and in which character encoding.

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use crate::fetch::Fetched;
use crate::html;

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Html,
    Text,
    Binary,
}

/// The document's text; HTML as it is where `raw`. The error, for the model, says what it is instead.
pub fn read(fetched: &Fetched, raw: bool) -> Result<String, String> {
    let Fetched { content_type, body, url, cut, .. } = fetched;
    let declared = content_type.as_deref().unwrap_or_default();
    let essence = declared.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let kind = kind(&essence, body);
    if kind == Kind::Binary {
        let name = if essence.is_empty() { "binary data of no stated type" } else { &essence };
        let size = if *cut { format!("more than {}", body.len()) } else { body.len().to_string() };
        return Err(format!(
            "{url} is {name}, {size} bytes; this tool reads text only. Look for a page that describes it"
        ));
    }
    let text = decode(declared, kind == Kind::Html, body);
    Ok(if kind == Kind::Html && !raw { html::to_text(&text, url) } else { text })
}

fn kind(essence: &str, body: &[u8]) -> Kind {
    let (top, sub) = essence.split_once('/').unwrap_or((essence, ""));
    match (top, sub) {
        ("text", "html") | ("application", "xhtml+xml") => Kind::Html,
        ("text", _) => Kind::Text,
        (
            "application",
            "json" | "xml" | "javascript" | "ecmascript" | "yaml" | "x-yaml" | "toml" | "sql" | "graphql",
        ) => Kind::Text,
        ("application", "x-ndjson" | "x-sh" | "x-javascript" | "x-httpd-php" | "x-tex" | "x-latex") => Kind::Text,
        (_, sub) if sub.ends_with("+json") || sub.ends_with("+xml") || sub.ends_with("+yaml") => Kind::Text,
        ("" | "application", "" | "octet-stream" | "unknown") => sniff(body),
        _ => Kind::Binary,
    }
}

/// Where the type says nothing: what the first bytes look like.
fn sniff(body: &[u8]) -> Kind {
    let head = body.get(..1024).unwrap_or(body);
    let utf16 = head.starts_with(&[0xff, 0xfe]) || head.starts_with(&[0xfe, 0xff]);
    if !utf16 && head.iter().any(|b| matches!(b, 0..=8 | 14..=26 | 28..=31)) {
        return Kind::Binary;
    }
    let start = String::from_utf8_lossy(head).trim_start_matches('\u{feff}').trim_start().to_ascii_lowercase();
    if start.starts_with("<!doctype html") || start.starts_with("<html") { Kind::Html } else { Kind::Text }
}

/// By byte order mark, then the declared charset, then the page's own, then UTF-8 where it is, else Windows-1252.
fn decode(declared: &str, html: bool, body: &[u8]) -> String {
    let labelled = charset(declared).or_else(|| if html { meta_charset(body) } else { None });
    let encoding = labelled.as_deref().and_then(|label| Encoding::for_label(label.as_bytes())).unwrap_or_else(|| {
        match std::str::from_utf8(body) {
            Ok(_) => UTF_8,
            // A document that was cut inside a character.
            Err(error) if error.error_len().is_none() => UTF_8,
            Err(_) => WINDOWS_1252,
        }
    });
    encoding.decode(body).0.into_owned()
}

/// The value after `charset`, quoted or not.
fn charset(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let (_, after) = lower.split_once("charset")?;
    let value = after.trim_start().strip_prefix('=')?.trim_start().trim_start_matches(['"', '\'']);
    let end =
        value.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ';' | '>' | '/')).unwrap_or(value.len());
    value.get(..end).filter(|label| !label.is_empty()).map(str::to_owned)
}

/// A page's own `<meta charset>`, which is in its first kilobyte.
fn meta_charset(body: &[u8]) -> Option<String> {
    let head = String::from_utf8_lossy(body.get(..1024).unwrap_or(body)).to_ascii_lowercase();
    let label = head.split("<meta").skip(1).find_map(|rest| charset(rest.split('>').next()?))?;
    // It could be read as ASCII, so that it is not that.
    Some(if label.starts_with("utf-16") { "utf-8".into() } else { label })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::url::Url;

    fn doc(content_type: &str, body: &[u8]) -> Result<String, String> {
        let fetched = Fetched {
            status: 200,
            url: Url::parse("https://a.example/x").unwrap(),
            redirected: false,
            content_type: (!content_type.is_empty()).then(|| content_type.into()),
            body: body.into(),
            cut: false,
        };
        read(&fetched, false)
    }

    #[test]
    fn text_comes_as_it_is_and_html_as_text() {
        let json = br#"{"a": [1, 2.50]}"#;
        for content_type in
            ["application/json", "application/ld+json; charset=utf-8", "text/plain", "", "application/octet-stream"]
        {
            assert_eq!(doc(content_type, json).unwrap(), r#"{"a": [1, 2.50]}"#, "{content_type}");
        }
        for content_type in ["text/html", "TEXT/HTML; charset=utf-8", "application/xhtml+xml"] {
            assert_eq!(doc(content_type, b"<b>x</b>").unwrap(), "x", "{content_type}");
        }
        assert_eq!(doc("", b" <!DOCTYPE html><p>x").unwrap(), "x");
        assert_eq!(doc("text/plain", b"<b>x</b>").unwrap(), "<b>x</b>");
    }

    #[test]
    fn binary_is_refused_with_type_and_size() {
        for (content_type, body, words) in [
            ("image/png", &b"\x89PNG\r\n"[..], "is image/png, 6 bytes"),
            ("application/pdf", b"%PDF-1.7", "is application/pdf, 8 bytes"),
            ("application/octet-stream", b"\x7fELF\0\0", "is application/octet-stream, 6 bytes"),
            ("", b"\0\0", "binary data of no stated type, 2 bytes"),
            ("video/mp4", b"", "is video/mp4, 0 bytes"),
        ] {
            let error = doc(content_type, body).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn character_encodings_are_found() {
        for (content_type, body, expect) in [
            ("text/plain; charset=ISO-8859-1", &b"caf\xe9"[..], "caf\u{e9}"),
            ("text/plain; charset=\"utf-8\"", b"caf\xc3\xa9", "caf\u{e9}"),
            ("text/plain", b"caf\xc3\xa9", "caf\u{e9}"),
            ("text/plain", b"caf\xe9 \x80", "caf\u{e9} \u{20ac}"),
            ("text/plain", b"cut \xc3", "cut \u{fffd}"),
            ("text/plain; charset=nonsense", b"caf\xc3\xa9", "caf\u{e9}"),
            ("text/plain; charset=shift_jis", b"\x93\xfa\x96\x7b", "\u{65e5}\u{672c}"),
            ("text/plain", b"\xef\xbb\xbfbom", "bom"),
            ("text/plain", b"\xff\xfea\0b\0", "ab"),
            ("text/html", b"<meta charset=windows-1251><p>\xcf\xf0\xe8", "\u{41f}\u{440}\u{438}"),
            ("text/html", b"<meta http-equiv=content-type content='text/html; charset=koi8-r'>\xf0", "\u{41f}"),
            ("text/html", b"<meta charset=utf-16><p>caf\xc3\xa9", "caf\u{e9}"),
        ] {
            assert_eq!(doc(content_type, body).unwrap(), expect, "{content_type} {body:?}");
        }
    }
}
