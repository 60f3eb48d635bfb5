//! Who may call (CONTRACT 44): access keys and applications that nobody knows, at a process that has them
//! itself and at a gateway alone.

use serde_json::{Value, json};
use std::sync::Barrier;
use support::api::{new_key, post};
use support::backend::{Backend, Manner};
use support::request::{HELLO, Request};
use support::stack::{Folder, Stack};
use support::upstream::{ANSWER, Upstream};
use support::{KEY, assert_envelope, contains, eventually};

const SYNC: &str = "6f1c0000-0000-4000-8000-000000000001";
const NOBODYS: &str = "6f1c0000-0000-4000-8000-00000000ffff";
/// A word of the prompt, looked for on the disk.
const PROMPT: &str = "hello";

fn with_key(request: Request, key: &str) -> Request {
    request.without_key().header("X-Monitor-Api-Key", key)
}

fn invented(request: Request) -> Request {
    with_key(request, "mon_invented")
}

fn named(id: &str) -> Request {
    Request::chat(HELLO).header("X-Application-Id", id)
}

fn callers(stack: &Stack, outcome: &str) -> f64 {
    let series = format!(r#"monitor_unknown_callers_total{{outcome="{outcome}"}}"#);
    stack.metric(&series)
}

/// Whether any file below the folder contains the text.
fn is_kept(folder: &std::path::Path, text: &str) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        if path.is_dir() {
            return is_kept(&path, text);
        }
        let content = std::fs::read(&path).unwrap_or_default();
        contains(&content, text.as_bytes())
    })
}

/// A new access key of an application.
#[track_caller]
fn key_of(stack: &Stack, application: &str) -> String {
    let body = json!({"name": "bound", "scopes": ["ingest"], "application_id": application});
    new_key(stack, &body)
}

#[test]
fn contract_44_a_process_with_the_keys_refuses_an_unknown_one_on_every_route_and_keeps_nothing() {
    let (upstream, folder) = (Upstream::ok(), Folder::new());
    let stack = Stack::all().upstream(&upstream).folder(&folder).start();
    for request in Request::every_endpoint() {
        let answer = stack.call(&invented(request));
        assert_envelope(&answer.body, "invalid_request_error", 401);
    }
    upstream.assert_untouched();
    assert_eq!(callers(&stack, "key_refused"), 3.0);
    assert!(!is_kept(folder.path(), PROMPT));
    let refused = r#"monitor_telemetry_records_total{outcome="refused",stage="user_prompt"}"#;
    assert_eq!(stack.metric(refused), 0.0, "no record, so no dead letter");
    assert_eq!(stack.call(&Request::chat(HELLO)).text(), ANSWER);
    eventually("a known caller's prompt is in the spool", || {
        is_kept(folder.path(), PROMPT).then_some(())
    });
}

#[test]
fn contract_44_a_process_with_the_keys_forwards_an_unknown_one_when_told_to() {
    let upstream = Upstream::ok();
    let yaml = "monitor: {unknown_key: forward}";
    let stack = Stack::all().upstream(&upstream).yaml(yaml).start();
    let answer = stack.call(&invented(Request::chat(HELLO)));
    assert_eq!(answer.text(), ANSWER);
    assert_eq!(callers(&stack, "key_forwarded"), 1.0);
}

