//! Handlers of messages (§4.3, §4.4, CONTRACT 39): one a call, or a batch; and calls of tools (CONTRACT 48).

pub(super) mod batch;
pub(super) mod process;
mod process_body;
mod surrogates;
pub(super) mod tool_calls;
