//! Files that arrive before the record of their exchange (CONTRACT 48).

use crate::attachments::{attach, attach_to, file, place};
use monitor_model::{ApplicationId, Stage};
use monitor_store::{
    AttachTarget, Attached, Attachment, BlobHash, Changed, Erasure, Exchange, NewAttachment,
    NewRecord, RetentionLimits, StoreError, WaitingLimits,
};
use support::bed::{Bed, MORNING_MS, everything};
use uuid::Uuid;

const LIMITS: WaitingLimits = WaitingLimits {
    files: 100,
    bytes: 1 << 40,
};

fn exchange(application_id: ApplicationId, id: &str, stage: Stage) -> AttachTarget {
    let id = id.to_owned();
    let exchange = Exchange {
        application_id,
        id,
        stage,
    };
    AttachTarget::Exchange(exchange, LIMITS)
}

fn prompt(bed: &Bed, id: &str) -> AttachTarget {
    exchange(bed.application, id, Stage::PreCall)
}

async fn files(bed: &Bed, record: NewRecord) -> Vec<Attachment> {
    let id = bed.keep(record).await;
    bed.store.attachments(place(bed, id).await).await.unwrap()
}

async fn unlinked(bed: &Bed) -> Vec<BlobHash> {
    let mut hashes = bed.store.unlinked_blobs(100).await.unwrap();
    hashes.sort_unstable();
    bed.store.forget_blobs(hashes.clone()).await.unwrap();
    hashes
}

pub(crate) async fn a_file_waits_for_its_record_and_becomes_one_of_it(bed: &Bed) {
    let name = "обмен\0 1";
    let again = Attachment {
        kind: "text/csv".to_owned(),
        ..file(1)
    };
    let renamed = Attachment {
        name: "second name".to_owned(),
        ..file(1)
    };
    let without = Attachment {
        kept: false,
        ..file(3)
    };
    assert_eq!(
        attach_to(bed, prompt(bed, name), file(1)).await,
        Attached::Waiting
    );
    let before = Attached::Before {
        file: Box::new(file(1)),
        waits: true,
    };
    assert_eq!(
        attach_to(bed, prompt(bed, name), again.clone()).await,
        before
    );
    for one in [renamed.clone(), without.clone()] {
        assert_eq!(
            attach_to(bed, prompt(bed, name), one).await,
            Attached::Waiting
        );
    }
    assert!(unlinked(bed).await.is_empty(), "what waits is kept");
    let plain = bed.all(everything()).await;
    assert!(plain.is_empty());
    let found = files(bed, bed.exchange(name)).await;
    assert_eq!(found, [without, renamed, file(1)]);
    let with_files = bed.all(everything()).await[0].bytes;
    bed.keep(bed.exchange("other name!")).await;
    let alone = bed.all(everything()).await[0].bytes;
    assert!(with_files >= alone - 100 + file(1).size, "the bytes count");
    assert!(with_files < alone + 2 * file(1).size, "and count once");
    let late = attach_to(bed, prompt(bed, name), again).await;
    let before = Attached::Before {
        file: Box::new(file(1)),
        waits: false,
    };
    assert_eq!(late, before, "it found the record");
    assert_eq!(
        attach_to(bed, prompt(bed, name), file(4)).await,
        Attached::New
    );
    assert!(unlinked(bed).await.is_empty());
    let limits = RetentionLimits {
        rows: Some(0),
        ..RetentionLimits::default()
    };
    let gone = bed.store.enforce_retention(None, limits, MORNING_MS);
    assert_eq!(gone.await.complete().unwrap().records(), 2);
    assert_eq!(unlinked(bed).await, [file(1).hash, file(4).hash]);
    let again = attach_to(bed, prompt(bed, name), file(5)).await;
    assert_eq!(again, Attached::Waiting, "its record is gone");
    assert_eq!(files(bed, bed.exchange(name)).await, [file(5)]);
}

