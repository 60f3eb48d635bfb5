//! The official packages of the Responses and the Messages API, old and new: each does everything twice, at a model
//! server and through a gateway before one, and must get the same objects, events and exceptions. `cells.py` and
//! `cells.mjs` drive the packages; what the gateway answers itself stands in a table in docs/clients.md, which
//! `UPDATE_DOCS=1` writes.

mod model;
mod package;

use model::model;
use package::{Api, NODE, PYTHON, Package};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use support::markdown::generated;
use support::server::Received;
use support::stack::Stack;
use support::upstream::Upstream;

const PHRASE: &str = "This is not allowed here.";
/// Longer than the time after which the gateway shows life.
const PAUSE: Duration = Duration::from_millis(500);

/// Applications by the fields of their policies.
const POLICIES: [(&str, &str); 4] = [
    ("async", "app_mode: async"),
    ("sync", "app_mode: sync"),
    // The prompt passes there, since only answers are looked at.
    (
        "held",
        "app_mode: sync, scan_roles: [system], stream_in_sync: hold_back",
    ),
    (
        "limited",
        "app_mode: async, limits: {requests_per_minute: 1, burst: 1}",
    ),
];

/// What the model server says, and what of it shows that a cell is not empty.
const ASKED: [(&str, &[&str]); 14] = [
    ("tool", &["call_1", "Paris", "It is sunny."]),
    ("parallel", &["call_1", "call_2", "Rome", "It is sunny."]),
    ("image", &["It is sunny."]),
    ("thinking", &["First, the weather.", "It is sunny."]),
    ("refusal", &["I cannot help with that."]),
    ("status-400", &["BadRequestError", "says 400"]),
    ("status-401", &["AuthenticationError", "says 401"]),
    ("status-403", &["PermissionDeniedError", "says 403"]),
    ("status-404", &["NotFoundError", "says 404"]),
    ("status-429", &["RateLimitError", "says 429", "\"7\""]),
    ("status-500", &["InternalServerError", "says 500"]),
    ("status-529", &["529", "says 529"]),
    ("slow", &["It is sunny."]),
    ("failing", &["Error", "The model is overloaded."]),
];

/// What the gateway says itself, by the application that it says it to. The model server is asked for these last, so that
/// the requests before them are the same.
const OWN: [(&str, &str); 5] = [
    ("broken", "async"),
    ("gone", "async"),
    ("no key", "async"),
    ("limited", "limited"),
    ("blocked", "sync"),
];

/// Headers of the packages that reach the model server unchanged.
const HEADERS: [&str; 9] = [
    "accept",
    "anthropic-version",
    "authorization",
    "content-type",
    "user-agent",
    "x-api-key",
    "x-stainless-lang",
    "x-stainless-package-version",
    "x-stainless-retry-count",
];

fn application(policy: &str) -> String {
    let place = POLICIES.iter().position(|(name, _)| *name == policy);
    format!("6f1c0000-0000-4000-8000-00000000000{}", place.unwrap())
}

/// What a package is to do, as the scripts take it.
fn cells() -> Value {
    let asked = ASKED.iter().map(|(name, _)| (*name, "async", true));
    let own = OWN.iter().map(|(name, policy)| (*name, *policy, false));
    let all = asked.chain([("held", "held", true)]).chain(own);
    all.map(|(name, policy, is_direct)| json!([name, application(policy), is_direct]))
        .collect()
}

/// Cells that the gateway must not change.
#[track_caller]
fn assert_same(package: &Package) {
    for (name, says) in ASKED {
        let cell = package.cell(name);
        let (direct, through) = (&cell["direct"], &cell["gateway"]);
        let text = direct.to_string();
        for part in says {
            assert!(
                text.contains(part),
                "{package}, {name}: no {part} in {text}"
            );
        }
        for (what, expected) in direct.as_object().unwrap() {
            let got = &through[what];
            if what == "beats" {
                let shows_life = got.as_u64() > expected.as_u64();
                assert!(shows_life, "{package}, {name}: {got}, {expected}");
            } else {
                assert_eq!(got, expected, "{package}, {name}: {what} differs");
            }
        }
    }
}

