//! Sources of policies (§2.5, CONTRACT 14 and 16), through the public interface: PostgreSQL and SQLite under
//! one contract, changes that take effect, outages, the copy on disk, policies that become invalid. What a
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
