//! The analysis API through the real binary: a call's way from the gateway to its stored record
//! (§4.2, §4.3), and what the API refuses (CONTRACT 27). The rules behind each field are tested
//! beside the router.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod admin_applications;
mod admin_audit;
mod admin_authority;
mod admin_cli;
mod admin_tokens;
mod admin_versions;
mod admin_world;
mod api;
mod attachments;
mod bad_judges;
mod batches;
mod bucket;
mod change_bounds;
mod chunked_bodies;
mod compressed;
mod documents;
mod erasure;
mod exchanges;
mod fair_shares;
mod guardrails;
mod hostile_clients;
mod judge_bounds;
mod judging;
mod keeping;
mod key_bounds;
mod long_messages;
mod memory_returned;
mod overrides;
mod parameter_bounds;
mod path;
mod read_shares;
mod reading;
mod regex_bounds;
mod remote_checks;
mod replays;
mod retention;
mod token_sums;
mod tool_calls;
mod type_bounds;
mod unread_bodies;
mod upload_shares;
