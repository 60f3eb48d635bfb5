//! Where policies come from (§2.5, CONTRACT 14 and 16), at the library's door: PostgreSQL and SQLite
//! under one contract, changes that are live, outages, the copy on disk, policies that turn bad. What a
//! policy does to a call is tested with the gateway.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

#[path = "policy/constraints.rs"]
mod constraints;
#[path = "policy/copy.rs"]
mod copy;
#[path = "policy/live.rs"]
mod live;
#[path = "policy/local.rs"]
mod local;
#[path = "policy/many.rs"]
mod many;
#[path = "policy/migrations.rs"]
mod migrations;
#[path = "policy/outage.rs"]
mod outage;
#[path = "policy/ssl.rs"]
mod ssl;
#[path = "policy/world.rs"]
mod world;
