//! Sequence numbers of gateways as a store keeps them (CONTRACT 5).

use monitor_model::{Chain, ChainHash, Span};
use monitor_store::{
    ChainEntry, ChainFilter, ChainState, Erasure, Insertion, NewRecord, RetentionLimits,
    STORED_APART, StoreError,
};
use serde_json::json;
use support::bed::{Bed, DAY_MS, MORNING_MS, answer, everything as all_records};
use uuid::Uuid;

fn hash(number: u64) -> ChainHash {
    let mut hash = [7; 32];
    hash[..8].copy_from_slice(&number.to_le_bytes());
    ChainHash(hash)
}

fn numbered(bed: &Bed, gateway: u128, sequence: u64) -> NewRecord {
    NewRecord {
        chain: Some(ChainEntry {
            gateway: Uuid::from_u128(gateway),
            sequence,
            previous: hash(sequence - 1),
            link: hash(sequence),
            after: None,
        }),
        ..bed.exchange(&format!("{gateway}-{sequence}"))
    }
}

async fn keep(bed: &Bed, gateway: u128, numbers: impl IntoIterator<Item = u64>) {
    for number in numbers {
        bed.keep(numbered(bed, gateway, number)).await;
    }
}

fn everything() -> ChainFilter {
    ChainFilter {
        from: 1,
        limit: 10,
        ..ChainFilter::default()
    }
}

async fn states(bed: &Bed, filter: &ChainFilter) -> Vec<ChainState> {
    bed.store.chains(filter).await.unwrap().gateways
}

fn spans(state: &ChainState) -> Vec<(u64, u64)> {
    state.runs.iter().map(|run| (run.first, run.last)).collect()
}

pub(crate) async fn numbers_in_any_order_are_put_together_and_a_second_delivery_is_none(bed: &Bed) {
    keep(bed, 2, [3, 1, 5, 2, 9, 7]).await;
    keep(bed, 2, [3, 1]).await;
    keep(bed, 1, [4]).await;
    bed.keep(bed.exchange("without a number")).await;
    let seen = states(bed, &everything()).await;
    assert_eq!(seen.len(), 2);
    assert_eq!((seen[0].bounds, seen[0].count), ((4, 4), 1));
    assert_eq!(spans(&seen[1]), [(1, 3), (5, 5), (7, 7), (9, 9)]);
    assert_eq!((seen[1].bounds, seen[1].count), ((1, 9), 6));
    assert_eq!((seen[1].stubs, seen[1].repeats), (0, 0));
    keep(bed, 2, [8, 6, 4]).await;
    let seen = states(bed, &everything()).await;
    assert_eq!(spans(&seen[1]), [(1, 9)]);
    let run = seen[1].runs[0];
    assert_eq!((run.previous, run.link), (hash(0), hash(9)));
    assert!(seen.iter().all(|one| one.vanished.is_empty()));
}

pub(crate) async fn many_at_once_from_two_stores_are_one_run(bed: &Bed) {
    let other = bed.database.open().await;
    let records: Vec<_> = (1..=300).map(|n| numbered(bed, 3, n)).collect();
    let inserts = records.into_iter().enumerate().map(|(index, record)| {
        let store = [&bed.store, &other][index % 2];
        async move { store.insert(record).await.unwrap() }
    });
    futures_util::future::join_all(inserts).await;
    let seen = states(bed, &everything()).await;
    assert_eq!((spans(&seen[0]), seen[0].count), (vec![(1, 300)], 300));
    other.close().await;
}

pub(crate) async fn a_number_of_two_records_and_a_wrong_link_show(bed: &Bed) {
    keep(bed, 1, [1, 2]).await;
    let mut again = numbered(bed, 1, 2);
    again.exchange_id = Some("another".to_owned());
    bed.keep(again).await;
    let mut wrong = numbered(bed, 1, 3);
    wrong.chain.as_mut().unwrap().previous = hash(9);
    bed.keep(wrong).await;
    let seen = states(bed, &everything()).await;
    assert_eq!((seen[0].count, seen[0].repeats), (3, 1));
    assert_eq!(spans(&seen[0]), [(1, 2), (3, 3)]);
}

