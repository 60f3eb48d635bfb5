//! Events for other systems on the status page: how far a destination is behind, and why, without its address and
//! token.

use crate::world::administrator;
use support::eventually;
use support::stack::Stack;
use support::upstream::Upstream;

const TOKEN: &str = "0f0e-hec-token";

#[test]
fn a_destination_that_refuses_events_is_shown_with_the_reason_and_no_secret() {
    let collector = Upstream::json(403, r#"{"text":"Invalid token","code":4}"#);
    let url = collector.url();
    let destination = format!("{{name: splunk, kind: splunk_hec, url: \"{url}\", token: {TOKEN}}}");
    let stack = Stack::all()
        .yaml(&format!("  siem: {{destinations: [{destination}]}}\n"))
        .start();
    // Its sign-in is an entry of the audit log, and so an event.
    let mut admin = administrator(&stack);
    let page = eventually("it is shown", || {
        let page = admin.get("/ui/status").text();
        page.contains("it answers with status 403").then_some(page)
    });
    assert!(page.contains("<dt>splunk</dt>"), "{page}");
    assert!(!page.contains(TOKEN) && !page.contains(&url), "{page}");
    let without = Stack::all().start();
    let page = administrator(&without).get("/ui/status").text();
    assert!(!page.contains("SIEM"), "{page}");
}
