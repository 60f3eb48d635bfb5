//! How one API writes its answers: which functions read a whole one, and the events of a stream.

use super::events::{Event, is_named_by_type};
use super::growing::GrowingAnswer;
use super::{StreamAnswer, Texts};
use crate::json::{Answer, AnswerEnd, AnswerLiteral, CallTexts, View, scan};
use crate::sse::{CheckedText, Usage, has_event_in_line};
use memchr::memmem;
use monitor_model::ToolParts;

/// The answer of a stream whose events `read` understands.
struct GrowingStream {
    answer: GrowingAnswer,
    read: fn(&mut GrowingAnswer, View<'_>),
    /// `[DONE]` has come, behind which some clients read nothing.
    is_done: bool,
}

impl StreamAnswer for GrowingStream {
    fn push(&mut self, name: &[u8], data: &[u8]) {
        if data.trim_ascii() == b"[DONE]" {
            self.is_done = true;
            return;
        }
        let before = self.answer.budget.kept();
        let event = Event::of(data);
        match event.as_ref().map(Event::object) {
            Some(event) => {
                let is_doubtful = || !is_named_by_type(name, event) || has_event_in_line(data);
                if self.answer.wants_every() && is_doubtful() {
                    self.answer.skipped += 1;
                }
                (self.read)(&mut self.answer, event);
                let has_grown = self.answer.budget.kept() > before;
                if self.is_done && has_grown && self.answer.wants_every() {
                    self.answer.skipped += 1;
                }
            }
            None => self.answer.skipped += 1,
        }
    }

    fn text(&self) -> String {
        self.answer.recorded().text
    }

    fn checked_text(&self) -> Option<CheckedText> {
        let words = self.answer.wants_every().then(|| self.answer.checked())?;
        Some(CheckedText {
            text: words.text,
            part_breaks: words.part_breaks,
            has_unreadable: words.has_unreadable,
        })
    }

    fn tool_calls(&self, most: usize) -> ToolParts {
        self.answer.tool_calls(most)
    }

    fn finish_reasons(&self) -> Vec<&str> {
        self.answer.reason.as_deref().into_iter().collect()
    }

    fn id(&self) -> Option<&str> {
        self.answer.id.as_deref()
    }

    fn model(&self) -> Option<&str> {
        self.answer.model.as_deref()
    }

    fn usage(&self) -> Option<Usage> {
        self.answer.usage
    }

    fn error_seen(&self) -> bool {
        self.answer.error_seen
    }

    fn skipped(&self) -> u64 {
        self.answer.skipped
    }

    fn kept(&self) -> usize {
        self.answer.budget.kept()
    }

    fn close(&mut self) {
        self.answer.budget.close();
    }

    fn is_truncated(&self) -> bool {
        self.answer.budget.is_exceeded()
    }
}

/// How one API writes its answers.
pub(super) struct AnswerShape {
    /// The list of what a whole answer says.
    pub(super) list: &'static str,
    /// What the type of a call ends with, and its quote: an answer without any has no calls.
    pub(super) calls: &'static [&'static str],
    /// Why it ended.
    pub(super) reason: &'static str,
    /// Reads a whole answer.
    pub(super) whole: fn(&mut GrowingAnswer, View<'_>),
    /// Reads an event of a stream.
    pub(super) event: fn(&mut GrowingAnswer, View<'_>),
    /// The strings of an element of the list that may hold what stood in the prompt.
    pub(super) literals: fn(View<'_>, &mut Vec<AnswerLiteral>),
}

impl AnswerShape {
    /// Reads a whole answer; None of what is not JSON.
    pub(super) fn answer(&self, body: &[u8], texts: Texts, calls: CallTexts) -> Option<Answer> {
        let scan = scan(body).ok()?;
        let mut answer = GrowingAnswer::new(texts, usize::MAX).with_calls(calls);
        (self.whole)(&mut answer, scan.root(body));
        Some(answer.into_answer(body, &scan))
    }

    /// The calls of tools in a whole answer, within `most` bytes.
    pub(super) fn tool_calls(&self, body: &[u8], most: usize) -> ToolParts {
        // Most answers have none, and are not read again.
        let has = |end: &&str| memmem::find(body, end.as_bytes()).is_some();
        if !self.calls.iter().any(has) {
            return ToolParts::default();
        }
        let Ok(scan) = scan(body) else {
            return ToolParts::default();
        };
        let mut answer = GrowingAnswer::new(Texts::Record, usize::MAX);
        (self.whole)(&mut answer, scan.root(body));
        answer.tool_calls(most)
    }

    /// The strings that may hold what stood in the prompt, ascending; None of what is not JSON.
    pub(super) fn literals(&self, body: &[u8]) -> Option<Vec<AnswerLiteral>> {
        let scan = scan(body).ok()?;
        let lists = scan.members_named(body, self.list);
        let mut literals = Vec::new();
        for element in lists.flat_map(|list| scan.view(body, list.value).elements()) {
            (self.literals)(element, &mut literals);
        }
        literals.sort_by_key(|literal| literal.span.start);
        Some(literals)
    }

    /// The id of a whole answer, and why it ended.
    pub(super) fn end(&self, body: &[u8]) -> AnswerEnd {
        let Ok(scan) = scan(body) else {
            return AnswerEnd::default();
        };
        let text = |name| {
            let value = scan.members_named(body, name).last()?.value;
            Some(View::new(body, value).text()?.into_owned())
        };
        AnswerEnd {
            id: text("id"),
            finish_reasons: text(self.reason).into_iter().collect(),
        }
    }

    /// Reads a stream.
    pub(super) fn stream(
        &self,
        texts: Texts,
        calls: CallTexts,
        limit: usize,
    ) -> Box<dyn StreamAnswer> {
        Box::new(GrowingStream {
            answer: GrowingAnswer::new(texts, limit)
                .with_calls(calls)
                .streamed(),
            read: self.event,
            is_done: false,
        })
    }
}
