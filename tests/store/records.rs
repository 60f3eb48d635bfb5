//! Records in and out, one by one and by page (CONTRACT 5 and 23).

use monitor_model::{
    ApplicationId, CallFacts, CategoryScore, CheckedPart, CheckedParts, Entity, LowScore,
    PolicyRuling, RecordId, Severity, Stage, Status, Timings, Warning, WarningCode,
};
use monitor_store::{
    NewRecord, RecordFilter, SessionFilter, SessionPage, StoreError, StoredRecord,
};
use serde_json::json;
use std::collections::HashSet;
use support::bed::{Bed, everything, found};

/// One with something in every field.
fn full(bed: &Bed) -> NewRecord {
    let mut record = bed.exchange("exchange");
    record.stage = Stage::PostCall;
    record.user_id = Some("user".to_owned());
    record.session_id = Some("session".to_owned());
    record.rules_version = Some(7);
    record.tool_parts = CheckedParts {
        parts: vec![CheckedPart {
            call_id: "call \0".to_owned(),
            name: "find".to_owned(),
            text: Some("{\"to\":\"анна\"}\0".to_owned()),
            is_cut: true,
            types: vec!["EMAILS".to_owned()],
            guardrails: vec!["jailbreak".to_owned()],
            ..CheckedPart::default()
        }],
        omitted: 2,
    };
    record.blocked = true;
    record.unchecked = true;
    record.call = Some(CallFacts {
        provider: Some("gpu-1".to_owned()),
        status: Some(502),
        latency_ms: Some(1_200),
        first_byte_ms: Some(80),
        client_address: Some([192, 0, 2, 7].into()),
    });
    record.token = Some("ключ \0".to_owned());
    record.message = Some("call +7 912 345 67 89".into());
    record.additional_parameters = serde_json::from_value(json!({
        "request_id": "exchange", "error": {"code": 502}, "incomplete": true, "own": [1, null, "x"]
    }))
    .unwrap();
    let answer = &mut record.answer;
    answer.status = Status::PartialSuccess;
    answer.errors = vec!["guardrails: the stage failed".to_owned()];
    answer.warnings = vec![Warning::new(WarningCode::UnknownField, "a warning")];
    answer.tokens.count = 12;
    answer.tokens.usage_severity = Some(Severity::High);
    answer.guardrails.flagged = true;
    answer.guardrails.score = Some(0.75);
    answer.guardrails.categories = vec![CategoryScore {
        name: "jailbreak".to_owned(),
        score: 0.75,
        flagged: true,
        threshold: Some(0.5),
        reason: "model".to_owned(),
    }];
    answer.guardrails.low_scores = vec![LowScore {
        name: "hate".to_owned(),
        score: 0.0123,
        threshold: 0.5,
    }];
    answer.custom_policy.flagged = true;
    answer.custom_policy.policies = vec![PolicyRuling {
        name: "no prices".to_owned(),
        flagged: true,
        reason: "asks for a price".to_owned(),
    }];
    answer.dataclean.flagged = true;
    answer.dataclean.cleaned_text = Some("call [PHONE_NUMBER]".into());
    answer.dataclean.types = vec![found("PHONE_NUMBER", 1), found("EMAILS", 2)];
    answer.dataclean.entities = vec![Entity {
        kind: "PHONE_NUMBER".into(),
        start: 5,
        end: 21,
    }];
    answer.timings = Timings {
        dataclean_us: 3,
        guardrails_us: 2,
        tokens_us: 4,
        total_us: 9,
        ..Timings::default()
    };
    record
}

async fn whole(bed: &Bed, id: RecordId) -> StoredRecord {
    bed.store.record(id).await.unwrap().expect("it was kept")
}

pub(crate) async fn a_record_comes_back_as_it_went_in(bed: &Bed) {
    let record = full(bed);
    let id = record.answer.request_id;
    let told = bed.store.insert(record.clone()).await.unwrap();
    let stored = whole(bed, id).await;
    assert_eq!(json!(told), json!(record.answer));
    assert_eq!(json!(stored.answer), json!(record.answer));
    assert_eq!(stored.message.as_deref(), record.message.as_deref());
    assert_eq!(stored.additional_parameters, record.additional_parameters);
    assert_eq!(stored.inline_rules, None);
    assert_eq!(stored.tool_parts, record.tool_parts);
    let summary = stored.summary;
    assert_eq!(
        (summary.id, summary.application_id, summary.stage),
        (id, bed.application, Stage::PostCall)
    );
    assert_eq!(
        (&summary.exchange_id, &summary.user_id, &summary.session_id),
        (&record.exchange_id, &record.user_id, &record.session_id)
    );
    assert_eq!(
        (summary.created_at_ms, summary.rules_version, summary.status),
        (record.created_at_ms, Some(7), Status::PartialSuccess)
    );
    assert!(summary.flagged_guardrails && summary.flagged_custom_policy);
    assert!(summary.flagged_dataclean && summary.blocked);
    assert!(summary.failed && summary.incomplete && summary.unchecked);
    assert_eq!(
        (summary.token_count, summary.severity, summary.total_us),
        (12, Some(Severity::High), 9)
    );
    assert_eq!(summary.types, record.answer.dataclean.types);
    assert_eq!(
        (&summary.call, &summary.token),
        (&record.call, &record.token)
    );
    assert_eq!(bed.all(everything()).await, [summary]);
    assert!(
        bed.store
            .record(RecordId::random())
            .await
            .unwrap()
            .is_none()
    );
}

