//! The byte-exact JSON scanner: grammar check, top-level spans, text parts (CONTRACT 1 to 4, §2.6).
//!
//! Not a parser: no values are built, nothing is re-serialized, and no depth or size makes it
//! recurse. Numbers, escapes, key order and white space are looked at, never changed.

mod answer;
mod arguments;
mod call_texts;
mod content;
mod envelope;
mod form;
mod index;
mod kind;
mod literal;
mod messages;
mod name;
mod number;
mod request;
mod request_shape;
mod rewrite;
mod scan;
mod scan_role;
mod text;
mod tool_results;
mod unseen;
mod view;

pub use answer::{
    Answer, AnswerEnd, AnswerLiteral, ChoiceForm, answer_end, answer_literals, answer_text,
    answer_text_of, checked_answer, checked_answer_of, checked_completion, completion_literals,
    completion_text,
};
pub(crate) use answer::{AnswerTexts, JoinedText, message_calls};
pub use arguments::{ArgumentNumbers, ArgumentsDecoder, arguments_text};
pub use call_texts::CallTexts;
pub use content::{AloneLiteral, ContentLiterals, TextPath, content_literals};
pub(crate) use content::{
    CallText, OtherText, OtherTexts, Piece, Place, TopMember, each_piece_of, other_texts,
    texts_beside, texts_of,
};
pub use envelope::is_envelope;
pub use form::Form;
pub(crate) use index::index_of;
pub use kind::Kind;
pub use literal::{each_literal, escape_into, raw_spans, write_string};
pub(crate) use name::is_exactly;
pub use request::{Prompt, PromptLiteral, Request};
pub use request_shape::RequestShape;
pub(crate) use request_shape::{Entries, Parameters};
pub use rewrite::{Edit, replace_spans, replace_text};
pub use scan::{Member, Scan, SyntaxError, SyntaxKind, scan};
pub use scan_role::ScanRole;
pub use text::unescape;
pub use unseen::{is_tag_digit, is_unseen};
#[cfg(test)]
pub(crate) use view::steps;
pub(crate) use view::{View, has_misspelled};

#[cfg(test)]
mod tests {
    mod agents;
    mod grammar;
    mod prompts;
    mod random;
    mod turns;
}
