//! An application's own rules: what they find, what blocks, what is kept.

use super::{Answer, World};
use crate::analysis::FieldProblem;
use crate::analysis::{ApiError, ApplicationRules};
use monitor_model::{AppMode, ApplicationId, Policy, RecordId, Stage};
use monitor_store::{Application, StoredRecord};
use serde_json::{Value, json};

/// Rules for prompts that look for these patterns.
pub(super) fn rules_of(keep_original: bool, patterns: Value) -> Value {
    json!({"keep_original": keep_original, "pre": {"dataclean": {"patterns": patterns}}})
}

impl World {
    /// A further application with these rules and this policy.
    pub(super) async fn with(&self, rules: Value, policy: Option<Policy>) -> ApplicationId {
        let id = ApplicationId::random();
        ApplicationRules::parse(&rules).unwrap();
        let application = Application {
            id,
            name: "a".to_owned(),
            description: String::new(),
            created_at_ms: 0,
            updated_at_ms: 0,
            version: 1,
            policy: None,
            rules,
        };
        self.services
            .store()
            .add_application(application, "test", None)
            .await
            .unwrap();
        if let Some(policy) = policy {
            self.services.admin.set_policy(id, policy).await.unwrap();
        }
        id
    }

    async fn judge(&self, id: ApplicationId, stage: Stage, message: &str) -> Answer {
        let body = json!({"application_id": id, "message": message,
            "additional_parameters": {"request_id": "x1"}});
        self.post(stage.path(), self.key(), body.to_string()).await
    }

    async fn stored(&self, answer: &Answer) -> StoredRecord {
        let id: RecordId = answer.body["request_id"].as_str().unwrap().parse().unwrap();
        self.services.store().record(id).await.unwrap().unwrap()
    }
}

#[tokio::test]
async fn contract_24_and_38_each_direction_has_its_own_rules() {
    let world = World::new().await;
    let rules = json!({
        "pre": {"dataclean": {"patterns": [{"name": "ORDER", "regex": "ORD-\\d+"}]},
            "tokens": {"low": 1, "high": 5, "critical": 1000}},
        "post": {"dataclean": {"allowed_patterns": [{"name": "us", "regex": "10\\..*"}]}}});
    let id = world.with(rules, None).await;
    let text = "ORD-17 at 10.0.0.1 and 8.8.8.8";
    let pre = world.judge(id, Stage::PreCall, text).await.body;
    assert_eq!(
        pre["dataclean"]["cleaned_text"],
        "[ORDER] at 10.0.0.1 and 8.8.8.8"
    );
    assert_eq!(pre["tokens"]["usage_severity"], "high");
    let post = world.judge(id, Stage::PostCall, text).await.body;
    assert_eq!(
        post["dataclean"]["cleaned_text"],
        "ORD-17 at 10.0.0.1 and [IP]"
    );
    assert_eq!(post["tokens"]["usage_severity"], Value::Null);
}

#[tokio::test]
async fn contract_12_and_15_a_record_says_whether_the_policy_blocks_on_it() {
    let world = World::new().await;
    let sync = |replace_response, dataclean| {
        let mut policy = Policy::new(AppMode::Sync, "No.");
        policy.replace_response = replace_response;
        policy.block_on.dataclean = dataclean;
        Some(policy)
    };
    let calm = Some(Policy::new(AppMode::Async, ""));
    for (policy, pre, post) in [
        (None, false, false),
        (calm, false, false),
        (sync(false, true), true, false),
        (sync(true, true), true, true),
        (sync(true, false), false, false),
    ] {
        let id = world.with(json!({}), policy).await;
        for (stage, blocked) in [(Stage::PreCall, pre), (Stage::PostCall, post)] {
            let answer = world.judge(id, stage, "a@example.org").await;
            assert_eq!(
                world.stored(&answer).await.summary.blocked,
                blocked,
                "{stage:?}"
            );
        }
        let clean = json!({"application_id": id, "message": "fine"}).to_string();
        let answer = world.post("/process_request", world.key(), clean).await;
        assert!(!world.stored(&answer).await.summary.blocked);
    }
}

#[tokio::test]
async fn detection_without_originals_keeps_masked_text_and_answers_the_same_twice() {
    // CONTRACT 25, 38.
    let world = World::new().await;
    for (keep_original, kept) in [(false, "to [EMAILS:13]"), (true, "to a@example.org")] {
        let dataclean = json!({"clean_type": "DETECTION", "mask_style": "length"});
        let rules = json!({"keep_original": keep_original, "pre": {"dataclean": dataclean}});
        let id = world.with(rules, None).await;
        let first = world.judge(id, Stage::PreCall, "to a@example.org").await;
        assert_eq!(first.body["dataclean"]["cleaned_text"], "to a@example.org");
        let again = world.judge(id, Stage::PreCall, "to a@example.org").await;
        assert_eq!(again.body, first.body);
        let stored = world.stored(&first).await;
        assert_eq!(stored.answer.dataclean.cleaned_text.as_deref(), Some(kept));
        assert_eq!(stored.message.is_some(), keep_original);
        // Another text of the same exchange is not stored: its verdict is about itself, and says so.
        let text = "to b@example.org too";
        let other = world.judge(id, Stage::PreCall, text).await;
        assert_eq!(other.body["dataclean"]["cleaned_text"], text);
        assert_eq!(other.body["request_id"], first.body["request_id"]);
        assert_eq!(other.body["warnings"][0]["code"], "reused_id");
        assert_eq!(world.stored(&other).await.message, stored.message);
    }
}

#[tokio::test]
async fn a_stored_regex_that_does_not_compile_is_told_with_every_verdict() {
    // CONTRACT 26.
    let world = World::new().await;
    let id = world.with(json!({}), None).await;
    let rules = json!({"pre": {"dataclean": {"patterns": ["IP", {"name": "N", "regex": "("}]}}});
    let problems = ApplicationRules::parse(&rules).unwrap_err();
    let field = "rules.pre.dataclean.patterns[1].regex";
    let problem = FieldProblem::new(field, "is not valid: unclosed group");
    assert_eq!(problems, std::slice::from_ref(&problem));
    assert_eq!(ApiError::Fields(vec![problem]).status(), 422);
    let broken = Application {
        id: ApplicationId::random(),
        rules,
        ..world
            .services
            .store()
            .application(id)
            .await
            .unwrap()
            .unwrap()
    };
    let id = broken.id;
    world
        .services
        .store()
        .add_application(broken, "test", None)
        .await
        .unwrap();
    let answer = world.judge(id, Stage::PreCall, "10.0.0.1").await.body;
    assert_eq!(answer["dataclean"]["cleaned_text"], "[IP]");
    assert_eq!(answer["status"], "partial_success");
    assert_eq!(
        answer["errors"],
        json!(["dataclean: custom pattern N: its regex is not valid: unclosed group"])
    );
}
