//! `keep_original: false`, the default: nothing of a message reaches the disk but its cleaned text
//! (CONTRACT 38), whatever the rules answer to the caller.

use serde_json::json;
use support::api::post;
use support::contains;
use support::stack::{Folder, Stack};

const CARD: &str = "4111 1111 1111 1111";
const MAIL: &str = "anna.secret@example.org";

#[test]
fn no_clean_type_and_no_path_brings_a_secret_to_the_disk() {
    // CONTRACT 38.
    let folder = Folder::new();
    let stack = Stack::all().folder(&folder).start();
    let message = format!("card {CARD} of {MAIL}");
    let parameters = json!({"session_id": "kept", "error": {"type": "upstream_error", "code": 502,
        "message": format!("cannot charge {CARD}")}});
    for clean_type in ["masking", "deletion", "detection"] {
        for path in ["/process_request/override/", "/process_response/override/"] {
            let inline = json!({"dataclean": {"clean_type": clean_type}});
            let answer = post(
                &stack,
                path,
                &json!({
                "application_id": stack.application_id(), "message": message,
                "additional_parameters": parameters,
                "validation_config": {"source": "inline", "inline": inline}}),
            );
            let cleaned = answer.json()["dataclean"]["cleaned_text"]
                .as_str()
                .unwrap()
                .to_owned();
            assert_eq!(cleaned == message, clean_type == "detection", "{cleaned}");
        }
    }
    for path in ["/process_request/", "/process_response/"] {
        let body = json!({"application_id": stack.application_id(), "message": message,
            "additional_parameters": parameters});
        assert_eq!(post(&stack, path, &body).status(), 200);
    }
    let exported = stack
        .analysis("/records?session_id=kept", support::KEY)
        .text();
    let files: Vec<_> = std::fs::read_dir(folder.path().join("data"))
        .unwrap()
        .map(|entry| std::fs::read(entry.unwrap().path()).unwrap_or_default())
        .chain([exported.into_bytes()])
        .collect();
    assert!(
        files
            .iter()
            .any(|bytes| contains(bytes, b"cannot charge [BANK_CARD_NUMBER]"))
    );
    // Four digits alone stand in ids and times by chance.
    for secret in [CARD, MAIL, "4111 1111", "41111111"] {
        assert!(
            !files.iter().any(|bytes| contains(bytes, secret.as_bytes())),
            "{secret}"
        );
        assert!(!stack.stderr().contains(secret));
    }
}
