//! Runs the detectors and the custom patterns of the rules over one text, and resolves overlaps.

use super::custom::Ended;
use super::detector::Detector;
use super::normalize::NormalizedText;
use super::overlap;
use super::pattern_name::PatternName;
use super::span::{Kind, Span, Strength};
use super::text::{Needs, Text};
use crate::compiled::Compiled;
use crate::message::{AnalysisBudget, CONTEXT, Message, portions};
use crate::seams::{JoinedParts, bordered, joined_parts, joined_seams};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The longest that all custom patterns together may take for one message, in microseconds.
pub(crate) const CUSTOM_TIME_US: u64 = 1_000_000;
/// The most places that custom patterns may find in one message.
pub(crate) const MOST_CUSTOM_FINDS: usize = 100_000;

/// What looks for the predefined patterns.
pub(crate) struct Detectors {
    /// Those that read a text portion by portion.
    pub(crate) local: Vec<Box<dyn Detector>>,
    /// Those with bounds of their own for one text, which read it as a whole.
    pub(crate) whole: Vec<Box<dyn Detector>>,
}

/// The finds of one text and what could not be looked for.
pub(crate) struct Found<'r> {
    /// Sorted, not overlapping.
    pub(crate) spans: Vec<Span<Kind<'r>>>,
    /// One entry per pattern that was asked for and could not run.
    pub(crate) failures: Vec<String>,
    /// Patterns that ran, whole or in part.
    pub(crate) ran: usize,
    /// A pattern was not looked for in the whole text, so that there may be more finds than these.
    pub(crate) in_part: bool,
    /// The byte up to which anything was looked for: beyond the budget nothing was.
    pub(crate) looked_to: usize,
}

impl Found<'_> {
    /// Something could not look everywhere; told once, whatever the patterns it looks for.
    fn fail(&mut self, failure: String) {
        self.in_part = true;
        if !self.failures.contains(&failure) {
            self.failures.push(failure);
        }
    }
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
    let parts = Message { text, ..message };
    find_custom(parts, rules, clock, &mut found);
    let proposed = search.proposed.iter().filter(|span| span.end <= text.len());
    found.spans.extend(proposed.map(|span| span.of_any()));
    if rules.has_exceptions() {
        found.spans = overlap::except(found.spans, |span| {
            rules.allows(&text[span.start..span.end])
        });
    }
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
            for joined in bordered(&joined) {
                // Words and names have no borders that a break could hide.
                let local = detectors.local.iter();
                let local = local.filter(|one| one.needs() != Needs::Nothing);
                let spans = self.find_in(local, &joined.text, found);
                keep_across(spans, &joined, within, found);
            }
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

/// Custom patterns, within their bounds of time and number for one message.
fn find_custom<'r>(
    message: Message<'_>,
    rules: &'r Compiled,
    clock: &dyn Fn() -> u64,
    found: &mut Found<'r>,
) {
    for failure in rules.failures() {
        let (name, reason) = (&failure.name, &failure.reason);
        found
            .failures
            .push(format!("custom pattern {name}: its regex {reason}"));
        found.in_part = true;
    }
    let deadline = match rules.custom().is_empty() {
        true => return,
        false => clock().saturating_add(CUSTOM_TIME_US),
    };
    let mut room = MOST_CUSTOM_FINDS;
    for custom in rules.custom() {
        let mut take = |place: Range<usize>| {
            if room == 0 {
                return false;
            }
            room -= 1;
            found.spans.push(Span {
                kind: Kind::Custom(&custom.name),
                start: place.start,
                end: place.end,
                strength: Strength::CheckDigits,
            });
            true
        };
        let go_on = || clock() < deadline;
        let mut ended = custom.find(message.text, go_on, |start, end| take(start..end));
        let mut find_across = |joined: &JoinedParts| {
            if ended == Ended::AtTheEnd {
                ended = custom.find(&joined.text, go_on, |start, end| {
                    let is_across = joined.break_in(&(start..end)).is_some();
                    let place = joined.original(start..end).filter(|_| is_across);
                    place.is_none_or(&mut take)
                });
            }
            ended == Ended::AtTheEnd
        };
        let _ = joined_parts(message)
            .all(|joined| find_across(&joined) && bordered(&joined).all(|one| find_across(&one)));
        found.ran += 1;
        if ended == Ended::Stopped {
            found.failures.push(stopped(&custom.name, room));
            found.in_part = true;
        }
    }
}

fn stopped(name: &str, room: usize) -> String {
    let bound = match room {
        0 => format!("more than {MOST_CUSTOM_FINDS} findings of custom patterns"),
        _ => format!(
            "custom patterns took longer than {} ms",
            CUSTOM_TIME_US / 1000
        ),
    };
    format!("custom pattern {name} was stopped: {bound}")
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
}
