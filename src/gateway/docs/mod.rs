//! The gateway's OpenAPI document and its pages (§1.8, §4.1): `/openapi.json`, `/docs`, `/redoc` and the files
//! they load, all embedded in the binary. It only maps paths to assets; `respond` sends them. None of them
//! needs an access key (CONTRACT 9).

mod openapi;
mod pages;

pub use openapi::openapi_json;

use bytes::Bytes;
use http::HeaderValue;
use std::io::copy;
use std::sync::OnceLock;

/// A document that GET and HEAD return with status 200.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asset {
    /// The value of Content-Type.
    pub content_type: &'static str,
    /// The body in the coding of `encoding`.
    pub body: &'static [u8],
    /// Whether a browser may cache it for a day; pages request it with its version.
    pub cache: bool,
    /// The value of Content-Encoding. A client that does not accept it gets the decoded body; both answers
    /// need `Vary: Accept-Encoding`.
    pub encoding: Option<&'static str>,
    /// The value of Content-Security-Policy.
    pub csp: &'static str,
    /// The decoded body, once a client has asked for it.
    decoded: Option<&'static OnceLock<Bytes>>,
}

impl Asset {
    /// The body for a client with this Accept-Encoding, and its Content-Encoding.
    pub fn body_for(&self, accepted: Option<&HeaderValue>) -> (Bytes, Option<&'static str>) {
        let accepted = accepted.and_then(|value| value.to_str().ok());
        let is_accepted = |coding: &&str| accepted.is_some_and(|list| list.contains(coding));
        match self.encoding.filter(is_accepted) {
            Some(encoding) => (Bytes::from_static(self.body), Some(encoding)),
            None => (self.decoded(), None),
        }
    }

    /// The body without its coding. It is decoded once, so that answers that nobody reads share it.
    fn decoded(&self) -> Bytes {
        match self.decoded {
            Some(decoded) => decoded.get_or_init(|| inflate(self.body)).clone(),
            None => Bytes::from_static(self.body),
        }
    }
}

/// The policy of assets that are not pages: they may load nothing.
const NO_PAGE: &str = "default-src 'none'";

/// The asset at a path, which is compared byte for byte; None for any other path.
pub fn find(path: &str) -> Option<Asset> {
    Some(match path {
        "/openapi.json" => Asset {
            cache: false,
            ..plain("application/json", openapi_json())
        },
        "/docs" => page(&pages::DOCS),
        "/docs/" => page(&pages::DOCS_SLASH),
        "/redoc" => page(&pages::REDOC_PAGE),
        "/redoc/" => page(&pages::REDOC_SLASH),
        _ => {
            return path
                .strip_prefix("/docs/")
                .map_or_else(|| redoc_file(path), swagger_ui_file);
        }
    })
}

fn swagger_ui_file(name: &str) -> Option<Asset> {
    Some(match name {
        "init.js" => plain(SCRIPT, include_bytes!("assets/swagger-ui/init.js")),
        "swagger-ui.css" => {
            static DECODED: OnceLock<Bytes> = OnceLock::new();
            let body = include_bytes!("assets/swagger-ui/swagger-ui.css.gz");
            gzipped(STYLE, body, &DECODED)
        }
        "swagger-ui-bundle.js" => {
            static DECODED: OnceLock<Bytes> = OnceLock::new();
            let body = include_bytes!("assets/swagger-ui/swagger-ui-bundle.js.gz");
            gzipped(SCRIPT, body, &DECODED)
        }
        "LICENSE.txt" => plain(TEXT, include_bytes!("assets/swagger-ui/LICENSE.txt")),
        "NOTICE.txt" => plain(TEXT, include_bytes!("assets/swagger-ui/NOTICE.txt")),
        "swagger-ui-bundle.js.LICENSE.txt" => plain(
            TEXT,
            include_bytes!("assets/swagger-ui/swagger-ui-bundle.js.LICENSE.txt"),
        ),
        _ => return None,
    })
}

fn redoc_file(path: &str) -> Option<Asset> {
    Some(match path.strip_prefix("/redoc/")? {
        "init.js" => plain(SCRIPT, include_bytes!("assets/redoc/init.js")),
        "redoc.standalone.js" => {
            static DECODED: OnceLock<Bytes> = OnceLock::new();
            let body = include_bytes!("assets/redoc/redoc.standalone.js.gz");
            gzipped(SCRIPT, body, &DECODED)
        }
        "LICENSE.txt" => plain(TEXT, include_bytes!("assets/redoc/LICENSE.txt")),
        "redoc.standalone.js.LICENSE.txt" => plain(
            TEXT,
            include_bytes!("assets/redoc/redoc.standalone.js.LICENSE.txt"),
        ),
        _ => return None,
    })
}

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

