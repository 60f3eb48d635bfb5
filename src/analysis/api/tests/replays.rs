//! Stored records judged again: `explain` and `replay` (CONTRACT 38).

use super::World;
use super::rules::rules_of;
use crate::analysis::{ApplicationRules, Basis, Caller, ChangedVerdict, Difference};
use crate::analysis::{Replay, ReplayPage, RulesUsed};
use monitor_model::{AppMode, ApplicationId, Policy, RecordId, Secret, Stage};
use monitor_store::{ApplicationChange, RecordFilter, Scope, VersionLimits};
use serde_json::{Value, json};

impl World {
    async fn reader(&self) -> Caller {
        let key = Secret::new(self.key());
        self.services
            .access
            .recognize(&key, Scope::Read)
            .await
            .unwrap()
    }

    async fn change(&self, id: ApplicationId, rules: Value) {
        let now = self
            .services
            .store()
            .application(id)
            .await
            .unwrap()
            .unwrap();
        let change = ApplicationChange {
            id,
            expected_version: now.version,
            name: now.name,
            description: now.description,
            rules,
            policy: None,
            changed_at_ms: 1,
            changed_by: "t".to_owned(),
            keep: VersionLimits::default(),
        };
        self.services
            .store()
            .change_application(change, None)
            .await
            .unwrap();
    }

    async fn replay(&self, id: ApplicationId, rules: Value, limit: u32) -> ReplayPage {
        let replay = Replay {
            draft: ApplicationRules::parse(&rules).unwrap(),
            filter: RecordFilter {
                limit,
                ..RecordFilter::default()
            },
        };
        let caller = self.reader().await;
        let replayed = self.services.admin.replay(&caller, id, replay);
        replayed.await.unwrap()
    }

    async fn say(&self, id: ApplicationId, message: &str) -> RecordId {
        let body = json!({"application_id": id, "message": message}).to_string();
        let answer = self.post(Stage::PreCall.path(), self.key(), body).await;
        answer.body["request_id"].as_str().unwrap().parse().unwrap()
    }
}

fn flags(differences: &[Difference]) -> Vec<&'static str> {
    differences
        .iter()
        .map(|difference| difference.field)
        .collect()
}

#[tokio::test]
async fn a_verdict_is_explained_by_the_version_that_judged_it() {
    // CONTRACT 38.
    let world = World::new().await;
    let caller = world.reader().await;
    for (keep_original, basis) in [(true, Basis::Original), (false, Basis::CleanedText)] {
        let before = rules_of(keep_original, json!(["EMAILS"]));
        let id = world.with(before, None).await;
        let record = world.say(id, "a@example.org at 10.0.0.1").await;
        world
            .change(id, rules_of(keep_original, json!(["IP"])))
            .await;
        let explanation = world.services.admin.explain(&caller, record).await.unwrap();
        assert_eq!(explanation.rules_used, RulesUsed::Version(1));
        assert_eq!(explanation.basis, basis);
        assert_eq!(explanation.differences, []);
        assert_eq!(
            explanation.rules.unwrap()["dataclean"]["patterns"],
            json!(["EMAILS"])
        );
    }
}

#[tokio::test]
async fn an_override_is_explained_by_its_own_rules() {
    // CONTRACT 38.
    let world = World::new().await;
    let inline = json!({"dataclean": {"patterns": [{"name": "ORDER", "regex": "ORD-\\d"}]}});
    let body = json!({"application_id": world.application(), "message": "ORD-1 a@example.org",
        "validation_config": {"source": "inline", "inline": inline}});
    let path = "/process_request/override/";
    let answer = world.post(path, world.key(), body.to_string()).await;
    let id = answer.body["request_id"].as_str().unwrap().parse().unwrap();
    let explanation = world
        .services
        .admin
        .explain(&world.reader().await, id)
        .await
        .unwrap();
    assert_eq!(
        (explanation.rules_used, explanation.differences),
        (RulesUsed::Inline, vec![])
    );
    let types = explanation.answer.unwrap().dataclean.types;
    assert_eq!(types[0].kind, "ORDER");
}

#[tokio::test]
async fn a_draft_shows_which_verdicts_it_would_change_page_by_page() {
    // CONTRACT 38.
    let world = World::new().await;
    for (keep_original, basis) in [(true, Basis::Original), (false, Basis::CleanedText)] {
        let policy = Policy::new(AppMode::Sync, "No.");
        let now = rules_of(keep_original, json!(["EMAILS"]));
        let id = world.with(now.clone(), Some(policy)).await;
        let plain = world.say(id, "nothing here").await;
        let mail = world.say(id, "a@example.org").await;
        let order = world.say(id, "ORD-7").await;
        assert!(world.replay(id, now, 100).await.changed.is_empty());
        let draft = rules_of(
            keep_original,
            json!([{"name": "ORDER", "regex": "ORD-\\d"}]),
        );
        let first = world.replay(id, draft.clone(), 2).await;
        assert_eq!((first.records, first.without_text), (2, 0));
        assert_eq!(first.on_cleaned_text, if keep_original { 0 } else { 2 });
        assert_turned(&first.changed, ([order, mail], basis));
        let replay = Replay {
            draft: ApplicationRules::parse(&draft).unwrap(),
            filter: RecordFilter {
                limit: 2,
                before: first.next_before,
                ..RecordFilter::default()
            },
        };
        let second = world
            .services
            .admin
            .replay(&world.reader().await, id, replay)
            .await
            .unwrap();
        assert_eq!(
            (second.records, second.changed.len(), second.next_before),
            (1, 0, None)
        );
        let stored = world.services.store().record(plain).await.unwrap().unwrap();
        assert!(!stored.summary.flagged_dataclean);
    }
}

/// The first one would be blocked now, the other one no more.
#[track_caller]
fn assert_turned(changed: &[ChangedVerdict], (expected, basis): ([RecordId; 2], Basis)) {
    let ids: Vec<_> = changed.iter().map(|changed| changed.request_id).collect();
    assert_eq!(ids, expected);
    assert!(changed.iter().all(|changed| changed.basis == basis));
    for changed in changed {
        let expected = ["blocked", "dataclean.flagged", "dataclean.types"];
        assert_eq!(flags(&changed.differences), expected);
    }
    assert_eq!(changed[0].differences[0].now, json!(true));
    assert_eq!(changed[1].differences[0].now, json!(false));
}

#[tokio::test]
async fn a_record_without_text_or_of_another_application_has_no_second_verdict() {
    // CONTRACT 38.
    let world = World::new().await;
    let off = json!({"pre": {"dataclean": null}});
    let id = world.with(off, None).await;
    let record = world.say(id, "a@example.org").await;
    let explanation = world
        .services
        .admin
        .explain(&world.reader().await, record)
        .await
        .unwrap();
    assert_eq!(explanation.basis, Basis::Nothing);
    assert!(explanation.answer.is_none() && explanation.differences.is_empty());
    assert_eq!(world.replay(id, json!({}), 10).await.without_text, 1);
    let bound = Secret::new(world.token(&[Scope::Read], true).await);
    let bound = world
        .services
        .access
        .recognize(&bound, Scope::Read)
        .await
        .unwrap();
    assert_eq!(
        world
            .services
            .admin
            .explain(&bound, record)
            .await
            .unwrap_err()
            .status(),
        404,
        "only the store knows whose record it is"
    );
}
