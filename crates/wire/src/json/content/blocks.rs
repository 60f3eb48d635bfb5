//! The blocks of a message of which not all are words of its role: a program that calls tools sends their results, and
//! context of its own, in the name of its user.

use super::Piece;
use super::block_types::{has_type, is_result};
use super::meaning::Meaning;
use super::walk::{Standing, Walk};
use crate::json::call_texts::CallTexts;
use crate::json::kind::Kind;
use crate::json::view::View;
use std::ops::ControlFlow;

/// What a block of context begins with, by which programs tell the model what their user did not say.
const CONTEXT: &str = "<system-reminder>";

/// A message, or those of its blocks that one role speaks.
#[derive(Clone, Copy)]
pub(crate) struct Words<'a> {
    pub(crate) message: View<'a>,
    pub(crate) part: MessagePart,
    /// What is read of calls of tools.
    pub(crate) calls: CallTexts,
}

/// Which blocks of a message are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MessagePart {
    /// All of them.
    Whole,
    /// Those that are no results of tools.
    Said,
    /// The results of tools.
    Results,
}

impl<'a> Words<'a> {
    /// Hands over the texts of a content, as far as they belong to the part.
    pub(super) fn of_content(
        self,
        content: View<'a>,
        meaning: Meaning,
        each: &mut dyn FnMut(Piece<'a>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Self { part, calls, .. } = self;
        if part == MessagePart::Whole || content.kind() != Kind::Array {
            return match part {
                MessagePart::Whole | MessagePart::Said => Walk::new(Standing::Main, each)
                    .with_calls(calls)
                    .value(content, meaning),
                MessagePart::Results => ControlFlow::Continue(()),
            };
        }
        for block in content.elements() {
            let is_taken = match part {
                MessagePart::Whole => true,
                MessagePart::Said => !has_type(block, is_result, true),
                MessagePart::Results => has_type(block, is_result, false),
            };
            if is_taken {
                let standing = match is_context(block) {
                    true => Standing::Aside,
                    false => Standing::Main,
                };
                let mut walk = Walk::new(standing, each).with_calls(calls);
                walk.value(block, meaning)?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// Whether there are results of tools among the blocks of a message.
pub(crate) fn has_results(message: View<'_>) -> bool {
    let contents = message.named_in_any_case("content");
    let mut blocks = contents.flat_map(View::elements);
    blocks.any(|block| has_type(block, is_result, false))
}

/// Whether a block is reasoning that the model server has signed, for every reader.
pub(crate) fn is_signed(block: View<'_>) -> bool {
    has_type(
        block,
        |kind| matches!(kind, "thinking" | "redacted_thinking"),
        true,
    )
}

/// Whether a block is text that the program added.
fn is_context(block: View<'_>) -> bool {
    let mut texts = block.named_in_any_case("text").peekable();
    let is = |text: View<'_>| text.text().is_some_and(|text| text.starts_with(CONTEXT));
    texts.peek().is_some() && texts.all(is)
}
