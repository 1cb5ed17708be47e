//! A page's text: what a reader would see, laid out like Markdown, without the page's furniture.

use html5gum::{DefaultEmitter, HtmlString, StartTag, Token, Tokenizer};

use crate::url::Url;
use crate::writer::Writer;

/// Below this many bytes a page without its furniture is suspicious: the furniture was the page.
const TOO_LITTLE: usize = 200;
/// Bytes of an alternative text.
const MAX_ALT: usize = 200;

/// Not for reading.
const SKIPPED: [&str; 21] = [
    "audio", "button", "canvas", "datalist", "dialog", "iframe", "map", "math", "noembed", "noframes", "noscript",
    "object", "optgroup", "script", "select", "style", "svg", "template", "textarea", "title", "video",
];
/// Around the page's own text, on most pages.
const FURNITURE: [&str; 2] = ["footer", "nav"];
/// Elements that close themselves, so that none waits for an end tag.
const VOID: [&str; 14] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];

/// The text of a page at `url`.
pub fn to_text(html: &str, url: &Url) -> String {
    let text = extract(html, url, true);
    if text.len() >= TOO_LITTLE {
        return text;
    }
    let all = extract(html, url, false);
    if all.len() > text.len() { all } else { text }
}

fn extract(html: &str, url: &Url, tidy: bool) -> String {
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut page = Page { writer: Writer::new(), base: url.clone(), tidy, skipping: None, title: None };
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => page.start(&tag),
            Token::EndTag(tag) => page.end(&text_of(&tag.name)),
            Token::String(string) => page.string(&text_of(&string.value)),
            _ => {}
        }
        if page.writer.is_full() {
            break;
        }
    }
    page.finish()
}

fn text_of(bytes: &HtmlString) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

fn attribute(tag: &StartTag<()>, name: &str) -> Option<String> {
    tag.attributes.get(name.as_bytes()).map(|value| text_of(&value.value).into_owned())
}

struct Skip {
    name: String,
    depth: usize,
}

struct Page {
    writer: Writer,
    base: Url,
    tidy: bool,
    skipping: Option<Skip>,
    /// The page's title; the first counts.
    title: Option<String>,
}

