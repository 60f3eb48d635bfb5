//! The analysis API through the real binary: a call's way from the gateway to its stored record
//! (§4.2, §4.3), and what the API refuses (CONTRACT 27). The rules behind each field are tested
//! beside the router.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

#[path = "analysis/admin_applications.rs"]
mod admin_applications;
#[path = "analysis/admin_audit.rs"]
mod admin_audit;
#[path = "analysis/admin_authority.rs"]
mod admin_authority;
#[path = "analysis/admin_cli.rs"]
mod admin_cli;
#[path = "analysis/admin_tokens.rs"]
mod admin_tokens;
#[path = "analysis/admin_versions.rs"]
mod admin_versions;
#[path = "analysis/admin_world.rs"]
mod admin_world;
#[path = "analysis/api.rs"]
mod api;
#[path = "analysis/attachments.rs"]
mod attachments;
#[path = "analysis/bad_judges.rs"]
mod bad_judges;
#[path = "analysis/batches.rs"]
mod batches;
#[path = "analysis/bucket.rs"]
mod bucket;
#[path = "analysis/documents.rs"]
mod documents;
#[path = "analysis/erasure.rs"]
mod erasure;
#[path = "analysis/guardrails.rs"]
mod guardrails;
#[path = "analysis/judge_bounds.rs"]
mod judge_bounds;
#[path = "analysis/judging.rs"]
mod judging;
#[path = "analysis/keeping.rs"]
mod keeping;
#[path = "analysis/overrides.rs"]
mod overrides;
#[path = "analysis/path.rs"]
mod path;
#[path = "analysis/reading.rs"]
mod reading;
#[path = "analysis/remote_checks.rs"]
mod remote_checks;
#[path = "analysis/replays.rs"]
mod replays;
#[path = "analysis/token_sums.rs"]
mod token_sums;
#[path = "analysis/world.rs"]
mod world;
