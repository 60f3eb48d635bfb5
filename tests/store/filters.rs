//! Every condition of a list, alone and in pairs, compared with the same condition in Rust.

use crate::costs::cost;
use monitor_model::{ApplicationId, CheckedPart, RecordId, Stage};
use monitor_store::{NewRecord, RecordFilter, ToolFilter, VerdictFilter};
use serde_json::json;
use std::collections::HashSet;
use support::bed::{Bed, MORNING_MS, everything, found};

const MINUTE_MS: i64 = 60_000;

/// Narrows one field of the filter, and says whether a record is one of those.
struct Condition {
    field: &'static str,
    narrow: Box<dyn Fn(&mut RecordFilter)>,
    holds: Box<dyn Fn(&NewRecord) -> bool>,
}

fn condition(
    field: &'static str,
    narrow: impl Fn(&mut RecordFilter) + 'static,
    holds: impl Fn(&NewRecord) -> bool + 'static,
) -> Condition {
    Condition {
        field,
        narrow: Box::new(narrow),
        holds: Box::new(holds),
    }
}

fn flagged(record: &NewRecord) -> bool {
    let answer = &record.answer;
    answer.guardrails.flagged || answer.custom_policy.flagged || answer.dataclean.flagged
}

fn verdicts() -> Vec<Condition> {
    let verdict = |verdict, holds: fn(&NewRecord) -> bool| {
        condition(
            "verdict",
            move |filter| filter.verdict = Some(verdict),
            holds,
        )
    };
    vec![
        verdict(VerdictFilter::Flagged, flagged),
        verdict(VerdictFilter::Clean, |record| {
            !flagged(record) && !record.unchecked
        }),
        verdict(VerdictFilter::Unchecked, |record| record.unchecked),
        verdict(VerdictFilter::Guardrails, |record| {
            record.answer.guardrails.flagged
        }),
        verdict(VerdictFilter::CustomPolicy, |record| {
            record.answer.custom_policy.flagged
        }),
        verdict(VerdictFilter::Dataclean, |record| {
            record.answer.dataclean.flagged
        }),
        verdict(VerdictFilter::Blocked, |record| record.blocked),
        verdict(VerdictFilter::Failed, NewRecord::failed),
    ]
}

fn names() -> Vec<Condition> {
    let mut conditions = Vec::new();
    for name in ["u0", "u%", "nobody"] {
        let own = move |value: &Option<String>| value.as_deref() == Some(name);
        conditions.push(condition(
            "user_id",
            move |filter| filter.user_id = Some(name.to_owned()),
            move |record| own(&record.user_id),
        ));
    }
    conditions.push(condition(
        "session_id",
        |filter| filter.session_id = Some("s1".to_owned()),
        |record| record.session_id.as_deref() == Some("s1"),
    ));
    for kind in ["EMAILS", "INN", "MAIL"] {
        conditions.push(condition(
            "kind",
            move |filter| filter.kind = Some(kind.to_owned()),
            move |record| {
                record
                    .answer
                    .dataclean
                    .types
                    .iter()
                    .any(|one| one.kind == kind)
            },
        ));
    }
    for text in ["ДОМ", "100%", "_"] {
        let lower = text.to_lowercase();
        conditions.push(condition(
            "text",
            move |filter| filter.text = Some(text.to_owned()),
            move |record| {
                let cleaned = record.answer.dataclean.cleaned_text.as_deref();
                cleaned.is_some_and(|cleaned| cleaned.contains(&lower))
            },
        ));
    }
    conditions
}

fn tools() -> Vec<Condition> {
    let mut conditions = vec![condition(
        "tools",
        |filter| filter.tools = Some(ToolFilter::Any),
        |record| !record.tool_parts.parts.is_empty(),
    )];
    for name in ["Bash", "чтение\0", "nothing"] {
        conditions.push(condition(
            "tools",
            move |filter| filter.tools = Some(ToolFilter::Named(name.to_owned())),
            move |record| {
                let mut parts = record.tool_parts.parts.iter();
                parts.any(|part| part.name == name)
            },
        ));
    }
    // A type in a part finds the record like one in its text.
    conditions.push(condition(
        "kind",
        |filter| filter.kind = Some("SNILS".to_owned()),
        |record| {
            let mut parts = record.tool_parts.parts.iter();
            parts.any(|part| part.types.iter().any(|kind| kind == "SNILS"))
        },
    ));
    conditions
}

fn conditions(applications: [ApplicationId; 2]) -> Vec<Condition> {
    let mut conditions = verdicts();
    conditions.extend(names());
    conditions.extend(tools());
    for id in applications {
        conditions.push(condition(
            "application_id",
            move |filter| filter.application_id = Some(id),
            move |record| record.application_id == id,
        ));
    }
    for stage in [Stage::PreCall, Stage::PostCall] {
        conditions.push(condition(
            "stage",
            move |filter| filter.stage = Some(stage),
            move |record| record.stage == stage,
        ));
    }
    for name in ["m-1", "модель\0", "none"] {
        conditions.push(condition(
            "model",
            move |filter| filter.model = Some(name.to_owned()),
            move |record| {
                let cost = record.cost.as_ref();
                cost.is_some_and(|cost| cost.model.as_deref() == Some(name))
            },
        ));
    }
    for name in ["ключ\0", "k%", "none"] {
        conditions.push(condition(
            "token",
            move |filter| filter.token = Some(name.to_owned()),
            move |record| record.token.as_deref() == Some(name),
        ));
    }
    for minutes in [0, 13, 40, 99] {
        let at = MORNING_MS + minutes * MINUTE_MS;
        conditions.push(condition(
            "from_ms",
            move |filter| filter.from_ms = Some(at),
            move |record| record.created_at_ms >= at,
        ));
        conditions.push(condition(
            "to_ms",
            move |filter| filter.to_ms = Some(at),
            move |record| record.created_at_ms < at,
        ));
    }
    conditions
}

