//! Analysis servers as processes, over SQLite and over PostgreSQL: killed under load, several over one
//! database, and what a message or a filter must not be able to do on either store.

mod chain;
mod gaps;
mod input;
mod kill;
mod large;
mod reused_ids;
mod several;
pub(crate) mod world;
