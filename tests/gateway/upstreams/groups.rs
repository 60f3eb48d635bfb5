//! Each group of model servers has standby servers, health, timeouts, certificates and reloads of its own.

use super::{chat, entry, named, stack, yaml};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use support::eventually;
use support::fault::refusing_address;
use support::line::order;
use support::request::{EMBEDDINGS, HELLO, HELLO_STREAM, MODELS, Request};
use support::stack::{Folder, Stack};
use support::tls::Identity;
use support::upstream::{DONE, SSE_HEAD, Upstream, delta, json, response};

/// The gauge of a server's health; None where it is not shown.
fn is_up(stack: &Stack, group: &str, address: SocketAddr) -> Option<bool> {
    let group = match group {
        "" => String::new(),
        group => format!("group=\"{group}\","),
    };
    let series = format!("monitor_upstream_up{{{group}upstream=\"{address}\"}} ");
    let text = stack.metrics();
    let value = text.lines().find_map(|line| line.strip_prefix(&series))?;
    Some(value == "1")
}

#[test]
fn standby_servers_stand_by_for_their_own_group() {
    let (rest, standby) = (Upstream::json(503, "rest"), named("standby"));
    let refusing = format!("http://{}", refusing_address());
    let health = "health: {interval: 1h, unhealthy_after: 100}";
    let with_standby = |calls: &str| format!("{calls}, standby: [\"{}\"], {health}", standby.url());
    let entries = [
        entry(
            "anthropic",
            &refusing,
            &with_standby("models: [\"claude-*\"]"),
        ),
        entry("vectors", &refusing, &with_standby("routes: [embeddings]")),
        entry("alone", &refusing, "models: [alone]"),
    ];
    let stack = stack(&rest, &entries).start();
    assert_eq!(stack.call(&chat(r#""claude-3""#)).text(), "standby");
    let embedding = Request::post(EMBEDDINGS, r#"{"model":"m","input":"hello"}"#);
    assert_eq!(stack.call(&embedding).text(), "standby");
    // No call moves to another group.
    assert_eq!(stack.call(&chat(r#""alone""#)).status(), 502);
    assert_eq!(stack.call(&chat(r#""m""#)).status(), 503);
    assert_eq!((rest.heads(), standby.heads()), (1, 2));
    for (labels, count) in [
        (r#"group="anthropic",reason="connect""#, 1.0),
        (r#"group="vectors",reason="connect""#, 1.0),
        (r#"reason="connect""#, 0.0),
    ] {
        let series = format!("monitor_upstream_failovers_total{{{labels}}}");
        assert!(stack.metrics().contains(&series), "{series}");
        assert_eq!(stack.metric(&series), count, "{series}");
    }
    let from = refusing.trim_start_matches("http://");
    let line =
        format!("upstream anthropic ({from}) failed a call (connect), failing over to anthropic (");
    stack
        .process
        .await_stderr("the log line", |text| text.contains(&line).then_some(()));
}

#[test]
fn what_agents_call_fails_over_within_its_group() {
    let (rest, openai, anthropic) = (named("rest"), named("openai"), named("anthropic"));
    let refusing = format!("http://{}", refusing_address());
    let group = |name: &str, calls: &str, standby: &Upstream| {
        let health = "health: {interval: 1h, unhealthy_after: 100}";
        let more = format!("{calls}, standby: [\"{}\"], {health}", standby.url());
        entry(name, &refusing, &more)
    };
    let entries = [
        group("claude", "models: [\"claude-*\"]", &anthropic),
        group("openai", "routes: [responses]", &openai),
        group("anthropic", "routes: [messages]", &anthropic),
    ];
    let stack = stack(&rest, &entries).start();
    let body = r#"{"model":"claude-3","input":"x","messages":[]}"#;
    for (method, path, server) in [
        ("POST", "/v1/messages", "anthropic"),
        ("POST", "/v1/messages/count_tokens", "anthropic"),
        ("POST", "/v1/messages/batches", "anthropic"),
        ("GET", "/v1/messages/batches/b_1", "anthropic"),
        ("POST", "/v1/responses/compact", "openai"),
        ("GET", "/v1/responses/resp_1", "openai"),
        ("POST", "/v1/responses/resp_1/cancel", "openai"),
    ] {
        let call = match method {
            "POST" => Request::post(path, body),
            method => Request::new(method, path),
        };
        assert_eq!(stack.call(&call).text(), server, "{method} {path}");
    }
    let other = Request::post("/v1/responses", r#"{"model":"m","input":"x"}"#);
    assert_eq!(stack.call(&other).text(), "openai");
    assert_eq!(rest.heads(), 0);
    for (group, count) in [("claude", 1.0), ("openai", 4.0), ("anthropic", 3.0)] {
        let labels = format!("group=\"{group}\",reason=\"connect\"");
        let series = format!("monitor_upstream_failovers_total{{{labels}}}");
        assert_eq!(stack.metric(&series), count, "{series}");
    }
}

#[test]
fn each_group_is_checked_at_its_own_interval_whatever_others_do() {
    let rest = named("rest");
    // Its checks are accepted and never answered.
    let silent = Upstream::scripted(|peer| {
        peer.read_head();
        peer.closed_within(Duration::from_secs(60));
    });
    let (out, standby) = (refusing_address(), named("standby"));
    let slow = "models: [slow], health: {path: /health, interval: 100ms, timeout: 1h}";
    let slow = format!("{slow}, standby: [\"{}\"]", standby.url());
    let quick = "models: [quick], health: {interval: 100ms, unhealthy_after: 1, healthy_after: 1}";
    let quick = format!("{quick}, standby: [\"{}\"]", standby.url());
    let entries = [
        entry("slow", &silent.url(), &slow),
        entry("quick", &format!("http://{out}"), &quick),
    ];
    let stack = stack(&rest, &entries).start();
    silent.await_heads(1);
    eventually("the server is out", || {
        (is_up(&stack, "quick", out) == Some(false)).then_some(())
    });
    stack.process.await_stderr("the log line", |text| {
        let line = format!("upstream quick ({out}) is unhealthy and taken out of use");
        text.contains(&line).then_some(())
    });
    // The same server is one of each group.
    assert_eq!(is_up(&stack, "quick", standby.address()), Some(true));
    assert_eq!(is_up(&stack, "slow", standby.address()), Some(true));
    assert_eq!(
        is_up(&stack, "", rest.address()),
        None,
        "an only server is not checked"
    );
    let status = stack.operations("/status").json();
    let shown = |index: usize| {
        let one = &status["upstreams"][index];
        (
            one["name"].as_str(),
            one["address"].as_str(),
            one["up"].as_bool(),
        )
    };
    let (rest, silent, standby) = (
        rest.address(),
        silent.address(),
        standby.address().to_string(),
    );
    assert_eq!(shown(0), (None, Some(rest.to_string().as_str()), None));
    assert_eq!(
        shown(1),
        (Some("slow"), Some(silent.to_string().as_str()), Some(true))
    );
    assert_eq!(shown(2), (Some("slow"), Some(standby.as_str()), Some(true)));
    assert_eq!(
        shown(3),
        (Some("quick"), Some(out.to_string().as_str()), Some(false))
    );
    assert_eq!(
        shown(4),
        (Some("quick"), Some(standby.as_str()), Some(true))
    );
    assert_eq!(stack.operations("/readyz").status(), 200);
    let listener = std::net::TcpListener::bind(out).unwrap();
    eventually("it is back", || {
        (is_up(&stack, "quick", out) == Some(true)).then_some(())
    });
    drop(listener);
}

#[test]
fn timeouts_are_those_of_the_group() {
    let rest = named("rest");
    let (mute, _held) = Upstream::fed();
    let (cut, feed) = Upstream::fed();
    let entries = [
        entry("mute", &mute.url(), "models: [mute], timeout: 300ms"),
        entry("cut", &cut.url(), "models: [cut], timeout: 300ms"),
    ];
    let stack = stack(&rest, &entries).start();
    let started = Instant::now();
    assert_eq!(stack.call(&chat(r#""mute""#)).status(), 502);
    let stream = HELLO_STREAM.replace("test-model", "cut");
    let mut conn = Request::chat(stream).send(stack.gateway_addr);
    feed.send(SSE_HEAD);
    assert_eq!(conn.final_head().status(), 200);
    let (body, _) = conn.rest();
    assert!(String::from_utf8_lossy(&body).contains("\"code\":504"));
    let took = started.elapsed();
    assert!(
        took < Duration::from_secs(60),
        "that of upstream is 120 s: {took:?}"
    );
}

#[test]
fn an_entry_has_certificates_of_its_own() {
    let (identity, folder) = (Identity::new(), Folder::new());
    let ca = folder.write("ca.pem", &identity.cert_pem);
    let secure = Upstream::over(
        "https",
        identity.wrap(),
        Box::new(|peer| {
            while peer.read_request().is_some() {
                peer.send(json(200, "secure"));
            }
        }),
    );
    let rest = named("rest");
    let trusted = format!(
        "models: [trusted], routes: [chat], ca: \"{}\"",
        ca.display()
    );
    let entries = [
        entry("trusted", &secure.url(), &trusted),
        entry("strange", &secure.url(), "models: [strange]"),
        entry(
            "vectors",
            &secure.url(),
            &format!("routes: [embeddings], ca: \"{}\"", ca.display()),
        ),
    ];
    let stack = stack(&rest, &entries).start();
    for _ in 0..2 {
        assert_eq!(stack.call(&chat(r#""trusted""#)).text(), "secure");
        assert_eq!(stack.call(&chat(r#""strange""#)).status(), 502);
        let embedding = Request::post(EMBEDDINGS, r#"{"model":"m","input":"hello"}"#);
        assert_eq!(stack.call(&embedding).text(), "secure");
        assert_eq!(stack.call(&Request::get(MODELS)).text(), "rest");
    }
}

#[test]
fn a_redirection_by_a_server_of_an_entry_is_502() {
    let (rest, away) = (named("rest"), named("away"));
    let to = format!("Location: {}/v1/chat/completions\r\n", away.url());
    let leading = Upstream::raw(response(307, &to, b""));
    let entries = [
        entry("leading", &leading.url(), "models: [m]"),
        entry("vectors", &leading.url(), "routes: [embeddings]"),
    ];
    let stack = stack(&rest, &entries).start();
    assert_eq!(stack.call(&chat(r#""m""#)).status(), 502);
    assert_eq!(stack.call(&Request::post(EMBEDDINGS, HELLO)).status(), 502);
    assert_eq!((rest.heads(), away.heads()), (0, 0));
}

#[test]
fn contract_35_a_reload_adds_changes_and_removes_groups_while_calls_run() {
    let (rest, standby) = (named("rest"), named("standby"));
    let (claude, feed) = Upstream::fed();
    let watched = format!("models: [\"claude-*\"], standby: [\"{}\"]", standby.url());
    let group = entry("anthropic", &claude.url(), &watched);
    let stack = stack(
        &rest,
        &["name: other, models: [o1], url: \"http://127.0.0.1:9\"".to_owned()],
    )
    .start();
    let reload = |entries: &[String]| {
        std::fs::write(stack.configuration(), yaml(&rest, entries)).unwrap();
        let out = order(&stack, "reload", "gateway");
        assert!(out.status.success(), "{out:?}");
    };
    assert_eq!(stack.call(&chat(r#""claude-3""#)).text(), "rest");
    // Added. Its call goes on when it is gone.
    reload(std::slice::from_ref(&group));
    let stream = HELLO_STREAM.replace("test-model", "claude-3");
    let mut conn = Request::chat(stream).send(stack.gateway_addr);
    feed.send(SSE_HEAD);
    assert_eq!(conn.final_head().status(), 200);
    assert_eq!(is_up(&stack, "anthropic", claude.address()), Some(true));
    // Changed.
    reload(&[entry("anthropic", &standby.url(), "models: [\"claude-*\"]")]);
    assert_eq!(stack.call(&chat(r#""claude-3""#)).text(), "standby");
    assert_eq!(is_up(&stack, "anthropic", claude.address()), None);
    // Removed.
    std::fs::write(
        stack.configuration(),
        format!("upstream: {{url: \"{}\"}}", rest.url()),
    )
    .unwrap();
    assert!(order(&stack, "reload", "gateway").status.success());
    assert_eq!(stack.call(&chat(r#""claude-3""#)).text(), "rest");
    assert!(!stack.metrics().contains("group="), "{}", stack.metrics());
    assert!(stack.operations("/status").json()["upstreams"].is_null());
    feed.chunk(delta(0, "x"));
    assert_eq!(conn.read_until(b"\n\n"), delta(0, "x").as_bytes());
    feed.chunk(DONE);
    feed.end();
    let (body, is_complete) = conn.rest();
    assert_eq!((body.as_slice(), is_complete), (DONE.as_bytes(), true));
    // A wrong one changes nothing.
    let twice = [
        entry("a", &standby.url(), "models: [m]"),
        entry("a", &standby.url(), "models: [n]"),
    ];
    std::fs::write(stack.configuration(), yaml(&rest, &twice)).unwrap();
    let out = order(&stack, "reload", "gateway");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(
        !out.status.success() && said.contains("is also the name of upstreams[0]"),
        "{said}"
    );
    assert_eq!(stack.call(&chat(r#""m""#)).text(), "rest");
}

#[test]
fn connections_to_a_server_that_a_reload_leaves_as_it_is_are_kept() {
    let (rest, claude) = (named("rest"), named("claude"));
    let group = entry("anthropic", &claude.url(), "models: [\"claude-*\"]");
    let stack = stack(&rest, std::slice::from_ref(&group)).start();
    assert_eq!(stack.call(&chat(r#""claude-3""#)).text(), "claude");
    let more = entry("more", &claude.url(), "models: [m]");
    std::fs::write(stack.configuration(), yaml(&rest, &[more, group])).unwrap();
    assert!(order(&stack, "reload", "gateway").status.success());
    assert_eq!(stack.call(&chat(r#""claude-3""#)).text(), "claude");
    assert_eq!(claude.connections(), 1);
    // Groups share none.
    assert_eq!(stack.call(&chat(r#""m""#)).text(), "claude");
    assert_eq!(claude.connections(), 2);
}

#[test]
fn keys_in_clear_text_to_another_machine_are_warned_about_with_the_name_of_the_entry() {
    let rest = named("rest");
    let entries = [
        entry("far", "http://model.example", "models: [far]"),
        entry("secure", "https://model.example", "models: [secure]"),
        entry("near", "http://127.0.0.1:9", "models: [near]"),
    ];
    let stack = stack(&rest, &entries).start();
    let line = "the url of far in upstreams is http and not on this machine: the clients' Authorization and x-api-key";
    assert_eq!(
        stack.stderr().matches(line).count(),
        1,
        "{}",
        stack.stderr()
    );
    let count = stack.metric("monitor_clear_text_secrets_total{target=\"upstream\"}");
    assert_eq!(count, 1.0);
}
