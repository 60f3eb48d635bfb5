//! Findings (UI.md B1): what becomes of flagged records.

use crate::accounts::added;
use crate::erasure::{erase, erasure};
use crate::removed::removed;
use monitor_model::{ApplicationId, RecordId};
use monitor_store::{
    Assignee, AssigneeFilter, AuditEntry, AuditFilter, Finding, FindingChange, FindingFilter,
    FindingReason, FindingState, FindingTargets, JudgedFilter, NewRecord, RetentionLimits,
};
use serde_json::json;
use support::bed::{Bed, DAY_MS, MORNING_MS, found};

fn flagged(bed: &Bed, user: &str, kinds: &[&str]) -> NewRecord {
    let mut record = bed.record();
    record.user_id = Some(user.to_owned());
    record.answer.dataclean.flagged = true;
    record.answer.dataclean.types = kinds.iter().map(|kind| found(kind, 1)).collect();
    record
}

fn all() -> FindingFilter {
    FindingFilter {
        limit: 50,
        ..FindingFilter::default()
    }
}

/// Every finding of a filter, page by page.
async fn list(bed: &Bed, mut filter: FindingFilter) -> Vec<Finding> {
    let mut findings = Vec::new();
    loop {
        let page = bed.store.findings(&filter).await.unwrap();
        assert!(page.findings.len() <= filter.limit as usize);
        findings.extend(page.findings);
        if page.next_before.is_none() {
            return findings;
        }
        filter.before = page.next_before;
    }
}

async fn ids(bed: &Bed, filter: FindingFilter) -> Vec<RecordId> {
    let findings = list(bed, filter).await;
    findings.into_iter().map(|finding| finding.id).collect()
}

fn decision(targets: FindingTargets, state: FindingState) -> FindingChange {
    FindingChange {
        targets,
        application_id: None,
        state: Some(state),
        reason: (state != FindingState::Open).then_some(FindingReason::TestData),
        assignee: None,
        note: None,
        actor: "anna".to_owned(),
        at_ms: MORNING_MS + 5,
    }
}

async fn decide(bed: &Bed, id: RecordId, state: FindingState) {
    let change = decision(FindingTargets::Records(vec![id]), state);
    assert_eq!(bed.store.change_findings(change, None).await.unwrap(), 1);
}

fn entry(bed: &Bed) -> AuditEntry {
    AuditEntry {
        seq: 0,
        at_ms: MORNING_MS,
        actor: "anna".to_owned(),
        token_id: None,
        action: "finding.triage".to_owned(),
        target: "x".to_owned(),
        application_id: Some(bed.application),
        details: json!({}),
    }
}

pub(crate) async fn a_flagged_record_is_an_open_finding_and_a_clean_one_is_none(bed: &Bed) {
    let clean = bed.keep(bed.record()).await;
    // Longer than an index row of PostgreSQL.
    let user = format!("анна\0{}", "x".repeat(5_000));
    let long = "y".repeat(200);
    let record = flagged(bed, &user, &["IP", "EMAILS", "odd\0", &long]);
    let id = bed.keep(record).await;
    assert_eq!(bed.store.finding(clean).await.unwrap(), None);
    let finding = bed.store.finding(id).await.unwrap().unwrap();
    assert_eq!(finding.state, FindingState::Open);
    assert_eq!(finding.user_id.as_deref(), Some(user.as_str()));
    assert_eq!(finding.labels, ["EMAILS", "IP"]);
    assert_eq!((finding.reason, finding.assignee.clone()), (None, None));
    assert_eq!(finding.application_id, bed.application);
    let of_user = FindingFilter {
        user_id: Some(user),
        state: Some(FindingState::Open),
        ..all()
    };
    assert_eq!(list(bed, of_user).await, [finding]);
    // A repeat is no second finding.
    let mut record = flagged(bed, "u", &["IP"]);
    record.exchange_id = Some("x".to_owned());
    bed.keep(record.clone()).await;
    record.answer.request_id = RecordId::random();
    bed.keep(record).await;
    assert_eq!(list(bed, all()).await.len(), 2);
}

