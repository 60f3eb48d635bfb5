//! What only the store in PostgreSQL can do wrong, at the library's door against a real server: outages
//! and recovery, several stores over one database, partitions and retention, migration. What every
//! store does alike is its contract's.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

#[path = "postgres/erased.rs"]
mod erased;
#[path = "postgres/kept.rs"]
mod kept;
#[path = "postgres/lookups.rs"]
mod lookups;
#[path = "postgres/migration.rs"]
mod migration;
#[path = "postgres/outage.rs"]
mod outage;
#[path = "postgres/partitions.rs"]
mod partitions;
#[path = "postgres/served.rs"]
mod served;
#[path = "postgres/several.rs"]
mod several;
#[path = "postgres/world.rs"]
mod world;
