//! CONTRACT 31: a client's URL reaches public addresses only, whatever it looks like, and no further
//! than an operator has opened. A canary on loopback counts connections.

use crate::attachments::{await_outcome, call_with, local};
use serde_json::{Value, json};
use support::backend::Backend;
use support::server::Peer;
use support::stack::{Folder, Stack};
use support::tls::Identity;
use support::upstream::{Upstream, response};

fn public_only(upstream: &Upstream, backend: &Backend) -> Stack {
    Stack::gateway().upstream(upstream).monitor(backend).start()
}

fn redirecting(to: String) -> Upstream {
    Upstream::raw(response(302, &format!("Location: {to}\r\n"), b""))
}

#[test]
fn contract_31_no_spelling_of_an_inner_address_is_connected_to() {
    let (upstream, backend, canary) = (Upstream::ok(), Backend::start(), Upstream::ok());
    let stack = public_only(&upstream, &backend);
    let port = canary.address().port();
    let hosts = [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "017700000001",
        "0",
        "0.0.0.0",
        "localhost",
        "LOCALHOST",
        "localhost.",
        "%31%32%37.0.0.1",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::]",
        "[2001:0:7f00:1::]",
        "user@127.0.0.1",
        "user:secret@127.0.0.1",
        "8.8.8.8@127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "100.64.0.1",
        "169.254.169.254",
        "[fe80::1]",
        "[fd00:ec2::254]",
        "224.0.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "203.0.113.1",
        "255.255.255.255",
        "[2001:db8::1]",
        "[ff02::1]",
        "metadata.google.internal",
        "Metadata.Google.Internal.",
    ];
    let list: Vec<Value> = hosts
        .iter()
        .map(|host| json!({"url": format!("http://{host}:{port}/a")}))
        .collect();
    call_with(&stack, &json!(list));
    await_outcome(&stack, "forbidden", hosts.len() as f64);
    canary.assert_untouched();
    assert_eq!(backend.files(), []);
}

#[test]
fn contract_31_every_redirect_is_judged() {
    let (upstream, backend, canary) = (Upstream::ok(), Backend::start(), Upstream::ok());
    let port = canary.address().port();
    let to = [
        format!("http://127.0.0.2:{port}/"),
        format!("//127.0.0.2:{port}/"),
        format!("http://[::ffff:127.0.0.2]:{port}/"),
        format!("http://2130706434:{port}/"),
        format!("http://u:p@127.0.0.1:{port}/"),
        "http://169.254.169.254/".to_owned(),
    ];
    let doors: Vec<Upstream> = to.iter().cloned().map(redirecting).collect();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .yaml("files: {allow_networks: [127.0.0.1]}")
        .start();
    let list: Vec<Value> = doors
        .iter()
        .map(|door| json!({"url": door.url()}))
        .collect();
    call_with(&stack, &json!(list));
    await_outcome(&stack, "forbidden", to.len() as f64);
    canary.assert_untouched();
    let other = redirecting("file:///etc/passwd".into());
    call_with(&stack, &json!([{"url": other.url()}]));
    await_outcome(&stack, "malformed", 1.0);
    assert_eq!(backend.files(), []);
}

#[test]
fn contract_31_at_most_five_redirects_are_followed() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let store = Upstream::answering(|request| {
        let left: u32 = request
            .head
            .target()
            .rsplit('/')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        match left {
            0 => response(200, "", b"there"),
            left => response(302, &format!("Location: /{}\r\n", left - 1), b""),
        }
    });
    let stack = local(&upstream, &backend, "").start();
    call_with(
        &stack,
        &json!([{"url": format!("{}/5", store.url())}, {"url": format!("{}/6", store.url())}]),
    );
    await_outcome(&stack, "attached", 1.0);
    await_outcome(&stack, "unreachable", 1.0);
    assert_eq!(backend.files().len(), 1);
}

#[test]
fn contract_31_a_host_that_is_opened_is_reached_and_no_other() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let store = Upstream::raw(response(200, "", b"x"));
    let port = store.address().port();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .yaml("files: {allow_hosts: [LocalHost]}")
        .start();
    call_with(
        &stack,
        &json!([
            {"url": format!("http://localhost:{port}/a")},
            {"url": format!("http://127.0.0.1:{port}/b")},
        ]),
    );
    await_outcome(&stack, "attached", 1.0);
    await_outcome(&stack, "forbidden", 1.0);
    assert_eq!(backend.files()[0].name, "a");
}

#[test]
fn contract_31_no_proxy_of_the_environment_is_asked() {
    let (upstream, backend, proxy) = (Upstream::ok(), Backend::start(), Upstream::ok());
    let store = Upstream::raw(response(200, "", b"x"));
    let stack = local(&upstream, &backend, "")
        .env("http_proxy", proxy.url())
        .env("HTTP_PROXY", proxy.url())
        .env("ALL_PROXY", proxy.url())
        .start();
    call_with(&stack, &json!([{"url": store.url()}]));
    await_outcome(&stack, "attached", 1.0);
    proxy.assert_untouched();
}

#[test]
fn contract_31_a_certificate_is_checked_against_the_name_that_was_asked_for() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let (identity, folder) = (Identity::new(), Folder::new());
    let authority = folder.write("ca.pem", &identity.cert_pem);
    let answer = |peer: &mut Peer| {
        while peer.read_request().is_some() {
            peer.send(response(200, "", b"x"));
        }
    };
    let store = Upstream::over("https", identity.wrap(), Box::new(answer));
    let port = store.address().port();
    let named = json!([{"url": format!("https://localhost:{port}/a")}]);
    let trusting = local(&upstream, &backend, "")
        .env("SSL_CERT_FILE", authority.display().to_string())
        .start();
    call_with(&trusting, &named);
    await_outcome(&trusting, "attached", 1.0);
    call_with(
        &trusting,
        &json!([{"url": format!("https://127.0.0.2:{port}/b")}]),
    );
    await_outcome(&trusting, "unreachable", 1.0);
    let stack = local(&upstream, &backend, "").start();
    call_with(&stack, &named);
    await_outcome(&stack, "unreachable", 1.0);
    assert_eq!(backend.files().len(), 1);
}
