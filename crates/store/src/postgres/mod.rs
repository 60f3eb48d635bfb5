//! The store in PostgreSQL: one database that any number of analysis servers share, and whose view
//! `gateway_policies` gateways read (CONTRACT 16). Two tasks write records with group commit (`writer`) into
//! one partition per day (`partitions`); lists read them in spans of partitions (`records::list`). A server
//! caches nothing that `ApplicationStore::settings_changed` does not invalidate.

mod alerts;
mod attachments;
mod connect;
mod findings;
mod gateway_reports;
mod indexes;
mod maintenance;
mod migrate;
mod partitions;
mod people;
mod pool;
mod records;
mod removal;
mod seq;
mod settings;
mod siem;
mod statistics;
mod store;
mod transfer;
mod values;
mod writer;

pub use connect::postgres_options;
pub use store::PostgresStore;
