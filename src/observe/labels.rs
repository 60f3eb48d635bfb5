//! The values of the labels of metrics: a fixed set for each label, so that the number of time series is
//! bounded. The metrics themselves are in `metrics`.
//! Long because: it is one table, which the documentation of the metrics is made from.

macro_rules! label {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident => $text:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$vdoc])* $variant),+ }

        impl $name {
            /// The label's value.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }
        }

        impl Label for $name {
            const ALL: &'static [Self] = &[$(Self::$variant),+];
            const VALUES: &'static [&'static str] = &[$($text),+];
        }
    };
}

/// What there is of a label, in the order of its type.
pub(crate) trait Label: Sized + 'static {
    const ALL: &'static [Self];
    /// As they are written.
    const VALUES: &'static [&'static str];
}

label!(
    /// `kind` label of sums of costs with too many names: of what.
    SumName {
        /// Models without an entry in the price table.
        Model => "model",
        /// Users of an application.
        User => "user",
    }
);

label!(
    /// `channel_kind` label of messages about alerts: where they go.
    AlertChannelLabel {
        /// A server that takes JSON.
        Webhook => "webhook",
        /// An incoming webhook of Slack.
        Slack => "slack",
        /// A workflow of Microsoft Teams.
        Teams => "teams",
        /// A bot of Telegram.
        Telegram => "telegram",
        /// A mail server.
        Email => "email",
    }
);

label!(
    /// `result` label of messages about alerts.
    AlertResult {
        /// The channel took it.
        Sent => "sent",
        /// It is tried again.
        Failed => "failed",
        /// It is not tried any more.
        Dead => "dead",
    }
);

label!(
    /// `result` label of events for other systems: how they left the queue of a destination.
    SiemResult {
        /// The destination took them.
        Sent => "sent",
        /// More than siem.outbox_rows waited: the oldest were deleted.
        Dropped => "dropped",
        /// Their record was removed or erased before they were sent.
        Gone => "gone",
        /// The destination refuses them for their content, each sent alone.
        Refused => "refused",
    }
);

label!(
    /// `result` label of scheduled exports of records: of the object of a day.
    RecordExportResult {
        /// It is complete.
        Written => "written",
        /// It was not written; the next attempt follows within minutes.
        Failed => "failed",
    }
);

label!(
    /// `kind` label of tokens: which of a model's prices applies to them.
    TokenKind {
        /// Of requests, as far as no other kind applies.
        Input => "input",
        /// Of requests, read from the model server's cache.
        CachedInput => "cached_input",
        /// Of requests, written to its cache.
        CacheWrite => "cache_write",
        /// Of answers, as far as they are not those of reasoning.
        Output => "output",
        /// Of answers, used for reasoning.
        Reasoning => "reasoning",
    }
);

label!(
    /// `route` label of calls: the endpoint.
    RouteLabel {
        /// POST /v1/chat/completions
        Chat => "chat",
        /// POST /v1/responses
        Responses => "responses",
        /// POST /v1/messages
        Messages => "messages",
        /// POST /v1/completions
        Completions => "completions",
        /// POST /v1/embeddings
        Embeddings => "embeddings",
        /// GET /v1/models
        Models => "models",
        /// A path below /v1/responses
        ResponsesBelow => "responses_below",
        /// A path below /v1/messages
        MessagesBelow => "messages_below",
        /// The contract and its documentation.
        Docs => "docs",
        /// Any other path.
        Other => "other",
    }
);
label!(
    /// `gen_ai_provider_name` label: whose API the client speaks.
    ModelApi {
        /// Chat completions, completions and responses.
        OpenAi => "openai",
        /// The Messages API.
        Anthropic => "anthropic",
    }
);
label!(
    /// `gen_ai_token_type` label of tokens.
    TokenType {
        /// Of the request, those of the cache included.
        Input => "input",
        /// Of the answer, those of reasoning included.
        Output => "output",
    }
);

