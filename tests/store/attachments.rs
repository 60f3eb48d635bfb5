//! Files of records: their links, and bytes without a link (CONTRACT 29).

use monitor_model::RecordId;
use monitor_store::{
    AttachTarget, Attached, Attachment, BlobHash, Exchange, Findings, MOST_FILES, NewAttachment,
    RetentionLimits, Scanned, WaitingLimits,
};
use support::bed::{Bed, MORNING_MS, everything, found};

pub(crate) fn file(byte: u8) -> Attachment {
    Attachment {
        hash: BlobHash([byte; 32]),
        name: format!("имя\0 {byte}.txt"),
        kind: "text/plain".to_owned(),
        size: 1_000,
        kept: true,
        findings: Findings {
            extraction: None,
            scanned: Scanned::Whole,
            types: vec![found("EMAILS", 2)],
        },
        attached_at_ms: MORNING_MS - i64::from(byte),
    }
}

pub(crate) async fn place(bed: &Bed, id: RecordId) -> i64 {
    bed.store.record(id).await.unwrap().unwrap().summary.seq
}

/// Claims and links, as who has written the bytes does.
pub(crate) async fn attach(bed: &Bed, seq: i64, attachment: Attachment) -> Attached {
    attach_to(bed, AttachTarget::Record(seq), attachment).await
}

/// The same for any target.
pub(crate) async fn attach_to(bed: &Bed, to: AttachTarget, attachment: Attachment) -> Attached {
    let ticket = match attachment.kept {
        true => bed
            .store
            .claim_blob(attachment.hash, 1_000, 7)
            .await
            .unwrap(),
        false => None,
    };
    let new = NewAttachment {
        to,
        ticket,
        attachment,
    };
    bed.store.attach(new).await.unwrap()
}

/// The record has it already.
fn before(file: Attachment) -> Attached {
    let file = Box::new(file);
    Attached::Before { file, waits: false }
}

async fn unlinked(bed: &Bed) -> Vec<BlobHash> {
    let mut hashes = bed.store.unlinked_blobs(100).await.unwrap();
    hashes.sort_unstable();
    hashes
}

pub(crate) async fn files_come_back_as_they_were_attached(bed: &Bed) {
    let seq = place(bed, bed.keep(bed.record()).await).await;
    assert!(bed.store.attachments(seq).await.unwrap().is_empty());
    let without = Attachment {
        kept: false,
        ..file(3)
    };
    for one in [file(1), file(2), without.clone()] {
        assert_eq!(attach(bed, seq, one).await, Attached::New);
    }
    let back = bed.store.attachments(seq).await.unwrap();
    assert_eq!(back, [without, file(2), file(1)]);
    let gone = attach(bed, seq + 1_000_000, file(1)).await;
    assert_eq!(gone, Attached::NoRecord);
}

pub(crate) async fn one_file_of_one_record_is_one_link(bed: &Bed) {
    let first = place(bed, bed.keep(bed.record()).await).await;
    let second = place(bed, bed.keep(bed.record()).await).await;
    assert_eq!(attach(bed, first, file(1)).await, Attached::New);
    let later = Attachment {
        kind: "text/csv".to_owned(),
        attached_at_ms: MORNING_MS,
        ..file(1)
    };
    assert_eq!(attach(bed, first, later).await, before(file(1)));
    assert_eq!(attach(bed, second, file(1)).await, Attached::New);
    assert_eq!(bed.store.attachments(first).await.unwrap(), [file(1)]);
    assert!(unlinked(bed).await.is_empty());
}

pub(crate) async fn the_same_bytes_keep_every_name_and_count_once(bed: &Bed) {
    let seq = place(bed, bed.keep(bed.record()).await).await;
    let counted = async || bed.all(everything()).await[0].bytes;
    let without = counted().await;
    let named = |name: &str| Attachment {
        name: name.to_owned(),
        ..file(1)
    };
    for name in ["b.txt", "a.txt", "Имя\0.txt"] {
        assert_eq!(attach(bed, seq, named(name)).await, Attached::New);
        assert_eq!(attach(bed, seq, named(name)).await, before(named(name)));
    }
    let stored = bed.store.attachments(seq).await.unwrap();
    let names: Vec<_> = stored.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["a.txt", "b.txt", "Имя\0.txt"]);
    assert_eq!(counted().await, without + file(1).size);
    assert!(unlinked(bed).await.is_empty());
    let limits = RetentionLimits {
        rows: Some(0),
        ..RetentionLimits::default()
    };
    let gone = bed.store.enforce_retention(None, limits, MORNING_MS);
    assert_eq!(gone.await.complete().unwrap().records(), 1);
    assert_eq!(unlinked(bed).await, [file(1).hash], "with its last name");
}

