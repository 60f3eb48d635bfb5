//! Where policies come from (§2.5, CONTRACT 14 and 16), at the library's door: PostgreSQL and SQLite
//! under one contract, changes that are live, outages, the copy on disk, policies that turn bad. What a
//! policy does to a call is tested with the gateway.

mod constraints;
mod copy;
mod live;
mod local;
mod many;
mod migrations;
mod outage;
mod ssl;
mod world;