pub(crate) async fn findings_that_are_alike_count_as_one(bed: &Bed) {
    let mut alike = Vec::new();
    for number in 0..3 {
        let mut record = flagged(bed, "anna", &["IP", "EMAILS"]);
        record.created_at_ms += number;
        alike.insert(0, bed.keep(record).await);
    }
    let other = bed.keep(flagged(bed, "anna", &["IP"])).await;
    let stranger = bed.keep(flagged(bed, "boris", &["IP", "EMAILS"])).await;
    let newest = FindingFilter {
        only_newest: true,
        limit: 2,
        ..all()
    };
    let mut shown = ids(bed, newest).await;
    shown.sort_by_key(|id| id.0);
    let mut expected = [alike[0], other, stranger];
    expected.sort_by_key(|id| id.0);
    assert_eq!(shown, expected);
    let finding = bed.store.finding(alike[0]).await.unwrap().unwrap();
    let seen = (finding.alike.first_ms, finding.alike.last_ms);
    assert_eq!(finding.alike.count, 3);
    assert_eq!(seen, (MORNING_MS, MORNING_MS + 2));
    let cluster = FindingFilter {
        cluster: Some(finding.cluster),
        ..all()
    };
    assert_eq!(ids(bed, cluster).await, alike);
    let change = decision(FindingTargets::AlikeTo(alike[1]), FindingState::Resolved);
    assert_eq!(bed.store.change_findings(change, None).await.unwrap(), 3);
    let open = FindingFilter {
        state: Some(FindingState::Open),
        ..all()
    };
    assert_eq!(list(bed, open).await.len(), 2);
}

pub(crate) async fn conditions_narrow_the_queue(bed: &Bed) {
    let anna = added(bed, "anna").await;
    let elsewhere = bed.add_application("other").await;
    let one = bed.keep(flagged(bed, "u", &["IP"])).await;
    let mut record = flagged(bed, "u", &["EMAILS"]);
    record.application_id = elsewhere;
    record.created_at_ms = MORNING_MS + DAY_MS;
    let two = bed.keep(record).await;
    let mut change = decision(FindingTargets::Records(vec![two]), FindingState::Open);
    change.assignee = Some(Some(Assignee {
        id: anna.id,
        name: anna.name.clone(),
    }));
    assert_eq!(bed.store.change_findings(change, None).await.unwrap(), 1);
    let narrowed = [
        FindingFilter {
            application_id: Some(elsewhere),
            ..all()
        },
        FindingFilter {
            assignee: Some(AssigneeFilter::Of(anna.id)),
            ..all()
        },
        FindingFilter {
            label: Some("EMAILS".to_owned()),
            ..all()
        },
        FindingFilter {
            from_ms: Some(MORNING_MS + 1),
            ..all()
        },
    ];
    for filter in narrowed {
        assert_eq!(ids(bed, filter.clone()).await, [two], "{filter:?}");
    }
    let others = [
        FindingFilter {
            assignee: Some(AssigneeFilter::Nobody),
            ..all()
        },
        FindingFilter {
            to_ms: Some(MORNING_MS + 1),
            ..all()
        },
    ];
    for filter in others {
        assert_eq!(ids(bed, filter.clone()).await, [one], "{filter:?}");
    }
    let finding = bed.store.finding(two).await.unwrap().unwrap();
    assert_eq!(finding.assignee.as_deref(), Some("anna"));
    let pages = FindingFilter { limit: 1, ..all() };
    decide(bed, one, FindingState::Confirmed).await;
    assert_eq!(list(bed, pages).await.len(), 2);
}

