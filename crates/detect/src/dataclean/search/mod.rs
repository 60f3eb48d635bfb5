//! Runs the detectors and the custom patterns of the rules over one text, and resolves overlaps.

mod custom;
mod found;

use super::detector::Detector;
use super::normalize::NormalizedText;
use super::overlap;
use super::pattern_name::PatternName;
use super::span::{Kind, Span, Strength};
use super::text::{Needs, Text};
use crate::compiled::Compiled;
use crate::message::{AnalysisBudget, CONTEXT, Message, portions};
use crate::seams::{JoinedParts, Reader, joined_seams, read_bordered};
use custom::CustomSearch;
use found::too_many_parts;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) use found::Found;

/// What looks for the predefined patterns.
pub(crate) struct Detectors {
    /// Those that read a text portion by portion.
    pub(crate) local: Vec<Box<dyn Detector>>,
    /// Those with bounds of their own for one text, which read it as a whole.
    pub(crate) whole: Vec<Box<dyn Detector>>,
}

/// A text to search, and how much of it.
#[derive(Clone, Copy)]
pub(crate) struct Search<'a> {
    pub(crate) message: Message<'a>,
    pub(crate) budget: AnalysisBudget,
    /// Finds of others, which stand or fall like the detectors' own.
    pub(crate) proposed: &'a [Span],
}

/// Looks for what the rules ask for; a detector that panics costs its own finds only.
pub(crate) fn find<'r>(
    detectors: &Detectors,
    search: Search<'_>,
    rules: &'r Compiled,
    clock: &dyn Fn() -> u64,
) -> Found<'r> {
    let message = search.budget.of(search.message);
    let mut found = Found {
        spans: Vec::new(),
        failures: Vec::new(),
        ran: 0,
        in_part: false,
        looked_to: message.text.len(),
    };
    let mut predefined = Predefined::new(rules.patterns());
    predefined.find(detectors, message, search.budget.finds, &mut found);
    let text = &message.text[..found.looked_to];
    predefined.finish(&mut found);
    for name in rules.unknown() {
        found.fail(format!("pattern {name} is unknown to this version"));
    }
    let parts = Message { text, ..message };
    let custom = CustomSearch::new(rules, clock);
    custom.find(parts, &mut found);
    let proposed = search.proposed.iter().filter(|span| span.end <= text.len());
    found.spans.extend(proposed.map(|span| span.of_any()));
    custom.except(text, &mut found);
    found.spans = overlap::resolve(found.spans);
    found
}

/// A search for predefined patterns.
struct Predefined<'p> {
    patterns: &'p [PatternName],
    /// For each pattern whether one of its detectors ran; None as long as it has none.
    ran: Vec<Option<bool>>,
}

impl<'p> Predefined<'p> {
    fn new(patterns: &'p [PatternName]) -> Self {
        Self {
            patterns,
            ran: vec![None; patterns.len()],
        }
    }

    /// Searches a text portion by portion, and across its part breaks.
    fn find(
        &mut self,
        detectors: &Detectors,
        message: Message<'_>,
        most: usize,
        found: &mut Found<'_>,
    ) {
        for portion in portions(message.text) {
            if found.spans.len() >= most {
                found.looked_to = portion.own.start;
                break;
            }
            for span in self.find_in(&detectors.local, portion.text, found) {
                let span = span.moved(portion.start);
                if portion.own.contains(&span.start) {
                    found.spans.push(span.of_any());
                }
            }
        }
        let text = &message.text[..found.looked_to];
        if !detectors.whole.is_empty() {
            let spans = self.find_in(&detectors.whole, text, found);
            found.spans.extend(spans.iter().map(|span| span.of_any()));
        }
        found.spans.sort_unstable_by_key(|span| span.start);
        let within = found.spans.len();
        for joined in joined_seams(Message { text, ..message }) {
            let spans = self.find_in(&detectors.local, &joined.text, found);
            keep_across(spans, &joined, within, found);
        }
        let parts = Message { text, ..message };
        let is_whole = read_bordered(parts, Reader::Detectors, |joined| {
            // Words and names have no borders that a break could hide.
            let local = detectors.local.iter();
            let local = local.filter(|one| one.needs() != Needs::Nothing);
            let spans = self.find_in(local, &joined.text, found);
            keep_across(spans, joined, within, found);
            true
        });
        if !is_whole {
            found.fail(too_many_parts(message));
        }
    }

