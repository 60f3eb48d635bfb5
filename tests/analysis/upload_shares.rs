//! Files that are being uploaded (CONTRACT 29): their bytes are bounded and shared, a kill leaves none, and files of
//! tenants take turns where the store is full.

use crate::admin_world::{application, call_as, expect, token};
use crate::attachments::{multipart, send};
use serde_json::json;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use support::eventually;
use support::http::Conn;
use support::request::Request;
use support::stack::{Folder, Stack};

/// An application that keeps originals, and a key for its messages.
struct Tenant {
    application: String,
    key: String,
}

impl Tenant {
    #[track_caller]
    fn of(stack: &Stack, name: &str) -> Self {
        let application = application(stack, name);
        let rules = format!("/applications/{application}/rules");
        let change = json!({"version": 1, "rules": {"keep_original": true}});
        expect(stack, 200, ("PATCH", &rules), change);
        let bound = json!({"name": name, "scopes": ["ingest"], "application_id": application});
        let (_, key) = token(stack, bound);
        Self { application, key }
    }

    /// Stores a message; gives the path of its files.
    fn prompt(&self, stack: &Stack) -> String {
        let body = json!({"application_id": self.application, "message": "hi"});
        let made = call_as(&self.key, stack, ("POST", "/process_request/"), body);
        let id = made.json()["request_id"].clone();
        format!(
            "/user_prompt_analysis/{}/attach_files",
            id.as_str().unwrap_or_default()
        )
    }

    fn attach(&self, stack: &Stack, size: usize) -> u16 {
        let bytes = vec![0; size];
        let file = ("a.bin", "application/octet-stream", &bytes[..]);
        let body = multipart("attached_files", &[file]);
        send(stack, &self.key, &self.prompt(stack), body).status()
    }

    /// Begins to upload a file of this size, and leaves its last bytes to be sent.
    fn begin(&self, stack: &Stack, size: usize) -> (Conn, Vec<u8>) {
        let bytes = vec![0; size];
        let file = ("a.bin", "application/octet-stream", &bytes[..]);
        let request = Request::post(&self.prompt(stack), multipart("attached_files", &[file]))
            .without_key()
            .header("Authorization", &format!("Bearer {}", self.key))
            .content_type("multipart/form-data; boundary=xyz");
        let mut bytes = request.bytes();
        let rest = bytes.split_off(bytes.len() - 100);
        let mut conn = Conn::open(stack.analysis_addr);
        let _ = conn.try_send(&bytes);
        (conn, rest)
    }
}

fn incoming(folder: PathBuf) -> Vec<u64> {
    let files = std::fs::read_dir(folder.join("incoming")).unwrap();
    files
        .map(|file| file.unwrap().metadata().map_or(0, |it| it.len()))
        .collect()
}

#[test]
fn the_bytes_of_uploads_are_bounded_and_one_file_of_each_tenant_has_room() {
    const LIMIT: u64 = 8 << 20;
    const FILE: usize = 1 << 20;
    let yaml =
        "attachments: {max_bytes: 2MiB, uploading_bytes: 8MiB}\nlimits: {header_timeout: 60s}";
    let stack = Stack::analysis_server().yaml(yaml).start();
    let (flooding, quiet) = (Tenant::of(&stack, "flooding"), Tenant::of(&stack, "quiet"));
    let begun: Vec<_> = (0..20).map(|_| flooding.begin(&stack, FILE)).collect();
    let blobs = || stack.data_dir().join("blobs");
    eventually("as many as fit have begun", || {
        (incoming(blobs()).len() >= 7).then_some(())
    });
    let status = stack.operations("/status").json()["uploads"].clone();
    assert!(status["bytes"].as_u64() <= Some(LIMIT), "{status}");
    assert_eq!(quiet.attach(&stack, FILE), 200, "of another tenant");
    let bytes: u64 = incoming(blobs()).iter().sum();
    assert!(bytes <= LIMIT, "{bytes}");
    let (mut refused, mut taken) = (0, 0);
    for (mut conn, rest) in begun.into_iter().rev() {
        let _ = conn.try_send(&rest);
        let answer = conn.response();
        match answer.status() {
            503 => {
                assert!(
                    answer.text().contains("attachments.uploading_bytes"),
                    "{}",
                    answer.text()
                );
                assert!(answer.head.header("Retry-After").is_some());
                refused += 1;
            }
            status => {
                assert_eq!(status, 200, "{}", answer.text());
                taken += 1;
            }
        }
    }
    assert!(
        refused >= 10 && taken >= 7,
        "{refused} refused, {taken} taken"
    );
    eventually("none is left", || {
        incoming(blobs()).is_empty().then_some(())
    });
    assert_eq!(stack.operations("/status").json()["uploads"]["bytes"], 0);
}

