//! What an answer and its record hold (§2.9, §4.3), and what a start makes (CONTRACT 30).

use super::{World, settings};
use crate::analysis::{ApiError, ProcessInput, Services};
use crate::config::AnalysisSettings;
use crate::fair_queue::Urgency;
use monitor_model::{Secret, Stage};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use support::stack::Folder;

#[tokio::test]
async fn the_answer_is_that_of_2_9_and_the_record_holds_the_masked_text_only() {
    // CONTRACT 28.
    let world = World::new().await;
    let answer = world
        .analyze("Моя карта 4111 1111 1111 1111, спасибо")
        .await;
    assert_eq!(
        (answer.status, &answer.body["status"]),
        (200, &json!("success"))
    );
    assert_eq!(answer.body["schema_version"], "2.0.0");
    assert_eq!(answer.body["errors"], json!([]));
    assert!(answer.body["tokens"]["count"].as_u64().unwrap() > 5);
    assert_eq!(answer.body["tokens"]["usage_severity"], Value::Null);
    assert_eq!(answer.body["guardrails"]["flagged"], false);
    assert_eq!(answer.body["custom_policy"]["flagged"], false);
    let cleaned = "Моя карта [BANK_CARD_NUMBER], спасибо";
    assert_eq!(answer.body["dataclean"]["flagged"], true);
    assert_eq!(answer.body["dataclean"]["cleaned_text"], cleaned);
    assert_eq!(
        answer.body["dataclean"]["types"],
        json!([{"type": "BANK_CARD_NUMBER", "count": 1}])
    );

    let id = answer.body["request_id"].as_str().unwrap();
    let record = world.get(&format!("/records/{id}"), world.key()).await;
    assert_eq!(record.status, 200);
    assert_eq!(record.body["record"], "user_prompt");
    assert_eq!(record.body["cleaned_text"], cleaned);
    assert_eq!(record.body["message"], Value::Null);
    assert_eq!(
        record.body["entities"],
        json!([{"type": "BANK_CARD_NUMBER", "start": 10, "end": 29}])
    );
    assert_eq!(record.body["answer"], answer.body);
    world.services.shutdown().await;
    let file = std::fs::read(world.folder.path().join("monitor.db")).unwrap();
    assert!(memchr::memmem::find(&file, "4111 1111".as_bytes()).is_none());
    assert!(memchr::memmem::find(&file, cleaned.as_bytes()).is_some());
}

#[tokio::test]
async fn a_compact_verdict_leaves_out_what_grows_with_the_message() {
    let world = World::new().await;
    let body =
        json!({"application_id": world.application(), "message": "card 4111 1111 1111 1111"});
    let line = json!({"stage": "pre", "body": body});
    for (path, kind, sent) in [
        ("/process_request/", "application/json", &body),
        ("/process_batch/", "application/x-ndjson", &line),
    ] {
        let request = axum::http::Request::post(path)
            .header("authorization", format!("Bearer {}", world.key()))
            .header("content-type", kind)
            .header("x-monitor-verdict", "compact");
        let request = request.body(axum::body::Body::from(sent.to_string()));
        let answer = world.send(request.unwrap()).await.body;
        let verdict = answer.get("body").unwrap_or(&answer);
        let dataclean = json!({
            "flagged": true, "cleaned_text": null, "entities": [],
            "types": [{"type": "BANK_CARD_NUMBER", "count": 1}],
        });
        assert_eq!(verdict["dataclean"], dataclean, "{path}");
        let id = verdict["request_id"].as_str().unwrap();
        let record = world.get(&format!("/records/{id}"), world.key()).await;
        assert_eq!(record.body["cleaned_text"], "card [BANK_CARD_NUMBER]");
        assert_eq!(record.body["entities"].as_array().map(Vec::len), Some(1));
    }
}

#[tokio::test]
async fn every_path_answers_with_and_without_slash_and_under_api() {
    // CONTRACT 27.
    let world = World::new().await;
    let body = json!({"application_id": world.application(), "message": "x"}).to_string();
    for path in [
        "/process_request",
        "/process_response/",
        "/api/process_request/",
        "/api/process_response",
    ] {
        assert_eq!(
            world.post(path, world.key(), body.clone()).await.status,
            200,
            "{path}"
        );
    }
    for path in ["/records", "/records/", "/api/records"] {
        assert_eq!(
            world.get(path, world.key()).await.body["records"][0]["record"],
            "llm_answer"
        );
    }
    assert_eq!(world.get("/", "").await.status, 303, "to the web UI");
    assert_eq!(world.get("/nothing", "").await.status, 404);
}