pub(crate) async fn bytes_without_a_link_are_told_once_the_last_record_is_gone(bed: &Bed) {
    let mut seqs = Vec::new();
    for _ in 0..2 {
        let id = bed.keep(bed.record()).await;
        seqs.push(place(bed, id).await);
    }
    attach(bed, seqs[0], file(1)).await;
    attach(bed, seqs[0], file(2)).await;
    attach(bed, seqs[1], file(2)).await;
    for (rows, expected) in [(1, vec![file(1).hash]), (0, vec![file(2).hash])] {
        let limits = RetentionLimits {
            rows: Some(rows),
            ..RetentionLimits::default()
        };
        let gone = bed.store.enforce_retention(None, limits, MORNING_MS);
        assert_eq!(gone.await.complete().unwrap().records(), 1);
        let hashes = unlinked(bed).await;
        assert_eq!(hashes, expected);
        bed.store.forget_blobs(hashes).await.unwrap();
    }
    for seq in seqs {
        assert!(bed.store.attachments(seq).await.unwrap().is_empty());
    }
    assert!(unlinked(bed).await.is_empty());
}

pub(crate) async fn bytes_that_are_being_removed_are_claimed_anew(bed: &Bed) {
    let seq = place(bed, bed.keep(bed.record()).await).await;
    let hash = file(1).hash;
    let early = bed.store.claim_blob(hash, 1_000, 7).await.unwrap();
    assert_eq!(early, Some(7));
    let second = bed.store.claim_blob(hash, 1_000, 8).await.unwrap();
    assert_eq!(second, Some(7), "both write the same bytes");
    assert_eq!(unlinked(bed).await, [hash]);
    assert!(unlinked(bed).await.is_empty(), "one alone removes them");
    let late = bed.store.claim_blob(hash, 1_000, 9).await.unwrap();
    assert_eq!(late, None, "they are being removed");
    let new = |ticket| NewAttachment {
        to: AttachTarget::Record(seq),
        ticket,
        attachment: file(1),
    };
    let linked = bed.store.attach(new(early)).await.unwrap();
    assert_eq!(linked, Attached::BlobGone);
    bed.store.forget_blobs(vec![hash]).await.unwrap();
    let again = bed.store.claim_blob(hash, 1_000, 9).await.unwrap();
    assert_eq!(again, Some(9));
    let linked = bed.store.attach(new(early)).await.unwrap();
    assert_eq!(linked, Attached::BlobGone, "its bytes went before");
    assert_eq!(bed.store.attach(new(again)).await.unwrap(), Attached::New);
}

pub(crate) async fn the_bytes_of_files_count_for_retention(bed: &Bed) {
    let first = place(bed, bed.keep(bed.record()).await).await;
    let second = bed.keep(bed.record()).await;
    let large = Attachment {
        size: 50_000_000,
        ..file(1)
    };
    attach(bed, first, large).await;
    let limits = RetentionLimits {
        bytes: Some(1_000_000),
        ..RetentionLimits::default()
    };
    let gone = bed.store.enforce_retention(None, limits, MORNING_MS);
    assert_eq!(gone.await.complete().unwrap().records(), 1);
    assert!(bed.store.record(second).await.unwrap().is_some());
    let again = bed.store.enforce_retention(None, limits, MORNING_MS);
    assert_eq!(again.await.complete().unwrap().records(), 0);
}

pub(crate) async fn a_record_has_a_bounded_number_of_files(bed: &Bed) {
    let record = bed.exchange("x");
    let id = record.answer.request_id;
    let waiting = || {
        AttachTarget::Exchange(
            Exchange {
                application_id: bed.application,
                id: "x".to_owned(),
                stage: record.stage,
            },
            WaitingLimits {
                files: 10_000,
                bytes: 1 << 40,
            },
        )
    };
    let named = |number: u32| Attachment {
        name: format!("{number}.txt"),
        ..file(1)
    };
    for number in 0..MOST_FILES {
        let attached = attach_to(bed, waiting(), named(number)).await;
        assert_eq!(attached, Attached::Waiting, "{number}");
    }
    let more = attach_to(bed, waiting(), named(MOST_FILES)).await;
    assert_eq!(more, Attached::TooMany);
    bed.keep(record.clone()).await;
    let seq = place(bed, id).await;
    assert_eq!(attach(bed, seq, named(MOST_FILES)).await, Attached::TooMany);
    let again = attach(bed, seq, named(0)).await;
    assert!(matches!(again, Attached::Before { waits: false, .. }));
    let files = bed.store.attachments(seq).await.unwrap();
    assert_eq!(files.len(), MOST_FILES as usize);
}