pub(crate) async fn a_cut_is_kept_and_a_filter_narrows(bed: &Bed) {
    keep(bed, 1, [1, 2, 5]).await;
    let mut behind = numbered(bed, 1, 8);
    behind.chain.as_mut().unwrap().after = Some(2);
    bed.keep(behind).await;
    keep(bed, 2, [1]).await;
    let seen = states(bed, &everything()).await;
    assert_eq!(
        (&*seen[0].cuts, &*seen[1].cuts),
        (&[Span::new(3, 7)][..], &[][..])
    );
    let narrow = ChainFilter {
        gateway: Some(Uuid::from_u128(1)),
        from: 4,
        to: Some(6),
        ..everything()
    };
    let seen = states(bed, &narrow).await;
    assert_eq!((seen.len(), spans(&seen[0])), (1, vec![(5, 5)]));
    let behind = ChainFilter {
        after: Some(Uuid::from_u128(1)),
        ..everything()
    };
    assert_eq!(states(bed, &behind).await[0].gateway, Uuid::from_u128(2));
    let one = ChainFilter {
        limit: 1,
        ..everything()
    };
    assert!(bed.store.chains(&one).await.unwrap().goes_on);
    assert_eq!(states(bed, &one).await.len(), 1);
}

pub(crate) async fn a_record_that_is_there_under_another_number_is_not_missing(bed: &Bed) {
    bed.keep(bed.exchange("1-1")).await;
    keep(bed, 1, [1, 2]).await;
    let mut other = numbered(bed, 1, 3);
    other.exchange_id = Some("1-2".to_owned());
    bed.keep(other).await;
    let seen = states(bed, &everything()).await;
    assert_eq!((spans(&seen[0]), seen[0].count), (vec![(1, 3)], 3));
    assert_eq!((seen[0].stubs, seen[0].repeats), (2, 0));
    assert_eq!(seen[0].vanished, []);
}

/// With another text than that of every other record, and an answer of its own.
fn saying(record: NewRecord, text: Option<&str>) -> NewRecord {
    let mut answer = answer();
    answer.dataclean.cleaned_text = text.map(Into::into);
    NewRecord { answer, ..record }
}

/// As a gateway sends it: with its number among the parameters.
fn as_sent(mut record: NewRecord) -> NewRecord {
    let entry = record.chain.unwrap();
    let chain = Chain {
        gateway: entry.gateway,
        sequence: entry.sequence,
        previous: entry.previous,
        after: None,
    };
    let parameters = &mut record.additional_parameters;
    parameters.insert("chain".to_owned(), json!(chain));
    record
}

pub(crate) async fn a_numbered_record_under_a_taken_id_is_stored_beside_it_and_once(bed: &Bed) {
    // Where no text is kept, nothing tells that two records are one.
    let texts = [
        (Some("mine"), Some("theirs")),
        (None, Some("x")),
        (None, None),
    ];
    for (number, (mine, theirs)) in (1..).zip(texts) {
        let exchange = bed.exchange(&format!("1-{number}"));
        let first = saying(exchange.clone(), theirs);
        assert!(matches!(
            bed.store.insert_new(first.clone()).await.unwrap(),
            Insertion::New
        ));
        let own = saying(numbered(bed, 1, number), mine);
        let stored = bed.store.insert_new(own.clone()).await.unwrap();
        let Insertion::Apart(warning) = stored else {
            panic!("{number}: {stored:?}");
        };
        assert_eq!(warning.message, STORED_APART);
        let again = bed.store.insert(saying(own.clone(), mine)).await.unwrap();
        assert_eq!(again.request_id, own.answer.request_id, "sent again");
        assert_eq!(again.warnings, [warning]);
        let record = bed.store.record(own.answer.request_id).await.unwrap();
        let record = record.unwrap();
        assert_eq!(record.answer.warnings, again.warnings);
        let id = record.summary.exchange_id.unwrap();
        assert!(id.starts_with(&format!("1-{number}#")), "{id}");
        for (text, is_other) in [(theirs, false), (Some("late"), true)] {
            let late = saying(exchange.clone(), text);
            let Insertion::Earlier(earlier) = bed.store.insert_new(late).await.unwrap() else {
                panic!("a message without a number is not stored beside another");
            };
            assert_eq!(earlier.answer.request_id, first.answer.request_id);
            assert_eq!(earlier.has_other_text, is_other);
        }
    }
    let other = NewRecord {
        exchange_id: Some("1-1".to_owned()),
        ..numbered(bed, 2, 9)
    };
    let other = bed.keep(saying(other, Some("of another gateway"))).await;
    let ids = bed.ids(all_records()).await;
    assert_eq!((ids.len(), ids.contains(&other)), (7, true));
    let seen = states(bed, &everything()).await;
    assert_eq!(
        (spans(&seen[0]), spans(&seen[1])),
        (vec![(1, 3)], vec![(9, 9)])
    );
    for one in seen {
        assert_eq!((one.stubs, one.repeats, one.vanished), (0, 0, vec![]));
    }
}