pub(crate) async fn only_the_record_of_its_exchange_application_and_stage_gets_it(bed: &Bed) {
    let other = bed.add_application("other").await;
    attach_to(bed, prompt(bed, "x"), file(1)).await;
    attach_to(
        bed,
        exchange(bed.application, "x", Stage::PostCall),
        file(2),
    )
    .await;
    attach_to(bed, exchange(other, "x", Stage::PreCall), file(3)).await;
    attach_to(bed, prompt(bed, "y"), file(4)).await;
    let mut answer = bed.exchange("x");
    answer.stage = Stage::PostCall;
    let mut foreign = bed.exchange("x");
    foreign.application_id = other;
    let mut tool = bed.exchange("y");
    tool.tool = Some(crate::exchanges::tool("y"));
    assert_eq!(files(bed, tool).await, []);
    assert_eq!(files(bed, bed.record()).await, []);
    assert_eq!(files(bed, bed.exchange("x")).await, [file(1)]);
    assert_eq!(files(bed, answer).await, [file(2)]);
    assert_eq!(files(bed, foreign).await, [file(3)]);
    assert_eq!(files(bed, bed.exchange("y")).await, [file(4)]);
}

pub(crate) async fn a_file_of_an_unknown_application_is_refused(bed: &Bed) {
    let to = exchange(ApplicationId::random(), "x", Stage::PreCall);
    let attached = bed.store.attach(NewAttachment {
        to,
        ticket: None,
        attachment: Attachment {
            kept: false,
            ..file(1)
        },
    });
    assert!(matches!(attached.await, Err(StoreError::NoApplication)));
}

