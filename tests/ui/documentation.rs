//! The documentation pages in a real browser (§1.8): what is asserted is the page after its scripts
//! ran.

use std::process::Command;
use support::stack::{Folder, Stack};
use support::upstream::Upstream;

/// The page's document after its scripts ran.
fn rendered(path: &str) -> String {
    let browser = support::tool("MONITOR_TEST_CHROMIUM");
    let upstream = Upstream::ok();
    let stack = Stack::before(&upstream);
    let profile = Folder::new();
    let output = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args([
            "--disable-dev-shm-usage",
            "--virtual-time-budget=10000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("http://{}{path}", stack.gateway_addr))
        .output()
        .unwrap();
    let page = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    upstream.assert_untouched();
    page
}

/// The page's visible text, roughly: without scripts, styles and tags.
fn text(page: &str) -> String {
    let hidden = regex::Regex::new(r"(?s)<script.*?</script>|<style.*?</style>|<[^>]*>").unwrap();
    let text = hidden.replace_all(page, "").replace('\u{200b}', "");
    text.replace("&ZeroWidthSpace;", "")
}

#[test]
#[ignore = "needs Chromium"]
fn the_docs_page_shows_every_operation() {
    let page = rendered("/docs");
    let text = text(&page);
    for path in ["/v1/chat/completions", "/v1/embeddings", "/v1/models"] {
        assert!(text.contains(path), "{path} is not shown by /docs:\n{text}");
    }
    assert!(
        page.contains("opblock"),
        "the operations are rendered, not only listed in a script"
    );
}

#[test]
#[ignore = "needs Chromium"]
fn the_redoc_page_shows_every_operation() {
    let page = rendered("/redoc");
    let text = text(&page);
    for path in ["/v1/chat/completions", "/v1/embeddings", "/v1/models"] {
        assert!(
            text.contains(path),
            "{path} is not shown by /redoc:\n{text}"
        );
    }
}
