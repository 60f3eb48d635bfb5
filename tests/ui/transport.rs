//! What pages owe to the connections they come over: cookies over TLS, and a live tail that is open
//! when its process stops.

use crate::accounts::colleague;
use crate::world::{ADMIN, PASSWORD, administrator, console_link};
use std::net::SocketAddr;
use support::fault::free_port;
use support::http::Conn;
use support::line::{Line, await_end};
use support::request::Request;
use support::stack::{Folder, Stack};
use support::tls::Identity;
use support::visitor::Visitor;

/// An analysis server with a listener over TLS, a clear one beside it, and the first one's address.
fn secure(identity: &Identity) -> (Stack, SocketAddr) {
    let folder = Folder::new();
    let cert = folder.write("cert.pem", &identity.cert_pem);
    let key = folder.write("key.pem", &identity.key_pem);
    let start = |_| {
        let (clear, secure) = (free_port(), free_port());
        let yaml = format!(
            "listen:\n  - {{address: 127.0.0.1:{secure}, tls: {{cert: \"{}\", key: \"{}\"}}}}\n  - 127.0.0.1:{clear}",
            cert.display(),
            key.display()
        );
        let builder = Stack::analysis_server().yaml(&yaml);
        let stack = builder
            .folder(&folder)
            .listening_by_yaml(clear)
            .try_start()?;
        Some((stack, SocketAddr::from(([127, 0, 0, 1], secure))))
    };
    (0..5).find_map(start).expect("free ports")
}

#[test]
fn ui_g9_over_tls_and_there_alone_browsers_are_told_to_stay_with_tls() {
    const STRICT: &str = "strict-transport-security";
    let identity = Identity::new();
    let (stack, address) = secure(&identity);
    let page = Visitor::over_tls(address, identity).get("/ui/sign-in");
    assert_eq!(page.head.header(STRICT), Some("max-age=31536000"));
    let clear = Visitor::new(stack.analysis_addr).get("/ui/sign-in");
    assert_eq!(clear.head.header(STRICT), None);
    let public = "public_url: \"https://monitor.example\"";
    for (yaml, expected) in [
        (format!("  ui: {{{public}}}"), Some("max-age=31536000")),
        (format!("  ui: {{{public}, hsts: false}}"), None),
    ] {
        let stack = Stack::all().yaml(&yaml).start();
        let mut visitor = Visitor::new(stack.analysis_addr);
        for path in ["/ui/sign-in", "/ui/records", "/ui/none"] {
            let page = visitor.get(path);
            assert_eq!(page.head.header(STRICT), expected, "{yaml} {path}");
        }
    }
}

#[test]
fn over_tls_the_cookie_is_bound_to_the_host() {
    let identity = Identity::new();
    let (stack, address) = secure(&identity);
    let link = console_link(&stack);
    assert!(
        stack
            .process
            .stdout()
            .contains(&format!("https://{address}{link}"))
    );
    let mut visitor = Visitor::over_tls(address, identity);
    visitor.get(&link);
    let entered = visitor.post(&link, &[("password", PASSWORD), ("again", PASSWORD)]);
    assert_eq!(entered.status(), 303, "{}", entered.text());
    let cookie = entered.head.header("set-cookie").unwrap();
    let (value, attributes) = cookie.split_once("; ").unwrap();
    assert!(value.starts_with("__Host-monitor=mon_"), "{cookie}");
    for attribute in ["Path=/", "HttpOnly", "SameSite=Strict", "Secure"] {
        assert!(
            attributes.split("; ").any(|one| one == attribute),
            "{attribute}: {cookie}"
        );
    }
    assert!(!attributes.contains("Domain"), "{cookie}");
    assert_eq!(visitor.get("/ui/users").status(), 200);
    let value = visitor.cookies["__Host-monitor"].clone();
    let mut plain = Visitor::new(stack.analysis_addr);
    plain.cookies.insert("__Host-monitor".to_owned(), value);
    assert_eq!(
        plain.get("/ui/users").status(),
        303,
        "a cookie of TLS counts over TLS alone"
    );
}

#[test]
fn in_clear_text_a_cookie_has_neither_the_prefix_nor_secure() {
    let stack = Stack::analysis_server().start();
    let mut visitor = Visitor::new(stack.analysis_addr);
    visitor.get("/ui/sign-in");
    let page = visitor.post("/ui/sign-in", &[("name", ADMIN), ("password", PASSWORD)]);
    assert!(!page.text().contains(PASSWORD));
    let cookie = Visitor::new(stack.analysis_addr).get("/ui/sign-in");
    let cookie = cookie.head.header("set-cookie").unwrap();
    assert!(
        cookie.starts_with("monitor_visitor=mon_") && !cookie.contains("Secure"),
        "{cookie}"
    );
    let admin = administrator(&stack);
    assert!(admin.cookies["monitor"].starts_with("mon_"));
    let cookies = Visitor::new(stack.analysis_addr).get("/ui/sign-in");
    let cookies = cookies.head.values("set-cookie");
    assert!(
        !cookies.iter().any(|cookie| cookie.starts_with("monitor=")),
        "whoever comes without cookies is given none in a sign-in's place: {cookies:?}"
    );
}

/// An open live tail.
fn tail(stack: &Stack, visitor: &Visitor) -> Conn {
    let request = Request::get("/ui/records/live").without_key();
    let request = request.header("Cookie", &visitor.cookie());
    let mut tail = request.send(stack.analysis_addr);
    let head = tail.head();
    assert_eq!(head.header("content-type"), Some("text/event-stream"));
    tail
}

#[test]
fn one_person_leaves_room_for_the_live_tails_of_others() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let ann = colleague(&stack, &mut admin, ("ann", "analyst"), "");
    let mut open: Vec<_> = (0..8).map(|_| tail(&stack, &ann)).collect();
    let ninth = |visitor: &Visitor| {
        let request = Request::get("/ui/records/live").without_key();
        let request = request.header("Cookie", &visitor.cookie());
        let mut connection = request.send(stack.analysis_addr);
        connection.head().status()
    };
    assert_eq!(ninth(&ann), 503);
    open.push(tail(&stack, &admin));
}

#[test]
fn contract_35_an_open_live_tail_does_not_hold_a_stop() {
    let mut stack = Stack::all().start();
    let admin = administrator(&stack);
    let mut tail = tail(&stack, &admin);
    stack.process.signal("TERM");
    let (_, is_whole) = tail.rest();
    assert!(is_whole, "the stream ends as streams end");
    let (status, _) = stack.process.await_exit();
    assert!(
        status.success(),
        "{status}, long before the 300 seconds of shutdown.grace"
    );
}

#[test]
fn contract_35_an_open_live_tail_does_not_hold_an_upgrade_and_goes_on_at_the_next_process() {
    let stack = Stack::all().start();
    let mut admin = administrator(&stack);
    let mut open = tail(&stack, &admin);
    let (mut line, first) = (Line::default(), stack.process.id() as i32);
    line.upgrade(&stack, "all");
    let (_, is_whole) = open.rest();
    assert!(is_whole);
    await_end(first);
    assert_eq!(
        admin.get("/ui/records").status(),
        200,
        "the sign-in goes on"
    );
    tail(&stack, &admin);
}
