//! What the SQL engines share: rows of either engine behind one interface, and the mapping of their columns
//! to domain types; the queries of the gap evidence; the migration runner. The statements themselves are in
//! `sqlite` and `postgres`, because indexes, locks and batching differ.

pub(crate) mod alerts;
pub(crate) mod attachments;
pub(crate) mod chain;
pub(crate) mod columns;
pub(crate) mod costs;
pub(crate) mod findings;
pub(crate) mod found_values;
pub(crate) mod gateway_reports;
pub(crate) mod migrations;
pub(crate) mod people;
pub(crate) mod records;
pub(crate) mod reused_id;
pub(crate) mod settings;
pub(crate) mod siem;
pub(crate) mod sign_in_failures;
pub(crate) mod spending;
pub(crate) mod statistics;
pub(crate) mod transfer;
pub(crate) mod user_days;
