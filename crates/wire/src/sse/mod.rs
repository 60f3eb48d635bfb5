//! Event streams as bytes (§2.3, CONTRACT 4, 18, 19): a parser for any cut, the watcher that
//! says where a heartbeat may stand, the accumulator of deltas, the raw frames and text pieces for
//! those who hold a stream back or change it, the frames the gateway writes, and whole answers as streams.
//!
//! Not the relay: nothing here changes, holds back or sends a byte of the upstream's.

mod accumulate;
mod choice_text;
pub mod completion_pieces;
mod data;
mod delta;
mod frame_boundary;
mod frames;
mod line;
mod parser;
pub mod pieces;
mod replay;
mod stream_texts;
mod template;
pub mod writer;

pub use accumulate::Accumulator;
pub(crate) use choice_text::{Budget, entry_bytes, short};
pub(crate) use data::Data;
pub(crate) use delta::details;
pub use delta::{CompletionTokensDetails, PromptTokensDetails, Usage};
pub use frame_boundary::FrameBoundary;
pub use frames::{Frame, Frames};
pub(crate) use line::BOM;
pub(crate) use line::has_event_in_line;
pub use line::{event_name, has_doubtful_lines};
pub use parser::{Event, Parser};
pub use replay::{NotReplayed, replay};
pub use stream_texts::CheckedText;
pub use template::Template;
