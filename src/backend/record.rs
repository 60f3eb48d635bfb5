//! A record that is sent to the backend: one side of an exchange, with what both sides share and the files
//! that the call lists (§2.2). The list travels with the pre-call record, so that it is kept as long as that one.

use crate::observe::VerdictType;
use crate::observe::trace::TraceContext;
use monitor_model::{
    CALL_PARAMETER, CHAIN_PARAMETER, CallFacts, CallTokens, Chain, ChainHash, ExchangeId, Identity,
    MODEL_PARAMETER, PART_BREAKS, RecordId, STORED_RESPONSE_PARAMETER, Secret, Stage, TOOL_CALLS,
    TOOL_RESULTS, TOOLS_OMITTED, TOOLS_UNCHECKED, ToolParts, USAGE_PARAMETER,
};
use monitor_wire::json::write_string;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::Arc;

/// What the two records of one exchange share.
#[derive(Debug)]
pub struct RecordContext {
    /// The id of the exchange (CONTRACT 5).
    pub exchange: ExchangeId,
    /// The client's access key, the bearer token towards the backend (§2.1).
    pub access_key: Secret,
    /// X-Application-Id or MONITOR_APPLICATION_ID, as given.
    pub application_id: Option<String>,
    /// The value of X-User-Id.
    pub user_id: Option<String>,
    /// The value of X-Session-Id.
    pub session_id: Option<String>,
    /// The call's span, for the backend to continue the trace; not kept on disk.
    pub trace: Option<TraceContext>,
}

/// A message to analyze and store.
#[derive(Debug)]
pub struct Record {
    /// The side of the exchange.
    pub stage: Stage,
    /// The exchange it belongs to.
    pub context: Arc<RecordContext>,
    /// The text to analyze; empty for a call that failed without any. It may be megabytes, so no step copies it.
    pub message: Arc<String>,
    /// Bytes of the text at which a line feed stands between two parts of one message, ascending.
    pub part_breaks: Vec<usize>,
    /// Of an answer the calls of tools, of a prompt their new results.
    pub tools: ToolParts,
    /// The text is not complete, in the exchange or in the record.
    pub incomplete: bool,
    /// Sync mode let the exchange continue without a verdict (CONTRACT 13).
    pub unchecked: bool,
    /// Why the answer was cut short and ended with the policy's phrase (CONTRACT 41).
    pub replaced: Option<VerdictType>,
    /// Why the exchange failed (CONTRACT 17).
    pub failure: Option<CallFailure>,
    /// The files that the call lists; in a pre-call record only.
    pub files: Option<Arc<FileList>>,
    /// The model that answered, else the one that was asked; in a post-call record only.
    pub model: Option<String>,
    /// The tokens of the call as the model server reports them; in a post-call record only.
    pub usage: CallTokens,
    /// The answer is one that the model server keeps, and was read again; in a post-call record only.
    pub is_stored_response: bool,
    /// What is known of the call; in a pre-call record only the address of the client.
    pub call: Option<CallFacts>,
    /// Its sequence number among the gateway's records (CONTRACT 5); the spool gives it.
    pub chain: Option<Chain>,
}

/// A failed exchange (CONTRACT 17).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFailure {
    /// An error type of §7.1, or the upstream's own.
    pub kind: String,
    /// The status the client got, or would have got.
    pub code: u16,
    /// Our message, or the upstream's own.
    pub message: String,
    /// The party that ended the exchange.
    pub closed_by: ClosedBy,
}

/// The party that ended a failed exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosedBy {
    /// The client disconnected.
    Client,
    /// The upstream answered with an error, disconnected or timed out.
    Upstream,
    /// The gateway could not continue.
    Gateway,
}

impl ClosedBy {
    fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Upstream => "upstream",
            Self::Gateway => "gateway",
        }
    }
}

/// What a request says of calls of tools and of their results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SentParts {
    /// The parts themselves.
    All,
    /// How many there are, because nobody knows whether the backend takes them.
    Number,
    /// Nothing: the backend takes no parts.
    Nothing,
}

