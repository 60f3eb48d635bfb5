//! Monitor Gateway: the map of the house.
//!
//! Two services in one program. The **gateway** forwards calls in the reference chat API format
//! unchanged and registers each with the **analysis backend**, which looks for sensitive data and
//! keeps a record.
//!
//! # Layers
//!
//! An import points down only; `tests/layers.rs` reads the sources and fails on a wrong arrow.
//!
//! | Layer | Modules | Contents |
//! |---|---|---|
//! | 3 | [`app`], [`cli`] | picks implementations, starts and stops services |
//! | 2 | [`gateway`], [`analysis`], [`judge`], [`demo`] | the proxy, the API server, the servers it calls, the demo model server |
//! | 1 | [`monitor_wire`], [`monitor_detect`], [`monitor_store`], [`policy`], [`backend`], [`spool`] | the scanner and event streams, detection, records, policies, the backend's client, the durable queue before it |
//! | 0 | [`monitor_model`], [`config`], [`observe`], [`http_client`] | contract types, settings, metrics and events, the one HTTP client |
//!
//! # One chat completion, from top to bottom
//!
//! `gateway::listen` accepts and tells HTTP/1.1 from HTTP/2 by the first head; `gateway::proxy` finds the
//! route, checks the framing and the access key; `gateway::exchange` reads the whole body, checks it
//! with [`monitor_wire::json::scan`], hands the prompt to [`spool::Spool`], calls the upstream, relays each
//! chunk as it comes, and hands the answer to the same spool. Behind the spool a
//! [`backend::Analyzer`], over HTTP or in this process, runs `analysis::Services`: token,
//! application, [`monitor_detect::Engine`], [`monitor_store`].
//!
//! # Invariants, each with the test that guards it
//!
//! - A body passes byte for byte, whatever its numbers, escapes, keys or depth: `tests/gateway/bytes.rs`.
//! - Where a policy has it redacted, no byte besides the findings changes, and no other application's
//!   body does: `tests/gateway/redact.rs`.
//! - No gateway-extension header reaches the upstream on any route: `tests/gateway/strip.rs`.
//! - Outside sync mode nothing that concerns the backend is awaited by a call: `tests/gateway/telemetry.rs`.
//! - In sync mode no upstream connection is opened before the verdict: `tests/gateway/sync.rs`.
//! - A stream that is held back shows the same text whatever its events and chunks, and nothing of a
//!   finding: `tests/gateway/hold_back.rs`, `tests/detect/settled.rs`.
//! - A chunk is passed on before the next is waited for: `tests/gateway/streams.rs`.
//! - A request is sent twice only when its first connection accepted no byte: `tests/gateway/retry.rs`.
//! - A record that is missing at the backend shows, and none that is there does: `tests/store/servers/gaps.rs`.
//! - A judge that fails in any way lets no message pass in silence and blocks none: `tests/analysis/bad_judges.rs`.
//! - No key, prompt or person's data in a log line, a metric or an error: `tests/gateway/telemetry.rs`.
//!
//! # Deliberately absent
//!
//! No request size limit of the gateway's own (§8.1), no `Upgrade`, no `CONNECT`, no cache, no
//! rewriting of bodies in async mode unless a policy asks for it (`redact_upstream`).

pub mod analysis;
pub mod app;
pub mod backend;
pub mod cli;
pub mod config;
pub mod demo;
pub mod gateway;
pub mod http_client;
pub mod judge;
pub mod observe;
#[cfg(test)]
mod openapi_checks;
pub mod policy;
pub mod spool;