pub(crate) async fn a_file_and_its_record_at_once_find_each_other(bed: &Bed) {
    const EXCHANGES: u8 = 60;
    let other = bed.database.open().await;
    let mut tasks = Vec::new();
    for number in 0..EXCHANGES {
        let name = format!("x{number}");
        for hash in [file(1).hash, file(2).hash] {
            bed.store.claim_blob(hash, 1_000, 7).await.unwrap();
        }
        let new = |byte| NewAttachment {
            to: prompt(bed, &name),
            ticket: Some(7),
            attachment: file(byte),
        };
        let (one, two, record) = (new(1), new(2), bed.exchange(&name));
        let (store, same, second) = (bed.store.clone(), bed.store.clone(), other.clone());
        tasks.push(tokio::spawn(async move {
            drop(store.attach(one).await.unwrap());
        }));
        tasks.push(tokio::spawn(async move {
            drop(same.insert(record).await.unwrap());
        }));
        tasks.push(tokio::spawn(async move {
            drop(second.attach(two).await.unwrap());
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    for record in bed.all(everything()).await {
        let found = bed.store.attachments(record.seq).await.unwrap();
        assert_eq!(found.len(), 2, "{:?}", record.exchange_id);
    }
    let left = bed.store.expire_waiting(i64::MAX).await.unwrap();
    assert_eq!(left, 0, "none waits for a record that is there");
    other.close().await;
}

pub(crate) async fn no_more_wait_than_may(bed: &Bed) {
    let other = bed.add_application("other").await;
    let limited = |application_id, limits| {
        let exchange = Exchange {
            application_id,
            id: "x".to_owned(),
            stage: Stage::PreCall,
        };
        AttachTarget::Exchange(exchange, limits)
    };
    let (files, bytes) = (2, 1 << 40);
    let few = WaitingLimits { files, bytes };
    for (byte, expected) in [
        (1, Attached::Waiting),
        (2, Attached::Waiting),
        (3, Attached::TooManyWaiting),
    ] {
        let to = limited(bed.application, few);
        assert_eq!(attach_to(bed, to, file(byte)).await, expected);
    }
    let again = attach_to(bed, limited(bed.application, few), file(1)).await;
    assert!(matches!(again, Attached::Before { waits: true, .. }));
    let small = WaitingLimits {
        files: 100,
        bytes: 2_000,
    };
    for (byte, kept, expected) in [
        (1, true, Attached::Waiting),
        (2, true, Attached::Waiting),
        (3, true, Attached::TooManyWaiting),
        (4, false, Attached::Waiting),
    ] {
        let one = Attachment { kept, ..file(byte) };
        let to = limited(other, small);
        assert_eq!(attach_to(bed, to, one).await, expected, "{byte}");
    }
}

pub(crate) async fn no_more_wait_than_may_of_many_at_once(bed: &Bed) {
    let other = bed.database.open().await;
    let limits = WaitingLimits {
        files: 5,
        bytes: 1 << 40,
    };
    let mut tasks = Vec::new();
    for number in 0..60 {
        let exchange = Exchange {
            application_id: bed.application,
            id: format!("x{number}"),
            stage: Stage::PreCall,
        };
        let new = NewAttachment {
            to: AttachTarget::Exchange(exchange, limits),
            ticket: None,
            attachment: Attachment {
                kept: false,
                ..file(1)
            },
        };
        let store = [&bed.store, &other][number % 2].clone();
        tasks.push(tokio::spawn(async move { store.attach(new).await }));
    }
    let mut waiting = 0;
    for task in tasks {
        match task.await.unwrap().unwrap() {
            Attached::Waiting => waiting += 1,
            refused => assert_eq!(refused, Attached::TooManyWaiting),
        }
    }
    assert_eq!(waiting, 5);
    other.close().await;
}

pub(crate) async fn what_waited_for_too_long_goes(bed: &Bed) {
    for byte in [1, 2, 3] {
        attach_to(bed, prompt(bed, "x"), file(byte)).await;
    }
    let before_ms = file(2).attached_at_ms;
    assert_eq!(bed.store.expire_waiting(before_ms).await.unwrap(), 1);
    assert_eq!(unlinked(bed).await, [file(3).hash]);
    assert_eq!(bed.store.expire_waiting(before_ms).await.unwrap(), 0);
    assert_eq!(files(bed, bed.exchange("x")).await, [file(2), file(1)]);
}

pub(crate) async fn the_files_of_an_erased_user_go_with_the_late_record(bed: &Bed) {
    let of_user = |id: &str| {
        let mut record = bed.exchange(id);
        record.user_id = Some("анна".to_owned());
        record
    };
    bed.keep(of_user("early")).await;
    let answer = |id| exchange(bed.application, id, Stage::PostCall);
    for (byte, to) in [
        (1, answer("early")),
        (2, prompt(bed, "late")),
        (3, answer("late")),
        (4, prompt(bed, "other")),
    ] {
        assert_eq!(attach_to(bed, to, file(byte)).await, Attached::Waiting);
    }
    let erasure = Erasure {
        id: Uuid::new_v4(),
        user_id: "анна".to_owned(),
        application_id: None,
        at_ms: MORNING_MS,
    };
    bed.store.add_tombstone(&erasure, None).await.unwrap();
    while bed.store.erase_step(&erasure).await.unwrap().records > 0 {}
    assert_eq!(unlinked(bed).await, [file(1).hash]);
    let refused = bed.store.insert(of_user("late")).await;
    assert!(matches!(refused, Err(StoreError::Erased)));
    assert_eq!(unlinked(bed).await, [file(2).hash, file(3).hash]);
    assert_eq!(files(bed, bed.exchange("other")).await, [file(4)]);
}

pub(crate) async fn they_go_with_their_application(bed: &Bed) {
    let other = bed.add_application("other").await;
    attach_to(bed, exchange(other, "x", Stage::PreCall), file(1)).await;
    attach_to(bed, prompt(bed, "x"), file(2)).await;
    let removed = bed.store.remove_application(other, 1, None).await.unwrap();
    assert!(matches!(removed, Changed::Done(_)));
    assert_eq!(unlinked(bed).await, [file(1).hash]);
    assert_eq!(files(bed, bed.exchange("x")).await, [file(2)]);
    let seq = place(bed, bed.keep(bed.record()).await).await;
    assert_eq!(attach(bed, seq, file(2)).await, Attached::New);
}
