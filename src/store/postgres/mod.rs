//! The store in PostgreSQL. So far its schema: applications with their policies, and the view
//! `gateway_policies` that gateways read (CONTRACT 16); records and tokens are in SQLite only.

mod migrate;

pub use migrate::migrate;