pub(crate) async fn texts_of_every_kind_come_back_whole(bed: &Bed) {
    let texts = [
        "before\0after",
        "\0",
        "",
        "שלום עולם \u{202E}abc",
        "e\u{301} ё й \u{1F469}\u{200D}\u{1F4BB}",
        "100% _ \\ ' '' \" ; -- $1 ?1 :x",
        "\r\n\t\u{FFFD}\u{FEFF}\u{10FFFF}",
    ];
    for text in texts {
        let mut record = bed.text(text);
        record.message = Some(text.into());
        record.exchange_id = Some(format!("x{text}"));
        record.user_id = Some(format!("u{text}"));
        record.session_id = Some(format!("s{text}"));
        record.answer.errors = vec![text.to_owned()];
        record.inline_rules = Some(json!({"text": text}));
        record
            .additional_parameters
            .insert("own".to_owned(), json!(text));
        let id = bed.keep(record.clone()).await;
        let stored = whole(bed, id).await;
        assert_eq!(json!(stored.answer), json!(record.answer), "{text:?}");
        assert_eq!(stored.message.as_deref(), Some(text));
        assert_eq!(stored.additional_parameters, record.additional_parameters);
        assert_eq!(stored.inline_rules, record.inline_rules);
        let mut filter = everything();
        filter.user_id = record.user_id.clone();
        assert_eq!(bed.ids(filter.clone()).await, [id], "{text:?}");
        filter.session_id = record.session_id.clone();
        let summaries = bed.all(filter).await;
        assert_eq!(summaries[0].session_id, record.session_id);
        assert_eq!(summaries[0].exchange_id, record.exchange_id);
        assert_eq!(bed.keep(record).await, id, "one exchange, kept once");
    }
}

pub(crate) async fn rules_that_came_with_the_request_are_kept_in_place_of_a_version(bed: &Bed) {
    let mut record = bed.record();
    record.rules_version = None;
    record.inline_rules = Some(json!({"dataclean": {"patterns": ["INN"]}}));
    let id = bed.keep(record.clone()).await;
    let stored = whole(bed, id).await;
    assert_eq!(stored.summary.rules_version, None);
    assert_eq!(stored.inline_rules, record.inline_rules);
}

pub(crate) async fn the_same_exchange_and_stage_is_kept_once_with_the_first_answer(bed: &Bed) {
    let mut record = bed.exchange("x");
    record.answer.dataclean.cleaned_text = Some("the first".into());
    let first = bed.store.insert(record).await.unwrap();
    let again = bed.store.insert(bed.exchange("x")).await.unwrap();
    assert_eq!(json!(again), json!(first));
    let mut post = bed.exchange("x");
    post.stage = Stage::PostCall;
    assert_ne!(bed.keep(post).await, first.request_id);
    assert_eq!(bed.all(everything()).await.len(), 2);
}

pub(crate) async fn records_without_an_exchange_and_of_other_applications_stand_alone(bed: &Bed) {
    let mut foreign = bed.exchange("x");
    foreign.application_id = bed.add_application("other").await;
    for record in [bed.record(), bed.record(), foreign, bed.exchange("x")] {
        let id = record.answer.request_id;
        assert_eq!(bed.keep(record).await, id);
    }
    assert_eq!(bed.all(everything()).await.len(), 4);
}

pub(crate) async fn many_at_once_are_all_kept_and_duplicates_among_them_once(bed: &Bed) {
    let mut tasks = Vec::new();
    for number in 0..600 {
        let record = bed.exchange(&format!("x{}", number / 2));
        let store = bed.store.clone();
        tasks.push(tokio::spawn(async move { store.insert(record).await }));
    }
    let mut told = HashSet::new();
    for task in tasks {
        told.insert(task.await.unwrap().unwrap().request_id);
    }
    let kept: HashSet<_> = bed.ids(everything()).await.into_iter().collect();
    assert_eq!(kept.len(), 300);
    assert_eq!(kept, told);
}

pub(crate) async fn a_record_of_an_unknown_application_costs_only_itself(bed: &Bed) {
    let mut orphan = bed.record();
    orphan.application_id = ApplicationId::random();
    let good = bed.record();
    let id = good.answer.request_id;
    let (orphan, good) = tokio::join!(bed.store.insert(orphan), bed.store.insert(good));
    assert!(matches!(orphan, Err(StoreError::NoApplication)));
    assert_eq!(good.unwrap().request_id, id);
    assert_eq!(bed.ids(everything()).await, [id]);
}

