//! The borrowed view of a request: what the gateway has to know of it (CONTRACT 2, 3 and 5). It judges nothing:
//! members of an odd type are skipped, the upstream complains.

mod parameters;
mod prompt;

pub use prompt::{Prompt, PromptLiteral};

use crate::json::call_texts::CallTexts;
use crate::json::content::Piece;
use crate::json::kind::Kind;
use crate::json::request_shape::{Entries, RequestShape};
use crate::json::scan::{Member, Scan};
use crate::json::scan_role::ScanRole;
use crate::json::text::{Joined, keep_break};
use crate::json::tool_results::new_results;
use crate::json::view::View;
use prompt::{OutsideText, Places};
use std::ops::Range;

/// A body up to this size is read quickly: at worst each of its bytes costs as much as sixty of a long text.
const QUICK: usize = 4 << 10;

/// The body of a request and its scan.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    shape: &'static RequestShape,
    body: &'a [u8],
    scan: &'a Scan,
    calls: CallTexts,
}

impl<'a> Request<'a> {
    /// `scan` is the scan of `body`; a body that is no object has no members.
    pub fn read(shape: &'static RequestShape, body: &'a [u8], scan: &'a Scan) -> Self {
        Self {
            shape,
            body,
            scan,
            calls: CallTexts::Whole,
        }
    }

    /// The same, of whose calls of tools the prompt has these texts.
    pub fn with_calls(self, calls: CallTexts) -> Self {
        Self { calls, ..self }
    }

    /// The value spans of every top-level `stream`, in any case, whose value is the literal `true`,
    /// ascending: what the sync rewrite replaces (CONTRACT 2).
    pub fn stream_true_spans(&self) -> Vec<Range<usize>> {
        let streams = self.members("stream");
        streams
            .filter(|member| member.kind == Kind::True)
            .map(|member| member.value)
            .collect()
    }

    /// Whether some model server may take the call for one that asks for a stream: some take a number or a
    /// word for `true` as well.
    pub fn may_stream(&self) -> bool {
        let mut streams = self.members("stream");
        streams.any(|member| !matches!(member.kind, Kind::False | Kind::Null))
    }

    /// Whether a streamed answer is asked for. Of several `stream` the last one counts, as it does
    /// for most readers of JSON.
    pub fn wants_stream(&self) -> bool {
        self.members("stream")
            .last()
            .is_some_and(|member| member.kind == Kind::True)
    }

    /// Whether a stream is to end with its usage (`stream_options.include_usage`); the last duplicates count.
    pub fn wants_usage(&self) -> bool {
        let options = self.views("stream_options").last();
        let wanted = options.and_then(|options| options.named("include_usage").last());
        wanted.is_some_and(|wanted| wanted.kind() == Kind::True)
    }

    /// The value spans of every top-level `stream_options`, in any case, that is not null, ascending.
    pub fn stream_options_spans(&self) -> Vec<Range<usize>> {
        let options = self.members("stream_options");
        options
            .filter(|member| member.kind != Kind::Null)
            .map(|member| member.value)
            .collect()
    }

    /// The requested model; None when it is missing or no string. The last duplicate counts.
    pub fn model(&self) -> Option<String> {
        let model = self.views("model").last()?;
        model.text().map(|text| text.into_owned())
    }

    /// A top-level number, such as `temperature`; None when it is missing or none. The last duplicate counts.
    pub fn number(&self, name: &'a str) -> Option<f64> {
        let member = self.scan.members_named(self.body, name).last()?;
        let digits = self.body.get(member.value)?;
        let is_number = member.kind == Kind::Number;
        let number: f64 = std::str::from_utf8(digits)
            .ok()
            .filter(|_| is_number)?
            .parse()
            .ok()?;
        number.is_finite().then_some(number)
    }

    /// Whether another call delivers the answer: some reader of the last one that says so takes it for `true`.
    pub fn is_answered_later(&self) -> bool {
        let name = self.shape.answered_later;
        let mut later = name.into_iter().flat_map(|name| self.members(name));
        later.any(|member| !matches!(member.kind, Kind::False | Kind::Null))
    }

    /// How many choices are asked for: `n`, which is one without the member and where it is no number, for each prompt.
    pub fn choices(&self) -> u64 {
        let of_one = self.number("n").map_or(1, |n| n as u64).max(1);
        if self.shape.entries != Entries::Prompts {
            return of_one;
        }
        let prompts = self
            .views(self.shape.list)
            .map(|list| list.elements().count());
        let prompts = prompts.max().unwrap_or(1).max(1);
        of_one.saturating_mul(prompts as u64)
    }

    /// `metadata.request_id` when it is a string (§2.4).
    pub fn request_id(&self) -> Option<String> {
        self.metadata("request_id")
    }

    /// A member of `metadata` when it is a string. The last duplicates count.
    pub(crate) fn metadata(&self, name: &'a str) -> Option<String> {
        let metadata = self.views("metadata").last()?;
        let member = metadata.named(name).last()?;
        member.text().map(|text| text.into_owned())
    }