#[tokio::test]
async fn parameters_are_kept_shown_and_give_idempotency() {
    // CONTRACT 5, 27.
    let world = World::new().await;
    let parameters = json!({
        "user_id": "u", "session_id": "s", "request_id": "r-1", "incomplete": true,
        "error": {"type": "upstream_error", "code": 504}, "other": [1, {"a": null}],
    });
    let body = json!({"application_id": world.application(), "message": "x", "additional_parameters": parameters});
    let first = world
        .post("/process_response/", world.key(), body.to_string())
        .await;
    let again = world
        .post("/process_response/", world.key(), body.to_string())
        .await;
    assert_eq!((again.status, &again.body), (200, &first.body));
    let id = first.body["request_id"].as_str().unwrap();
    let record = world
        .get(&format!("/records/{id}/"), world.key())
        .await
        .body;
    assert_eq!(record["additional_parameters"], parameters);
    assert_eq!(record["error"], parameters["error"]);
    assert_eq!(
        (&record["incomplete"], &record["failed"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(
        (&record["user_id"], &record["exchange_id"]),
        (&json!("u"), &json!("r-1"))
    );
}

#[tokio::test]
async fn the_list_filters_and_pages() {
    // CONTRACT 38.
    let world = World::new().await;
    for (path, session) in [
        ("/process_request", "s"),
        ("/process_response", "s"),
        ("/process_response", "t"),
    ] {
        let parameters = json!({"session_id": session, "user_id": "u"});
        let body = json!({"application_id": world.application(), "message": "x", "additional_parameters": parameters});
        assert_eq!(
            world.post(path, world.key(), body.to_string()).await.status,
            200
        );
    }
    for (query, expected) in [
        ("", 3),
        ("session_id=s", 2),
        ("session_id=s&stage=post&user_id=u", 1),
        ("user_id=nobody", 0),
    ] {
        let list = world
            .get(&format!("/records?{query}"), world.key())
            .await
            .body;
        assert_eq!(
            list["records"].as_array().unwrap().len(),
            expected,
            "{query}"
        );
        assert_eq!(list["next_before"], Value::Null, "{query}");
    }
    let first = world.get("/records?limit=2", world.key()).await.body;
    let path = format!("/records?limit=2&before={}", first["next_before"]);
    let last = world.get(&path, world.key()).await.body;
    assert_eq!(last["records"].as_array().unwrap().len(), 1);
    assert_eq!(last["records"][0]["record"], "user_prompt");
}

#[tokio::test]
async fn an_empty_message_and_one_cut_inside_an_emoji_are_valid() {
    // CONTRACT 27.
    let world = World::new().await;
    let empty = world.analyze("").await;
    assert_eq!(
        (empty.status, &empty.body["dataclean"]["flagged"]),
        (200, &json!(false))
    );
    assert_eq!(empty.body["dataclean"]["cleaned_text"], "");
    let body = format!(
        r#"{{"application_id":"{}","message":"a\ud83d b\ud83d\ude00"}}"#,
        world.application()
    );
    let cut = world.post("/process_request/", world.key(), body).await;
    assert_eq!(
        cut.body["dataclean"]["cleaned_text"],
        "a\u{fffd} b\u{1f600}"
    );
}

#[tokio::test]
async fn a_long_message_is_analyzed_whole() {
    // CONTRACT 37.
    let world = World::new().await;
    let answer = world
        .analyze(&format!("{} a@example.org", "word ".repeat(20_000)))
        .await;
    assert_eq!(
        answer.body["dataclean"]["types"],
        json!([{"type": "EMAILS", "count": 1}])
    );
}

#[tokio::test]
async fn only_the_first_start_makes_a_token_and_the_application_stays() {
    // CONTRACT 30.
    let world = World::new().await;
    assert_eq!(
        std::fs::metadata(world.folder.path())
            .unwrap()
            .permissions()
            .mode()
            & 0o777,
        0o700
    );
    world.services.shutdown().await;
    let (services, second) = Services::open(&settings(), world.folder.path())
        .await
        .unwrap();
    assert_eq!(second.application_id, world.first.application_id);
    assert_eq!(second.access_key, None);
    let input = |text: &str| ProcessInput {
        application_id: Some(second.application_id.to_string()),
        message: text.into(),
        ..ProcessInput::default()
    };
    let key = world.first.access_key.as_ref().unwrap();
    assert!(
        services
            .ingest
            .process(Stage::PostCall, key, input("x"), Urgency::Awaited)
            .await
            .is_ok()
    );
    let invented = services
        .ingest
        .process(
            Stage::PostCall,
            &Secret::new("mon_x"),
            input("x"),
            Urgency::Awaited,
        )
        .await;
    assert_eq!(invented.err(), Some(ApiError::TokenInvalid));
    services.shutdown().await;
}

#[tokio::test]
async fn a_configured_token_is_accepted_from_the_first_start_on() {
    // CONTRACT 30.
    let folder = Folder::unmade();
    let key = Secret::new("configured");
    let settings = AnalysisSettings {
        first_token: Some(key.clone()),
        ..settings()
    };
    for _ in 0..2 {
        let (services, first) = Services::open(&settings, folder.path()).await.unwrap();
        assert_eq!(first.access_key.as_ref(), Some(&key));
        let input = ProcessInput {
            application_id: Some(first.application_id.to_string()),
            ..ProcessInput::default()
        };
        assert!(
            services
                .ingest
                .process(Stage::PreCall, &key, input, Urgency::Awaited)
                .await
                .is_ok()
        );
        services.shutdown().await;
    }
}
