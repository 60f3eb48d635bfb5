//! Event streams as bytes (§2.3, CONTRACT 4, 18, 19): a parser for any cut, the border watcher that
//! says where a heartbeat may stand, the accumulator of deltas, the raw frames and text pieces for
//! those who hold a stream back or change it, and the frames the gateway writes.
//!
//! Not the relay: nothing here changes, holds back or sends a byte of the upstream's.

mod accumulate;
mod border;
mod delta;
mod frames;
mod parser;
pub mod pieces;
mod spoken;
mod template;
pub mod writer;

pub use accumulate::Accumulator;
pub use border::Border;
pub use delta::Usage;
pub use frames::{Frame, Frames};
pub use parser::{Event, Parser};
pub use template::Template;
