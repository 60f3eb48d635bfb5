//! What every store has to do (CONTRACT 5, 16, 23, 30, 38), at the library's door: one suite, run on
//! each database by `store_contract!`. What only one database does stands in that database's file.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[macro_use]
mod contract;
mod accounts;
mod applications;
mod attachments;
mod audit;
mod backfill;
mod chain;
mod contract_postgres;
mod contract_sqlite;
mod erasure;
mod filters;
mod lookups;
mod policies;
mod postgres;
mod records;
mod removed;
mod retention;
mod saved;
mod servers;
mod sessions;
mod sharing;
mod statistics;
mod tokens;
mod traffic;
