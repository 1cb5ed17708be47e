//! A tool that reads the web: one URL in, its text out. Which hosts it reaches is the operator's decision, not its own.

#[cfg(target_family = "wasm")]
mod client;
mod document;
mod fetch;
mod html;
mod url;
mod writer;

use fetch::{Client, Fetched};
use toolgate_sdk::prelude::*;
use url::Url;

/// Bytes of text in one answer where the model does not say.
const DEFAULT_LIMIT: usize = 50_000;
/// The most it may ask for.
const MAX_LIMIT: usize = 500_000;

#[derive(Deserialize, JsonSchema)]
struct Args {
    /// An http or https URL.
    url: String,
    /// Where in the text to start, in bytes: what an earlier, truncated answer said.
    offset: Option<usize>,
    /// The most bytes of text to return. Default 50000, at most 500000.
    limit: Option<usize>,
    /// Return HTML as it is instead of its text. Default false.
    raw: Option<bool>,
}

/// Fetches a URL with GET and returns its text.
///
/// HTML becomes plain text with headings, lists, links, tables and code; JSON and other text come as they are. Binary
/// files are refused. Redirects are followed. Only hosts the operator has granted can be reached.
#[tool(name = "http-fetch", label = "Fetch", read_only, idempotent, open_world)]
fn http_fetch(args: Args, cx: &ToolContext) -> Result<ToolResult, ToolError> {
    #[cfg(target_family = "wasm")]
    let client = client::Wasi;
    #[cfg(not(target_family = "wasm"))]
    let client = fetch::NoNetwork;
    run(&args, &client, &|| cx.is_cancelled())
}

toolgate_sdk::plugin! { tools: [http_fetch] }

fn run(args: &Args, client: &dyn Client, cancelled: &dyn Fn() -> bool) -> Result<ToolResult, ToolError> {
    let url = Url::parse(&args.url).map_err(ToolError::new)?;
    let fetched = match fetch::follow(client, url, cancelled) {
        Ok(fetched) => fetched,
        Err(_) if cancelled() => return Err(ToolError::cancelled()),
        Err(error) => return Err(ToolError::new(error)),
    };
    let Fetched { status, url, redirected, content_type, body, cut } = &fetched;
    let text = document::read(&fetched, args.raw.unwrap_or(false)).map_err(ToolError::new)?;

    let start = floor(&text, args.offset.unwrap_or(0));
    let limit = args.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    let part = cut_to(text.get(start..).unwrap_or_default(), limit);
    let end = start + part.len();

    let mut out = String::new();
    if !(200..300).contains(status) {
        out.push_str(&format!("[HTTP status {status}]\n\n"));
    }
    if *redirected {
        out.push_str(&format!("[Redirected to {url}]\n\n"));
    }
    out.push_str(part);
    if text.is_empty() {
        out.push_str("[The document has no text.]");
    } else if start >= text.len() {
        out.push_str(&format!("[The text ends at offset {}; there is nothing at {start}.]", text.len()));
    } else if end < text.len() {
        let total = text.len();
        out.push_str(&format!(
            "\n\n[Truncated: bytes {start} to {end} of {total}. For more, call again with offset {end}.]"
        ));
    }
    if *cut {
        let read = body.len();
        out.push_str(&format!("\n\n[The document is larger than {read} bytes; only those were read.]"));
    }
    let result = ToolResult::text(out).details(json!({
        "status": status,
        "finalUrl": url.as_str(),
        "contentType": content_type,
        "bytes": body.len(),
        "truncated": *cut || end < text.len(),
    }));
    Ok(if *status >= 400 { result.error() } else { result })
}

