//! What only the store in PostgreSQL can do wrong, at the library's door against a real server: outages
//! and recovery, several stores over one database, partitions and retention, migration. What every
//! store does alike is its contract's.

mod erased;
mod kept;
mod lookups;
mod migration;
mod outage;
mod partitions;
mod served;
mod several;
mod world;
