//! Monitor Gateway: the map of the source code.
//!
//! Two services in one program. The **gateway** forwards calls in the reference chat API format
//! unchanged and registers each with the **analysis backend**, which looks for sensitive data and
//! keeps a record.
//!
//! # Layers
//!
//! Imports point downward only; `tests/layers/main.rs` reads the sources and fails on an import upward.
//!
//! | Layer | Modules | What they do |
//! |---|---|---|
//! | 4 | [`app`], [`cli`] | picks implementations, starts and stops services |
//! | 3 | [`gateway`], [`analysis`], [`judge`], [`demo`] | the proxy, the API server, the clients of the servers it calls, the demo model server |
//! | 2 | [`monitor_wire`], [`monitor_detect`], [`monitor_store`], [`policy`], [`backend`], [`spool`] | the JSON scanner and event streams, detection, records, policies, the backend's client, the durable queue before it |
//! | 1 | [`monitor_model`], [`config`], [`observe`], [`http_client`], [`fair_queue`], `edge` | contract types, settings, metrics and events, the one HTTP client, turns between tenants, the client behind proxies |
//!
//! # One chat completion, from top to bottom
//!
//! `gateway::listen` accepts and tells HTTP/1.1 from HTTP/2 by the first head; `gateway::proxy` finds the
//! route, checks the framing and the access key; `gateway::exchange` reads the whole body, checks it
//! with [`monitor_wire::json::scan`], hands the prompt to [`spool::Spool`], calls the upstream, relays each
//! chunk as it arrives, and hands the answer to the same spool. Behind the spool a
//! [`backend::Analyzer`], over HTTP or in this process, runs `analysis::Services`: token,
//! application, [`monitor_detect::Engine`], [`monitor_store`].
//!
//! # Invariants, each with the test that guards it
//!
//! - A body passes byte for byte, whatever its numbers, escapes, keys or depth: `tests/gateway/bytes.rs`.
//! - Where a policy redacts a body, only the bytes of findings change, and no other application's body
//!   changes: `tests/gateway/redact.rs`.
//! - No gateway-extension header reaches the upstream on any route: `tests/gateway/strip.rs`.
//! - Outside sync mode no call waits for the backend: `tests/gateway/telemetry.rs`.
//! - In sync mode no upstream connection is opened before the verdict: `tests/gateway/sync.rs`.
//! - A stream that is held back shows the same text however it is split into events and chunks, and
//!   nothing of a finding: `tests/gateway/hold_back.rs`, `tests/detect/stable.rs`.
//! - A chunk is forwarded before the gateway waits for the next one: `tests/gateway/streams.rs`.
//! - A request is sent twice only when its first connection accepted no byte: `tests/gateway/retry.rs`.
//! - `GET /chain` reports every record that is missing at the backend, and no other: `tests/store/servers/gaps.rs`.
//! - A judge that fails in any way lets no message pass silently and blocks none: `tests/analysis/bad_judges.rs`.
//! - No key, prompt or data found in one appears in a log line, a metric or an error: `tests/gateway/telemetry.rs`.
//!
//! # Deliberately absent
//!
//! No request size limit apart from the gateway's memory (§8.1), no `Upgrade`, no `CONNECT`, no cache of
//! answers, no change to bodies in async mode unless a policy asks for it (`redact_upstream`).

pub mod analysis;
pub mod app;
pub mod backend;
pub mod cli;
pub mod config;
pub mod demo;
mod edge;
pub mod fair_queue;
pub mod gateway;
pub mod http_client;
pub mod judge;
pub mod observe;
pub mod policy;
pub mod spool;