impl ModelApi {
    /// The API of a route.
    pub fn of(route: RouteLabel) -> Self {
        match route {
            RouteLabel::Messages | RouteLabel::MessagesBelow => Self::Anthropic,
            _ => Self::OpenAi,
        }
    }
}

label!(
    /// `cause` label: why retention removed a record.
    RemovalCause {
        /// Older than `retention.days`.
        Age => "age",
        /// Its application had more than its part of `retention.rows`.
        Rows => "rows",
        /// Its application had more than its part of `retention.bytes`.
        Bytes => "bytes",
        /// Beyond the limits that the application's rules ask for.
        ApplicationLimits => "application_limits",
        /// The application was removed.
        ApplicationRemoved => "application_removed",
    }
);
label!(
    /// `outcome` label, and `error_type` of calls that failed: how a call ended, and who caused it.
    Outcome {
        /// The upstream's answer with a status below 400, or a document, delivered completely.
        Ok => "ok",
        /// Refused by the gateway because of an error of the client.
        Refused => "refused",
        /// The upstream's own error answer, delivered.
        UpstreamStatus => "upstream_status",
        /// The answer of the upstream was cut off or stalled.
        UpstreamBroken => "upstream_broken",
        /// The upstream could not be called.
        GatewayError => "gateway_error",
        /// The client disconnected.
        ClientGone => "client_gone",
        /// Answered with the policy's phrase (§2.4).
        Blocked => "blocked",
    }
);
label!(
    /// `outcome` label of records on their way to the backend.
    TelemetryOutcome {
        /// Accepted by the backend.
        Delivered => "delivered",
        /// Refused by the backend (4xx).
        Refused => "refused",
        /// Dropped: the spool could not be written and memory was full.
        Dropped => "dropped",
    }
);

