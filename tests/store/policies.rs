//! Policies of applications (CONTRACT 16). Which rows an engine's constraints accept is tested with the
//! gateway's policies.

use monitor_model::{
    AppMode, ApplicationId, BlockDetails, Budget, BudgetState, CountedBudgets, Embeddings,
    OnBackendFailure, Policy, ScanRole, StreamInSync,
};
use monitor_store::{Changed, StoreError};
use support::bed::Bed;

fn policy(text: &str) -> Policy {
    Policy::from_json(text).unwrap()
}

async fn changes(bed: &Bed) -> i64 {
    bed.store.policy_changes().await.unwrap()
}

pub(crate) async fn one_is_set_replaced_and_taken_away(bed: &Bed) {
    let (store, id) = (&bed.store, bed.application);
    let mut written = store.policy_written();
    for text in [
        r#"{"app_mode":"sync","phrase":"нет \"так\" \\ 100%"}"#,
        r#"{"app_mode":"async","scan_roles":["tool","system"]}"#,
    ] {
        assert!(store.set_policy(id, Some(policy(text))).await.unwrap());
        let listed = store.policies().await.unwrap();
        assert_eq!((listed.len(), listed[0].id), (1, id));
        assert_eq!(
            (&*listed[0].name, &listed[0].policy),
            ("first", &Ok(policy(text)))
        );
        assert!(written.has_changed().unwrap());
        written.mark_unchanged();
    }
    assert!(store.set_policy(id, None).await.unwrap());
    assert!(store.policies().await.unwrap().is_empty());
    let unknown = store.set_policy(ApplicationId::random(), None).await;
    assert!(!unknown.unwrap());
}

pub(crate) async fn every_change_counts(bed: &Bed) {
    let (store, id) = (&bed.store, bed.application);
    let mut seen = vec![changes(bed).await];
    let blocking = policy(r#"{"app_mode":"sync","phrase":"no"}"#);
    store.set_policy(id, Some(blocking.clone())).await.unwrap();
    seen.push(changes(bed).await);
    let mut renamed = bed.change(1, "renamed");
    renamed.policy = Some(blocking);
    store.change_application(renamed, None).await.unwrap();
    seen.push(changes(bed).await);
    let other = bed.database.open().await;
    let taken = other
        .change_application(bed.change(2, "without"), None)
        .await;
    assert_eq!(taken.unwrap(), Changed::Done(3));
    seen.push(changes(bed).await);
    other.close().await;
    assert!(seen.is_sorted_by(|one, next| one != next), "{seen:?}");
}

pub(crate) async fn every_word_of_a_policy_can_be_stored(bed: &Bed) {
    let sync = || policy(r#"{"app_mode":"sync","phrase":"no"}"#);
    let mut every = vec![sync()];
    every.extend(
        AppMode::ALL
            .iter()
            .map(|word| with(sync(), |policy| policy.app_mode = *word)),
    );
    every.extend(
        OnBackendFailure::ALL
            .iter()
            .map(|word| with(sync(), |policy| policy.on_backend_failure = *word)),
    );
    every.extend(
        StreamInSync::ALL
            .iter()
            .map(|word| with(sync(), |policy| policy.stream_in_sync = *word)),
    );
    every.extend(
        BlockDetails::ALL
            .iter()
            .map(|word| with(sync(), |policy| policy.block_details = *word)),
    );
    every.extend(
        Embeddings::ALL
            .iter()
            .map(|word| with(sync(), |policy| policy.embeddings = *word)),
    );
    every.extend(
        ScanRole::ALL
            .iter()
            .map(|word| with(sync(), |policy| policy.scan_roles = vec![*word])),
    );
    every.push(with(sync(), |policy| {
        policy.scan_roles = ScanRole::ALL.to_vec()
    }));
    every.extend(
        [true, false].map(|checks| with(sync(), |policy| policy.check_tool_arguments = checks)),
    );
    every.extend(budgets().map(|budgets| with(sync(), |policy| policy.budgets = budgets)));
    for (version, policy) in (1_i64..).zip(every) {
        let set = bed
            .store
            .set_policy(bed.application, Some(policy.clone()))
            .await;
        assert!(matches!(set, Ok(true)), "{}: {set:?}", policy.to_json());
        let mut change = bed.change(version, "changed");
        change.policy = Some(policy.clone());
        assert_eq!(
            bed.store.change_application(change, None).await.unwrap(),
            Changed::Done(version + 1)
        );
        assert_eq!(bed.store.policies().await.unwrap()[0].policy, Ok(policy));
    }
}

/// Budgets of every kind, as many as a policy may have.
fn budgets() -> impl Iterator<Item = Vec<Budget>> {
    let budget = |per: &str, window: &str, amount: &str| {
        format!(r#"{{"per":"{per}","window":"{window}","action":"stop",{amount}}}"#)
    };
    let kinds = ["application", "user"].map(|per| {
        ["minute", "day", "month"].map(|window| {
            [r#""tokens":7"#, r#""cost":"0.000000000001""#]
                .map(|amount| budget(per, window, amount))
        })
    });
    let kinds = kinds.into_iter().flatten().flatten().collect::<Vec<_>>();
    let lists = kinds.chunks(8).map(|kinds| kinds.join(","));
    let read =
        |list: String| policy(&format!(r#"{{"app_mode":"async","budgets":[{list}]}}"#)).budgets;
    lists.map(read).collect::<Vec<_>>().into_iter()
}

pub(crate) async fn states_of_budgets_are_published_again_and_again(bed: &Bed) {
    let (store, id) = (&bed.store, bed.application);
    let states: Vec<_> = budgets()
        .flatten()
        .map(|budget| BudgetState {
            budget,
            until_ms: i64::MAX,
            spent: vec![String::new(), "'модель\0 \u{10FFFF}\\N".to_owned()],
            warned: vec![],
        })
        .collect();
    let counted = |counted_ms, states: &[BudgetState]| CountedBudgets {
        counted_ms,
        states: states.to_vec(),
    };
    // One of them was removed meanwhile.
    let gone = ApplicationId::random();
    for states in [&states[..], &states[..1], &[], &[]] {
        for counted_ms in [7, 7, 8] {
            let both = [gone, id].map(|id| (id, counted(counted_ms, states)));
            store.publish_budgets(&both).await.unwrap();
        }
    }
    store.publish_budgets(&[]).await.unwrap();
}

fn with(mut policy: Policy, change: impl FnOnce(&mut Policy)) -> Policy {
    change(&mut policy);
    policy
}

pub(crate) async fn the_program_and_the_store_agree_on_what_a_policy_is(bed: &Bed) {
    let mut refused = policy(r#"{"app_mode":"async"}"#);
    refused.replace_response = true;
    let constraint = |said: StoreError| {
        assert!(matches!(said, StoreError::Refused(_)), "{said}");
        assert!(
            said.to_string().contains("policy_without_contradiction"),
            "{said}"
        );
    };
    let set = bed
        .store
        .set_policy(bed.application, Some(refused.clone()))
        .await;
    constraint(set.unwrap_err());
    let mut change = bed.change(1, "contradiction");
    change.policy = Some(refused);
    constraint(
        bed.store
            .change_application(change, None)
            .await
            .unwrap_err(),
    );
    let now = bed
        .store
        .application(bed.application)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((&*now.name, now.version, now.policy), ("first", 1, None));
    let versions = bed.store.application_versions(now.id, None, 5).await;
    assert_eq!(versions.unwrap().len(), 1, "nothing of the change is left");
}