pub(crate) async fn an_identifier_that_is_there_already_costs_only_itself(bed: &Bed) {
    let first = bed.record();
    let id = bed.keep(first.clone()).await;
    let (before, after) = (bed.exchange("before"), bed.exchange("after"));
    let (before, twice, after) = tokio::join!(
        bed.store.insert(before),
        bed.store.insert(first),
        bed.store.insert(after)
    );
    assert!(matches!(twice, Err(StoreError::Unavailable(_))));
    let mut expected = HashSet::from([id]);
    expected.extend([before.unwrap().request_id, after.unwrap().request_id]);
    let kept = bed.ids(everything()).await;
    assert_eq!(kept.len(), 3);
    assert_eq!(HashSet::from_iter(kept.iter().copied()), expected);
    for id in kept {
        assert_eq!(whole(bed, id).await.answer.request_id, id);
    }
}

pub(crate) async fn pages_hold_their_place_while_records_come_in(bed: &Bed) {
    let mut expected = Vec::new();
    for _ in 0..20 {
        expected.insert(0, bed.keep(bed.record()).await);
    }
    let (mut filter, mut seen) = (everything(), Vec::new());
    loop {
        let page = bed.store.page(&filter).await.unwrap();
        seen.extend(page.records.into_iter().map(|record| record.id));
        let Some(next) = page.next_before else {
            break;
        };
        filter.before = Some(next);
        bed.keep(bed.record()).await;
    }
    assert_eq!(seen, expected);
}

pub(crate) async fn a_whole_page_is_the_page_with_its_texts(bed: &Bed) {
    for number in 0..9 {
        let mut record = bed.text(&format!("cleaned {number}"));
        record.message = Some(format!("original {number}").into());
        record
            .additional_parameters
            .insert("n".to_owned(), json!(number));
        bed.keep(record).await;
    }
    let mut filter = everything();
    let mut numbers = Vec::new();
    loop {
        let (page, whole) = (
            bed.store.page(&filter).await.unwrap(),
            bed.store.whole_page(&filter).await.unwrap(),
        );
        let summaries: Vec<_> = whole
            .records
            .iter()
            .map(|one| one.summary.clone())
            .collect();
        assert_eq!(summaries, page.records);
        assert_eq!(whole.next_before, page.next_before);
        for record in whole.records {
            let number = record.additional_parameters["n"].as_u64().unwrap();
            assert_eq!(record.message, Some(format!("original {number}")));
            let cleaned = record.answer.dataclean.cleaned_text;
            assert_eq!(cleaned, Some(format!("cleaned {number}").into()));
            numbers.push(number);
        }
        filter.before = whole.next_before;
        if filter.before.is_none() {
            break;
        }
    }
    assert!(numbers.into_iter().eq((0..9).rev()));
}

pub(crate) async fn a_whole_page_of_large_records_is_short_and_goes_on(bed: &Bed) {
    let large = "large ".repeat(1 << 18);
    let mut expected = Vec::new();
    for _ in 0..4 {
        expected.insert(0, bed.keep(bed.text(&large)).await);
    }
    for text in [None, Some("LARGE".to_owned())] {
        let is_search = text.is_some();
        let mut filter = RecordFilter {
            text,
            ..everything()
        };
        let (mut ids, mut most) = (Vec::new(), 0);
        loop {
            let page = bed.store.whole_page(&filter).await.unwrap();
            most = most.max(page.records.len());
            ids.extend(page.records.iter().map(|one| one.summary.id));
            filter.before = page.next_before;
            if filter.before.is_none() {
                break;
            }
        }
        assert_eq!(ids, expected);
        // Two make 3 MiB. A search has a bound of its own besides.
        assert!(most == 2 || is_search && most == 1, "{most}");
    }
}

pub(crate) async fn a_page_of_records_with_long_ids_is_short_and_goes_on(bed: &Bed) {
    // As an earlier release took them.
    let long = "x".repeat(1 << 20);
    let mut expected = Vec::new();
    for number in 0..7 {
        let mut record = bed.exchange(&format!("{long}{number}"));
        record.session_id = Some(format!("{number}{long}"));
        expected.insert(0, bed.keep(record).await);
    }
    assert_eq!(bed.ids(everything()).await, expected);
    let page = bed.store.page(&everything()).await.unwrap();
    assert_eq!(page.records.len(), 1, "two have more than 4 MiB of ids");
    let sessions = SessionFilter {
        limit: 7,
        ..SessionFilter::default()
    };
    let sessions = bed.store.sessions(&sessions).await.unwrap();
    let page = SessionPage::cut(sessions.clone(), 7);
    assert_eq!((page.sessions.len(), page.has_more), (3, true));
    let page = SessionPage::cut(sessions[4..].to_vec(), 7);
    assert_eq!((page.sessions.len(), page.has_more), (3, false));
}

pub(crate) async fn a_message_of_a_megabyte_comes_back(bed: &Bed) {
    let text = "длинно\0".repeat(100_000);
    let id = bed.keep(bed.text(&text)).await;
    let cleaned = whole(bed, id).await.answer.dataclean.cleaned_text;
    assert!(cleaned == Some(text.into()));
}