label!(
    /// `type` label of verdicts: what was found (§2.4); of several, the first in this order.
    VerdictType {
        /// A built-in policy is violated.
        Guardrails => "guardrails",
        /// A custom policy is violated.
        CustomPolicy => "custom_policy",
        /// Sensitive data was found.
        Dataclean => "dataclean",
    }
);
label!(
    /// `reason` label of messages that sync mode or redaction left unchecked (CONTRACT 13, 14).
    UncheckedReason {
        /// The backend was not reached, too slow, or broken.
        Unavailable => "unavailable",
        /// The backend refused the record (4xx).
        Refused => "refused",
        /// A stage of the check failed.
        Incomplete => "incomplete",
        /// The gateway has no backend (MONITOR_URL).
        NoBackend => "no_backend",
        /// The message cannot be read as a whole; an answer may also be larger than limits.recorded_bytes.
        Unreadable => "unreadable",
        /// The gateway has never been able to read the application's policy.
        PolicyUnknown => "policy_unknown",
    }
);
label!(
    /// `reason` label of client connections that this program closed.
    EndReason {
        /// A request head was not complete within limits.header_timeout of its first byte.
        SlowHead => "slow_head",
        /// Too many HTTP/2 frames without content: pings, settings, their acknowledgements, empty data,
        /// window updates that no answer calls for.
        IdleFrames => "idle_frames",
        /// The TLS handshake failed, or took longer than limits.header_timeout.
        Handshake => "handshake",
        /// A request body arrived more slowly than limits.header_timeout allows.
        SlowBody => "slow_body",
        /// The analysis API or the web UI: the client took nothing of its answer for limits.idle_timeout, or too little.
        UnreadAnswer => "unread_answer",
        /// One address had limits.client_connections open already, and kept them open.
        ClientConnections => "client_connections",
        /// A listener with proxy_protocol: the connection came from an address outside of trusted_proxies.networks.
        ProxyUntrusted => "proxy_untrusted",
        /// A listener with proxy_protocol: a trusted proxy sent no valid header of the PROXY protocol.
        ProxyHeader => "proxy_header",
    }
);
label!(
    /// `reason` label of connections that could not be accepted.
    AcceptFault {
        /// No descriptors are left, in the process or the system.
        Descriptors => "descriptors",
        /// The system is out of memory.
        Memory => "memory",
        /// Something else, such as a client that disconnected first.
        Other => "other",
    }
);
label!(
    /// `reason` label of calls that went to the next model server.
    FailoverReason {
        /// No connection could be established.
        Connect => "connect",
        /// An answer of 502, 503 or 504 (`upstream.failover_on: unavailable`).
        Unavailable => "unavailable",
    }
);
label!(
    /// `limit` label of calls refused with 429.
    QuotaLimit {
        /// More calls per second or minute than the policy allows.
        Rate => "rate",
        /// More concurrent calls than the policy allows.
        Concurrent => "concurrent",
    }
);
label!(
    /// `budget` label of calls that are refused or warned: whose budget is spent, or nearly, and its window.
    BudgetLabel {
        /// An application's budget of a minute.
        ApplicationMinute => "application_minute",
        /// An application's budget of a day.
        ApplicationDay => "application_day",
        /// An application's budget of a month.
        ApplicationMonth => "application_month",
        /// A user's budget of a minute.
        UserMinute => "user_minute",
        /// A user's budget of a day.
        UserDay => "user_day",
        /// A user's budget of a month.
        UserMonth => "user_month",
    }
);
label!(
    /// `outcome` label of calls by callers that are not known (CONTRACT 44).
    UnknownCaller {
        /// The access key is not known: 401.
        KeyRefused => "key_refused",
        /// The access key is not known: forwarded.
        KeyForwarded => "key_forwarded",
        /// Nobody could be asked about an access key that was never accepted before: 502.
        KeyUnchecked => "key_unchecked",
        /// The backend cannot be asked about access keys: forwarded.
        KeyUnsupported => "key_unsupported",
        /// The application is not known: 403.
        ApplicationRefused => "application_refused",
        /// The application is not known: a call of the default one.
        ApplicationDefault => "application_default",
        /// The application is not known: forwarded unchecked.
        ApplicationForwarded => "application_forwarded",
    }
);
label!(
    /// `reason` label of messages that got no turn to be analyzed.
    TurnRefusal {
        /// Too much waited already (limits.waiting_bytes).
        Full => "full",
        /// The turn did not come in time (limits.longest_wait).
        Late => "late",
    }
);
label!(
    /// `room` label of calls refused with 503.
    Exhausted {
        /// Memory for bodies, limits.buffered_bytes.
        Memory => "memory",
        /// Memory for one client address without an accepted access key, limits.client_bytes.
        ClientMemory => "client_memory",
        /// Calls over HTTP/2 of one client.
        ClientCalls => "client_calls",
        /// The disk that large request bodies are written to.
        Disk => "disk",
        /// File descriptors of the process.
        Descriptors => "descriptors",
        /// Memory for requests and answers of the analysis API and the web UI, limits.buffered_bytes of the
        /// analysis server, or one client's share of it, limits.client_bytes.
        ApiMemory => "api_memory",
    }
);
label!(
    /// `handling` label of calls of sync mode that asked for a stream.
    StreamHandling {
        /// `stream: true` was rewritten to false, and the client gets a whole answer, which most clients do not
        /// show (stream_in_sync: off).
        Rewritten => "rewritten",
        /// The stream is checked while it is relayed (stream_in_sync: hold_back).
        HeldBack => "held_back",
        /// The whole answer is sent as a stream (stream_in_sync: replay).
        Replayed => "replayed",
    }
);
label!(
    /// `reason` label of answers that could not be sent as a stream (stream_in_sync: replay).
    UnreplayedReason {
        /// The answer is not a chat completion, or cannot be decoded.
        Unreadable => "unreadable",
        /// The answer, as it is or as events, is larger than limits.recorded_bytes.
        TooLarge => "too_large",
    }
);
label!(
    /// `reason` label of answers that kept the placeholders of a redacted prompt (CONTRACT 41).
    UnrestoredReason {
        /// The upstream compressed the answer although the gateway asked for an uncompressed one.
        Compressed => "compressed",
        /// The answer is larger than limits.recorded_bytes.
        TooLarge => "too_large",
        /// The answer, or a part of it, is not in the reference format.
        Unreadable => "unreadable",
    }
);
label!(
    /// `sender` label of parts that were left out of a record: who sent it.
    RecordSender {
        /// A check, which waits for no answer.
        Check => "check",
        /// The spool, after several unanswered questions.
        Delivery => "delivery",
    }
);
label!(
    /// `reason` label of records that were lost from the spool (CONTRACT 23).
    DropReason {
        /// The spool exceeded `spool.max_bytes`.
        Full => "full",
        /// The records exceeded `spool.max_age`.
        Old => "old",
        /// The disk refused to be written and memory was full; also refused records that could not become dead letters.
        Disk => "disk",
        /// The spool was nearly full, and their access key had more than its share of it.
        Share => "share",
        /// They were in a part of the spool's files that could not be read.
        Damaged => "damaged",
    }
);
label!(
    /// `outcome` label of attached files (§7.3.2, CONTRACT 31). A list that cannot be parsed, or that is
    /// dropped before it is parsed, counts as one file.
    AttachmentOutcome {
        /// The backend accepted the file.
        Attached => "attached",
        /// The list, the descriptor, its URL or its base64 is invalid.
        Malformed => "malformed",
        /// More files than one call may list (64).
        TooMany => "too_many",
        /// Files may not be downloaded from its address.
        Forbidden => "forbidden",
        /// No connection, or the connection broke.
        Unreachable => "unreachable",
        /// The download was answered with an error status.
        Status => "status",
        /// Larger than files.max_bytes.
        TooLarge => "too_large",
        /// Not downloaded within files.timeout, or within the time for all files of a call.
        Late => "late",
        /// The record that it belongs to was not registered.
        NoRecord => "no_record",
        /// The backend refused the file.
        Refused => "refused",
        /// The backend could not be reached, or failed.
        Undelivered => "undelivered",
        /// Too many files were waiting, or there was no memory for it (limits.buffered_bytes).
        Dropped => "dropped",
    }
);
label!(
    /// `check` label: a server that an analysis calls.
    RemoteLabel {
        /// The judge of custom policies.
        Judge => "judge",
        /// The Presidio analyzer.
        Presidio => "presidio",
        /// The guard model.
        Guard => "guard",
    }
);
label!(
    /// `outcome` label of calls to such a server.
    RemoteOutcome {
        /// A usable answer.
        Answered => "answered",
        /// No connection, or the connection broke.
        Unreachable => "unreachable",
        /// No complete answer within the timeout.
        Late => "late",
        /// An error status.
        Status => "status",
        /// An answer that is not in the requested form.
        Nonsense => "nonsense",
        /// An answer that is too large to be read.
        TooLarge => "too_large",
        /// Too many calls were waiting; not called.
        Busy => "busy",
        /// It counts as down; not called.
        Down => "down",
        /// The text or the policies exceeded what is sent; the rest was not checked.
        Cut => "cut",
    }
);
label!(
    /// `type` label of analyzed messages: what was found; of several, the first in this order.
    AnalysisResult {
        /// A built-in policy is violated.
        Guardrails => "guardrails",
        /// A custom policy is violated.
        CustomPolicy => "custom_policy",
        /// Sensitive data was found.
        Dataclean => "dataclean",
        /// Nothing was found, and a stage of the check failed.
        Incomplete => "incomplete",
        /// Nothing was found.
        Clean => "clean",
    }
);
label!(
    /// `step` label of the time that a message takes; the wait for a turn and the calls to other servers have
    /// metrics of their own.
    AnalysisStep {
        /// Reading the JSON of a request that has arrived.
        Parse => "parse",
        /// Sensitive data, with the answer of Presidio.
        Dataclean => "dataclean",
        /// Built-in policies, with the answer of the guard model.
        Guardrails => "guardrails",
        /// Custom policies, with the answer of the judge.
        CustomPolicy => "custom_policy",
        /// Until the record is durable, with its wait in the store's queue.
        Store => "store",
    }
);
label!(
    /// `reason` label of messages that were not checked as a whole; a message with both counts for each.
    IncompleteReason {
        /// A stage of the check failed, or is switched off at this deployment.
        Failed => "failed",
        /// The message is longer than what is analyzed (analysis.limits.analyzed_bytes), or than what another server
        /// gets of it (max_text).
        Budget => "budget",
        /// There was no turn or no time for calls of tools, or their results, beside the message.
        ToolParts => "tool_parts",
    }
);
label!(
    /// `outcome` label of records that came under the id of a stored one with another text.
    ReusedId {
        /// Stored under an id of its own: a gateway's record with a number, a part of a tool call.
        StoredApart => "stored_apart",
        /// Checked and not stored: a message without a number.
        NotStored => "not_stored",
    }
);
label!(
    /// `reason` label of failures of the store.
    StoreFault {
        /// It does not answer, is too busy, or cannot be written.
        Unavailable => "unavailable",
        /// A constraint of its schema does not allow a change.
        Refused => "refused",
        /// A stored value cannot be read.
        Unreadable => "unreadable",
        /// It is closed: the process ends.
        Closed => "closed",
    }
);
label!(
    /// `state` label of connections to the store.
    PoolState {
        /// They read or write.
        InUse => "in_use",
        /// Open, waiting for work.
        Idle => "idle",
    }
);
label!(
    /// `source` label of log lines that exceeded log.bytes_per_second.
    LogSource {
        /// The program's own lines about anything but single calls.
        Program => "program",
        /// Lines of a library that log.level names.
        Library => "library",
        /// Short lines of calls that no model server answered, or whose access key no backend has accepted.
        Access => "access",
        /// Lines of the access log about calls whose access key no backend has accepted.
        AccessLog => "access_log",
    }
);
label!(
    /// `reason` label of lines of the access log that were not written.
    LinesLost {
        /// Too many were waiting.
        Queue => "queue",
        /// The file or stream could not be written.
        Disk => "disk",
    }
);
label!(
    /// `reason` label of spans that did not reach the collector.
    SpansLost {
        /// Too many were waiting.
        Queue => "queue",
        /// The collector did not answer, or asked to wait too often.
        Unavailable => "unavailable",
        /// The collector rejected them.
        Refused => "refused",
    }
);
label!(
    /// `target` label of servers that get secrets in clear text.
    ClearTextTarget {
        /// The model server: `Authorization` and `x-api-key` of clients.
        Upstream => "upstream",
        /// The monitoring backend: access keys and messages.
        Monitor => "monitor",
        /// The judge: its key and messages.
        Judge => "judge",
        /// The guard model: its key and messages.
        Guard => "guard",
        /// The collector of traces: its key.
        Trace => "trace",
        /// Destinations of events: their tokens and the events.
        Siem => "siem",
        /// Listeners of the gateway: access keys, `Authorization` and `x-api-key` of clients.
        Listen => "listen",
        /// Listeners of the analysis API: access tokens and sessions.
        AnalysisListen => "analysis_listen",
        /// PostgreSQL: its password and the stored data.
        Store => "store",
    }
);
label!(
    /// `result` label: how an upgrade or a reload ended.
    UpgradeResult {
        /// The new process or configuration is in effect.
        Done => "ok",
        /// The old one stays in effect.
        Failed => "failed",
    }
);
