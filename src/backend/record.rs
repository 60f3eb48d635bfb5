//! One record on its way to the backend.

use crate::observe::VerdictType;
use crate::observe::trace::TraceContext;
use monitor_model::{Chain, ChainHash, ExchangeId, Identity, RecordId, Secret, Stage};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value, json};
use std::fmt;
use std::sync::Arc;

/// What the two records of one exchange share.
#[derive(Debug)]
pub struct RecordContext {
    /// The exchange (CONTRACT 5).
    pub exchange: ExchangeId,
    /// The client's access key, the bearer token towards the backend (§2.1).
    pub access_key: Secret,
    /// X-Application-Id or MONITOR_APPLICATION_ID, as given.
    pub application_id: Option<String>,
    /// The end user, from X-User-Id.
    pub user_id: Option<String>,
    /// The session, from X-Session-Id.
    pub session_id: Option<String>,
    /// The call's span, which the backend can go on with; not kept on disk.
    pub trace: Option<TraceContext>,
}

/// A message to register.
#[derive(Debug)]
pub struct Record {
    /// Which side of the exchange.
    pub stage: Stage,
    /// The exchange it belongs to.
    pub context: Arc<RecordContext>,
    /// The text to analyze; empty for a call that failed without any.
    pub message: String,
    /// The answer is not whole, or not whole in the record.
    pub incomplete: bool,
    /// Sync mode let the exchange pass without a verdict (CONTRACT 13).
    pub unchecked: bool,
    /// What was found in the answer on its way, so that it ends with the policy's phrase (CONTRACT 41).
    pub replaced: Option<VerdictType>,
    /// Why the exchange failed (CONTRACT 17).
    pub failure: Option<CallFailure>,
    /// What the call lists; of a pre-call record only.
    pub files: Option<Arc<FileList>>,
    /// Its place among the gateway's records (CONTRACT 5); the spool gives it.
    pub chain: Option<Chain>,
}

/// A failed exchange (CONTRACT 17).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFailure {
    /// One of §7.1, or what the upstream called it.
    pub kind: String,
    /// The status the client got, or would have got.
    pub code: u16,
    /// In words of ours, or the upstream's own message.
    pub message: String,
    /// Who ended it.
    pub closed_by: ClosedBy,
}

/// Who ended a failed exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClosedBy {
    /// The client left.
    Client,
    /// The upstream answered with an error, broke off or was silent.
    Upstream,
    /// The gateway could not go on.
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

/// `additional_parameters` of §2.7 with ours (CONTRACT 5, 17), written without building them.
#[derive(Clone, Copy)]
pub struct Parameters<'a>(&'a Record);

impl Serialize for Parameters<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (record, context) = (self.0, &self.0.context);
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
        let marks = [
            ("incomplete", record.incomplete),
            ("unchecked", record.unchecked),
            ("response_replaced", record.replaced.is_some()),
        ];
        for (name, _) in marks.into_iter().filter(|(_, is_set)| *is_set) {
            map.serialize_entry(name, &true)?;
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
        if let Some(chain) = &record.chain {
            map.serialize_entry("chain", chain)?;
        }
        map.end()
    }
}

impl Record {
    /// What goes with the message.
    pub fn parameters(&self) -> Parameters<'_> {
        Parameters(self)
    }

    /// The same, built.
    pub fn additional_parameters(&self) -> Map<String, Value> {
        match serde_json::to_value(self.parameters()) {
            Ok(Value::Object(map)) => map,
            // There is nothing in them that is no JSON.
            _ => Map::new(),
        }
    }

    /// What the record's link covers of it (CONTRACT 5).
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

    /// Bytes this record holds in memory, for the queue's bound.
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
        (FIXED + self.message.len() + ids + context.access_key.expose().len() + failure + files)
            as u64
    }

    /// What is left to do of a record that the backend has: its files.
    pub fn into_files_owed(self, record: RecordId) -> Option<Self> {
        let files = Arc::new(self.files?.of(record));
        Some(Self {
            message: String::new(),
            files: Some(files),
            chain: None,
            ..self
        })
    }

    /// The backend's id of this record, where only its files are left to be handed over.
    pub fn registered(&self) -> Option<RecordId> {
        self.files.as_ref()?.record
    }
}

/// What a call said of its files.
#[derive(Clone, PartialEq, Eq)]
pub struct FileList {
    /// Its headers, each a JSON array if it is well-formed.
    pub headers: Vec<String>,
    /// `X-Request-Id`, for the log.
    pub request_id: String,
    /// The backend's id of the record, where it is known already.
    pub record: Option<RecordId>,
}

impl FileList {
    /// Bytes it holds in memory.
    pub fn weight(&self) -> usize {
        self.headers.iter().map(String::len).sum::<usize>() + self.request_id.len()
    }

    /// The same list of a record that is registered.
    fn of(&self, record: RecordId) -> Self {
        Self {
            record: Some(record),
            ..self.clone()
        }
    }
}

/// Lists name places and hold content that nobody should log.
impl fmt::Debug for FileList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileList({} headers)", self.headers.len())
    }
}