/// The n-th of a mixed crowd; times are not in the order in which records come in.
fn nth(bed: &Bed, other: ApplicationId, number: i64) -> NewRecord {
    let bit = |bit: i64| number >> bit & 1 == 1;
    let mut record = bed.text(["a дом", "100 %", "100%", "дом_дом"][(number % 4) as usize]);
    if bit(5) {
        record.application_id = other;
    }
    if bit(0) {
        record.stage = Stage::PostCall;
    }
    record.created_at_ms = MORNING_MS + (number * 37 % 64) * MINUTE_MS;
    record.user_id =
        [Some("u0"), Some("u%"), Some("u1"), None][(number * 3 % 4) as usize].map(str::to_owned);
    record.session_id = (number % 3 > 0).then(|| format!("s{}", number % 3));
    record.blocked = number % 5 == 0;
    record.cost = bit(0).then(|| cost(if bit(2) { "m-1" } else { "модель\0" }, None));
    record.token = [Some("ключ\0"), Some("k%"), None][(number % 3) as usize].map(str::to_owned);
    record.unchecked = number % 11 < 3;
    if number % 7 == 0 {
        record
            .additional_parameters
            .insert("error".to_owned(), json!({"code": 502}));
    }
    for name in ["Bash", "Bash", "чтение\0"]
        .iter()
        .take((number % 4) as usize)
    {
        record.tool_parts.parts.push(CheckedPart {
            name: (*name).to_owned(),
            types: if bit(2) {
                vec!["SNILS".to_owned()]
            } else {
                Vec::new()
            },
            ..CheckedPart::default()
        });
    }
    let answer = &mut record.answer;
    answer.guardrails.flagged = bit(1);
    answer.custom_policy.flagged = bit(2) && bit(3);
    answer.dataclean.flagged = number % 3 == 0;
    if number % 3 == 0 {
        answer.dataclean.types = vec![found(if bit(3) { "EMAILS" } else { "INN" }, 1)];
        if bit(4) {
            answer.dataclean.types.push(found("IP", 2));
        }
    }
    record
}

pub(crate) async fn every_condition_and_every_pair_finds_what_it_says(bed: &Bed) {
    let other = bed.add_application("other").await;
    let mut crowd: Vec<(RecordId, NewRecord)> = Vec::new();
    for number in 0..64 {
        let record = nth(bed, other, number);
        crowd.insert(0, (bed.keep(record.clone()).await, record));
    }
    let conditions = conditions([bed.application, other]);
    for (index, one) in conditions.iter().enumerate() {
        for (at, also) in conditions.iter().enumerate().skip(index) {
            if at != index && one.field == also.field {
                continue;
            }
            let mut filter = everything();
            (one.narrow)(&mut filter);
            (also.narrow)(&mut filter);
            let both = |record: &NewRecord| (one.holds)(record) && (also.holds)(record);
            let expected: HashSet<RecordId> = crowd
                .iter()
                .filter(|(_, record)| both(record))
                .map(|(id, _)| *id)
                .collect();
            // A store's order is that of insertion or that of receipt.
            let ids = bed.ids(filter.clone()).await;
            assert_eq!(ids.len(), expected.len(), "{filter:?}");
            assert_eq!(HashSet::from_iter(ids), expected, "{filter:?}");
        }
    }
}

async fn finds(bed: &Bed, text: &str) -> Vec<RecordId> {
    let mut filter = everything();
    filter.text = Some(text.to_owned());
    bed.ids(filter).await
}

pub(crate) async fn a_text_is_found_in_any_letter_case_and_has_no_special_characters(bed: &Bed) {
    let texts = [
        "Привет, Мир",
        "100% sure",
        "100 sure",
        "a_b",
        "acb",
        r"back\slash",
        "o'clock",
        "nul\0inside",
        "שלום עולם",
    ];
    let mut ids = Vec::new();
    for text in texts {
        ids.push(bed.keep(bed.text(text)).await);
    }
    let wanted = [
        ("приВЕТ, мир", 0),
        ("0% S", 1),
        ("A_B", 3),
        (r"K\S", 5),
        ("O'C", 6),
        ("L\0I", 7),
        ("עולם", 8),
    ];
    for (text, index) in wanted {
        assert_eq!(finds(bed, text).await, [ids[index]], "{text:?}");
    }
    for text in ["%x", "a%b", r"\_", "' OR 1=1 --", "\0\0"] {
        assert!(finds(bed, text).await.is_empty(), "{text:?}");
    }
}

pub(crate) async fn a_text_is_looked_for_in_what_was_kept(bed: &Bed) {
    let mut original = bed.text("my number is [INN]");
    original.message = Some("My number is 7707083893".into());
    let original = bed.keep(original).await;
    let cleaned = bed.keep(bed.text("another [INN]")).await;
    assert_eq!(finds(bed, "7707083893").await, [original]);
    assert_eq!(finds(bed, "[inn]").await, [cleaned, original]);
}

pub(crate) async fn a_rare_text_is_reached_by_short_pages(bed: &Bed) {
    let rare = bed.keep(bed.text("here is the needle")).await;
    let mut tasks = Vec::new();
    for _ in 0..5000 {
        let (store, record) = (bed.store.clone(), bed.text("hay"));
        tasks.push(tokio::spawn(async move { store.insert(record).await }));
    }
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(finds(bed, "NEEDLE").await, [rare]);
}
