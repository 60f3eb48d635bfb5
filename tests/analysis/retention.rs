//! Retention through the real binary (CONTRACT 38): it starts as soon as the store is beyond a limit, and takes
//! from those who fill it.

use crate::attachments::{self, attach, blobs, keep_originals, multipart, prompt_of};
use serde_json::{Value, json};
use support::api::{new_key, post, records};
use support::request::Request;
use support::stack::Stack;
use support::{KEY, eventually};

/// A new application, and an access key that may only send its messages.
#[track_caller]
fn tenant(stack: &Stack, name: &str) -> (String, String) {
    let made = post(stack, "/applications", &json!({"name": name}));
    assert_eq!(made.status(), 201, "{}", made.text());
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let token = json!({"name": name, "scopes": ["ingest"], "application_id": id});
    let key = new_key(stack, &token);
    (id, key)
}

#[track_caller]
fn send(stack: &Stack, (application, key): &(String, String), message: &str) -> Value {
    let body = json!({"application_id": application, "message": message});
    let request = Request::post("/process_request/", body.to_string()).without_key();
    let request = request.header("Authorization", &format!("Bearer {key}"));
    let answer = request.call(stack.analysis_addr);
    assert_eq!(answer.status(), 200, "{}", answer.text());
    answer.json()
}

#[test]
fn a_tenant_that_floods_the_store_removes_its_own_records_and_none_of_another_within_seconds() {
    let stack = Stack::analysis_server()
        .yaml("retention: {rows: 50}")
        .start();
    let (quiet, flooding) = (tenant(&stack, "quiet"), tenant(&stack, "flooding"));
    let kept: Vec<Value> = (0..10)
        .map(|number| send(&stack, &quiet, &format!("quiet {number}"))["request_id"].clone())
        .collect();
    for number in 0..60 {
        send(&stack, &flooding, &format!("flood {number}"));
    }
    // No restart and no hour: the limit is looked at every few seconds.
    eventually("retention has run", || {
        let listed = records(&stack, &format!("application_id={}&limit=100", flooding.0));
        (listed.len() <= 40).then_some(())
    });
    let mut listed = records(&stack, &format!("application_id={}&limit=100", quiet.0));
    listed.reverse();
    let listed: Vec<Value> = listed.iter().map(|one| one["request_id"].clone()).collect();
    assert_eq!(listed, kept, "acknowledged, and not the flood's to remove");
    let by_rows = r#"monitor_retention_removed_total{cause="rows"}"#;
    eventually("it is counted", || {
        let counted = stack.metric(by_rows);
        (counted >= 20.0 && counted == stack.metric("monitor_records_removed_total")).then_some(())
    });
    let line = eventually("it is logged", || {
        let log = stack.stderr();
        let mut lines = log.lines().map(str::to_owned);
        lines.find(|line| line.contains("beyond the retention limits"))
    });
    assert!(
        line.contains(&flooding.0) && !line.contains(&quiet.0),
        "{line}"
    );
}

#[test]
fn files_beyond_the_bytes_of_the_store_leave_the_disk_within_seconds() {
    let stack = Stack::analysis_server()
        .yaml("retention: {bytes: 4MiB}")
        .start();
    keep_originals(&stack);
    let quiet = tenant(&stack, "quiet");
    let kept = send(&stack, &quiet, "quiet")["request_id"].clone();
    for number in 0..12_u8 {
        let id = prompt_of(&stack, "u");
        let bytes = vec![number; 1 << 20];
        attach(
            &stack,
            &id,
            &[("a.bin", "application/octet-stream", &bytes)],
        );
    }
    eventually("the files are within the limit", || {
        (blobs(&stack).len() <= 4).then_some(())
    });
    let listed = records(&stack, &format!("application_id={}", quiet.0));
    assert_eq!(listed[0]["request_id"], kept);
}

#[test]
fn a_file_beyond_the_bytes_of_the_store_waits_until_older_ones_are_gone() {
    let stack = Stack::analysis_server()
        .yaml("retention: {bytes: 4MiB}")
        .start();
    keep_originals(&stack);
    let quiet = tenant(&stack, "quiet");
    let kept = send(&stack, &quiet, "quiet")["request_id"].clone();
    // Faster than the totals are looked at by themselves.
    for number in 0..12_u8 {
        let id = prompt_of(&stack, "u");
        let bytes = vec![number; 1 << 20];
        attach(
            &stack,
            &id,
            &[("a.bin", "application/octet-stream", &bytes)],
        );
        let files = blobs(&stack).len();
        assert!(files <= 5, "{files} files of 1 MiB");
    }
    assert!(blobs(&stack).len() >= 3, "the newest are there");
    let listed = records(&stack, &format!("application_id={}", quiet.0));
    assert_eq!(listed[0]["request_id"], kept);
    assert!(stack.metric(r#"monitor_retention_removed_total{cause="bytes"}"#) >= 7.0);
}

#[test]
fn the_bytes_of_refused_files_leave_the_disk_within_seconds() {
    let stack = Stack::analysis_server()
        .yaml("attachments: {waiting_files: 2}")
        .start();
    keep_originals(&stack);
    let application = stack.application_id();
    let path =
        format!("/user_prompt_analysis/by_request/x/attach_files?application_id={application}");
    for number in 0..6_u8 {
        let bytes = [number; 1_000];
        let file = ("a.bin", "application/octet-stream", &bytes[..]);
        let body = multipart("attached_files", &[file]);
        let status = attachments::send(&stack, KEY, &path, body).status();
        assert_eq!(status, if number < 2 { 200 } else { 429 });
    }
    eventually("those that wait are left", || {
        (blobs(&stack).len() == 2).then_some(())
    });
}
