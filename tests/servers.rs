//! Analysis servers as processes, over SQLite and over PostgreSQL: killed under load, several over one
//! database, and what a message or a filter must not be able to do on either store.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

#[path = "servers/chain.rs"]
mod chain;
#[path = "servers/gaps.rs"]
mod gaps;
#[path = "servers/input.rs"]
mod input;
#[path = "servers/kill.rs"]
mod kill;
#[path = "servers/several.rs"]
mod several;
#[path = "servers/world.rs"]
mod world;