#[test]
fn contract_44_an_application_that_nobody_knows_escapes_no_check() {
    let applications =
        format!("applications:\n- {{id: {SYNC}, name: bot, app_mode: sync, phrase: no cards}}\n");
    let card = HELLO.replace("hello", "my card is 4111 1111 1111 1111");
    for (rule, status, outcome) in [
        ("", 403, "application_refused"),
        ("refuse", 403, "application_refused"),
        ("default", 200, "application_default"),
        ("async", 200, "application_forwarded"),
    ] {
        let mut yaml = applications.clone() + "monitor:\n  application_id: " + SYNC + "\n";
        if !rule.is_empty() {
            yaml += &format!("  unknown_application: {rule}\n");
        }
        let upstream = Upstream::ok();
        let stack = Stack::all().upstream(&upstream).yaml(&yaml).start();
        for id in [NOBODYS, "no-uuid"] {
            let request = Request::chat(&card).header("X-Application-Id", id);
            let answer = stack.call(&request);
            assert_eq!(answer.status(), status, "{rule} {id}: {}", answer.text());
            assert_eq!(answer.text().contains("no cards"), rule == "default");
        }
        assert_eq!(callers(&stack, outcome), 2.0, "{rule}");
        assert_eq!(upstream.heads() > 0, rule == "async");
        // The one that is known goes on being checked.
        assert!(
            stack
                .call(&Request::chat(&card))
                .text()
                .contains("no cards")
        );
    }
}

#[test]
fn contract_44_a_key_of_one_application_counts_for_no_other() {
    let upstream = Upstream::ok();
    let stack = Stack::all().upstream(&upstream).start();
    let made = post(&stack, "/applications", &json!({"name": "other"}));
    assert_eq!(made.status(), 201, "{}", made.text());
    let other = made.json()["id"].as_str().expect("an id").to_owned();
    let key = key_of(&stack, &other);
    let default = stack.application_id();
    let answer = stack.call(&with_key(named(&default), &key));
    assert_envelope(&answer.body, "invalid_request_error", 403);
    upstream.assert_untouched();
    // Without a name, the call is one of the key's own application.
    let answer = stack.call(&with_key(Request::chat(HELLO), &key));
    assert_eq!(answer.text(), ANSWER);
    let path = format!("/records?application_id={other}");
    eventually("both records are the application's", || {
        let list = stack.analysis(&path, KEY).json()["records"].clone();
        (list.as_array().map_or(0, Vec::len) == 2).then_some(())
    });
}

#[test]
fn contract_44_a_call_without_an_application_is_the_default_ones_or_that_of_its_key() {
    let yaml = format!(
        "applications:\n- {{id: {SYNC}, name: bot, app_mode: sync, phrase: no cards}}\n\
         monitor:\n  application_id: {SYNC}\n  unknown_application: default\n"
    );
    let upstream = Upstream::ok();
    let stack = Stack::all().upstream(&upstream).yaml(&yaml).start();
    let card = HELLO.replace("hello", "my card is 4111 1111 1111 1111");
    let blocked = |request: Request| stack.call(&request).text().contains("no cards");
    assert!(
        blocked(Request::chat(&card)),
        "of a key of all applications"
    );
    let own = key_of(&stack, SYNC);
    assert!(blocked(with_key(Request::chat(&card), &own)));
    assert_eq!(
        callers(&stack, "application_default"),
        0.0,
        "none is unknown"
    );
    // A key of another application escapes no check by naming none, or one that nobody knows.
    let made = post(&stack, "/applications", &json!({"name": "other"}));
    let other = made.json()["id"].as_str().expect("an id").to_owned();
    let key = key_of(&stack, &other);
    let answer = stack.call(&with_key(Request::chat(&card), &key));
    assert_eq!(answer.text(), ANSWER, "its own application is async");
    let before = upstream.heads();
    let answer = stack.call(&with_key(named(NOBODYS), &key));
    assert_ne!(
        answer.text(),
        ANSWER,
        "no check of the default application passed"
    );
    assert_eq!(upstream.heads(), before);
}

#[test]
fn contract_44_a_gateway_alone_forwards_what_it_cannot_know() {
    let (upstream, backend) = (Upstream::ok(), Backend::that(Manner::Refuses(401)));
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .start();
    assert_eq!(stack.call(&invented(named(NOBODYS))).text(), ANSWER);
    assert_eq!(callers(&stack, "key_refused"), 0.0);
}

