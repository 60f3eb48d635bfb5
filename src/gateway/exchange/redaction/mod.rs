//! Redaction of prompts and unredaction of their answers (CONTRACT 41, `redact_upstream`): personal data gives
//! way to placeholders on the way to the upstream, and placeholders to the values on the way back.

mod placeholders;
mod redact;
mod unredact;
mod unredact_response;

pub(super) use redact::Redactor;
pub(super) use unredact_response::Unredact;