impl Page {
    fn start(&mut self, tag: &StartTag<()>) {
        let name = text_of(&tag.name).into_owned();
        if let Some(skip) = &mut self.skipping {
            if skip.name == name {
                skip.depth += 1;
            }
            return;
        }
        if self.is_skipped(&name, tag) {
            if name == "title" && self.title.is_none() {
                self.title = Some(String::new());
            }
            self.skipping = Some(Skip { name, depth: 1 });
            return;
        }
        let writer = &mut self.writer;
        match name.as_str() {
            "base" => {
                if let Some(Ok(base)) = attribute(tag, "href").map(|href| self.base.join(&href)) {
                    self.base = base;
                }
            }
            "a" => match attribute(tag, "href").map(|href| self.target(&href)) {
                Some(Some(target)) => self.writer.start_link(target),
                _ => self.writer.end_link(),
            },
            "img" => {
                let alt = attribute(tag, "alt").unwrap_or_default();
                let alt = alt.trim();
                if !alt.is_empty() && alt.len() <= MAX_ALT {
                    writer.text(&format!("[image: {alt}]"));
                }
            }
            "br" => writer.line_break(),
            "hr" => writer.rule(),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                writer.start_heading(name.bytes().nth(1).map_or(1, |digit| usize::from(digit - b'0')));
            }
            "ul" | "menu" => writer.start_list(None),
            "ol" => {
                let first = attribute(tag, "start").and_then(|text| text.trim().parse().ok()).unwrap_or(1);
                writer.start_list(Some(first));
            }
            "li" => writer.start_item(),
            "blockquote" => writer.start_quote(),
            "pre" => writer.start_pre(),
            "code" | "kbd" | "samp" => writer.start_code(),
            "tr" => writer.start_row(),
            "td" | "th" => writer.start_cell(),
            other => self.block(other),
        }
    }

    fn end(&mut self, name: &str) {
        if let Some(skip) = &mut self.skipping {
            if skip.name == name {
                skip.depth -= 1;
                if skip.depth == 0 {
                    self.skipping = None;
                }
            }
            return;
        }
        let writer = &mut self.writer;
        match name {
            "a" => writer.end_link(),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => writer.end_heading(),
            "ul" | "menu" | "ol" => writer.end_list(),
            "li" => writer.end_item(),
            "blockquote" => writer.end_quote(),
            "pre" => writer.end_pre(),
            "code" | "kbd" | "samp" => writer.end_code(),
            "tr" => writer.end_row(),
            other => self.block(other),
        }
    }

    /// What separates text by beginning or ending.
    fn block(&mut self, name: &str) {
        match name {
            "address" | "article" | "dl" | "figure" | "main" | "p" | "section" | "table" => self.writer.blank(),
            "aside" | "body" | "caption" | "center" | "dd" | "details" | "div" | "dt" | "fieldset" | "figcaption"
            | "footer" | "form" | "header" | "hgroup" | "legend" | "nav" | "search" | "summary" => self.writer.line(),
            _ => {}
        }
    }

    fn string(&mut self, text: &str) {
        match &self.skipping {
            None => self.writer.text(text),
            Some(skip) if skip.name == "title" => {
                if let Some(title) = &mut self.title
                    && title.len() < 1000
                {
                    title.push_str(text);
                }
            }
            Some(_) => {}
        }
    }

    fn is_skipped(&self, name: &str, tag: &StartTag<()>) -> bool {
        // `<svg/>` really is closed; HTML's own elements are not.
        if VOID.contains(&name) || (tag.self_closing && matches!(name, "svg" | "math")) {
            return false;
        }
        if SKIPPED.contains(&name) {
            return name != "button" || !self.writer.opens_heading();
        }
        // Only elements whose end tag is never left out: else the rest of the page would go with them.
        let closed = matches!(name, "div" | "section" | "span" | "aside" | "ul" | "ol" | "nav" | "header" | "a");
        let hidden = closed
            && (attribute(tag, "hidden").is_some_and(|value| !value.eq_ignore_ascii_case("until-found"))
                || attribute(tag, "aria-hidden").is_some_and(|value| value.eq_ignore_ascii_case("true")));
        let role = || attribute(tag, "role").unwrap_or_default();
        hidden
            || self.tidy
                && (FURNITURE.contains(&name)
                    || closed && matches!(role().as_str(), "navigation" | "contentinfo" | "search"))
    }

    /// Where a link leads, if it leads to a page.
    fn target(&self, href: &str) -> Option<String> {
        let href = href.trim();
        if href.is_empty() || href.starts_with('#') {
            return None;
        }
        self.base.join(href).ok().map(|url| url.to_string())
    }

    fn finish(self) -> String {
        let text = self.writer.finish();
        let title = self.title.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        let first = text.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']);
        if title.is_empty() || title == first {
            text
        } else if text.is_empty() {
            format!("Title: {title}")
        } else {
            format!("Title: {title}\n\n{text}")
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn text(html: &str) -> String {
        to_text(html, &Url::parse("https://a.example/dir/page").unwrap())
    }

    #[test]
    fn headings_paragraphs_and_breaks() {
        for (html, expect) in [
            ("<h1>One</h1><p>a\n  b</p><p>c", "# One\n\na b\n\nc"),
            ("<h2> Two <em>x</em></h2>text", "## Two x\n\ntext"),
            ("<div>a</div><div>b</div>", "a\nb"),
            ("a<br>b<br><br>c", "a\nb\n\nc"),
            ("a<hr>b", "a\n\n---\n\nb"),
            ("<h1></h1><p>x", "x"),
            ("<h3><button>Why?</button></h3><button>Share</button><p>x", "### Why?\n\nx"),
            ("  <p>  </p>  ", ""),
            ("a &amp; b &lt;c&gt; &eacute;&#x20AC;&nbsp;d &unknown;", "a & b <c> \u{e9}\u{20ac} d &unknown;"),
            ("so\u{ad}ft\u{200b}", "soft"),
        ] {
            assert_eq!(text(html), expect, "{html}");
        }
    }

    #[test]
    fn lists_are_marked_and_indented() {
        for (html, expect) in [
            ("x<ul><li>a<li>b</ul>y", "x\n\n- a\n- b\n\ny"),
            ("<ol start=9><li>a</li><li>b</li></ol>", "9. a\n10. b"),
            ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n  - b\n- c"),
            ("<ol><li><p>a</p><p>b</p></li><li>c</ol>", "1. a\n\n   b\n\n2. c"),
            ("<ul><li></li><li>b</li></ul>", "- b"),
            ("<li>stray", "- stray"),
            ("<blockquote><p>a</p><p>b</p></blockquote>c", "> a\n>\n> b\n\nc"),
            ("</ul></li></blockquote>x", "x"),
        ] {
            assert_eq!(text(html), expect, "{html}");
        }
    }

    #[test]
    fn links_are_absolute_and_only_where_they_help() {
        for (html, expect) in [
            ("see <a href='x?y=1&amp;z'>this</a>.", "see [this](https://a.example/dir/x?y=1&z)."),
            ("<a href='//b.example/'>b</a>", "[b](https://b.example/)"),
            ("<a href='#top'>top</a> <a href='javascript:x()'>js</a> <a href='mailto:a@b.c'>m</a>", "top js m"),
            ("<a href='https://b.example/'>https://b.example/</a>", "https://b.example/"),
            ("<a href='/x'><svg></svg></a>y", "y"),
            ("<a href='/x'> <img alt='Logo'> </a>", "[[image: Logo]](https://a.example/x)"),
            ("<a href='/1'>a<a href='/2'>b</a>", "[a](https://a.example/1)[b](https://a.example/2)"),
            ("<base href='https://c.example/d/'><a href='e'>f</a>", "[f](https://c.example/d/e)"),
        ] {
            assert_eq!(text(html), expect, "{html}");
        }
    }

    #[test]
    fn code_keeps_its_layout() {
        for (html, expect) in [
            ("<p>use <code>a  b</code>, <code></code>ok</p>", "use `a b`, ok"),
            ("<pre>fn x() {\n    y\n}\n</pre>z", "```\nfn x() {\n    y\n}\n```\n\nz"),
            ("<pre><code>a\n<span>b</span></code></pre>", "```\na\nb\n```"),
            ("<ul><li><pre>a\nb</pre></ul>", "- ```\n  a\n  b\n  ```"),
            ("<pre>unclosed", "```\nunclosed\n```"),
        ] {
            assert_eq!(text(html), expect, "{html}");
        }
    }

    #[test]
    fn tables_are_rows_of_cells() {
        for (html, expect) in [
            ("<table><tr><th>a<th>b</tr><tr><td>1</td><td><p>2</p></td></tr></table>x", "a | b\n1 | 2\n\nx"),
            ("<table><tr><td>a</td><td></td></tr><tr><td></td><td>b</td></tr></table>", "a\nb"),
            ("<table><tr><td>a</td><td></td><td>c</td></tr></table>", "a |  | c"),
        ] {
            assert_eq!(text(html), expect, "{html}");
        }
    }

    #[test]
    fn what_is_not_for_reading_is_left_out() {
        let furniture = "<nav><ul><li><a href='/'>Home</a></ul></nav><div role=navigation>Menu</div>";
        let body = "Long enough to be a page of its own. ".repeat(8);
        let html = format!(
            "<!doctype html><html><head><title> The\n title </title><style>p{{}}</style><script>if (a < b) x('<p>no')</script>\
             </head><body>{furniture}<!-- no --><p>{body}</p><svg><title>no</title><text>no</text></svg><svg/>\
             <div hidden>no</div><span aria-hidden=true>no</span><button>no</button><select><option>no</select>\
             <noscript>no</noscript><template><p>no</template><footer>no</footer>end</body></html>"
        );
        assert_eq!(text(&html), format!("Title: The title\n\n{}\n\nend", body.trim()));
    }

    #[test]
    fn a_page_that_is_all_furniture_is_shown_whole() {
        assert_eq!(text("<nav><a href='/x'>Docs</a></nav>"), "[Docs](https://a.example/x)");
        assert_eq!(text("<nav>never closed <p>text"), "never closed\n\ntext");
    }

    #[test]
    fn the_title_is_not_said_twice() {
        assert_eq!(text("<title>Same</title><h1>Same</h1><p>x"), "# Same\n\nx");
        assert_eq!(text("<title>Only</title>"), "Title: Only");
    }

    #[test]
    fn hostile_pages_stay_bounded() {
        let deep = text(&"<ul><li>".repeat(20_000));
        assert!(deep.len() < 1000);
        let quotes = text(&"<blockquote>x".repeat(20_000));
        assert!(quotes.len() < 4 << 20);
        let links =
            format!("<base href='https://a.example/{}/'>{}", "y".repeat(5000), "<a href=x>z</a>".repeat(20_000));
        assert!(text(&links).len() < 1 << 20);
        for html in
            ["<", "</", "<a", "<a href=", "&#", "&#xffffffff;", "<!--", "<![CDATA[", "<script>", "<title>", "\0"]
        {
            text(html);
        }
    }
}