/// The `additional_parameters` of §2.7 and our own (CONTRACT 5, 17), serialized without an intermediate map.
#[derive(Clone, Copy)]
struct Parameters<'a> {
    record: &'a Record,
    parts: SentParts,
}

impl Serialize for Parameters<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (record, context) = (self.record, &self.record.context);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("request_id", &context.exchange)?;
        let named = [
            ("user_id", &context.user_id),
            ("session_id", &context.session_id),
        ];
        for (name, value) in named {
            if let Some(value) = value {
                map.serialize_entry(name, value)?;
            }
        }
        let flags = [
            ("incomplete", record.incomplete),
            ("unchecked", record.unchecked),
            ("response_replaced", record.replaced.is_some()),
        ];
        for (name, _) in flags.into_iter().filter(|(_, is_set)| *is_set) {
            map.serialize_entry(name, &true)?;
        }
        if !record.part_breaks.is_empty() {
            map.serialize_entry(PART_BREAKS, &record.part_break_points())?;
        }
        match self.parts {
            SentParts::All => write_tools(record, &record.tools, &mut map)?,
            SentParts::Number => {
                let number = ToolParts {
                    omitted: record.tools.number(),
                    ..ToolParts::default()
                };
                write_tools(record, &number, &mut map)?;
            }
            SentParts::Nothing => {}
        }
        if let Some(kind) = record.replaced {
            let replacement = json!({"stage": record.stage.as_str(), "type": kind.as_str()});
            map.serialize_entry("response_replacement", &replacement)?;
        }
        if let Some(failure) = &record.failure {
            let closed_by = failure.closed_by.as_str();
            map.serialize_entry(
                "error",
                &json!({"type": failure.kind, "code": failure.code, "message": failure.message, "closed_by": closed_by}),
            )?;
        }
        write_call(record, &mut map)?;
        map.end()
    }
}

/// What the gateway knows of the call, and the place of the record among its records.
fn write_call<M: SerializeMap>(record: &Record, map: &mut M) -> Result<(), M::Error> {
    if let Some(model) = &record.model {
        map.serialize_entry(MODEL_PARAMETER, model)?;
    }
    if !record.usage.is_empty() {
        map.serialize_entry(USAGE_PARAMETER, &record.usage)?;
    }
    if record.is_stored_response {
        map.serialize_entry(STORED_RESPONSE_PARAMETER, &true)?;
    }
    if let Some(call) = &record.call {
        map.serialize_entry(CALL_PARAMETER, call)?;
    }
    if let Some(chain) = &record.chain {
        map.serialize_entry(CHAIN_PARAMETER, chain)?;
    }
    Ok(())
}

fn write_tools<M: SerializeMap>(
    record: &Record,
    tools: &ToolParts,
    map: &mut M,
) -> Result<(), M::Error> {
    // Where all are left out, an empty list tells that their number is one of parts.
    if !tools.is_empty() {
        let name = match record.stage {
            Stage::PreCall => TOOL_RESULTS,
            Stage::PostCall => TOOL_CALLS,
        };
        map.serialize_entry(name, tools)?;
    }
    if tools.omitted > 0 {
        map.serialize_entry(TOOLS_OMITTED, &tools.omitted)?;
    }
    if tools.are_unchecked && !tools.is_empty() {
        map.serialize_entry(TOOLS_UNCHECKED, &true)?;
    }
    Ok(())
}