    /// What reading the prompt costs, in bytes of a body with one long text that costs as much: strings, and values
    /// inside parts of messages, are looked at one by one. What is no part of a prompt counts by its bytes, and so does
    /// a body of 4 KiB or less.
    pub fn reading_cost(&self) -> usize {
        if self.body.len() <= QUICK {
            return self.body.len();
        }
        let shape = self.shape;
        let beside = shape.instructions.iter().chain(shape.words).copied();
        let names = beside.chain([shape.list]).chain(shape.template);
        let costs = names.flat_map(|name| self.scan.kept_costs(self.body, name));
        let bytes = self.body.len().saturating_add(self.scan.unkept_cost());
        costs.fold(bytes, usize::saturating_add)
    }

    /// The text to record and to check: that of the messages which `roles` name, in their order,
    /// joined by line feeds. With [`ScanRole::UserTurn`] those of the user come last. Without roles it is that of
    /// the last user message with text ([`ScanRole::LastUser`]).
    ///
    /// What two readers of JSON could understand differently is taken both ways: names in any case, every
    /// duplicate inside a message, and a message of two roles or of an unknown one beside the one that
    /// would be chosen without it. Of several lists of messages at the top level every message is taken: a reader may
    /// take one list or another, or merge their messages one by one.
    pub fn prompt(&self, roles: &[ScanRole]) -> Prompt {
        let (mut text, mut prompt) = (Joined::default(), Prompt::default());
        let has_results = self.each_piece(roles, |piece, is_first| match piece.value() {
            None => prompt.has_unreadable = true,
            Some(value) => {
                let place = text.push(value.text());
                if let Some(place) = place.filter(|_| !is_first) {
                    let is_kept = keep_break(&mut prompt.part_breaks, place);
                    prompt.has_unreadable |= !is_kept;
                }
            }
        });
        prompt.text = text.into_text();
        // Most conversations have none, and are not walked again.
        if has_results {
            for list in self.views(self.shape.list) {
                new_results(list, self.shape.entries, &mut prompt.tool_results);
            }
        }
        prompt
    }

    /// The values whose texts [`Request::prompt`] takes and that may be changed, in its order: a model server refuses
    /// reasoning that is not as it signed it.
    pub fn prompt_literals(&self, roles: &[ScanRole]) -> Vec<PromptLiteral> {
        let mut literals = self.all_literals(roles);
        if self.shape.entries == Entries::Blocks && !literals.is_empty() {
            let signed: Vec<_> = self
                .views(self.shape.list)
                .flat_map(prompt::signed_blocks)
                .collect();
            literals.retain(|literal| {
                let behind = signed.partition_point(|block| block.end <= literal.span.start);
                let block = signed.get(behind);
                block.is_none_or(|block| literal.span.end <= block.start)
            });
        }
        literals
    }

    fn all_literals(&self, roles: &[ScanRole]) -> Vec<PromptLiteral> {
        let mut literals = Vec::new();
        self.each_piece(roles, |piece, is_first| {
            if let Some(read) = piece.value() {
                literals.push(PromptLiteral {
                    span: read.value.span(),
                    is_first,
                    form: read.form,
                    name: read.name(),
                });
            }
        });
        literals
    }

    /// Whether there are results of tools among the messages.
    fn each_piece(&self, roles: &[ScanRole], each: impl FnMut(Piece<'a>, bool)) -> bool {
        let shape = self.shape;
        let places = Places {
            lists: || self.views(shape.list),
            entries: shape.entries,
            calls: self.calls,
            beside: |tell: &mut dyn FnMut(OutsideText<'a>)| {
                for name in shape.instructions {
                    let values = self.views(name);
                    values.for_each(|value| tell(OutsideText::Instructions(value)));
                }
                for name in shape.words {
                    let values = self.views(name);
                    values.for_each(|value| tell(OutsideText::Words(value)));
                }
                for name in shape.unreadable {
                    let values = self.views(name);
                    values.for_each(|value| tell(OutsideText::Unreadable(value)));
                }
                for name in shape.template.iter() {
                    let values = self.views(name);
                    values.for_each(|value| tell(OutsideText::Template(value)));
                }
                if shape.entries == Entries::Prompts && !self.has_exact_list() {
                    let lists = self.views(shape.list);
                    lists.for_each(|list| tell(OutsideText::Unreadable(list)));
                }
            },
        };
        prompt::each_piece(&places, roles, each)
    }

    /// Whether the list has its name to the letter. A server that minds the case may take its prompts from a member
    /// that nobody here knows where it has not.
    fn has_exact_list(&self) -> bool {
        let mut exact = self.scan.members_named(self.body, self.shape.list);
        exact.any(|member| member.kind != Kind::Null)
    }

    fn members(&self, name: &'a str) -> impl Iterator<Item = Member> + 'a {
        self.scan.members_in_any_case(self.body, name)
    }

    fn views(&self, name: &'a str) -> impl Iterator<Item = View<'a>> + 'a {
        let Self { body, scan, .. } = *self;
        self.members(name)
            .map(move |member| scan.view(body, member.value))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;