/// The nearest place at or before `at` where a character starts.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// At most `limit` bytes, at least one character; ends with a line where one ends in the second half.
fn cut_to(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    let mut end = floor(text, limit);
    if end == 0 {
        end = text.chars().next().map_or(0, char::len_utf8);
    }
    let part = text.get(..end).unwrap_or_default();
    match part.rfind('\n') {
        Some(line) if line >= end / 2 && line > 0 => part.get(..=line).unwrap_or(part),
        _ => part,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::fetch::tests::{Site, page};

    fn args(url: &str) -> Args {
        Args { url: url.into(), offset: None, limit: None, raw: None }
    }

    fn text(result: &ToolResult) -> String {
        result.joined_text()
    }

    fn details(result: &ToolResult) -> Value {
        serde_json::from_str(result.details.as_deref().unwrap()).unwrap()
    }

    #[test]
    fn a_page_becomes_text_with_details() {
        let site = Site::new([("https://a.example/", page("text/html", "<title>T</title><h1>Hi</h1><p>there"))]);
        let result = run(&args("https://a.example"), &site, &|| false).unwrap();
        assert_eq!(text(&result), "Title: T\n\n# Hi\n\nthere");
        let expect = json!({
            "status": 200, "finalUrl": "https://a.example/", "contentType": "text/html", "bytes": 35, "truncated": false
        });
        assert_eq!(details(&result), expect);
    }

    #[test]
    fn a_long_text_is_cut_at_a_line_and_says_how_to_go_on() {
        let lines: String = (0..100).map(|n| format!("line {n:02} \u{e9}\n")).collect();
        let site = Site::new([("https://a.example/t", page("text/plain", &lines))]);
        let mut got = String::new();
        let mut offset = 0;
        loop {
            let more = Args { offset: Some(offset), limit: Some(100), ..args("https://a.example/t") };
            let result = run(&more, &site, &|| false).unwrap();
            let answer = text(&result);
            match answer.split_once("\n\n[Truncated: ") {
                Some((part, note)) => {
                    got.push_str(part);
                    assert_eq!(details(&result)["truncated"], true);
                    offset = note.trim_end_matches(".]").rsplit(' ').next().unwrap().parse().unwrap();
                }
                None => {
                    got.push_str(&answer);
                    break;
                }
            }
        }
        assert_eq!(got, lines);
        let beyond = Args { offset: Some(1_000_000), ..args("https://a.example/t") };
        assert!(text(&run(&beyond, &site, &|| false).unwrap()).contains("[The text ends at offset"));
    }

    #[test]
    fn limits_smaller_than_a_character_still_move_on() {
        assert_eq!(cut_to("\u{20ac}uro", 1), "\u{20ac}");
        assert_eq!(cut_to("ab\ncdef", 5), "ab\n");
        assert_eq!(cut_to("a\nbcdefgh", 6), "a\nbcde");
    }

    #[test]
    fn an_error_status_is_an_error_with_the_text() {
        let mut gone = page("text/html", "<p>No such page");
        gone.status = 404;
        let site = Site::new([("https://a.example/x", gone)]);
        let result = run(&args("https://a.example/x"), &site, &|| false).unwrap();
        assert!(result.is_error);
        assert_eq!(text(&result), "[HTTP status 404]\n\nNo such page");
        assert_eq!(details(&result)["status"], 404);
    }

    #[test]
    fn raw_html_and_a_redirect_are_told() {
        let site = Site::new([
            ("https://a.example/old", Site::redirect(301, "/new")),
            ("https://a.example/new", page("text/html", "<p>x")),
        ]);
        let raw = Args { raw: Some(true), ..args("https://a.example/old") };
        let result = run(&raw, &site, &|| false).unwrap();
        assert_eq!(text(&result), "[Redirected to https://a.example/new]\n\n<p>x");
    }

    #[test]
    fn the_tool_says_what_it_is() {
        let definition = http_fetch {}.definition();
        assert_eq!(definition.name, "http-fetch");
        let parameters: Value = serde_json::from_str(&definition.parameters).unwrap();
        assert_eq!(parameters["required"], json!(["url"]));
    }
}