#[test]
fn contract_44_a_gateway_alone_asks_the_backend_when_told_to() {
    let (upstream, folder) = (Upstream::ok(), Folder::new());
    let backend = Stack::analysis_server().start();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .env("MONITOR_URL", format!("http://{}", backend.analysis_addr))
        .yaml("monitor: {unknown_key: refuse, timeout: 5s}")
        .folder(&folder)
        .start();
    for _ in 0..3 {
        let answer = stack.call(&invented(Request::chat(HELLO)));
        assert_envelope(&answer.body, "invalid_request_error", 401);
    }
    upstream.assert_untouched();
    assert!(!is_kept(folder.path(), PROMPT));
    assert_eq!(callers(&stack, "key_refused"), 3.0);
    assert_eq!(stack.call(&Request::chat(HELLO)).text(), ANSWER);
    // While the backend is away, a key it has accepted passes, and no other one.
    drop(backend);
    assert_eq!(stack.call(&Request::chat(HELLO)).text(), ANSWER);
    let answer = stack.call(&with_key(Request::chat(HELLO), "mon_never_seen"));
    assert_envelope(&answer.body, "gateway_error", 502);
    assert_eq!(callers(&stack, "key_unchecked"), 1.0);
}

#[test]
fn contract_44_a_backend_that_cannot_be_asked_is_no_reason_to_stop() {
    let (upstream, backend) = (Upstream::ok(), Backend::that(Manner::Refuses(404)));
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .yaml("monitor: {unknown_key: refuse}")
        .start();
    assert_eq!(stack.call(&Request::chat(HELLO)).text(), ANSWER);
    assert_eq!(callers(&stack, "key_unsupported"), 1.0);
}

#[test]
fn contract_44_a_gateway_alone_knows_the_applications_that_have_a_policy() {
    let upstream = Upstream::ok();
    let backend = Backend::start();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .yaml(&format!(
            "applications:\n- {{id: {SYNC}, name: bot, app_mode: async}}\nmonitor: {{unknown_application: refuse}}"
        ))
        .start();
    assert_eq!(stack.call(&named(SYNC)).text(), ANSWER);
    assert_eq!(stack.call(&Request::chat(HELLO)).text(), ANSWER);
    let answer = stack.call(&named(NOBODYS));
    assert_envelope(&answer.body, "invalid_request_error", 403);
    assert_eq!(callers(&stack, "application_refused"), 1.0);
}

#[test]
fn contract_44_a_gateway_alone_takes_a_key_for_its_own_application_only() {
    let (upstream, folder) = (Upstream::ok(), Folder::new());
    let backend = Stack::analysis_server().start();
    let make = |name| {
        let made = post(&backend, "/applications", &json!({"name": name}));
        made.json()["id"].as_str().expect("an id").to_owned()
    };
    let (own, other) = (make("own"), make("other"));
    let key = key_of(&backend, &own);
    let stack = Stack::gateway()
        .upstream(&upstream)
        .env("MONITOR_URL", format!("http://{}", backend.analysis_addr))
        .yaml(&format!(
            "monitor: {{unknown_key: refuse, unknown_application: refuse, timeout: 5s}}\napplications:\n\
             - {{id: {own}, name: own, app_mode: sync, phrase: no cards, on_backend_failure: closed}}\n\
             - {{id: {other}, name: other, app_mode: async}}"
        ))
        .folder(&folder)
        .start();
    let card = HELLO.replace("hello", "my card is 4111 1111 1111 1111");
    let call = |id: Option<&str>| {
        let request = with_key(Request::chat(&card), &key);
        stack.call(&match id {
            Some(id) => request.header("X-Application-Id", id),
            None => request,
        })
    };
    // CONTRACT 7: a call that names no application is one of its key's.
    for named in [Some(&*own), None, Some("")] {
        assert!(call(named).text().contains("no cards"), "{named:?}");
    }
    assert_envelope(&call(Some(&other)).body, "invalid_request_error", 403);
    assert_eq!(callers(&stack, "application_refused"), 1.0);
    // A key of all applications may name either.
    assert_eq!(stack.call(&named(&other)).text(), ANSWER);
    let before = upstream.heads();
    let path = format!("/records?application_id={own}");
    eventually("the checked calls are recorded", || {
        let list = backend.analysis(&path, KEY).json()["records"].clone();
        (list.as_array().map_or(0, Vec::len) == 3).then_some(())
    });
    // While the backend is away, the gateway remembers whose the key is.
    drop(backend);
    assert_envelope(&call(Some(&other)).body, "invalid_request_error", 403);
    assert_envelope(&call(None).body, "gateway_error", 502);
    assert_eq!(upstream.heads(), before);
}

