//! The byte-exact JSON scanner: grammar check, top-level spans, text parts (CONTRACT 1 to 4, §2.6).
//!
//! Not a parser: no values are built, nothing is re-serialized, and no depth or size makes it
//! recurse. Numbers, escapes, key order and white space are looked at, never changed.

mod answer;
mod argument_numbers;
mod arguments;
mod chat;
mod check;
mod checked_answer;
mod content;
mod envelope;
mod form;
mod index;
mod kind;
mod literal;
mod long_strings;
mod messages;
mod name;
mod number;
mod number_name;
mod prompt;
mod replace_text;
mod rewrite;
mod scan;
mod text;
mod unseen;
mod view;

pub use answer::{Answer, AnswerEnd, AnswerLiteral, answer_end, answer_literals, answer_text};
pub(crate) use answer::{AnswerTexts, JoinedText};
pub use argument_numbers::ArgumentNumbers;
pub use arguments::{ArgumentsDecoder, arguments_text};
pub use chat::Chat;
pub use check::{SyntaxError, SyntaxKind};
pub use checked_answer::checked_answer;
pub use content::{AloneLiteral, ContentLiterals, TextPath, content_literals};
pub(crate) use content::{CallText, OtherText, Place, TopMember, other_texts};
pub use envelope::is_envelope;
pub use form::Form;
pub(crate) use index::index_of;
pub use kind::Kind;
pub use literal::{each_literal, escape_into, raw_spans, write_string};
pub use messages::ScanRole;
pub(crate) use name::is_exactly;
pub use prompt::{Prompt, PromptLiteral};
pub use replace_text::replace_text;
pub use rewrite::{Edit, replace_spans};
pub use scan::{Member, Scan, scan};
pub use text::unescape;
pub use unseen::{is_tag_digit, is_unseen};
pub(crate) use view::{View, has_misspelled};

#[cfg(test)]
mod tests {
    mod grammar;
    mod prompts;
    mod random;
    mod turns;
}
