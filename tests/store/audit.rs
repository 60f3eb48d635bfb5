//! The audit log.

use monitor_model::ApplicationId;
use monitor_store::{AuditEntry, AuditFilter, TokenId};
use serde_json::json;
use support::bed::{Bed, MORNING_MS};

fn entry(number: i64, application_id: Option<ApplicationId>) -> AuditEntry {
    AuditEntry {
        seq: 0,
        at_ms: MORNING_MS - number,
        actor: format!("актор {number}"),
        token_id: (number % 2 == 0).then(|| TokenId(uuid::Uuid::new_v4())),
        action: ["application.change", "token.create"][(number % 2) as usize].to_owned(),
        target: format!("target {number}"),
        application_id,
        details: json!({"number": number, "fields": ["name"]}),
    }
}

async fn all(bed: &Bed, filter: AuditFilter) -> Vec<AuditEntry> {
    let mut filter = AuditFilter { limit: 3, ..filter };
    let mut entries: Vec<AuditEntry> = Vec::new();
    loop {
        let page = bed.store.audit(&filter).await.unwrap();
        assert!(page.len() <= 3);
        let Some(last) = page.last() else {
            break;
        };
        filter.before = Some(last.seq);
        entries.extend(page);
    }
    assert!(entries.is_sorted_by(|one, next| one.seq > next.seq));
    entries
}

pub(crate) async fn lines_come_back_newest_first(bed: &Bed) {
    let mut added = Vec::new();
    for number in 0..7 {
        let entry = entry(number, None);
        bed.store.add_audit(entry.clone()).await.unwrap();
        added.insert(0, entry);
    }
    let mut back = all(bed, AuditFilter::default()).await;
    for entry in &mut back {
        entry.seq = 0;
    }
    assert_eq!(back, added);
}

pub(crate) async fn times_and_numbers_narrow_them(bed: &Bed) {
    for number in 0..9 {
        bed.store.add_audit(entry(number, None)).await.unwrap();
    }
    let every = all(bed, AuditFilter::default()).await;
    let (from_ms, to_ms) = (MORNING_MS - 6, MORNING_MS - 2);
    let within = AuditFilter {
        from_ms: Some(from_ms),
        to_ms: Some(to_ms),
        ..AuditFilter::default()
    };
    let mut expected = every.clone();
    expected.retain(|entry| (from_ms..to_ms).contains(&entry.at_ms));
    assert_eq!(expected.len(), 4, "the end is left out");
    assert_eq!(all(bed, within.clone()).await, expected);
    let first = expected.last().unwrap().seq;
    let later = AuditFilter {
        after: Some(first),
        ..within
    };
    expected.pop();
    assert_eq!(all(bed, later).await, expected);
}

pub(crate) async fn an_application_and_an_action_narrow_them(bed: &Bed) {
    for number in 0..8 {
        // It may be about one that is gone.
        let gone = ApplicationId(uuid::Uuid::from_u128(7));
        let about = [
            None,
            Some(bed.application),
            Some(gone),
            Some(bed.application),
        ];
        let entry = entry(number / 2 + number % 2, about[(number % 4) as usize]);
        bed.store.add_audit(entry).await.unwrap();
    }
    let own = AuditFilter {
        application_id: Some(bed.application),
        ..AuditFilter::default()
    };
    let creating = AuditFilter {
        action: Some("token.create".to_owned()),
        ..AuditFilter::default()
    };
    let both = AuditFilter {
        action: creating.action.clone(),
        ..own.clone()
    };
    let is_own = |entry: &AuditEntry| entry.application_id == Some(bed.application);
    let creates = |entry: &AuditEntry| entry.action == "token.create";
    let every = all(bed, AuditFilter::default()).await;
    assert_eq!(every.len(), 8);
    let only = |holds: &dyn Fn(&AuditEntry) -> bool| -> Vec<AuditEntry> {
        every.iter().filter(|one| holds(one)).cloned().collect()
    };
    assert_eq!(all(bed, own).await, only(&is_own));
    assert_eq!(all(bed, creating).await, only(&creates));
    assert_eq!(
        all(bed, both).await,
        only(&|one| is_own(one) && creates(one))
    );
}