pub(crate) async fn a_decision_stands_in_the_history_and_in_the_audit_log(bed: &Bed) {
    let id = bed.keep(flagged(bed, "u", &["IP"])).await;
    let mut change = decision(
        FindingTargets::Records(vec![id, RecordId::random()]),
        FindingState::FalseAlarm,
    );
    change.note = Some("a\0 note".to_owned());
    let written = bed.store.change_findings(change, Some(entry(bed))).await;
    assert_eq!(written.unwrap(), 1);
    decide(bed, id, FindingState::Open).await;
    let finding = bed.store.finding(id).await.unwrap().unwrap();
    assert_eq!((finding.state, finding.reason), (FindingState::Open, None));
    let history = bed.store.finding_history(id).await.unwrap();
    let steps: Vec<_> = history.iter().map(|event| (event.from, event.to)).collect();
    let (open, wrong) = (FindingState::Open, FindingState::FalseAlarm);
    assert_eq!(steps, [(wrong, open), (open, wrong)]);
    assert_eq!(history[1].note.as_deref(), Some("a\0 note"));
    assert_eq!(history[1].reason, Some(FindingReason::TestData));
    // What reaches nothing has no entry.
    let mut nothing = decision(FindingTargets::Records(vec![id]), wrong);
    nothing.application_id = Some(ApplicationId::random());
    let changed = bed.store.change_findings(nothing, Some(entry(bed)));
    assert_eq!(changed.await.unwrap(), 0);
    let filter = AuditFilter {
        limit: 9,
        ..AuditFilter::default()
    };
    assert_eq!(bed.store.audit(&filter).await.unwrap().len(), 1);
}

pub(crate) async fn what_was_decided_is_read_newest_first(bed: &Bed) {
    let mut kept = Vec::new();
    for number in 0..4 {
        let mut record = flagged(bed, "u", &["IP"]);
        record.created_at_ms += number;
        kept.push(bed.keep(record).await);
    }
    decide(bed, kept[0], FindingState::Confirmed).await;
    decide(bed, kept[1], FindingState::Resolved).await;
    decide(bed, kept[2], FindingState::FalseAlarm).await;
    let filter = JudgedFilter {
        application_id: Some(bed.application),
        before: None,
        limit: 1,
    };
    let first = bed.store.judged_findings(&filter).await.unwrap();
    assert_eq!((first[0].id, first[0].is_confirmed), (kept[2], false));
    let rest = JudgedFilter {
        application_id: None,
        before: Some(first[0].seq),
        limit: 9,
    };
    let rest = bed.store.judged_findings(&rest).await.unwrap();
    assert_eq!(rest.len(), 1);
    assert_eq!((rest[0].id, rest[0].is_confirmed), (kept[0], true));
    assert_eq!(rest[0].labels, ["IP"]);
}

pub(crate) async fn a_finding_goes_with_its_record_and_its_history_with_it(bed: &Bed) {
    let mut old = flagged(bed, "u", &["IP"]);
    old.created_at_ms = MORNING_MS - 9 * DAY_MS;
    let old = bed.keep(old).await;
    let erased = bed.keep(flagged(bed, "gone", &["IP"])).await;
    let stays = bed.keep(flagged(bed, "u", &["IP"])).await;
    for id in [old, erased] {
        decide(bed, id, FindingState::Confirmed).await;
    }
    let limits = RetentionLimits {
        days: Some(2),
        rows: None,
        bytes: None,
        cost_days: None,
    };
    let run = bed.store.enforce_retention(None, limits, MORNING_MS).await;
    assert_eq!(run.complete().unwrap().records(), 1);
    erase(bed, &erasure("gone", None)).await;
    assert_eq!(ids(bed, all()).await, [stays]);
    for id in [old, erased] {
        assert_eq!(bed.store.finding(id).await.unwrap(), None);
        assert!(bed.store.finding_history(id).await.unwrap().is_empty());
    }
}

pub(crate) async fn those_of_a_removed_application_are_not_shown(bed: &Bed) {
    let (_, id) = removed(bed).await;
    assert_eq!(bed.store.finding(id).await.unwrap(), None);
    assert!(ids(bed, all()).await.is_empty());
    let change = decision(FindingTargets::Records(vec![id]), FindingState::Confirmed);
    assert_eq!(bed.store.change_findings(change, None).await.unwrap(), 0);
}
