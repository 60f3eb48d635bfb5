//! Calls of tools and their results as parts of a conversation: the name and the arguments of a call, and its result
//! below it. Long ones are folded; a `details` element opens by keyboard too.

use super::bounded_text::{self, TextLimit};
use crate::analysis::records::StoredRecord;
use crate::analysis::ui::layout::components::badge;
use crate::analysis::ui::layout::highlight::marked;
use crate::analysis::ui::layout::pretty::{Source, formatted};
use crate::analysis::ui::phrases::RecordPhrases;
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};
use monitor_model::{CheckedPart, Stage};
use std::collections::{HashMap, HashSet, VecDeque};

/// How much of each text is shown.
const SHOWN: TextLimit = TextLimit {
    bytes: 4_000,
    marks: 24,
};
/// Lines and bytes of a text that is not folded.
const SHORT_LINES: usize = 8;
const SHORT_BYTES: usize = 600;

/// A part by its record's place in the store's order, and its own in the record.
type Place = (i64, usize);

/// What the parts of a page may take, and which results belong to its calls.
pub(super) struct Parts<'r> {
    /// The results of calls.
    results: HashMap<Place, &'r CheckedPart>,
    /// The results that are shown with their calls, or were shown before.
    placed: HashSet<Place>,
    /// Bytes that are left for texts; of what comes behind, names are shown.
    left: usize,
    /// Parts of one record that are shown.
    most: usize,
}

/// The walk over a page that gives each call its result. Some servers count the calls of each answer anew, so that one
/// identifier stands for many of them: the next result behind a call is its own.
#[derive(Default)]
struct Pairing<'r> {
    /// The latest calls with an identifier that have no result yet.
    open: HashMap<&'r str, VecDeque<Place>>,
    /// The latest result.
    last: HashMap<&'r str, &'r CheckedPart>,
}

impl<'r> Pairing<'r> {
    fn add_call(&mut self, call_id: &'r str, place: Place) {
        let open = self.open.entry(call_id).or_default();
        // An answer without its results was given up.
        open.retain(|(record, _)| *record == place.0);
        open.push_back(place);
    }

    /// Takes the call that a result belongs to: no other result is its own.
    fn take_call_of(&mut self, result: &CheckedPart) -> Option<Place> {
        self.open.get_mut(result.call_id.as_str())?.pop_front()
    }

    /// Whether a program sends the latest result of its call again.
    fn is_repeated(&self, result: &CheckedPart) -> bool {
        let last = self.last.get(result.call_id.as_str());
        last.is_some_and(|last| last.text.is_some() && last.text == result.text)
    }

    fn remember(&mut self, result: &'r CheckedPart) {
        self.last.insert(&result.call_id, result);
    }
}

impl<'r> Parts<'r> {
    /// Those of a page with these records, the newest of which comes first.
    pub(super) fn of(
        records: impl DoubleEndedIterator<Item = &'r StoredRecord>,
        bytes: usize,
        most: usize,
    ) -> Self {
        let mut parts = Self {
            results: HashMap::new(),
            placed: HashSet::new(),
            left: bytes,
            most,
        };
        let mut pairing = Pairing::default();
        for record in records.rev() {
            let own = record.tool_parts.parts.iter().enumerate();
            let own = own.filter(|(_, part)| !part.call_id.is_empty());
            let seq = record.summary.seq;
            match record.summary.stage {
                // The result of a call that is not shown stands with its prompt.
                Stage::PostCall => own
                    .take_while(|(at, _)| *at < most)
                    .for_each(|(at, call)| pairing.add_call(&call.call_id, (seq, at))),
                Stage::PreCall => own.for_each(|(at, result)| {
                    parts.place(&mut pairing, (seq, at), result);
                }),
            }
        }
        parts
    }

    fn place(&mut self, pairing: &mut Pairing<'r>, place: Place, result: &'r CheckedPart) {
        let call = pairing.take_call_of(result);
        let is_repeated = pairing.is_repeated(result);
        pairing.remember(result);
        if let Some(call) = call {
            self.results.insert(call, result);
        }
        if call.is_some() || is_repeated {
            self.placed.insert(place);
        }
    }

    /// The calls of an answer with their results, or the results of a prompt that belong to no call on the page.
    pub(super) fn of_record(&mut self, view: &View, record: &'r StoredRecord) -> Markup {
        let (r, stored) = (view.r(), &record.tool_parts);
        let seq = record.summary.seq;
        let is_call = record.summary.stage == Stage::PostCall;
        let own = stored.parts.iter().enumerate();
        let own = own.filter(|(at, _)| is_call || !self.placed.contains(&(seq, *at)));
        let own: Vec<(usize, &CheckedPart)> = own.collect();
        let more = own.len().saturating_sub(self.most) + stored.omitted as usize;
        if own.is_empty() && more == 0 {
            return html! {};
        }
        html! {
            div.parts {
                @for (at, part) in own.into_iter().take(self.most) {
                    @if is_call {
                        (self.part(view, r.tool_call, part))
                        @if let Some(result) = self.results.remove(&(seq, at)) {
                            div.under-call { (self.part(view, r.tool_result, result)) }
                        }
                    } @else { (self.part(view, r.tool_result, part)) }
                }
                @if more > 0 { p.hint { (r.more_parts.replace("{}", &more.to_string())) } }
            }
        }
    }

    fn part(&mut self, view: &View, label: &str, part: &CheckedPart) -> Markup {
        let r = view.r();
        let limit = TextLimit {
            bytes: SHOWN.bytes.min(self.left),
            ..SHOWN
        };
        let source = Source {
            text: part.text.as_deref().unwrap_or_default(),
            is_cut: part.is_cut,
            entities: &part.entities,
        };
        let shown = formatted(source, SHOWN.bytes);
        let (text, is_part) = bounded_text::part(&shown.text, &shown.entities, limit);
        self.left = self.left.saturating_sub(text.len());
        let is_cut = is_part || shown.is_cut;
        let is_short = text.len() <= SHORT_BYTES && text.lines().count() <= SHORT_LINES;
        html! {
            details.part open[is_short] {
                summary {
                    (label)
                    @if !part.name.is_empty() { " " code { (bounded_text::name(&part.name)) } }
                    (findings(r, part))
                    @if part.is_cut { " " (badge("warn", r.part_cut)) }
                }
                @if part.text.is_none() { p.dim { (r.part_not_kept) } }
                @else if text.is_empty() && !is_cut { p.dim { (r.no_text) } }
                @else {
                    pre.text tabindex="0" { (marked(text, &shown.entities)) @if is_cut { "…" } }
                    @if is_cut { p.hint { (r.text_cut) } }
                }
            }
        }
    }
}

fn findings(r: &RecordPhrases, part: &CheckedPart) -> Markup {
    html! {
        @if part.is_exempt { " " (badge("warn", r.part_exempt)) }
        @else if part.is_unchecked { " " (badge("bad", r.analysis_failed)) }
        @for kind in part.types.iter().take(SHOWN.marks) { " " (badge("warn", kind)) }
        @for category in &part.guardrails { " " (badge("bad", category)) }
    }
}

/// The parts of one record, on its page.
pub(super) fn card(view: &View, record: &StoredRecord) -> Markup {
    let r = view.r();
    if record.tool_parts.is_empty() {
        return html! {};
    }
    let title = match record.summary.stage {
        Stage::PreCall => r.results_of_tools,
        Stage::PostCall => r.calls_of_tools,
    };
    let mut parts = Parts::of(std::iter::once(record), 64 * 1024, usize::MAX);
    html! { section.card { h2 { (title) } (parts.of_record(view, record)) } }
}