    fn find_in<'d>(
        &mut self,
        detectors: impl IntoIterator<Item = &'d Box<dyn Detector>, IntoIter: Clone>,
        original: &str,
        found: &mut Found<'_>,
    ) -> Vec<Span> {
        let detectors = detectors.into_iter();
        let plain = Text::new(original);
        let view = NormalizedText::new(&plain);
        let folded = view.folded().map(Text::new);
        let text = folded.as_ref().unwrap_or(&plain);
        let mut spans = Vec::new();
        for (name, ran) in self.patterns.iter().zip(&mut self.ran) {
            for detector in detectors.clone().filter(|one| one.name() == *name) {
                let ended = run(&**detector, text, &mut spans);
                *ran = Some(ran.unwrap_or(false) || ended.is_ok());
                if let Err(failure) = ended {
                    found.fail(failure);
                }
            }
        }
        let spans = spans.into_iter();
        spans.filter_map(|span| view.original(span)).collect()
    }

    fn finish(self, found: &mut Found<'_>) {
        for (name, ran) in self.patterns.iter().zip(self.ran) {
            match ran {
                Some(ran) => found.ran += usize::from(ran),
                None => found
                    .failures
                    .push(format!("pattern {name} has no detector")),
            }
        }
    }
}

/// Adds the finds in joined parts that reach across a seam; `within` of the others were found at their place.
fn keep_across(spans: Vec<Span>, joined: &JoinedParts, within: usize, found: &mut Found<'_>) {
    for span in spans {
        let seam = joined.break_in(&(span.start..span.end));
        let is_one = seam.is_none_or(|seam| is_one_value(&span, joined, seam));
        let across = span.across(joined).map(Span::of_any);
        let across = across.filter(|_| is_one);
        let new = across.filter(|span| seam.is_none() || !is_known(span, &found.spans[..within]));
        found.spans.extend(new);
    }
}

/// Whether one of its kind was found at its place within a part, which then ends there. `within` ascend.
fn is_known(span: &Span<Kind<'_>>, within: &[Span<Kind<'_>>]) -> bool {
    let before = &within[..within.partition_point(|known| known.start < span.end)];
    let near = before
        .iter()
        .rev()
        .take_while(|known| known.start + CONTEXT > span.start);
    { near }.any(|known| known.kind == span.kind && known.end > span.start)
}

/// Whether what reaches across a part break is a value that somebody split, and not the end of one sentence
/// with the beginning of the next. Behind a dot only a number goes on with a digit, or an address with
/// the next label of its domain.
fn is_one_value(span: &Span, joined: &JoinedParts, seam: usize) -> bool {
    let (before, behind) = (&joined.text[span.start..seam], &joined.text[seam..]);
    let is_within = before.strip_suffix('.').is_some_and(|before| {
        let goes_on = behind.starts_with(|c: char| c.is_ascii_digit());
        before.contains('@') || before.ends_with(|c: char| c.is_ascii_digit()) && goes_on
    });
    let ends_sentence = before.ends_with(['.', '!', '?']) && !is_within;
    span.strength > Strength::Form || span.strength == Strength::Form && !ends_sentence
}

/// Runs one detector. What it found before it failed without panicking counts.
fn run(detector: &dyn Detector, text: &Text, spans: &mut Vec<Span>) -> Result<(), String> {
    let before = spans.len();
    let run = AssertUnwindSafe(|| {
        if text.holds(detector.needs()) {
            detector.find(text, spans);
            return detector.failure(text);
        }
        None
    });
    let name = detector.name();
    match catch_unwind(run) {
        Ok(failure) => failure.map_or(Ok(()), |why| Err(format!("model: {why}"))),
        Err(_) => {
            spans.truncate(before);
            Err(format!("the detector of {name} failed"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{DatacleanRules, Rules};

    #[test]
    fn a_pattern_without_a_detector_is_reported_and_not_passed_over() {
        let dataclean = DatacleanRules {
            patterns: Some(vec![PatternName::Emails.into()]),
            ..DatacleanRules::default()
        };
        let rules = Compiled::new(Rules {
            dataclean: Some(dataclean),
            ..Rules::default()
        });
        let none = Detectors {
            local: Vec::new(),
            whole: Vec::new(),
        };
        let search = Search {
            message: "a@b.ru".into(),
            budget: AnalysisBudget::UNBOUNDED,
            proposed: &[],
        };
        let found = find(&none, search, &rules, &|| 0);
        assert_eq!(found.failures, ["pattern EMAILS has no detector"]);
        assert_eq!((found.ran, found.spans.len()), (0, 0));
    }

    /// CONTRACT 26: never a silent pass.
    #[test]
    fn contract_26_a_name_of_a_later_version_is_reported_and_the_others_are_looked_for() {
        let names = r#"{"dataclean": {"patterns": ["OF_TOMORROW", "EMAILS"]}}"#;
        let rules: Rules = serde_json::from_str(names).unwrap_or_default();
        let detectors = Detectors {
            local: crate::dataclean::registry::detectors(),
            whole: Vec::new(),
        };
        let search = Search {
            message: "a@b.ru".into(),
            budget: AnalysisBudget::UNBOUNDED,
            proposed: &[],
        };
        let rules = Compiled::new(rules);
        let found = find(&detectors, search, &rules, &|| 0);
        let failure = "pattern OF_TOMORROW is unknown to this version";
        assert_eq!(found.failures, [failure]);
        assert_eq!((found.spans.len(), found.in_part), (1, true));
    }
}
