//! Gap evidence through the binaries (CONTRACT 5): what is numbered, and who is told. What shows as a gap
//! is `gaps`.

use super::world::{authorised, on_every_store, over};
use monitor_model::{Chain, ChainHash, Identity, Stage};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use support::postgres::Postgres;
use support::request::{HELLO, HELLO_STREAM, Request};
use support::stack::{Builder, Folder, Stack};
use support::upstream::{Upstream, delta, json as upstream_json, sse};
use support::{KEY, eventually};
use uuid::Uuid;

on_every_store! {
    contract_5_a_run_of_calls_shows_no_gap_whatever_became_of_them
    contract_5_another_clients_own_chain_is_its_own_and_who_may_ask_is_who_may_read_all
}

/// A gateway that registers at this server.
pub(crate) fn registering(server: &Stack, upstream: &Upstream) -> Builder {
    Stack::gateway()
        .upstream(upstream)
        .env("MONITOR_URL", format!("http://{}", server.analysis_addr))
        .env("MONITOR_APPLICATION_ID", server.application_id())
}

#[track_caller]
pub(crate) fn chain(server: &Stack, query: &str) -> Value {
    let answer = server.analysis(&format!("/chain{query}"), KEY);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()
}

/// What a server knows of its only gateway, once the highest number has come.
#[track_caller]
pub(crate) fn known(server: &Stack, last: u64) -> Value {
    eventually("the last number comes", || {
        let mut answer = chain(server, "");
        let gateways = answer["gateways"].as_array_mut()?;
        assert!(gateways.len() < 2, "one gateway, one id");
        (gateways.first()?["last"].as_u64()? >= last).then(|| gateways.remove(0))
    })
}

/// As [`known`], once every number up to the last has come, or is a gap that stays.
#[track_caller]
pub(crate) fn settled(server: &Stack, last: u64, count: u64) -> Value {
    eventually("the numbers come", || {
        let known = known(server, last);
        (known["count"].as_u64()? >= count).then_some(known)
    })
}

pub(crate) fn calls(stack: &Stack, count: usize) {
    for number in 0..count {
        let body = if number % 2 == 0 { HELLO } else { HELLO_STREAM };
        let request = Request::chat(body).header("X-User-Id", &format!("user-{number}"));
        stack.call(&request);
    }
}

/// Answers, streams and failures in turn.
fn mixed() -> Upstream {
    let turn = std::sync::atomic::AtomicUsize::new(0);
    Upstream::answering(move |_| match turn.fetch_add(1, Ordering::Relaxed) % 3 {
        0 => upstream_json(500, "broken"),
        1 => sse(&[&delta(0, "word")]),
        _ => upstream_json(
            200,
            r#"{"choices":[{"index":0,"message":{"content":"x"}}]}"#,
        ),
    })
}

fn contract_5_a_run_of_calls_shows_no_gap_whatever_became_of_them(server: &Stack) {
    let upstream = mixed();
    let gateway = registering(server, &upstream).start();
    calls(&gateway, 30);
    let seen = settled(server, 60, 60);
    assert_eq!(
        (&seen["complete"], &seen["count"]),
        (&json!(true), &json!(60)),
        "{seen}"
    );
    for empty in [
        "gaps",
        "vanished",
        "interrupted",
        "cut_behind",
        "broken_links",
    ] {
        assert_eq!(seen[empty], json!([]), "{seen}");
    }
    let part = chain(server, "?from=10&to=20");
    let part = &part["gateways"][0];
    assert_eq!(part["checked"], json!({"from": 10, "to": 20}));
    assert_eq!(part["complete"], true);
    let nothing = chain(server, "?from=5&to=4")["gateways"][0].clone();
    assert_eq!(
        (&nothing["complete"], &nothing["gaps"]),
        (&json!(false), &json!([]))
    );
    let record = server.analysis("/records?limit=1", KEY).json()["records"][0].clone();
    let path = format!("/records/{}", record["request_id"].as_str().unwrap());
    let record = server.analysis(&path, KEY).json();
    let own = &record["additional_parameters"]["chain"];
    assert_eq!(own["gateway"], seen["gateway"], "{record}");
}

fn contract_5_another_clients_own_chain_is_its_own_and_who_may_ask_is_who_may_read_all(
    server: &Stack,
) {
    let post = |parameters: Value| {
        let body = json!({"application_id": server.application_id(), "message": "x",
            "additional_parameters": parameters});
        let request = authorised(Request::post("/process_request/", body.to_string()));
        request.call(server.analysis_addr)
    };
    for own in [json!("mine"), json!({"gateway": 1}), Value::Null] {
        let kept = post(json!({"chain": own})).json();
        let path = format!("/records/{}", kept["request_id"].as_str().unwrap());
        let record = server.analysis(&path, KEY).json();
        assert_eq!(record["additional_parameters"]["chain"], own);
    }
    assert_eq!(chain(server, "")["gateways"], json!([]));
    assert_eq!(chain(server, "")["next_after"], Value::Null);
    let token = |body: Value| {
        let request = Request::json("POST", "/tokens", body.to_string());
        let made = authorised(request).call(server.analysis_addr).json();
        server
            .analysis("/chain", made["value"].as_str().unwrap())
            .status()
    };
    let application = server.application_id();
    assert_eq!(token(json!({"name": "r", "scopes": ["read"]})), 200);
    assert_eq!(token(json!({"name": "a", "scopes": ["admin"]})), 200);
    assert_eq!(token(json!({"name": "i", "scopes": ["ingest"]})), 403);
    let bound = json!({"name": "b", "scopes": ["read"], "application_id": application});
    assert_eq!(token(bound), 403);
    for wrong in ["?from=0", "?gateway=x", "?to=-1", "?since=1"] {
        assert_eq!(
            server.analysis(&format!("/chain{wrong}"), KEY).status(),
            422
        );
    }
}

