//! What every store has to do (CONTRACT 5, 16, 23, 30, 38), through the public interface of the crate: one
//! suite, which `store_contract!` runs on each engine. What is specific to one engine is in a folder of its own.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[macro_use]
mod contract;
mod accounts;
mod alerts;
mod applications;
mod attachments;
mod audit;
mod audited;
mod backfill;
mod before_budgets;
mod chain;
mod contract_postgres;
mod contract_sqlite;
mod costs;
mod erasure;
mod exchanges;
mod filters;
mod findings;
mod fleet;
mod found_values;
mod lookups;
mod policies;
mod postgres;
mod records;
mod removed;
mod retention;
mod saved;
mod second_factors;
mod servers;
mod sessions;
mod sharing;
mod siem;
mod spending;
mod statistics;
mod tokens;
mod traffic;
mod transfer;
mod user_days;
mod waiting;
