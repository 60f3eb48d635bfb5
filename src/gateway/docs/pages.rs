//! The two HTML pages, each at two paths. They load their files by relative URLs, so that they work below a
//! path prefix, and from their own origin only ([`POLICY`]).

use monitor_model::GATEWAY_VERSION;
use std::sync::LazyLock;

/// Content-Security-Policy of a page: everything from its own origin. Both bundles write style
/// elements, and Redoc's search runs in a worker made from a blob.
pub(super) const POLICY: &str = "default-src 'none'; script-src 'self'; \
    style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; connect-src 'self'; \
    worker-src blob:; base-uri 'none'; form-action 'none'";

/// The Swagger UI page at `/docs`.
pub(super) static DOCS: LazyLock<String> = LazyLock::new(|| SWAGGER_UI.page("docs/", ""));
/// The Swagger UI page at `/docs/`, whose relative URLs differ.
pub(super) static DOCS_SLASH: LazyLock<String> = LazyLock::new(|| SWAGGER_UI.page("", "../"));
/// The Redoc page at `/redoc`.
pub(super) static REDOC_PAGE: LazyLock<String> = LazyLock::new(|| REDOC.page("redoc/", ""));
/// The Redoc page at `/redoc/`, whose relative URLs differ.
pub(super) static REDOC_SLASH: LazyLock<String> = LazyLock::new(|| REDOC.page("", "../"));

/// The differences between the two pages. File URLs carry versions, so that a cached file is never older
/// than the page.
struct Viewer {
    title: &'static str,
    style: &'static str,
    bundle: &'static str,
}

const SWAGGER_UI: Viewer = Viewer {
    title: "Monitor: try the API",
    style: r#"<link rel="stylesheet" href="{files}swagger-ui.css?v=5.35.0">"#,
    bundle: "swagger-ui-bundle.js?v=5.35.0",
};

const REDOC: Viewer = Viewer {
    title: "Monitor: API reference",
    style: "",
    bundle: "redoc.standalone.js?v=2.5.4",
};

impl Viewer {
    /// Renders the page. `files` and `root` are the relative URLs of its files and of the gateway's root.
    fn page(&self, files: &str, root: &str) -> String {
        include_str!("assets/page.html")
            .replace("{policy}", POLICY)
            .replace("{title}", self.title)
            .replace("{style}", self.style)
            .replace("{bundle}", self.bundle)
            .replace("{version}", GATEWAY_VERSION)
            .replace("{files}", files)
            .replace("{root}", root)
    }
}
