//! Decodes records.

use super::rest::Rest;
use super::{
    APPLICATION, BEFORE_CHAINS, CALL, CHAIN, FAILED, FILES, INCOMPLETE, MODEL, NO_AFTER, NO_TOKENS,
    PART_BREAKS, POST_CALL, REPLACED, SESSION, STORED_RESPONSE, TOOLS, TOOLS_UNCHECKED, UNCHECKED,
    USAGE, USER, VERSION, facts,
};
use crate::backend::{CallFailure, ClosedBy, FileList, Record, RecordContext};
use crate::observe::VerdictType;
use monitor_model::{
    CallFacts, CallTokens, Chain, ChainHash, ExchangeId, RecordId, Secret, Stage, ToolPart,
    ToolParts,
};
use std::ops::Range;
use std::sync::Arc;
use uuid::Uuid;

/// Decodes a record; None if the bytes do not come from [`super::encode`].
pub(crate) fn decode(bytes: &[u8]) -> Option<Record> {
    let (mut record, message) = parse(bytes)?;
    record.message = Arc::new(str::from_utf8(&bytes[message]).ok()?.into());
    Some(record)
}

/// Decodes a record whose message takes the place of the bytes: a large one is never in memory twice.
pub(crate) fn decode_in_place(mut bytes: Vec<u8>) -> Option<Record> {
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
pub(crate) fn chain(bytes: &[u8]) -> Option<Chain> {
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

impl Rest<'_> {
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

    fn chain(&mut self) -> Option<Chain> {
        Some(Chain {
            gateway: Uuid::from_slice(self.take(16)?).ok()?,
            sequence: self.number()?,
            previous: ChainHash(self.take(32)?.try_into().ok()?),
            after: Some(self.number()?).filter(|after| *after != NO_AFTER),
        })
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
