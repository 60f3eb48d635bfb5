//! Entries of the spool, written and read, also those of earlier versions.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::spool::tests::samples::sample_record;
use monitor_model::CallTokens;

fn bytes(record: &Record) -> Vec<u8> {
    let mut out = Vec::new();
    encode(record, &mut out);
    out
}

#[test]
fn every_record_comes_back_whole() {
    for number in 0..32_768 {
        let given = bytes(&sample_record(number));
        let back = decode(&given).unwrap();
        assert_eq!(bytes(&back), given);
        assert_eq!(bytes(&decode_in_place(given.clone()).unwrap()), given);
        assert_eq!(back.context.access_key.expose(), format!("key{number}"));
        assert_eq!(back.stage, sample_record(number).stage);
        assert_eq!(back.failure, sample_record(number).failure);
        assert_eq!(back.replaced, sample_record(number).replaced);
        assert_eq!(back.chain, sample_record(number).chain);
        assert_eq!(
            chain(&given).map(|chain| chain.sequence),
            back.chain.map(|chain| chain.sequence)
        );
        assert_eq!(back.files, sample_record(number).files);
        assert_eq!(back.part_breaks, sample_record(number).part_breaks);
        assert_eq!(back.tools, sample_record(number).tools);
        assert_eq!(back.usage, sample_record(number).usage);
        assert_eq!(back.model, sample_record(number).model);
        assert_eq!(
            back.is_stored_response,
            sample_record(number).is_stored_response
        );
        assert_eq!(back.call, sample_record(number).call);
    }
}

#[test]
fn an_entry_of_the_version_before_is_read_without_a_chain() {
    let mut old = bytes(&sample_record(127));
    old[0] = BEFORE_CHAINS;
    old.remove(2);
    let back = decode(&old).unwrap();
    assert_eq!(
        (back.chain, bytes(&back)),
        (None, bytes(&sample_record(127)))
    );
}

#[test]
fn an_entry_of_the_last_release_is_read_without_tools() {
    let old = bytes(&sample_record(1_023));
    let mut new = sample_record(1_023);
    new.tools = sample_record(3_071).tools;
    assert!(!new.tools.is_empty() && bytes(&new).starts_with(&old));
    assert!(decode(&old).unwrap().tools.is_empty());
    assert!(decode(&bytes(&new)[..old.len() + 9]).is_none());
}

#[test]
fn an_entry_without_tools_or_without_usage_is_read() {
    let (plain, whole) = (sample_record(1_023), sample_record(16_383));
    let mut new = sample_record(1_023);
    new.usage = whole.usage;
    assert!(bytes(&new).starts_with(&bytes(&plain)));
    let back = decode(&bytes(&new)).unwrap();
    assert_eq!((back.usage, back.model), (whole.usage, None));
    new.usage = CallTokens::default();
    new.model.clone_from(&whole.model);
    let back = decode(&bytes(&new)).unwrap();
    assert_eq!((back.usage.is_empty(), back.model), (true, whole.model));
    let mut tools = sample_record(1_023);
    tools.tools = whole.tools;
    let back = decode(&bytes(&tools)).unwrap();
    assert_eq!(back.tools, tools.tools);
    assert_eq!((back.usage.is_empty(), back.model), (true, None));
    tools.tools.are_unchecked = true;
    assert_eq!(decode(&bytes(&tools)).unwrap().tools, tools.tools);
}

#[test]
fn a_truncated_field_behind_the_message_is_none() {
    let mut record = sample_record(255);
    let plain = bytes(&record).len();
    record.tools = sample_record(16_383).tools;
    let with_tools = bytes(&record);
    record.tools = ToolParts::default();
    record.usage = sample_record(16_383).usage;
    let with_usage = bytes(&record);
    record.usage = CallTokens::default();
    record.model = sample_record(16_383).model;
    let with_model = bytes(&record);
    record.model = None;
    record.call = sample_record(16_383).call;
    assert!(record.call.is_some());
    for whole in [with_tools, with_usage, with_model, bytes(&record)] {
        assert!(decode(&whole).is_some());
        for length in plain + 1..whole.len() {
            assert!(decode(&whole[..length]).is_none(), "{length}");
        }
    }
}

#[test]
fn a_truncated_or_extended_entry_is_not_a_record() {
    let whole = bytes(&sample_record(639));
    for length in 0..whole.len() {
        assert!(decode(&whole[..length]).is_none(), "{length}");
    }
    let longer = [whole.as_slice(), b"x"].concat();
    assert!(decode(&longer).is_none());
    let mut newer = whole;
    newer[0] = VERSION + 1;
    assert!(decode(&newer).is_none());
}
