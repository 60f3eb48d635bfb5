//! The analysis API through the real binary: a call's way from the gateway to its stored record
//! (§4.2, §4.3), and what the API refuses (CONTRACT 27). The rules behind each field are tested
//! beside the router.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

#[path = "analysis/api.rs"]
mod api;
#[path = "analysis/batches.rs"]
mod batches;
#[path = "analysis/keeping.rs"]
mod keeping;
#[path = "analysis/overrides.rs"]
mod overrides;
#[path = "analysis/path.rs"]
mod path;
#[path = "analysis/world.rs"]
mod world;
