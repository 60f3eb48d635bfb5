//! Events of the gateway's in a stream of completions.

use crate::protocol::{OwnAnswer, StreamWriter};
use crate::sse::pieces::{Field, Named};
use crate::sse::{Template, writer};
use std::collections::BTreeMap;

/// The `finish_reason` of a choice that a finding ends.
const CONTENT_FILTER: &str = "content_filter";

#[derive(Default)]
pub(super) struct CompletionsWriter {
    template: Template,
    /// The choices that the client has seen, and whether it has seen their end.
    choices: BTreeMap<u64, bool>,
}

impl StreamWriter for CompletionsWriter {
    fn learn(&mut self, frame: &[u8]) {
        self.template = Template::of(frame);
    }

    fn sent(&mut self, _frame: &[u8], choices: &[Named]) {
        for named in choices {
            *self.choices.entry(named.choice).or_default() |= named.finished;
        }
    }

    /// Writes no text but that of the choice: the form around others is not known.
    fn text(&mut self, choice: u64, field: Field, text: &str) -> Vec<u8> {
        if field != Field::Content {
            return Vec::new();
        }
        self.choices.insert(choice, false);
        self.template.completion(choice, text, None)
    }

    fn end(&mut self, choice: u64, answer: &OwnAnswer<'_>) -> Vec<u8> {
        let mut end = self.text(choice, Field::Content, answer.text);
        let open = self.choices.iter().filter(|(_, ended)| !**ended);
        end.extend(
            open.flat_map(|(choice, _)| {
                self.template.completion(*choice, "", Some(CONTENT_FILTER))
            }),
        );
        end.extend_from_slice(writer::DONE);
        end
    }
}
