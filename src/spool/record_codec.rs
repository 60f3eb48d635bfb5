//! Encodes a record for a segment and decodes it again (CONTRACT 23). Integers are little-endian,
//! strings are preceded by their length. The format is private to this program, which rejects every
//! version it does not know.

mod facts;

use crate::backend::{CallFailure, ClosedBy, FileList, Record, RecordContext};
use crate::observe::VerdictType;
use monitor_model::{
    CallFacts, CallTokens, Chain, ChainHash, ExchangeId, RecordId, Secret, Stage, ToolPart,
    ToolParts,
};
use std::ops::Range;
use std::sync::Arc;
use uuid::Uuid;

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

/// Decodes a record; None if the bytes do not come from [`encode`].
pub(super) fn decode(bytes: &[u8]) -> Option<Record> {
    let (mut record, message) = parse(bytes)?;
    record.message = Arc::new(str::from_utf8(&bytes[message]).ok()?.into());
    Some(record)
}

/// Decodes a record whose message takes the place of the bytes: a large one is never in memory twice.
pub(super) fn decode_in_place(mut bytes: Vec<u8>) -> Option<Record> {
    let (mut record, message) = parse(&bytes)?;
    bytes.truncate(message.end);
    bytes.drain(..message.start);
    // What stood around it may have been longer.
    bytes.shrink_to(bytes.len() + bytes.len() / 8);
    record.message = Arc::new(String::from_utf8(bytes).ok()?);
    Some(record)
}

/// A record but for its message, and where that is.
fn parse(bytes: &[u8]) -> Option<(Record, Range<usize>)> {
    let mut rest = Rest(bytes);
    let (flags, chain) = rest.head()?;
    let has = |bit: u8| flags & bit != 0;
    let context = Arc::new(rest.context(flags)?);
    let replaced = match has(REPLACED) {
        true => Some(verdict(rest.byte()?)?),
        false => None,
    };
    let failure = match has(FAILED) {
        true => Some(rest.failure()?),
        false => None,
    };
    let length = rest.text()?.len();
    let end = bytes.len() - rest.0.len();
    let Trailer {
        files,
        part_breaks,
        tools,
        usage,
        model,
        is_stored_response,
        call,
    } = rest.trailer()?;
    let record = Record {
        stage: match has(POST_CALL) {
            true => Stage::PostCall,
            false => Stage::PreCall,
        },
        context,
        message: Arc::default(),
        part_breaks,
        tools,
        incomplete: has(INCOMPLETE),
        unchecked: has(UNCHECKED),
        replaced,
        failure,
        files,
        model,
        usage,
        is_stored_response,
        call,
        chain,
    };
    Some((record, end - length..end))
}

/// The sequence number of an entry and the gateway that gave it, read without decoding the rest.
pub(super) fn chain(bytes: &[u8]) -> Option<Chain> {
    let (_, chain) = Rest(bytes).head()?;
    chain
}

fn verdict(byte: u8) -> Option<VerdictType> {
    use VerdictType::{CustomPolicy, Dataclean, Guardrails};
    let all = [Guardrails, CustomPolicy, Dataclean];
    all.into_iter().find(|kind| *kind as u8 == byte)
}

/// What follows the message of a record.
#[derive(Default)]
struct Trailer {
    files: Option<Arc<FileList>>,
    part_breaks: Vec<usize>,
    tools: ToolParts,
    usage: CallTokens,
    model: Option<String>,
    is_stored_response: bool,
    call: Option<CallFacts>,
}

struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(length)?;
        self.0 = tail;
        Some(head)
    }

    /// Reads the flags and the sequence number.
    fn head(&mut self) -> Option<(u8, Option<Chain>)> {
        let version = self.byte()?;
        let flags = self.byte()?;
        let more = match version {
            BEFORE_CHAINS => 0,
            VERSION => self.byte()?,
            _ => return None,
        };
        match more {
            0 => Some((flags, None)),
            CHAIN => Some((flags, Some(self.chain()?))),
            _ => None,
        }
    }

    fn context(&mut self, flags: u8) -> Option<RecordContext> {
        let exchange = ExchangeId(Uuid::from_slice(self.take(16)?).ok()?);
        let access_key = Secret::new(self.string()?);
        let mut named = |bit: u8| match flags & bit {
            0 => Some(None),
            _ => self.string().map(Some),
        };
        Some(RecordContext {
            exchange,
            access_key,
            application_id: named(APPLICATION)?,
            user_id: named(USER)?,
            session_id: named(SESSION)?,
            trace: None,
        })
    }

    /// Reads what follows the message; None if it is unknown.
    fn trailer(&mut self) -> Option<Trailer> {
        let mut trailer = Trailer::default();
        let mut last = 0;
        while let Some(tag) = self.byte() {
            match tag {
                _ if tag <= last => return None,
                FILES => trailer.files = Some(Arc::new(self.files()?)),
                PART_BREAKS => trailer.part_breaks = self.places()?,
                TOOLS => trailer.tools = self.tools()?,
                USAGE => trailer.usage = self.usage()?,
                MODEL => trailer.model = Some(self.string()?),
                STORED_RESPONSE => trailer.is_stored_response = true,
                TOOLS_UNCHECKED => trailer.tools.are_unchecked = true,
                CALL => trailer.call = Some(facts::decode(self)?),
                _ => return None,
            }
            last = tag;
        }
        Some(trailer)
    }

    fn usage(&mut self) -> Option<CallTokens> {
        let mut numbers = [None; 6];
        for tokens in &mut numbers {
            *tokens = Some(self.number()?).filter(|tokens| *tokens != NO_TOKENS);
        }
        Some(CallTokens::from_array(numbers))
    }

    fn places(&mut self) -> Option<Vec<usize>> {
        let mut next = || usize::try_from(self.count()?).ok();
        let count = next().filter(|count| *count > 0)?;
        (0..count).map(|_| next()).collect()
    }

    fn tools(&mut self) -> Option<ToolParts> {
        let omitted = self.count()?;
        let mut parts = Vec::new();
        for _ in 0..self.count()? {
            parts.push(ToolPart {
                call_id: self.string()?,
                name: self.string()?,
                text: self.string()?,
                is_cut: match self.byte()? {
                    0 => false,
                    1 => true,
                    _ => return None,
                },
            });
        }
        Some(ToolParts {
            parts,
            omitted,
            are_unchecked: false,
        })
    }

    fn count(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn chain(&mut self) -> Option<Chain> {
        Some(Chain {
            gateway: Uuid::from_slice(self.take(16)?).ok()?,
            sequence: self.number()?,
            previous: ChainHash(self.take(32)?.try_into().ok()?),
            after: Some(self.number()?).filter(|after| *after != NO_AFTER),
        })
    }

    fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn string(&mut self) -> Option<String> {
        String::from_utf8(self.text()?.to_vec()).ok()
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let length = u32::from_le_bytes(self.take(4)?.try_into().ok()?);
        self.take(usize::try_from(length).ok()?)
    }

    fn files(&mut self) -> Option<FileList> {
        let request_id = self.string()?;
        let record = match self.byte()? {
            0 => None,
            1 => Some(RecordId(Uuid::from_slice(self.take(16)?).ok()?)),
            _ => return None,
        };
        let count = self.count()?;
        Some(FileList {
            request_id,
            record,
            headers: (0..count).map(|_| self.string()).collect::<Option<_>>()?,
        })
    }

    fn failure(&mut self) -> Option<CallFailure> {
        let kind = self.string()?;
        let code = u16::from_le_bytes(self.take(2)?.try_into().ok()?);
        let closed_by = match self.byte()? {
            0 => ClosedBy::Client,
            1 => ClosedBy::Upstream,
            2 => ClosedBy::Gateway,
            _ => return None,
        };
        let message = self.string()?;
        Some(CallFailure {
            kind,
            code,
            message,
            closed_by,
        })
    }
}

#[cfg(test)]
mod tests;
