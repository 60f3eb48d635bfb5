//! Event streams as bytes (§2.3, CONTRACT 4, 18, 19): a parser for any cut, the border watcher that
//! says where a heartbeat may stand, the accumulator of deltas, and the frames the gateway writes.
//!
//! Not the relay: nothing here changes, holds back or sends a byte of the upstream's.

mod accumulate;
mod border;
mod delta;
mod parser;
mod spoken;
pub mod writer;

pub use accumulate::Accumulator;
pub use border::Border;
pub use delta::Usage;
pub use parser::{Event, Parser};