#[test]
fn contract_44_a_backend_that_does_not_say_whose_a_key_is_is_believed_as_before() {
    let (upstream, backend) = (Upstream::ok(), Backend::start());
    let stack = Stack::gateway()
        .upstream(&upstream)
        .monitor(&backend)
        .yaml(&format!(
            "monitor: {{unknown_key: refuse, unknown_application: refuse}}\napplications:\n\
             - {{id: {SYNC}, name: bot, app_mode: async}}"
        ))
        .start();
    assert_eq!(stack.call(&named(SYNC)).text(), ANSWER);
    assert_eq!(stack.call(&Request::chat(HELLO)).text(), ANSWER);
}

#[test]
fn contract_44_settings_that_would_do_nothing_do_not_start() {
    let upstream = Upstream::ok();
    for (yaml, key) in [
        ("monitor: {unknown_key: refuse}", "monitor.unknown_key"),
        (
            "monitor: {unknown_application: refuse}",
            "monitor.unknown_application",
        ),
        (
            "applications:\n- {id: 6f1c0000-0000-4000-8000-000000000001, name: bot, app_mode: async}\nmonitor: {unknown_application: default}",
            "monitor.unknown_application",
        ),
    ] {
        let (status, stderr) = Stack::gateway().upstream(&upstream).yaml(yaml).refused();
        assert!(!status.success());
        assert!(stderr.contains(key), "{stderr}");
    }
}

#[test]
fn contract_44_status_of_callers_that_were_never_unknown_is_zero() {
    let stack = Stack::all().start();
    assert_eq!(stack.call(&Request::chat(HELLO)).status(), 200);
    for outcome in [
        "key_refused",
        "key_forwarded",
        "key_unchecked",
        "key_unsupported",
        "application_refused",
        "application_default",
        "application_forwarded",
    ] {
        assert_eq!(callers(&stack, outcome), 0.0, "{outcome}");
    }
    let page: Value = stack.operations("/status").json();
    assert_eq!(page["analysis"]["waiting"], 0, "{page}");
}

#[test]
fn a_gateway_is_not_held_to_the_connections_of_one_address() {
    // limits.client_connections of the analysis server; each call of the gateway brings an access token.
    const CALLS: usize = 12;
    let limits = "limits: {client_connections: 6}";
    let backend = Stack::analysis_server().yaml(limits).start();
    let id = backend.application_id();
    let applications =
        format!("applications:\n- {{id: {id}, name: bot, app_mode: sync, phrase: no cards}}\n");
    let upstream = Upstream::ok();
    let stack = Stack::gateway()
        .upstream(&upstream)
        .env("MONITOR_URL", format!("http://{}", backend.analysis_addr))
        .yaml(&applications)
        .start();
    let card = HELLO.replace("hello", "my card is 4111 1111 1111 1111");
    let request = Request::chat(&card).header("X-Application-Id", &id);
    let together = Barrier::new(CALLS);
    std::thread::scope(|scope| {
        for _ in 0..CALLS {
            scope.spawn(|| {
                together.wait();
                for _ in 0..2 {
                    let answer = stack.call(&request);
                    assert!(answer.text().contains("no cards"), "{}", answer.text());
                }
            });
        }
    });
    let ended = r#"monitor_connections_ended_total{reason="client_connections"}"#;
    assert_eq!(backend.metric(ended), 0.0);
    upstream.assert_untouched();
}