fn page(html: &'static str) -> Asset {
    let page = plain("text/html; charset=utf-8", html.as_bytes());
    Asset {
        cache: false,
        csp: pages::POLICY,
        ..page
    }
}

fn plain(content_type: &'static str, body: &'static [u8]) -> Asset {
    Asset {
        content_type,
        body,
        cache: true,
        encoding: None,
        csp: NO_PAGE,
        decoded: None,
    }
}

fn gzipped(
    content_type: &'static str,
    body: &'static [u8],
    decoded: &'static OnceLock<Bytes>,
) -> Asset {
    Asset {
        encoding: Some("gzip"),
        decoded: Some(decoded),
        ..plain(content_type, body)
    }
}

fn inflate(body: &[u8]) -> Bytes {
    let mut decoded = Vec::with_capacity(body.len() * 4);
    // A built-in file that does not inflate fails the test below.
    let _ = copy(&mut flate2::read::GzDecoder::new(body), &mut decoded);
    decoded.shrink_to_fit();
    decoded.into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    const PAGES: [&str; 4] = ["/docs", "/docs/", "/redoc", "/redoc/"];

    fn html(path: &str) -> &'static str {
        std::str::from_utf8(find(path).unwrap().body).unwrap()
    }

    /// Addresses that a page loads, resolved against its own path.
    fn loads(path: &str) -> Vec<String> {
        let folder = &path[..=path.rfind('/').unwrap()];
        let attributes = ["src=\"", "href=\"", "data-openapi=\""];
        let values = attributes
            .iter()
            .flat_map(|name| html(path).split(name).skip(1));
        values
            .filter_map(|rest| rest.split(['"', '?']).next())
            .filter(|address| *address != "data:,")
            .map(|address| match address.strip_prefix("../") {
                Some(rest) => format!("/{rest}"),
                None => format!("{folder}{address}"),
            })
            .collect()
    }

    #[test]
    fn everything_a_page_loads_is_here() {
        for path in PAGES {
            let loads = loads(path);
            assert!(loads.len() >= 4, "{path}: {loads:?}");
            for address in loads {
                assert!(find(&address).is_some(), "{path} loads {address}");
            }
        }
    }

    #[test]
    fn pages_are_filled_in_and_name_no_other_host() {
        for path in PAGES {
            let html = html(path);
            assert!(!html.contains("http:") && !html.contains("//"), "{path}");
            assert_eq!(html.matches('{').count(), 1, "the style rule alone: {path}");
            assert!(html.contains(pages::POLICY), "{path}");
            assert_eq!(find(path).unwrap().csp, pages::POLICY);
        }
    }

    #[test]
    fn compressed_files_are_what_their_names_say() {
        for (path, word) in [
            ("/docs/swagger-ui.css", ".swagger-ui"),
            ("/docs/swagger-ui-bundle.js", "SwaggerUIBundle"),
            (
                "/redoc/redoc.standalone.js",
                "redoc.standalone.js.LICENSE.txt",
            ),
        ] {
            let asset = find(path).unwrap();
            assert_eq!(asset.encoding, Some("gzip"));
            let text = String::from_utf8(asset.decoded().into()).unwrap();
            assert!(text.contains(word), "{path}");
            let again = find(path).unwrap().decoded();
            assert_eq!(again.as_ptr(), asset.decoded().as_ptr(), "decoded once");
            assert!(!text.contains("cdn."), "{path} fetches from elsewhere");
        }
    }

    #[test]
    fn the_pages_load_the_versions_that_the_readme_names() {
        let readme = include_str!("assets/README.md");
        for (path, package) in [
            ("/docs", "swagger-ui-dist"),
            ("/redoc", "`redoc` | `redoc`"),
        ] {
            let row = readme.lines().find(|line| line.contains(package)).unwrap();
            let version = row.split('|').nth(3).unwrap().trim();
            assert!(
                html(path).contains(&format!("js?v={version}\"")),
                "{path} {version}"
            );
        }
    }

    #[test]
    fn no_other_path_is_known() {
        for path in [
            "",
            "/",
            "/docs/x",
            "/docs/../openapi.json",
            "/redoc/init.js/",
            "/Docs",
            "/docs/redoc.standalone.js",
        ] {
            assert_eq!(find(path), None, "{path}");
        }
        assert_eq!(
            find("/openapi.json").unwrap().content_type,
            "application/json"
        );
    }
}
