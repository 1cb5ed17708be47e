//! One fetch: redirects, the size cap, and what to tell the model where it fails.

use std::fmt;
use std::io::Read;

use crate::url::Url;

/// Redirects that are followed.
const MAX_REDIRECTS: usize = 5;
/// Bytes of a document that are read: enough for any page meant to be read, and it fits the default memory limit in
/// all its copies.
pub const MAX_BODY: usize = 4 << 20;

/// Why nothing came back.
#[derive(Debug)]
#[cfg_attr(not(target_family = "wasm"), allow(dead_code))]
pub enum Failure {
    /// The host refused the request.
    Denied,
    /// The host refused the address the name has.
    Address,
    /// The name has no address; why.
    Name(String),
    /// No connection, or it broke; how.
    Connection(String),
    /// It took too long; what.
    Timeout(&'static str),
    /// No secure connection; why.
    Tls(String),
    /// Anything else.
    Other(String),
}

/// What a server answered, its body not read yet.
pub struct Response {
    pub status: u16,
    pub content_type: Option<String>,
    pub content_encoding: Option<String>,
    pub location: Option<String>,
    pub body: Box<dyn Read>,
}

/// Something that sends one GET and follows nothing.
pub trait Client {
    fn get(&self, url: &Url) -> Result<Response, Failure>;
}

/// What there is outside a sandbox.
#[cfg(not(target_family = "wasm"))]
pub struct NoNetwork;

#[cfg(not(target_family = "wasm"))]
impl Client for NoNetwork {
    fn get(&self, _url: &Url) -> Result<Response, Failure> {
        Err(Failure::Other("there is no network outside the sandbox".into()))
    }
}

/// A document as it came.
#[derive(Debug)]
pub struct Fetched {
    pub status: u16,
    pub url: Url,
    pub redirected: bool,
    pub content_type: Option<String>,
    pub body: Vec<u8>,
    /// Whether there was more than [`MAX_BODY`].
    pub cut: bool,
}

/// An error for the model.
#[derive(Debug)]
pub struct Error {
    url: Url,
    /// The URL that led here, where another did.
    from: Option<Url>,
    what: What,
}

#[derive(Debug)]
enum What {
    Failed(Failure),
    Redirects,
    Location(String),
    Encoding(String),
    Body(String),
    Cancelled,
}

/// Gets a URL, or where its redirects lead.
pub fn follow(client: &dyn Client, start: Url, cancelled: &dyn Fn() -> bool) -> Result<Fetched, Error> {
    let mut url = start.clone();
    for hop in 0..=MAX_REDIRECTS {
        let from = (hop > 0).then(|| start.clone());
        let error = |what| Error { url: url.clone(), from: from.clone(), what };
        if cancelled() {
            return Err(error(What::Cancelled));
        }
        let response = client.get(&url).map_err(|failure| error(What::Failed(failure)))?;
        if let (301 | 302 | 303 | 307 | 308, Some(location)) = (response.status, &response.location) {
            let next = url.join(location).map_err(|problem| error(What::Location(problem)))?;
            url = next;
            continue;
        }
        if let Some(encoding) = response.content_encoding.filter(|e| !e.trim().eq_ignore_ascii_case("identity")) {
            return Err(error(What::Encoding(encoding)));
        }
        let (body, cut) = read(response.body, cancelled).map_err(error)?;
        let Response { status, content_type, .. } =
            Response { body: Box::new(std::io::empty()), content_encoding: None, ..response };
        return Ok(Fetched { status, url: url.clone(), redirected: hop > 0, content_type, body, cut });
    }
    Err(Error { url, from: Some(start), what: What::Redirects })
}

fn read(mut from: Box<dyn Read>, cancelled: &dyn Fn() -> bool) -> Result<(Vec<u8>, bool), What> {
    let mut body = Vec::new();
    let mut chunk = vec![0; 64 << 10];
    loop {
        if cancelled() {
            return Err(What::Cancelled);
        }
        let size = from.read(&mut chunk).map_err(|e| What::Body(e.to_string()))?;
        let Some(got) = chunk.get(..size).filter(|got| !got.is_empty()) else { return Ok((body, false)) };
        body.extend_from_slice(got);
        if body.len() > MAX_BODY {
            body.truncate(MAX_BODY);
            return Ok((body, true));
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, from, what } = self;
        match from {
            Some(from) => write!(f, "{from} redirects to {url}, which ")?,
            None => write!(f, "{url} ")?,
        }
        match what {
            What::Failed(Failure::Denied) => write!(
                f,
                "may not be fetched: no grant of this plugin covers it. Tell the user that the operator can grant it in \
                 toolgate.toml, in [[plugins.NAME.http]] of this plugin, with host = \"{}\"{}; or use another source",
                url.host(),
                if url.is_https() { "" } else { " and schemes = [\"http\"]" }
            ),
            What::Failed(Failure::Address) => write!(
                f,
                "may not be fetched: the host {} is at an address that is not public. Tell the user that the operator \
                 can allow it with `private = true` in the grant for this host",
                url.host()
            ),
            What::Failed(Failure::Name(why)) => {
                write!(f, "was not fetched: the host {} was not found ({why}). Check its spelling", url.host())
            }
            What::Failed(Failure::Connection(how)) => {
                write!(f, "was not fetched: {how}. The server may be down; try again later or use another source")
            }
            What::Failed(Failure::Timeout(what)) => {
                write!(f, "was not fetched: {what} took too long. Try again later or use another source")
            }
            What::Failed(Failure::Tls(why)) => {
                write!(f, "was not fetched: no secure connection ({why}). Don't trust this server with http either")
            }
            What::Failed(Failure::Other(why)) => write!(f, "was not fetched: {why}"),
            What::Redirects => write!(f, "redirects again: more than {MAX_REDIRECTS} redirects. Use another URL"),
            What::Location(problem) => write!(f, "redirects to a place that can't be fetched: {problem}"),
            What::Encoding(encoding) => {
                write!(f, "came compressed ({encoding}) although that was not asked for. Use another source")
            }
            What::Body(why) => write!(f, "broke off while it was read: {why}. Try again"),
            What::Cancelled => write!(f, "was not fetched: cancelled"),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
pub mod tests {
    #![allow(clippy::unwrap_used)]
    use std::cell::RefCell;
    use std::collections::HashMap;

    use super::*;

    /// Pages by URL.
    pub struct Site {
        pages: RefCell<HashMap<String, Page>>,
    }

    #[derive(Clone)]
    pub struct Page {
        pub status: u16,
        pub content_type: Option<String>,
        pub location: Option<String>,
        pub encoding: Option<String>,
        pub body: Vec<u8>,
    }

    pub fn page(content_type: &str, body: &str) -> Page {
        let content_type = (!content_type.is_empty()).then(|| content_type.into());
        Page { status: 200, content_type, location: None, encoding: None, body: body.into() }
    }

    impl Site {
        pub fn new<const N: usize>(pages: [(&str, Page); N]) -> Self {
            Self { pages: RefCell::new(pages.map(|(url, page)| (url.to_owned(), page)).into()) }
        }

        pub fn redirect(status: u16, location: &str) -> Page {
            Page { status, location: Some(location.into()), ..page("", "") }
        }
    }

    impl Client for Site {
        fn get(&self, url: &Url) -> Result<Response, Failure> {
            let page = self.pages.borrow().get(url.as_str()).cloned().ok_or(Failure::Denied)?;
            Ok(Response {
                status: page.status,
                content_type: page.content_type,
                content_encoding: page.encoding,
                location: page.location,
                body: Box::new(std::io::Cursor::new(page.body)),
            })
        }
    }

    fn fetch(site: &Site, url: &str) -> Result<Fetched, String> {
        follow(site, Url::parse(url).unwrap(), &|| false).map_err(|e| e.to_string())
    }

    #[test]
    fn redirects_are_followed_and_resolved() {
        let site = Site::new([
            ("https://a.example/1", Site::redirect(302, "2?x=1")),
            ("https://a.example/2?x=1", Site::redirect(308, "//b.example/3")),
            ("https://b.example/3", page("text/plain", "here")),
        ]);
        let fetched = fetch(&site, "https://a.example/1").unwrap();
        assert_eq!((fetched.url.as_str(), fetched.redirected), ("https://b.example/3", true));
        assert_eq!(fetched.body, b"here");
    }

    #[test]
    fn endless_redirects_end() {
        let site = Site::new([("https://a.example/", Site::redirect(301, "/"))]);
        assert!(fetch(&site, "https://a.example/").unwrap_err().contains("more than 5 redirects"));
    }

    #[test]
    fn a_redirect_without_a_place_is_an_answer() {
        let mut nowhere = page("text/plain", "moved");
        nowhere.status = 302;
        let site = Site::new([("https://a.example/", nowhere)]);
        assert_eq!(fetch(&site, "https://a.example/").unwrap().status, 302);
    }

    #[test]
    fn a_denial_names_the_grant_and_how_it_came_there() {
        let site = Site::new([("https://a.example/", Site::redirect(302, "http://internal.example:8080/x"))]);
        let direct = fetch(&site, "https://b.example/").unwrap_err();
        assert!(direct.starts_with("https://b.example/ may not be fetched"), "{direct}");
        assert!(direct.contains("host = \"b.example\";"), "{direct}");
        let led = fetch(&site, "https://a.example/").unwrap_err();
        assert!(
            led.starts_with("https://a.example/ redirects to http://internal.example:8080/x, which may not"),
            "{led}"
        );
        assert!(led.contains("host = \"internal.example\" and schemes = [\"http\"]"), "{led}");
        let site = Site::new([("https://a.example/", Site::redirect(302, "file:///etc/passwd"))]);
        assert!(fetch(&site, "https://a.example/").unwrap_err().contains("neither http nor https"));
    }

    #[test]
    fn a_large_document_is_cut_and_a_compressed_one_refused() {
        let mut zipped = page("text/html", "x");
        zipped.encoding = Some("gzip".into());
        let site = Site::new([
            ("https://a.example/big", page("text/plain", &"x".repeat(MAX_BODY + 1))),
            ("https://a.example/fits", page("text/plain", &"x".repeat(MAX_BODY))),
            ("https://a.example/zip", zipped),
        ]);
        let big = fetch(&site, "https://a.example/big").unwrap();
        assert_eq!((big.body.len(), big.cut), (MAX_BODY, true));
        assert!(!fetch(&site, "https://a.example/fits").unwrap().cut);
        assert!(fetch(&site, "https://a.example/zip").unwrap_err().contains("compressed (gzip)"));
    }

    #[test]
    fn cancellation_stops_before_the_next_request() {
        let site = Site::new([("https://a.example/", page("text/plain", "x"))]);
        let error = follow(&site, Url::parse("https://a.example/").unwrap(), &|| true).unwrap_err();
        assert!(error.to_string().ends_with("cancelled"));
    }
}
