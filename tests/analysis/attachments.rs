//! Files of records through the binary (CONTRACT 29).

use crate::admin_world::{application, assert_refused, expect, token};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use support::KEY;
use support::api::{analyse, post, record, records};
use support::eventually;
use support::http::Response;
use support::request::{HELLO, Request};
use support::stack::{Folder, Stack};

pub(crate) const TEXT: &[u8] = b"write to a@example.org or b@example.org";

pub(crate) type File<'a> = (&'a str, &'a str, &'a [u8]);

pub(crate) fn multipart(field: &str, files: &[File]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, kind, bytes) in files {
        let head = format!(
            "--xyz\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\n\
             Content-Type: {kind}\r\n\r\n"
        );
        body.extend(head.bytes());
        body.extend(*bytes);
        body.extend(b"\r\n");
    }
    body.extend(b"--xyz--\r\n");
    body
}

pub(crate) fn send(stack: &Stack, key: &str, path: &str, body: Vec<u8>) -> Response {
    Request::post(path, body)
        .without_key()
        .header("Authorization", &format!("Bearer {key}"))
        .content_type("multipart/form-data; boundary=xyz")
        .call(stack.analysis_addr)
}

pub(crate) fn prompt(id: &Value) -> String {
    format!(
        "/user_prompt_analysis/{}/attach_files/",
        id.as_str().unwrap()
    )
}

#[track_caller]
pub(crate) fn attach(stack: &Stack, id: &Value, files: &[File]) -> Vec<Value> {
    let response = send(stack, KEY, &prompt(id), multipart("attached_files", files));
    assert_eq!(response.status(), 200, "{}", response.text());
    response.json().as_array().unwrap().clone()
}

pub(crate) fn keep_originals(stack: &Stack) {
    let path = format!("/applications/{}/rules", stack.application_id());
    let change = json!({"version": 1, "rules": {"keep_original": true}});
    expect(stack, 200, ("PATCH", &path), change);
}

/// A prompt of this user, whose application keeps originals.
pub(crate) fn prompt_of(stack: &Stack, user: &str) -> Value {
    analyse(stack, "hello", json!({"user_id": user}))["request_id"].clone()
}

/// The files that the server keeps, without those on their way in.
pub(crate) fn blobs(stack: &Stack) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for shard in std::fs::read_dir(stack.data_dir().join("blobs")).unwrap() {
        let shard = shard.unwrap().path();
        let files = std::fs::read_dir(shard).unwrap();
        found.extend(files.map(|file| file.unwrap().path()));
    }
    found
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn files_are_linked_scanned_listed_and_downloaded_as_attachments_only() {
    let stack = Stack::all().start();
    keep_originals(&stack);
    let id = prompt_of(&stack, "u");
    let page = b"<a href=\"mailto:c@example.org\">x</a><script>alert(1)</script>";
    let files: [File; 3] = [
        ("../re port.txt", "text/plain", TEXT),
        ("page.html", "text/html", page),
        ("a.bin", "application/octet-stream", &[0, 1, 2, 255]),
    ];
    let taken = attach(&stack, &id, &files);
    assert_eq!(taken.len(), 3);
    assert_eq!(taken[0]["name"], "../re port.txt");
    assert_eq!(
        (&taken[0]["type"], &taken[0]["size"]),
        (&json!("text/plain"), &json!(TEXT.len()))
    );
    let shown = record(&stack, &id)["attachments"].clone();
    let shown = shown.as_array().unwrap();
    let by_name = |name: &str| shown.iter().find(|one| one["name"] == name).unwrap();
    let emails = |count| json!({"scanned": "whole", "types": [{"type": "EMAILS", "count": count}]});
    assert_eq!(by_name("../re port.txt")["findings"], emails(2));
    assert_eq!(by_name("page.html")["findings"], emails(1));
    assert_eq!(
        by_name("a.bin")["findings"],
        json!({"scanned": "no", "types": []})
    );
    assert!(shown.iter().all(|one| one["kept"] == true));
    for (one, (_, _, bytes)) in taken.iter().zip(files) {
        let path = format!(
            "/records/{}/attachments/{}",
            id.as_str().unwrap(),
            one["sha256"].as_str().unwrap()
        );
        let response = stack.analysis(&path, KEY);
        assert_eq!((response.status(), &*response.body), (200, bytes));
        for (name, value) in [
            ("content-type", "application/octet-stream"),
            ("x-content-type-options", "nosniff"),
            ("content-security-policy", "default-src 'none'; sandbox"),
        ] {
            assert_eq!(response.head.header(name), Some(value));
        }
        let disposition = response.head.header("content-disposition").unwrap();
        assert!(
            disposition.starts_with("attachment; filename="),
            "{disposition}"
        );
        assert!(!disposition.contains(".."), "{disposition}");
    }
    let kept = blobs(&stack);
    assert_eq!(kept.len(), 3);
    assert!(kept.iter().all(|file| mode(file) == 0o600));
    assert_eq!(mode(&stack.data_dir().join("blobs")), 0o700);
}

