//! Encodes a record for a segment and decodes it again (CONTRACT 23). Integers are little-endian,
//! strings are preceded by their length. The format is private to this program, which rejects every
//! version it does not know.

mod decode;
mod facts;
mod rest;

pub(super) use decode::{chain, decode, decode_in_place};

use crate::backend::{FileList, Record};
use monitor_model::{Stage, ToolParts};

/// First byte of every entry.
pub(super) const VERSION: u8 = 2;
/// First byte of entries from before the byte for [`CHAIN`] existed; they are still read.
const BEFORE_CHAINS: u8 = 1;

const POST_CALL: u8 = 1;
const INCOMPLETE: u8 = 1 << 1;
const UNCHECKED: u8 = 1 << 2;
const FAILED: u8 = 1 << 3;
const APPLICATION: u8 = 1 << 4;
const USER: u8 = 1 << 5;
const SESSION: u8 = 1 << 6;
const REPLACED: u8 = 1 << 7;

/// The only bit of the third byte: the record has a sequence number.
const CHAIN: u8 = 1;
/// Stands for an absent `after`; no sequence number is that high.
const NO_AFTER: u64 = u64::MAX;
/// Tags of the fields that may follow the message, each at most once and in this order.
const FILES: u8 = 1;
const PART_BREAKS: u8 = 2;
const TOOLS: u8 = 3;
const USAGE: u8 = 4;
const MODEL: u8 = 5;
/// Nothing follows these two.
const STORED_RESPONSE: u8 = 6;
const TOOLS_UNCHECKED: u8 = 7;
const CALL: u8 = 8;
/// Stands for tokens that were not reported; no number is that high.
const NO_TOKENS: u64 = u64::MAX;

/// Appends a record's bytes to `out`.
pub(super) fn encode(record: &Record, out: &mut Vec<u8>) {
    let context = &record.context;
    out.extend_from_slice(&[VERSION, flags(record), flag(record.chain.is_some(), CHAIN)]);
    if let Some(chain) = &record.chain {
        out.extend_from_slice(chain.gateway.as_bytes());
        out.extend_from_slice(&chain.sequence.to_le_bytes());
        out.extend_from_slice(&chain.previous.0);
        out.extend_from_slice(&chain.after.unwrap_or(NO_AFTER).to_le_bytes());
    }
    out.extend_from_slice(context.exchange.0.as_bytes());
    string(context.access_key.expose(), out);
    let named = [
        &context.application_id,
        &context.user_id,
        &context.session_id,
    ];
    for text in named.into_iter().flatten() {
        string(text, out);
    }
    out.extend(record.replaced.map(|kind| kind as u8));
    if let Some(failure) = &record.failure {
        string(&failure.kind, out);
        out.extend_from_slice(&failure.code.to_le_bytes());
        out.push(failure.closed_by as u8);
        string(&failure.message, out);
    }
    string(&record.message, out);
    if let Some(files) = &record.files {
        out.push(FILES);
        list(files, out);
    }
    if !record.part_breaks.is_empty() {
        out.push(PART_BREAKS);
        places(&record.part_breaks, out);
    }
    if !record.tools.is_empty() {
        out.push(TOOLS);
        tools(&record.tools, out);
    }
    if !record.usage.is_empty() {
        out.push(USAGE);
        for tokens in record.usage.to_array() {
            out.extend_from_slice(&tokens.unwrap_or(NO_TOKENS).to_le_bytes());
        }
    }
    if let Some(model) = &record.model {
        out.push(MODEL);
        string(model, out);
    }
    if record.is_stored_response {
        out.push(STORED_RESPONSE);
    }
    if record.tools.are_unchecked && !record.tools.is_empty() {
        out.push(TOOLS_UNCHECKED);
    }
    if let Some(call) = &record.call {
        out.push(CALL);
        facts::encode(call, out);
    }
}

/// The second byte: one bit for each property or optional field that the record has.
fn flags(record: &Record) -> u8 {
    let context = &record.context;
    flag(record.stage == Stage::PostCall, POST_CALL)
        | flag(record.incomplete, INCOMPLETE)
        | flag(record.unchecked, UNCHECKED)
        | flag(record.failure.is_some(), FAILED)
        | flag(context.application_id.is_some(), APPLICATION)
        | flag(context.user_id.is_some(), USER)
        | flag(context.session_id.is_some(), SESSION)
        | flag(record.replaced.is_some(), REPLACED)
}

fn flag(is_on: bool, bit: u8) -> u8 {
    if is_on { bit } else { 0 }
}

fn list(files: &FileList, out: &mut Vec<u8>) {
    string(&files.request_id, out);
    out.push(u8::from(files.record.is_some()));
    out.extend(files.record.iter().flat_map(|id| id.0.into_bytes()));
    let count = u32::try_from(files.headers.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&count.to_le_bytes());
    for header in files.headers.iter().take(count as usize) {
        string(header, out);
    }
}

/// Places in a text, which is far below 4 GiB.
fn places(places: &[usize], out: &mut Vec<u8>) {
    let mut number = |number: usize| {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        out.extend_from_slice(&number.to_le_bytes());
    };
    number(places.len());
    places.iter().copied().for_each(number);
}

/// Calls and results of tools, which are few and short.
fn tools(tools: &ToolParts, out: &mut Vec<u8>) {
    let count = u32::try_from(tools.parts.len()).unwrap_or(u32::MAX);
    for number in [tools.omitted, count] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    for part in tools.parts.iter().take(count as usize) {
        for text in [&part.call_id, &part.name, &part.text] {
            string(text, out);
        }
        out.push(u8::from(part.is_cut));
    }
}

fn string(text: &str, out: &mut Vec<u8>) {
    // A text is bounded by limits.recorded_bytes, far below 4 GiB.
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    out.extend_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&text.as_bytes()[..length as usize]);
}

#[cfg(test)]
mod tests;
