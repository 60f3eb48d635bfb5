//! Event streams as bytes (§2.3, CONTRACT 4, 18, 19): a parser for any cut, the watcher that
//! says where a heartbeat may stand, the accumulator of deltas, the raw frames and text pieces for
//! those who hold a stream back or change it, and the frames the gateway writes.
//!
//! Not the relay: nothing here changes, holds back or sends a byte of the upstream's.

mod accumulate;
mod choice_text;
mod delta;
mod frame_boundary;
mod frames;
mod parser;
pub mod pieces;
mod template;
pub mod writer;

pub use accumulate::Accumulator;
pub use delta::Usage;
pub use frame_boundary::FrameBoundary;
pub use frames::{Frame, Frames};
pub use parser::{Event, Parser};
pub use template::Template;