impl Record {
    /// Writes the request for its analysis as JSON (§2.7), with what the backend takes of calls of tools and their
    /// results. The application stands there as the client named it, if it is known (CONTRACT 7).
    ///
    /// # Errors
    /// When the parameters cannot be written as JSON.
    pub fn write_request(&self, parts: SentParts, out: &mut Vec<u8>) -> serde_json::Result<()> {
        out.push(b'{');
        if let Some(application) = &self.context.application_id {
            out.extend_from_slice(br#""application_id":"#);
            write_string(application, out);
            out.push(b',');
        }
        out.extend_from_slice(br#""message":"#);
        write_string(&self.message, out);
        out.extend_from_slice(br#","additional_parameters":"#);
        serde_json::to_writer(&mut *out, &self.parameters(parts))?;
        out.push(b'}');
        Ok(())
    }

    fn parameters(&self, parts: SentParts) -> Parameters<'_> {
        Parameters {
            record: self,
            parts,
        }
    }

    /// All parameters that go with the message.
    pub fn additional_parameters(&self) -> Map<String, Value> {
        match serde_json::to_value(self.parameters(SentParts::All)) {
            Ok(Value::Object(map)) => map,
            // They always serialize to a JSON object.
            _ => Map::new(),
        }
    }

    /// `part_breaks` in Unicode code points, as offsets are on the wire.
    fn part_break_points(&self) -> Vec<usize> {
        let (mut byte, mut point) = (0, 0);
        let to_point = |place: &usize| {
            let between = self.message.get(byte..*place)?;
            point += between.chars().count();
            byte = *place;
            Some(point)
        };
        self.part_breaks.iter().map_while(to_point).collect()
    }

    /// The digest that the record's link covers (CONTRACT 5).
    pub fn digest(&self) -> ChainHash {
        let context = &self.context;
        let mut exchange = uuid::Uuid::encode_buffer();
        Identity {
            request_id: Some(context.exchange.0.hyphenated().encode_lower(&mut exchange)),
            stage: self.stage,
            application_id: context.application_id.as_deref(),
            user_id: context.user_id.as_deref(),
            session_id: context.session_id.as_deref(),
            message: &self.message,
        }
        .digest()
    }

    /// Bytes that the record counts for against queue.max_bytes.
    pub fn weight(&self) -> u64 {
        const FIXED: usize = 512;
        let context = &self.context;
        let ids = [
            &context.application_id,
            &context.user_id,
            &context.session_id,
        ];
        let ids: usize = ids.into_iter().flatten().map(String::len).sum();
        let failure = self
            .failure
            .as_ref()
            .map_or(0, |failure| failure.message.len());
        let files = self.files.as_ref().map_or(0, |files| files.weight());
        let breaks = size_of_val(self.part_breaks.as_slice());
        let tools = self.tools.bytes() + size_of_val(self.tools.parts.as_slice());
        (FIXED
            + breaks
            + tools
            + self.message.len()
            + ids
            + context.access_key.expose().len()
            + failure
            + self.model.as_ref().map_or(0, String::len)
            + files) as u64
    }

    /// What is left of a record that the backend has stored: its files.
    pub fn into_files_owed(self, record: RecordId) -> Option<Self> {
        let files = Arc::new(self.files?.of(record));
        Some(Self {
            message: Arc::default(),
            part_breaks: Vec::new(),
            tools: ToolParts::default(),
            files: Some(files),
            chain: None,
            ..self
        })
    }

    /// The backend's id of this record, if only its files are left to send.
    pub fn registered(&self) -> Option<RecordId> {
        self.files.as_ref()?.record
    }
}

/// The files that a call lists.
#[derive(Clone, PartialEq, Eq)]
pub struct FileList {
    /// The call's headers that list files, each a JSON array if it is well-formed.
    pub headers: Vec<String>,
    /// The call's `X-Request-Id`, for the log.
    pub request_id: String,
    /// The backend's id of the record, if it is known already.
    pub record: Option<RecordId>,
}

impl FileList {
    /// Bytes that the list takes in memory.
    pub fn weight(&self) -> usize {
        self.headers.iter().map(String::len).sum::<usize>() + self.request_id.len()
    }

    /// The same list for a record that the backend has stored.
    fn of(&self, record: RecordId) -> Self {
        Self {
            record: Some(record),
            ..self.clone()
        }
    }
}

/// Lists contain addresses and content that must not be logged.
impl fmt::Debug for FileList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileList({} headers)", self.headers.len())
    }
}
