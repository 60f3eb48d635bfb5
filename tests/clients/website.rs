//! A page of another website in a real browser, which calls a gateway with `fetch`: what CORS is for.

use serde_json::{Value, json};
use support::KEY;
use support::backend::Backend;
use support::browser::Browser;
use support::stack::Stack;
use support::upstream::{DONE, SSE_HEAD, Upstream, delta, response};

const PASSING: &str = "6f1c0000-0000-4000-8000-000000000001";
const BLOCKING: &str = "6f1c0000-0000-4000-8000-000000000002";
const APPLICATIONS: &str = "applications:
- {id: 6f1c0000-0000-4000-8000-000000000001, app_mode: async}
- {id: 6f1c0000-0000-4000-8000-000000000002, app_mode: sync, phrase: No., block_details: header}
";

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

/// What a page writes before the rest of a call's arguments.
fn asked(stack: &Stack, application: &str, text: &str) -> String {
    let base = format!("http://{}/v1", stack.gateway_addr);
    let [base, key, application, text] = [&base, KEY, application, text].map(|part| json!(part));
    format!("{base}, {key}, {application}, {text}")
}

#[test]
#[ignore = "needs Chromium"]
fn a_page_of_a_listed_website_reads_streams_as_they_come_blocks_and_errors() {
    let mut website = Website::open();
    let (upstream, feed) = Upstream::fed();
    let backend = Backend::flagging("forbidden");
    let stack = Stack::gateway().upstream(&upstream).monitor(&backend);
    let yaml = website.may_call() + APPLICATIONS;
    let stack = stack.yaml(&yaml).start();

    let call = asked(&stack, PASSING, "hello");
    website.value(&format!(
        "window.said = ''; (async () => {{ for await (const event of events(await ask({call}, {{stream: true}}))) \
         said += event.choices[0].delta.content; said += '.'; }})(); 0"
    ));
    feed.send(SSE_HEAD);
    feed.chunk(delta(0, "one"));
    website.browser.wait_for("said === 'one'");
    feed.chunk(delta(0, " two"));
    feed.chunk(DONE);
    feed.end();
    website.browser.wait_for("said === 'one two.'");

    let call = asked(&stack, BLOCKING, "forbidden");
    let replaced = format!("ask({call}).then(answer => answer.headers.get('X-Monitor-Replaced'))");
    let replaced = website.value(&replaced);
    assert!(replaced.as_str().unwrap().starts_with("stage=pre_call"));

    let models = format!("fetch('http://{}/v1/models')", stack.gateway_addr);
    let refused = website.value(&format!("{models}.then(answer => answer.json())"));
    assert_eq!(refused["error"]["code"], 401, "{refused}");
}

#[test]
#[ignore = "needs Chromium"]
fn a_page_of_another_website_reads_nothing_and_its_calls_reach_no_model() {
    let mut website = Website::open();
    let upstream = Upstream::ok();
    for cors in ["", "cors: {origins: [\"https://app.example\"]}\n"] {
        let stack = Stack::gateway().upstream(&upstream);
        let yaml = cors.to_owned() + APPLICATIONS;
        let stack = stack.yaml(&yaml).start();
        let call = format!("ask({})", asked(&stack, PASSING, "hello"));
        // With headers of its own it is preceded by a question, without any it is sent at once.
        let plain = format!("fetch('http://{}/v1/models')", stack.gateway_addr);
        for call in [call, plain] {
            let error = website.value(&format!("{call}.then(() => 'read', error => error.name)"));
            assert_eq!(error, "TypeError", "{call}");
        }
    }
    upstream.assert_untouched();
}