#[test]
fn the_same_file_twice_is_one_link_and_of_two_records_one_file() {
    let stack = Stack::all().start();
    keep_originals(&stack);
    let (one, two) = (prompt_of(&stack, "u"), prompt_of(&stack, "v"));
    let first = attach(&stack, &one, &[("a.txt", "text/plain", TEXT)]);
    let again = attach(&stack, &one, &[("a.txt", "text/csv", TEXT)]);
    assert_eq!(first, again);
    attach(&stack, &two, &[("c.txt", "text/plain", TEXT)]);
    for id in [&one, &two] {
        let shown = record(&stack, id)["attachments"].clone();
        assert_eq!(shown.as_array().unwrap().len(), 1);
    }
    assert_eq!(blobs(&stack).len(), 1);
}

#[test]
fn files_with_the_same_bytes_keep_their_names_and_one_copy() {
    // §4.1.4: "attaches each file".
    let folder = Folder::new();
    let stack = Stack::all().folder(&folder).start();
    keep_originals(&stack);
    let id = prompt_of(&stack, "u");
    let names = ["first.csv", "second.csv", "отчёт & co.csv"];
    let taken = attach(&stack, &id, &names.map(|name| (name, "text/csv", TEXT)));
    let told: Vec<_> = taken
        .iter()
        .map(|file| file["name"].as_str().unwrap())
        .collect();
    assert_eq!(told, names);
    let later = attach(&stack, &id, &[("later.csv", "text/csv", TEXT)]);
    assert_eq!(later[0]["name"], "later.csv");
    attach(&stack, &id, &[("second.csv", "text/csv", TEXT)]);
    let shown = record(&stack, &id)["attachments"].clone();
    let mut shown: Vec<_> = shown
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["name"].as_str().unwrap())
        .collect();
    shown.sort_unstable();
    let expected = ["first.csv", "later.csv", "second.csv", "отчёт & co.csv"];
    assert_eq!(shown, expected);
    assert_eq!(blobs(&stack).len(), 1);
    let hash = taken[0]["sha256"].as_str().unwrap();
    let path = format!("/records/{}/attachments/{hash}", id.as_str().unwrap());
    let encoded = "%D0%BE%D1%82%D1%87%D1%91%D1%82%20%26%20co.csv";
    let named = stack.analysis(&format!("{path}?name={encoded}"), KEY);
    assert_eq!((named.status(), &*named.body), (200, TEXT));
    let disposition = named.head.header("content-disposition").unwrap();
    assert!(disposition.ends_with(encoded), "{disposition}");
    let other = stack.analysis(&format!("{path}?name=other.csv"), KEY);
    assert_refused(&other, 404, "not found");
    assert_refused(&stack.analysis(&format!("{path}?nome=x"), KEY), 422, "name");
    prompt_of(&stack, "later");
    drop(stack);
    let stack = Stack::all()
        .folder(&folder)
        .yaml("  retention: {rows: 1}\n")
        .start();
    eventually("the one copy goes with the record", || {
        blobs(&stack).is_empty().then_some(())
    });
}

#[test]
fn section_4_1_4_two_files_of_one_call_with_the_same_bytes_are_both_attached() {
    let stack = Stack::all().start();
    let files = json!([
        {"content_base64": "aGVsbG8=", "name": "one.txt"},
        {"content_base64": "aGVsbG8=", "name": "two.txt"},
    ]);
    let call = Request::chat(HELLO).header("X-Attached-Files", &files.to_string());
    assert_eq!(stack.call(&call).status(), 200);
    let names = eventually("both files are attached", || {
        let prompt = records(&stack, "stage=pre").first()?["request_id"].clone();
        let shown = record(&stack, &prompt)["attachments"].clone();
        let shown = shown.as_array().unwrap();
        let names = shown.iter().map(|file| file["name"].as_str().unwrap());
        let mut names: Vec<_> = names.map(str::to_owned).collect();
        names.sort_unstable();
        (names.len() == 2).then_some(names)
    });
    assert_eq!(names, ["one.txt", "two.txt"]);
}

#[test]
fn without_originals_the_bytes_are_not_kept_and_the_findings_are() {
    let stack = Stack::all().start();
    let id = prompt_of(&stack, "u");
    let taken = attach(&stack, &id, &[("a.csv", "text/csv", TEXT)]);
    let shown = &record(&stack, &id)["attachments"][0];
    assert_eq!(
        (&shown["kept"], &shown["name"]),
        (&json!(false), &json!("a.csv"))
    );
    assert_eq!(shown["findings"]["types"][0]["count"], 2);
    assert!(blobs(&stack).is_empty());
    let hash = taken[0]["sha256"].as_str().unwrap();
    let path = format!("/records/{}/attachments/{hash}", id.as_str().unwrap());
    assert_eq!(stack.analysis(&path, KEY).status(), 404);
}

