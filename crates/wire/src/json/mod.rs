//! The byte-exact JSON scanner: grammar check, top-level spans, text parts (CONTRACT 1 to 4, §2.6).
//!
//! Not a parser: no values are built, nothing is re-serialized, and no depth or size makes it
//! recurse. Numbers, escapes, key order and white space are looked at, never changed.

mod answer;
mod chat;
mod check;
mod checked_answer;
mod content;
mod envelope;
mod kind;
mod literal;
mod messages;
mod name;
mod prompt;
mod rewrite;
mod scan;
mod text;
mod view;

pub use answer::{Answer, AnswerEnd, AnswerLiteral, answer_end, answer_literals, answer_text};
pub(crate) use answer::{AnswerTexts, Words};
pub use chat::Chat;
pub use check::{SyntaxError, SyntaxKind};
pub use checked_answer::checked_answer;
pub(crate) use checked_answer::first_name;
pub(crate) use content::other_texts;
pub use content::{ContentLiterals, content_literals};
pub use envelope::is_envelope;
pub use kind::Kind;
pub use literal::{each_literal, escape_into, raw_spans};
pub use messages::ScanRole;
pub use prompt::{Prompt, PromptLiteral};
pub use rewrite::{Edit, replace_spans};
pub use scan::{Member, Scan, scan};
pub use text::unescape;
pub(crate) use view::has_misspelled;

#[cfg(test)]
mod tests {
    mod grammar;
    mod prompts;
    mod random;
    mod turns;
}
