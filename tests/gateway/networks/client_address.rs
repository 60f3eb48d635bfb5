//! Proxies that name the client in a header: believed in trusted networks only, from the right, for limits and logs,
//! and for nothing else.

use super::clients;
use crate::attachments::{await_outcome, call_with};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use support::assert_envelope;
use support::backend::Backend;
use support::http::Conn;
use support::request::{HELLO, MODELS, Request};
use support::stack::{Builder, Folder, Stack};
use support::upstream::{ANSWER, Upstream};

const TRUSTED: &str = "127.0.0.0/8, 10.0.0.0/8";
const ELSEWHERE: &str = "10.0.0.0/8";

fn logging(networks: &str, header: &str) -> (Builder, PathBuf, Arc<Folder>) {
    let folder = Folder::new();
    let log = folder.path().join("access.log");
    let builder = Stack::gateway()
        .yaml(&format!(
            "trusted_proxies: {{networks: [{networks}], header: {header}}}"
        ))
        .yaml(&format!(
            "log: {{access: {{to: file, file: \"{}\"}}}}",
            log.display()
        ));
    (builder, log, folder)
}

#[test]
fn the_access_log_has_the_client_that_a_trusted_proxy_names() {
    let upstream = Upstream::ok();
    let (builder, log, _folder) = logging(TRUSTED, "x-forwarded-for");
    let stack = builder.upstream(&upstream).start();
    let named = [
        ("203.0.113.5", "203.0.113.5"),
        ("192.0.2.66, 203.0.113.5", "203.0.113.5"),
        ("192.0.2.66, 203.0.113.5, 10.1.2.3", "203.0.113.5"),
        ("2001:db8::5", "2001:db8::5"),
        ("unknown", "127.0.0.1"),
    ];
    for (number, (value, client)) in named.iter().enumerate() {
        let call = Request::get(MODELS).header("X-Forwarded-For", value);
        assert_eq!(stack.call(&call).status(), 200);
        assert_eq!(clients(&log, number + 1)[number], *client, "{value}");
    }
    // The other header counts for nothing, and both reach the model server as they came.
    let call = Request::chat(HELLO)
        .header("X-Forwarded-For", "192.0.2.1")
        .header("X-Forwarded-For", "203.0.113.9")
        .header("Forwarded", "for=192.0.2.7");
    assert_eq!(stack.call(&call).text(), ANSWER);
    assert_eq!(clients(&log, 6)[5], "203.0.113.9");
    let seen = upstream.last().head;
    assert_eq!(seen.values("x-forwarded-for"), ["192.0.2.1", "203.0.113.9"]);
    // Requests of one connection may be of several clients.
    let mut conn = Conn::open(stack.gateway_addr);
    for client in ["203.0.113.1", "203.0.113.2"] {
        conn.send(
            &Request::get(MODELS)
                .header("X-Forwarded-For", client)
                .bytes(),
        );
        assert_eq!(conn.response().status(), 200);
    }
    assert_eq!(clients(&log, 8)[6..], ["203.0.113.1", "203.0.113.2"]);
}

#[test]
fn the_standard_header_is_read_where_it_is_set() {
    let upstream = Upstream::ok();
    let (builder, log, _folder) = logging(TRUSTED, "forwarded");
    let stack = builder.upstream(&upstream).start();
    let call = Request::get(MODELS)
        .header("X-Forwarded-For", "192.0.2.66")
        .header(
            "Forwarded",
            "for=192.0.2.66, for=\"[2001:db8::5]:4711\";proto=https",
        );
    assert_eq!(stack.call(&call).status(), 200);
    assert_eq!(clients(&log, 1)[0], "2001:db8::5");
}

#[test]
fn a_header_of_anybody_else_is_ignored() {
    let upstream = Upstream::ok();
    let (builder, log, _folder) = logging(ELSEWHERE, "x-forwarded-for");
    let stack = builder.upstream(&upstream).start();
    let call = Request::chat(HELLO)
        .header("X-Forwarded-For", "203.0.113.5")
        .header("Forwarded", "for=203.0.113.5")
        .header("X-Real-IP", "203.0.113.5");
    assert_eq!(stack.call(&call).text(), ANSWER);
    assert_eq!(clients(&log, 1)[0], "127.0.0.1");
}

/// A call with a head of so many bytes, as this client's proxy forwards it.
fn long(client: &str) -> Request {
    Request::chat(HELLO)
        .header("X-Forwarded-For", client)
        .header("X-Long", &"h".repeat(600_000))
}

#[test]
fn the_memory_of_heads_is_shared_by_the_clients_and_not_by_the_proxy() {
    let (upstream, feed) = Upstream::fed();
    let yaml = "limits: {client_bytes: 2MiB, header_timeout: 60s}";
    let (builder, _log, _folder) = logging(TRUSTED, "x-forwarded-for");
    let stack = builder.upstream(&upstream).yaml(yaml).start();
    // Each head counts twice, until its call has ended.
    let first = long("203.0.113.1").send(stack.gateway_addr);
    upstream.await_heads(1);
    let refused = stack.call(&long("203.0.113.1"));
    assert_envelope(&refused.body, "gateway_error", 503);
    assert!(refused.text().contains("limits.client_bytes"));
    let others: Vec<Conn> = (2..5)
        .map(|number| {
            let held = long(&format!("203.0.113.{number}")).send(stack.gateway_addr);
            upstream.await_heads(number);
            held
        })
        .collect();
    drop((first, others, feed));
}

#[test]
fn without_trust_all_clients_of_a_proxy_share_its_memory() {
    let (upstream, feed) = Upstream::fed();
    let yaml = "limits: {client_bytes: 2MiB, header_timeout: 60s}";
    let (builder, _log, _folder) = logging(ELSEWHERE, "x-forwarded-for");
    let stack = builder.upstream(&upstream).yaml(yaml).start();
    let first = long("203.0.113.1").send(stack.gateway_addr);
    upstream.await_heads(1);
    assert_eq!(stack.call(&long("203.0.113.2")).status(), 503);
    drop((first, feed));
}

#[test]
fn trusted_proxies_open_nothing_for_downloads() {
    let (upstream, backend, canary) = (Upstream::ok(), Backend::start(), Upstream::ok());
    let (builder, _log, _folder) = logging(TRUSTED, "x-forwarded-for");
    let stack = builder.upstream(&upstream).monitor(&backend).start();
    call_with(&stack, &json!([{"url": canary.url()}]));
    await_outcome(&stack, "forbidden", 1.0);
    canary.assert_untouched();
}