/// The requests of a package at both model servers.
#[track_caller]
fn assert_requests(package: &Package, direct: &[Received], through: &[Received]) {
    assert!(
        through.len() >= direct.len(),
        "{package}: requests are lost"
    );
    for (expected, got) in direct.iter().zip(through) {
        let name = model::asked(expected);
        assert_eq!(
            String::from_utf8_lossy(&got.body),
            String::from_utf8_lossy(&expected.body),
            "{package}, {name}: the request differs"
        );
        for header in HEADERS {
            let [expected, got] = [expected, got].map(|request| request.head.header(header));
            assert_eq!(got, expected, "{package}, {name}: {header} differs");
        }
    }
    // History that the packages send back, as the model server signed it, and the picture.
    let bodies = direct.iter().map(|one| String::from_utf8_lossy(&one.body));
    let bodies: String = bodies.collect();
    let signed = match package.api() {
        Api::Responses => &["gAAAAABo+/opaque=="][..],
        Api::Messages => &[
            "EqQBCkYIBBgCKkDx+/Zq0c1pZ25hdHVyZQ==",
            "EmwKAhgBEgy3va3pzix/redacted==",
        ],
    };
    let sent = ["call_1: sunny", "call_2: sunny", "AAECAwQFBgcICQoL"];
    for part in sent.iter().chain(signed) {
        assert!(bodies.contains(part), "{package}: {part} was never sent");
    }
}

/// Exceptions of the gateway's own errors.
#[track_caller]
fn assert_errors(package: &Package) {
    for (name, kinds, error, status) in [
        ("no key", 3, "AuthenticationError", 401),
        ("limited", 2, "RateLimitError", 429),
        ("gone", 3, "InternalServerError", 502),
    ] {
        let raised = package.gateway(name);
        assert_eq!(raised.as_object().unwrap().len(), kinds, "{raised}");
        for (kind, raised) in raised.as_object().unwrap() {
            assert_eq!(
                raised["error"], error,
                "{package}, {name}, {kind}: {raised}"
            );
            assert_eq!(raised["status"], status, "{package}, {name}, {kind}");
            let has_advice = raised["retry_after"].is_string();
            assert_eq!(has_advice, name == "limited", "{package}, {name}, {kind}");
        }
    }
    for kind in ["events", "final"] {
        let raised = &package.gateway("broken")[kind];
        let message = raised["message"].as_str().unwrap_or_default();
        assert!(message.contains("broke off"), "{package}, {kind}: {raised}");
    }
}

/// Answers of the gateway's own, and one that it has cut at the second of two calls.
#[track_caller]
fn assert_phrases(package: &Package) {
    let end = match package.api() {
        Api::Responses => "completed",
        Api::Messages => "end_turn",
    };
    let [blocked, held] = ["blocked", "held"].map(|name| package.gateway(name));
    for (what, shown) in [
        ("call", &blocked["ask"]),
        ("stream", &blocked["final"]),
        ("held call", &held["ask"]),
    ] {
        let id = shown["id"].as_str().unwrap();
        assert!(
            id.starts_with("monitor-guardrails-"),
            "{package}, {what}: {id}"
        );
        let expected = json!({"id": id, "text": PHRASE, "calls": [], "end": end});
        assert_eq!(*shown, expected, "{package}, {what}");
    }
    let cell = package.cell("held");
    let direct = &cell["direct"]["final"];
    assert_eq!(direct["calls"].as_array().unwrap().len(), 2, "{package}");
    let calls = json!([["weather", {"city": "Paris"}]]);
    let text = format!("Both.{PHRASE}");
    let expected = json!({"id": direct["id"], "text": text, "calls": calls, "end": end});
    assert_eq!(held["final"], expected, "{package}, held stream");
}

#[test]
#[ignore = "needs Python, Node.js and packages of both"]
fn official_libraries_of_agent_routes_get_what_the_model_server_gives() {
    // §1.1, §1.2, §7.2, CONTRACT 18, 19, 41.
    let (direct, through) = (model(Duration::ZERO), model(PAUSE));
    let mut yaml = "stream: {heartbeat: 100ms}\napplications:\n".to_owned();
    for (name, fields) in POLICIES {
        let id = application(name);
        yaml += &format!("- {{id: {id}, phrase: {PHRASE:?}, {fields}}}\n");
    }
    let stack = Stack::all().upstream(&through).yaml(&yaml).start();
    let asked = |package: &mut Package| {
        let requests = |server: &Upstream| {
            let requests = server.seen().requests;
            server.forget();
            requests
        };
        package.ask(
            &direct.url(),
            &format!("http://{}", stack.gateway_addr),
            &cells(),
        );
        assert_same(package);
        assert_requests(package, &requests(&direct), &requests(&through));
        assert_errors(package);
        assert_phrases(package);
    };
    let mut packages =
        Vec::from(PYTHON.map(|(environment, name)| Package::of_python(environment, name)));
    packages.extend(NODE.map(|(name, title)| Package::of_node(name, title)));
    packages.iter_mut().for_each(asked);
    packages.sort_by_key(Package::to_string);
    generated(
        Path::new(env!("CARGO_MANIFEST_DIR")),
        "docs/clients.md",
        "agent-libraries",
        &package::table(&packages),
    );
}
