//! What every store has to do (CONTRACT 5, 16, 23, 30, 38), at the library's door: one suite, run on
//! each database by `store_contract!`. What only one database does stands in that database's file.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

#[macro_use]
#[path = "store/contract.rs"]
mod contract;
#[path = "store/accounts.rs"]
mod accounts;
#[path = "store/applications.rs"]
mod applications;
#[path = "store/attachments.rs"]
mod attachments;
#[path = "store/audit.rs"]
mod audit;
#[path = "store/backfill.rs"]
mod backfill;
#[path = "store/bed.rs"]
mod bed;
#[path = "store/chain.rs"]
mod chain;
#[path = "store/erasure.rs"]
mod erasure;
#[path = "store/filters.rs"]
mod filters;
#[path = "store/lookups.rs"]
mod lookups;
#[path = "store/policies.rs"]
mod policies;
#[path = "store/postgres.rs"]
mod postgres;
#[path = "store/records.rs"]
mod records;
#[path = "store/removed.rs"]
mod removed;
#[path = "store/retention.rs"]
mod retention;
#[path = "store/saved.rs"]
mod saved;
#[path = "store/sessions.rs"]
mod sessions;
#[path = "store/sharing.rs"]
mod sharing;
#[path = "store/sqlite.rs"]
mod sqlite;
#[path = "store/statistics.rs"]
mod statistics;
#[path = "store/tokens.rs"]
mod tokens;
#[path = "store/traffic.rs"]
mod traffic;