/// Posts records of one invented gateway, each number twice, at servers in turn.
fn deliver(servers: &[Stack], application: &str, numbers: std::ops::Range<u64>) {
    let gateway = Uuid::from_u128(77);
    let mut previous = ChainHash::default();
    let mut lines = Vec::new();
    for sequence in numbers {
        let request_id = format!("r{sequence}");
        let chain = Chain {
            gateway,
            sequence,
            previous,
            after: None,
        };
        let identity = Identity {
            request_id: Some(&request_id),
            stage: Stage::PreCall,
            application_id: Some(application),
            user_id: None,
            session_id: None,
            message: "hello",
        };
        previous = chain.link(identity.digest());
        let parameters = json!({"request_id": request_id, "chain": chain});
        let body = json!({"application_id": application, "message": "hello",
            "additional_parameters": parameters});
        lines.push((sequence, body.to_string()));
    }
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let lines = &lines;
            scope.spawn(move || {
                let mine = lines.iter().filter(|(number, _)| number % 4 == worker % 4);
                for (number, body) in mine {
                    let server = &servers[(number + worker) as usize % servers.len()];
                    let request = authorised(Request::post("/process_request/", body));
                    assert_eq!(request.call(server.analysis_addr).status(), 200);
                }
            });
        }
    });
}

#[test]
#[ignore = "needs PostgreSQL"]
fn contract_5_three_servers_over_one_database_put_the_numbers_together() {
    let postgres = Postgres::shared();
    let database = postgres.database();
    let server = || over(&database, Stack::analysis_server()).start();
    let servers = [server(), server(), server()];
    deliver(&servers, &servers[0].application_id(), 1..401);
    for server in &servers {
        let seen = known(server, 400);
        assert_eq!(
            (&seen["complete"], &seen["count"]),
            (&json!(true), &json!(400)),
            "{seen}"
        );
    }
}

#[test]
fn contract_5_what_retention_and_an_erasure_remove_leaves_stubs_and_no_gap() {
    let upstream = Upstream::ok();
    let folder = Folder::new();
    stubs(&upstream, |yaml| {
        Stack::analysis_server().folder(&folder).yaml(yaml).start()
    });
}

#[test]
#[ignore = "needs PostgreSQL"]
fn contract_5_on_postgres_what_retention_and_an_erasure_remove_leaves_stubs_and_no_gap() {
    let postgres = Postgres::shared();
    let database = postgres.database();
    stubs(&Upstream::ok(), |yaml| {
        over(&database, Stack::analysis_server()).yaml(yaml).start()
    });
}

fn stubs(upstream: &Upstream, server: impl Fn(&str) -> Stack) {
    let first = server("");
    let gateway = registering(&first, upstream).start();
    calls(&gateway, 20);
    assert_eq!(settled(&first, 40, 40)["stubs"], 0);
    let erase = Request::new("DELETE", "/records?user_id=user-3");
    assert_eq!(authorised(erase).call(first.analysis_addr).status(), 200);
    assert_eq!(known(&first, 40)["stubs"], 2, "of an erasure");
    // Two records of the erased user, refused from now on.
    calls(&gateway, 4);
    let seen = settled(&first, 48, 48);
    assert_eq!(
        (&seen["stubs"], &seen["complete"]),
        (&json!(4), &json!(true)),
        "{seen}"
    );
    drop((gateway, first));
    let second = server("retention: {rows: 7}");
    let seen = eventually("retention has run", || {
        let known = known(&second, 48);
        (known["stubs"] == 48 - 7).then_some(known)
    });
    assert_eq!(
        (&seen["complete"], &seen["count"]),
        (&json!(true), &json!(48)),
        "{seen}"
    );
}

#[test]
fn contract_5_monitor_all_numbers_its_records_in_both_modes() {
    let folder = Folder::new();
    for round in 1..=2 {
        let stack = Stack::all().folder(&folder).start();
        let application = stack.application_id();
        let calls = |count| (0..count).for_each(|_| drop(stack.call(&Request::chat(HELLO))));
        calls(5);
        let policy = |mode: Value| {
            let path = format!("/applications/{application}/policy");
            let version = stack.analysis(&path, KEY).json()["version"].clone();
            let body = json!({"version": version, "policy": mode});
            let request = authorised(Request::json("PUT", &path, body.to_string()));
            assert_eq!(request.call(stack.analysis_addr).status(), 200);
        };
        policy(json!({"app_mode": "sync", "phrase": "no"}));
        calls(5);
        policy(json!({"app_mode": "async"}));
        let seen = settled(&stack, 20 * round, 20 * round);
        assert_eq!(
            (&seen["complete"], &seen["count"]),
            (&json!(true), &json!(20 * round))
        );
    }
}
