//! Optimistic versions (CONTRACT 38): no change is lost, every version can be read and gone back to.

use crate::admin_world::{application, assert_refused, call, expect};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Barrier;
use support::KEY;
use support::request::Request;
use support::stack::Stack;

fn patch_if_match(
    address: SocketAddr,
    path: &str,
    etag: &str,
    name: &str,
) -> (u16, Option<String>) {
    let response = Request::json("PATCH", path, json!({"name": name}).to_string())
        .without_key()
        .header("Authorization", &format!("Bearer {KEY}"))
        .header("If-Match", etag)
        .call(address);
    (
        response.status(),
        response.head.header("etag").map(str::to_owned),
    )
}

#[test]
fn of_changes_made_at_once_from_one_version_exactly_one_wins() {
    // CONTRACT 38.
    let stack = Stack::all().start();
    let path = format!("/applications/{}", application(&stack, "contended"));
    for version in 1..=10 {
        let barrier = Barrier::new(4);
        let etag = format!("\"{version}\"");
        let (address, path, etag, barrier) = (stack.analysis_addr, &path, &etag, &barrier);
        let outcomes: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4)
                .map(|number| {
                    scope.spawn(move || {
                        barrier.wait();
                        patch_if_match(address, path, etag, &format!("name {number}"))
                    })
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        let next = Some(format!("\"{}\"", version + 1));
        let count = |status| {
            outcomes
                .iter()
                .filter(|outcome| outcome.0 == status)
                .count()
        };
        assert_eq!((count(200), count(409)), (1, 3), "{outcomes:?}");
        assert!(
            outcomes.iter().all(|outcome| outcome.1 == next),
            "{outcomes:?}"
        );
    }
}

#[test]
fn a_change_has_to_say_which_version_it_was_made_from() {
    // CONTRACT 38.
    let stack = Stack::all().start();
    let id = stack.application_id();
    let path = format!("/applications/{id}");
    for (method, path, body) in [
        ("PATCH", path.clone(), json!({"name": "x"})),
        ("PUT", path.clone(), json!({"name": "x"})),
        ("PUT", format!("{path}/rules"), json!({"rules": {}})),
        ("PATCH", format!("{path}/policy"), json!({"policy": null})),
        ("POST", format!("{path}/restore"), json!({"restore": 1})),
        ("DELETE", path.clone(), Value::Null),
    ] {
        let response = call(&stack, method, &path, body);
        assert_refused(&response, 428, "version: missing");
    }
    let stale = call(&stack, "PATCH", &path, json!({"name": "x", "version": 9}));
    assert_refused(&stale, 409, "version: the application is now at version 1");
    assert_eq!(stale.head.header("etag"), Some("\"1\""));
    let removed = call(&stack, "DELETE", &format!("{path}?version=9"), Value::Null);
    assert_refused(&removed, 409, "version 1");
    assert_eq!(patch_if_match(stack.analysis_addr, &path, "*", "x").0, 422);
    assert_eq!(
        patch_if_match(stack.analysis_addr, &path, "\"1\"", "x").0,
        200
    );
}

#[test]
fn an_application_has_a_bounded_number_of_earlier_versions() {
    let yaml = "  limits: {application_versions: 3, application_version_bytes: 64KiB}";
    let stack = Stack::all().yaml(yaml).start();
    let path = format!("/applications/{}", application(&stack, "one"));
    let kept = || {
        let list = expect(
            &stack,
            200,
            ("GET", &format!("{path}/versions")),
            Value::Null,
        );
        let list = list["versions"].as_array().unwrap().clone();
        let versions = list.iter().map(|one| one["version"].as_i64().unwrap());
        versions.collect::<Vec<_>>()
    };
    for version in 1..=6 {
        let change = json!({"version": version, "name": format!("name {version}")});
        expect(&stack, 200, ("PATCH", &path), change);
    }
    assert_eq!(kept(), [7, 6, 5, 4]);
    expect(
        &stack,
        404,
        ("GET", &format!("{path}/versions/3")),
        Value::Null,
    );
    let gone = call(
        &stack,
        "POST",
        &format!("{path}/restore"),
        json!({"restore": 3, "version": 7}),
    );
    assert_refused(&gone, 422, "restore: the application has no such version");
    let phrase = "😀".repeat(10_000);
    let policy = json!({"app_mode": "sync", "phrase": phrase});
    let long = |version: i64| json!({"version": version, "policy": policy});
    for version in 7..=9 {
        expect(&stack, 200, ("PATCH", &path), long(version));
    }
    assert_eq!(kept(), [10, 9], "two of these are more than 64 KiB");
    let back = json!({"restore": 9, "version": 10});
    expect(&stack, 200, ("POST", &format!("{path}/restore")), back);
}

#[test]
fn every_version_can_be_read_and_made_the_latest_again() {
    // CONTRACT 38.
    let stack = Stack::all().start();
    let path = format!("/applications/{}", application(&stack, "one"));
    let policy = json!({"app_mode": "sync", "phrase": "No."});
    let change =
        json!({"version": 1, "name": "two", "policy": policy, "rules": {"keep_original": true}});
    let second = expect(&stack, 200, ("PATCH", &path), change);
    expect(
        &stack,
        200,
        ("PUT", &path),
        json!({"version": 2, "name": "three"}),
    );
    let versions = expect(
        &stack,
        200,
        ("GET", &format!("{path}/versions")),
        Value::Null,
    );
    let list = versions["versions"].as_array().unwrap();
    let named: Vec<_> = list
        .iter()
        .map(|item| (item["version"].as_i64().unwrap(), item["name"].clone()))
        .collect();
    assert_eq!(
        named,
        [(3, json!("three")), (2, json!("two")), (1, json!("one"))]
    );
    assert_eq!(list[0]["changed_by"], "first");
    assert_eq!(list[2]["changed_by"], "first");
    let page = expect(
        &stack,
        200,
        ("GET", &format!("{path}/versions/?limit=1&before=3")),
        Value::Null,
    );
    assert_eq!(
        (&page["versions"][0]["version"], &page["next_before"]),
        (&json!(2), &json!(2))
    );
    let two = expect(
        &stack,
        200,
        ("GET", &format!("{path}/versions/2")),
        Value::Null,
    );
    assert_eq!(
        (&two["rules"], &two["policy"]),
        (&second["rules"], &second["policy"])
    );
    for unknown in ["4", "0", "x"] {
        expect(
            &stack,
            404,
            ("GET", &format!("{path}/versions/{unknown}")),
            Value::Null,
        );
    }
    let restore = format!("{path}/restore");
    let restored = expect(
        &stack,
        200,
        ("POST", &restore),
        json!({"restore": 2, "version": 3}),
    );
    assert_eq!(restored["version"], 4);
    for field in ["name", "description", "rules", "policy"] {
        assert_eq!(restored[field], second[field], "{field}");
    }
    let unknown = call(
        &stack,
        "POST",
        &restore,
        json!({"restore": 9, "version": 4}),
    );
    assert_refused(
        &unknown,
        422,
        "restore: the application has no such version",
    );
    let stale = call(
        &stack,
        "POST",
        &restore,
        json!({"restore": 1, "version": 3}),
    );
    assert_refused(&stale, 409, "version 4");
}
