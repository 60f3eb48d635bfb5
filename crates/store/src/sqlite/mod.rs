//! The embedded store: one SQLite file in WAL mode with synchronous=FULL, one writing connection with group
//! commit (`writer`), and a few read-only connections.

mod alerts;
mod attachments;
mod findings;
mod gateway_reports;
mod migrate;
mod people;
mod priority;
mod records;
mod removal;
mod settings;
mod siem;
mod statistics;
mod store;
#[cfg(test)]
mod tests;
mod transfer;
mod values;
mod writer;
mod writing_connection;

pub use store::SqliteStore;