pub(crate) async fn a_record_that_comes_again_under_other_rules_is_no_other_one(bed: &Bed) {
    let first = as_sent(saying(numbered(bed, 1, 1), Some("[EMAILS]")));
    let kept = bed.keep(first.clone()).await;
    let mut again = saying(first, Some("a@example.org"));
    again.rules_version = Some(2);
    again.message = Some("a@example.org".into());
    let parameters = &mut again.additional_parameters;
    parameters.insert("unchecked".to_owned(), json!(true));
    assert_eq!(bed.keep(again).await, kept);
    let seen = states(bed, &everything()).await;
    assert_eq!((seen[0].stubs, seen[0].repeats), (0, 0));
    assert_eq!(bed.ids(all_records()).await, [kept]);
}

pub(crate) async fn a_number_that_somebody_used_for_a_text_of_his_own_shows(bed: &Bed) {
    let said = |text: &str, link: u64| {
        let mut record = as_sent(saying(numbered(bed, 1, 1), Some(text)));
        record.message = Some(text.into());
        record.chain.as_mut().unwrap().link = hash(link);
        record
    };
    let theirs = bed.keep(said("theirs", 8)).await;
    let mine = bed.keep(said("mine", 1)).await;
    assert_ne!(mine, theirs);
    assert_eq!(bed.keep(said("mine", 1)).await, mine, "sent again");
    let seen = states(bed, &everything()).await;
    assert_eq!((seen[0].count, seen[0].stubs, seen[0].repeats), (1, 0, 1));
    assert_eq!(bed.ids(all_records()).await.len(), 2);
}

pub(crate) async fn of_many_at_once_under_taken_ids_no_numbered_one_is_lost(bed: &Bed) {
    let other = bed.database.open().await;
    let mut records = Vec::new();
    for number in 1..=100 {
        let theirs = saying(bed.exchange(&format!("3-{number}")), Some("theirs"));
        let mine = saying(numbered(bed, 3, number), Some("mine"));
        records.extend([theirs, mine.clone(), saying(mine, Some("mine"))]);
    }
    let inserts = records.into_iter().enumerate().map(|(index, record)| {
        let store = [&bed.store, &other][index % 2];
        async move { store.insert(record).await.unwrap() }
    });
    futures_util::future::join_all(inserts).await;
    let seen = states(bed, &everything()).await;
    assert_eq!((spans(&seen[0]), seen[0].count), (vec![(1, 100)], 100));
    assert_eq!((seen[0].stubs, seen[0].repeats), (0, 0));
    assert_eq!(seen[0].vanished, []);
    let mut found = 0;
    for id in bed.ids(all_records()).await {
        let record = bed.store.record(id).await.unwrap().unwrap();
        let text = record.answer.dataclean.cleaned_text;
        found += usize::from(text.as_deref() == Some("mine"));
    }
    assert_eq!(found, 100, "each once");
    other.close().await;
}

pub(crate) async fn removed_records_stay_known_as_stubs(bed: &Bed) {
    for number in 1..=20 {
        let mut record = numbered(bed, 1, number);
        record.created_at_ms = MORNING_MS - (20 - number as i64) * DAY_MS;
        record.user_id = Some(format!("u{}", number % 2));
        bed.keep(record).await;
    }
    let limits = RetentionLimits {
        days: None,
        rows: Some(6),
        bytes: None,
        cost_days: None,
    };
    let gone = bed.store.enforce_retention(None, limits, MORNING_MS).await;
    assert_eq!(gone.complete().unwrap().records(), 14);
    let erasure = Erasure {
        id: Uuid::new_v4(),
        user_id: "u0".to_owned(),
        application_id: None,
        at_ms: MORNING_MS,
    };
    bed.store.add_tombstone(&erasure, None).await.unwrap();
    assert_eq!(bed.store.erase_step(&erasure).await.unwrap().records, 3);
    for _ in 0..2 {
        let mut late = numbered(bed, 1, 21);
        late.user_id = Some("u0".to_owned());
        let refused = bed.store.insert(late).await;
        assert!(matches!(refused, Err(StoreError::Erased)));
    }
    let seen = states(bed, &everything()).await;
    assert_eq!((spans(&seen[0]), seen[0].stubs), (vec![(1, 21)], 18));
    assert_eq!((seen[0].repeats, &*seen[0].vanished), (0, &[][..]));
}
