//! The gateway's acceptance tests: every one drives the real binary over real sockets and names the
//! sentence of the specification (§) or the number of the contract that it holds the binary to.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

#[path = "gateway/all_in_one.rs"]
mod all_in_one;
#[path = "gateway/attachments.rs"]
mod attachments;
#[path = "gateway/attachments_guard.rs"]
mod attachments_guard;
#[path = "gateway/attachments_kept.rs"]
mod attachments_kept;
#[path = "gateway/auth.rs"]
mod auth;
#[path = "gateway/batches.rs"]
mod batches;
#[path = "gateway/bytes.rs"]
mod bytes;
#[path = "gateway/crowd.rs"]
mod crowd;
#[path = "gateway/early.rs"]
mod early;
#[path = "gateway/errors.rs"]
mod errors;
#[path = "gateway/failover.rs"]
mod failover;
#[path = "gateway/floods.rs"]
mod floods;
#[path = "gateway/framing.rs"]
mod framing;
#[path = "gateway/gone.rs"]
mod gone;
#[path = "gateway/hold_back.rs"]
mod hold_back;
#[path = "gateway/hold_back_ends.rs"]
mod hold_back_ends;
#[path = "gateway/http2.rs"]
mod http2;
#[path = "gateway/interim.rs"]
mod interim;
#[path = "gateway/isolation.rs"]
mod isolation;
#[path = "gateway/judged.rs"]
mod judged;
#[path = "gateway/limits.rs"]
mod limits;
#[path = "gateway/memory.rs"]
mod memory;
#[path = "gateway/operations.rs"]
mod operations;
#[path = "gateway/policies.rs"]
mod policies;
#[path = "gateway/pressure.rs"]
mod pressure;
#[path = "gateway/quotas.rs"]
mod quotas;
#[path = "gateway/redact.rs"]
mod redact;
#[path = "gateway/replace.rs"]
mod replace;
#[path = "gateway/retry.rs"]
mod retry;
#[path = "gateway/room.rs"]
mod room;
#[path = "gateway/routes.rs"]
mod routes;
#[path = "gateway/smuggling.rs"]
mod smuggling;
#[path = "gateway/spool.rs"]
mod spool;
#[path = "gateway/spool_commands.rs"]
mod spool_commands;
#[path = "gateway/spool_faults.rs"]
mod spool_faults;
#[path = "gateway/startup.rs"]
mod startup;
#[path = "gateway/status.rs"]
mod status;
#[path = "gateway/store_outage.rs"]
mod store_outage;
#[path = "gateway/streams.rs"]
mod streams;
#[path = "gateway/strip.rs"]
mod strip;
#[path = "gateway/sync.rs"]
mod sync;
#[path = "gateway/targets.rs"]
mod targets;
#[path = "gateway/telemetry.rs"]
mod telemetry;
#[path = "gateway/texts.rs"]
mod texts;
#[path = "gateway/tls.rs"]
mod tls;
#[path = "gateway/trailers.rs"]
mod trailers;