#[test]
fn a_start_removes_the_uploads_of_a_killed_process_and_none_of_a_living_one() {
    let shared = Folder::new();
    let yaml = format!(
        "blobs: {}\nlimits: {{header_timeout: 60s}}",
        shared.path().display()
    );
    let server = || Stack::analysis_server().yaml(&yaml).start();
    let is_begun = |count| {
        eventually("the uploads have begun", || {
            let files = incoming(shared.path().to_owned());
            (files.iter().filter(|bytes| **bytes > 0).count() == count).then_some(())
        });
    };
    let living = server();
    let living_tenant = Tenant::of(&living, "living");
    let (mut conn, rest) = living_tenant.begin(&living, 1 << 20);
    is_begun(1);
    let mut killed = server();
    let uploads = Tenant::of(&killed, "killed").begin(&killed, 1 << 20);
    is_begun(2);
    killed.process.signal("KILL");
    killed.process.await_exit();
    drop(uploads);
    let _next = server();
    is_begun(1);
    conn.send(&rest);
    assert_eq!(conn.response().status(), 200);
    is_begun(0);
}

#[test]
fn a_client_that_leaves_takes_its_upload_with_it() {
    let yaml = "retention: {bytes: 1MiB}\nlimits: {header_timeout: 60s}";
    let stack = Stack::analysis_server().yaml(yaml).start();
    let tenant = Tenant::of(&stack, "leaving");
    let blobs = || stack.data_dir().join("blobs");
    let begun = tenant.begin(&stack, 1 << 20);
    eventually("it has begun", || {
        (!incoming(blobs()).is_empty()).then_some(())
    });
    drop(begun);
    eventually("it is gone", || incoming(blobs()).is_empty().then_some(()));
}

#[test]
fn where_the_store_is_full_a_file_waits_for_few_of_another_tenant() {
    const FLOODS: usize = 40;
    const A_FEW: usize = 8;
    let stack = Stack::analysis_server()
        .yaml("retention: {bytes: 4MiB}")
        .start();
    let (flooding, quiet) = (Tenant::of(&stack, "flooding"), Tenant::of(&stack, "quiet"));
    let (ends, answered) = (AtomicBool::new(false), AtomicUsize::new(0));
    let in_flight = || stack.operations("/status").json()["in_flight"].clone();
    std::thread::scope(|scope| {
        for _ in 0..FLOODS {
            scope.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    flooding.attach(&stack, 1 << 20);
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let seen = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually("the store is full and the flood waits", || {
                let waits = in_flight().as_u64()? >= FLOODS as u64 * 3 / 4;
                (waits && answered.load(Ordering::Relaxed) >= FLOODS).then_some(())
            });
            let few = |_| {
                let before = answered.load(Ordering::Relaxed);
                let status = quiet.attach(&stack, 1 << 16);
                (status, answered.load(Ordering::Relaxed) - before)
            };
            (0..4).map(few).collect::<Vec<_>>()
        }));
        ends.store(true, Ordering::Relaxed);
        for (status, meanwhile) in seen.unwrap() {
            assert_eq!(status, 200);
            assert!(meanwhile <= A_FEW, "{meanwhile} files went before it");
        }
    });
}
