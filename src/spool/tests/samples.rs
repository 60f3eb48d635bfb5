//! Records for the spool's unit tests.

use crate::backend::{CallFailure, ClosedBy, FileList, Record, RecordContext};
use crate::observe::VerdictType;
use monitor_model::{Chain, ChainHash, ExchangeId, RecordId, Secret, Stage};
use std::sync::Arc;
use uuid::Uuid;

/// A record whose every field follows from `number`.
pub(in crate::spool) fn sample_record(number: u64) -> Record {
    let some = |bit: u64, text: &str| (number >> bit & 1 == 1).then(|| format!("{text}{number}"));
    Record {
        stage: match number % 2 {
            0 => Stage::PreCall,
            _ => Stage::PostCall,
        },
        context: Arc::new(RecordContext {
            exchange: ExchangeId(Uuid::from_u128(u128::from(number / 2))),
            access_key: Secret::new(format!("key{number}")),
            application_id: some(1, "app"),
            user_id: some(2, "пользователь"),
            session_id: some(3, ""),
            trace: None,
        }),
        message: "т\0\u{1f600}"
            .repeat(usize::try_from(number % 100).unwrap())
            .into(),
        part_breaks: (0..number >> 10 & 1).map(|place| place as usize).collect(),
        incomplete: number >> 4 & 1 == 1,
        unchecked: number >> 5 & 1 == 1,
        replaced: (number >> 7 & 1 == 1).then_some(VerdictType::Dataclean),
        failure: (number >> 6 & 1 == 1).then(|| CallFailure {
            kind: "upstream_error".into(),
            code: 502,
            message: "broke".into(),
            closed_by: ClosedBy::Upstream,
        }),
        files: (number >> 8 & 1 == 1).then(|| {
            Arc::new(FileList {
                headers: (0..number % 3).map(|n| "[я]".repeat(n as usize)).collect(),
                request_id: format!("request{number}"),
                record: some(1, "").map(|_| RecordId(Uuid::from_u128(number.into()))),
            })
        }),
        chain: (number >> 9 & 1 == 1).then(|| Chain {
            gateway: Uuid::from_u128(9),
            sequence: number,
            previous: ChainHash([7; 32]),
            after: (number % 2 == 1).then_some(number / 2),
        }),
    }
}
