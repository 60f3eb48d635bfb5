//! Files in a bucket of an S3-compatible store (CONTRACT 29, 34), through the binary.

use crate::admin_world::expect;
use crate::attachments::{TEXT, attach, keep_originals, multipart, prompt, prompt_of, send};
use serde_json::{Value, json};
use support::KEY;
use support::api::record;
use support::bucket::Bucket;
use support::stack::{Builder, Stack};

fn over(bucket: &Bucket) -> Builder {
    let stack = Stack::all().yaml("  blobs: s3://files/of/monitor\n");
    let variables = bucket.env().into_iter();
    variables.fold(stack, |stack, (name, value)| stack.env(name, value))
}

#[test]
fn files_go_to_the_bucket_once_and_come_back_and_go_with_their_user() {
    let bucket = Bucket::start();
    let stack = over(&bucket).start();
    keep_originals(&stack);
    let (one, two) = (prompt_of(&stack, "anna"), prompt_of(&stack, "boris"));
    // More than one call carries.
    let large: Vec<u8> = (0..9 << 20).map(|n: u32| n.to_le_bytes()[1]).collect();
    let kind = "application/octet-stream";
    let taken = attach(
        &stack,
        &one,
        &[("a", "text/plain", TEXT), ("b", kind, &large)],
    );
    attach(&stack, &two, &[("a", "text/plain", TEXT)]);
    let findings = &record(&stack, &two)["attachments"][0]["findings"];
    assert_eq!(findings["types"][0], json!({"type": "EMAILS", "count": 2}));
    let hash = |at: usize| taken[at]["sha256"].as_str().unwrap();
    let key = |at: usize| format!("/files/of/monitor/{}/{}", &hash(at)[..2], hash(at));
    let mut keys = [key(0), key(1)];
    keys.sort();
    assert!(
        bucket.objects().keys().eq(&keys),
        "{:?}",
        bucket.objects().keys()
    );
    assert_eq!(bucket.objects()[&key(1)], large);
    let path = format!("/records/{}/attachments/{}", one.as_str().unwrap(), hash(1));
    let response = stack.analysis(&path, KEY);
    assert_eq!((response.status(), response.body == large), (200, true));
    let incoming = std::fs::read_dir(stack.data_dir().join("blobs/incoming")).unwrap();
    assert_eq!(incoming.count(), 0);
    expect(
        &stack,
        200,
        ("DELETE", "/records?user_id=anna"),
        Value::Null,
    );
    assert!(bucket.objects().keys().eq([&key(0)]), "boris has it too");
}

#[test]
fn a_bucket_that_is_down_is_503_and_no_link_is_made() {
    let bucket = Bucket::start();
    let stack = over(&bucket).start();
    keep_originals(&stack);
    let id = prompt_of(&stack, "anna");
    let body = || multipart("attached_files", &[("a", "text/plain", TEXT)]);
    bucket.set_down(true);
    let refused = send(&stack, KEY, &prompt(&id), body());
    assert_eq!(refused.status(), 503, "{}", refused.text());
    assert_eq!(record(&stack, &id)["attachments"], json!([]));
    assert!(!stack.stderr().contains("no-secret"));
    bucket.set_down(false);
    assert_eq!(send(&stack, KEY, &prompt(&id), body()).status(), 200);
    assert_eq!(bucket.objects().len(), 1);
}

#[test]
fn a_place_that_makes_no_sense_refuses_to_start() {
    for (place, words) in [
        ("gs://files", "s3://bucket"),
        ("s3://", "names no bucket"),
        ("\"s3://files/a b\"", "prefix"),
    ] {
        let (status, stderr) = Stack::all().yaml(&format!("  blobs: {place}\n")).refused();
        assert_eq!(status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(words), "{place}: {stderr}");
    }
    let (status, stderr) = Stack::all()
        .yaml("  blobs: s3://files\n")
        .env("AWS_ACCESS_KEY_ID", "who")
        .refused();
    assert_eq!(status.code(), Some(1), "{stderr}");
}
