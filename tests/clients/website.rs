//! A page of another website in a real browser, which calls a gateway with `fetch`: what CORS is for.

use serde_json::Value;
use support::browser::Browser;
use support::upstream::{Upstream, response};

pub(crate) struct Website {
    server: Upstream,
    browser: Browser,
}

impl Website {
    /// Serves its page and opens it.
    pub(crate) fn open() -> Self {
        let script = std::fs::read_to_string(crate::script("website.js")).unwrap();
        let page = format!("<!doctype html><title>A website</title><script>{script}</script>");
        let server = Upstream::raw(response(
            200,
            "Content-Type: text/html\r\n",
            page.as_bytes(),
        ));
        let mut browser = Browser::start(server.address());
        browser.open("/");
        Self { server, browser }
    }

    /// The setting of a gateway that this website may call.
    pub(crate) fn may_call(&self) -> String {
        format!("cors: {{origins: [{:?}]}}\n", self.server.url())
    }

    /// The value of an expression of the page.
    #[track_caller]
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        self.browser.value(expression)
    }
}