#[test]
fn limits_are_told_by_name_and_a_file_of_several_megabytes_passes() {
    let stack = Stack::all()
        .yaml("  attachments: {max_bytes: 5MiB, max_files: 2}\n")
        .start();
    let id = prompt_of(&stack, "u");
    let large = vec![b'x'; 5 << 20];
    attach(&stack, &id, &[("a.txt", "text/plain", &large)]);
    assert_eq!(
        record(&stack, &id)["attachments"][0]["findings"]["scanned"],
        "part"
    );
    let over = vec![b'x'; (5 << 20) + 1];
    let small: File = ("b", "text/plain", b"b");
    let three = [small, ("c", "text/plain", b"c"), ("d", "text/plain", b"d")];
    for (files, words) in [
        (&[("a", "text/plain", &*over)][..], "attachments.max_bytes"),
        (&three[..], "attachments.max_files"),
    ] {
        let request = Request::post(&prompt(&id), multipart("attached_files", files))
            .without_key()
            .header("Authorization", &format!("Bearer {KEY}"))
            .content_type("multipart/form-data; boundary=xyz");
        let mut connection = support::http::Conn::open(stack.analysis_addr);
        // A body over a limit is refused before its end.
        let _ = connection.try_send(&request.bytes());
        assert_refused(&connection.response(), 413, words);
    }
}

#[test]
fn what_cannot_be_attached_is_refused_with_its_reason() {
    let stack = Stack::all().start();
    let id = prompt_of(&stack, "u");
    let path = prompt(&id);
    let good = || multipart("attached_files", &[("a", "text/plain", b"a")]);
    let text = id.as_str().unwrap();
    let answers = format!("/llm_response_analysis/{text}/attach_files");
    assert_refused(&send(&stack, KEY, &answers, good()), 422, "user_prompt");
    let unknown = "/user_prompt_analysis/6f1c2a9e-0d3b-4c55-9a61-7d2f6f0f1c11/attach_files";
    assert_refused(&send(&stack, KEY, unknown, good()), 404, "not found");
    let other = multipart("files", &[("a", "text/plain", b"a")]);
    assert_refused(&send(&stack, KEY, &path, other), 422, "attached_files");
    let none = multipart("attached_files", &[]);
    assert_refused(
        &send(&stack, KEY, &path, none),
        422,
        "attached_files: missing",
    );
    let cut = good()[..40].to_vec();
    assert_refused(&send(&stack, KEY, &path, cut), 400, "multipart");
    assert_refused(&post(&stack, &path, &json!({})), 415, "multipart/form-data");
    assert_refused(&send(&stack, "mon_x", &path, good()), 401, "token");
    let foreign = application(&stack, "foreign");
    for (scopes, bound, status) in [
        (json!(["read"]), None, 403),
        (json!(["ingest"]), Some(&foreign), 404),
        (json!(["ingest"]), None, 200),
    ] {
        let made = json!({"name": "t", "scopes": scopes, "application_id": bound});
        let (_, key) = token(&stack, made);
        let response = send(&stack, &key, &format!("/api{path}"), good());
        assert_eq!(response.status(), status, "{}", response.text());
    }
}

#[test]
fn a_head_of_a_file_that_never_ends_is_refused_before_its_end() {
    let stack = Stack::all().start();
    let id = prompt_of(&stack, "u");
    let name = "x".repeat(8 << 20);
    let body = multipart("attached_files", &[(&name, "text/plain", b"a")]);
    let request = Request::post(&prompt(&id), body)
        .without_key()
        .header("Authorization", &format!("Bearer {KEY}"))
        .content_type("multipart/form-data; boundary=xyz");
    let mut connection = support::http::Conn::open(stack.analysis_addr);
    let _ = connection.try_send(&request.bytes());
    assert_refused(&connection.response(), 400, "multipart");
}

#[test]
fn an_empty_file_is_a_file() {
    let stack = Stack::all().start();
    keep_originals(&stack);
    let id = prompt_of(&stack, "u");
    let taken = attach(&stack, &id, &[("", "text/plain", b"")]);
    assert_eq!(taken[0]["size"], 0);
    let shown = &record(&stack, &id)["attachments"][0];
    assert_eq!(shown["findings"], json!({"scanned": "whole", "types": []}));
    let hash = taken[0]["sha256"].as_str().unwrap();
    let path = format!("/records/{}/attachments/{hash}", id.as_str().unwrap());
    let response = stack.analysis(&path, KEY);
    assert_eq!((response.status(), &*response.body), (200, &b""[..]));
}

#[test]
fn retention_removes_files_that_no_record_has_any_more() {
    // CONTRACT 38.
    let folder = Folder::new();
    let stack = Stack::all().folder(&folder).start();
    keep_originals(&stack);
    let (one, two) = (prompt_of(&stack, "u"), prompt_of(&stack, "v"));
    let (shared, own): (File, File) = (("a", "text/plain", TEXT), ("b", "text/plain", b"own"));
    attach(&stack, &one, &[shared, own]);
    let left = attach(&stack, &two, &[shared]);
    assert_eq!(blobs(&stack).len(), 2);
    drop(stack);
    let stack = Stack::all()
        .folder(&folder)
        .yaml("  retention: {rows: 1}\n")
        .start();
    eventually("the file of the removed record goes", || {
        (blobs(&stack).len() == 1).then_some(())
    });
    let name = blobs(&stack)[0].file_name().unwrap().to_owned();
    assert_eq!(name.to_str(), left[0]["sha256"].as_str());
}
