//! Records for the spool's unit tests.

use crate::backend::{CallFailure, ClosedBy, FileList, Record, RecordContext};
use crate::observe::VerdictType;
use monitor_model::{
    CallFacts, CallTokens, Chain, ChainHash, ExchangeId, RecordId, Secret, Stage, ToolPart,
    ToolParts,
};
use std::net::Ipv6Addr;
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
        tools: tools(number),
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
        model: some(12, "модель"),
        usage: match number >> 13 & 1 {
            1 => CallTokens::from_array([Some(number), None, Some(0), Some(7), None, Some(9)]),
            _ => CallTokens::default(),
        },
        is_stored_response: number >> 14 & 1 == 1,
        call: (number >> 12 & 3 == 3).then(|| CallFacts {
            provider: some(0, "сервер"),
            status: number.is_multiple_of(3).then_some(200),
            latency_ms: Some(number),
            first_byte_ms: (number % 3 == 1).then_some(7),
            client_address: number
                .is_multiple_of(5)
                .then_some(Ipv6Addr::LOCALHOST.into()),
        }),
        chain: (number >> 9 & 1 == 1).then(|| Chain {
            gateway: Uuid::from_u128(9),
            sequence: number,
            previous: ChainHash([7; 32]),
            after: (number % 2 == 1).then_some(number / 2),
        }),
    }
}

fn tools(number: u64) -> ToolParts {
    let part = |place: u64| ToolPart {
        call_id: format!("call{place}"),
        name: "ls\0".into(),
        text: "т".repeat(place as usize),
        is_cut: place == 1,
    };
    ToolParts {
        parts: (0..(number >> 11 & 1) * 2).map(part).collect(),
        omitted: u32::try_from(number >> 11 & 1).unwrap(),
        are_unchecked: number >> 11 & 1 == 1 && number >> 14 & 1 == 1,
    }
}
