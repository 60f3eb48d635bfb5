//! Runs the detectors and the custom patterns of the rules over one text, and resolves overlaps.

use super::custom::Ended;
use super::detector::Detector;
use super::normalize::NormalizedText;
use super::overlap;
use super::pattern_name::PatternName;
use super::span::{Kind, Span, Strength};
use super::text::Text;
use crate::compiled::Compiled;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The longest that all custom patterns together may take for one message, in microseconds.
pub(crate) const CUSTOM_TIME_US: u64 = 1_000_000;
/// The most places that custom patterns may find in one message.
pub(crate) const MOST_CUSTOM_FINDS: usize = 100_000;

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

/// Looks for what the rules ask for; a detector that panics costs its own finds only. `proposed` are
/// finds of others, which stand or fall like the detectors' own.
pub(crate) fn find<'r>(
    detectors: &[Box<dyn Detector>],
    text: &str,
    rules: &'r Compiled,
    proposed: &[Span],
    clock: &dyn Fn() -> u64,
) -> Found<'r> {
    let mut found = Found {
        spans: Vec::new(),
        failures: Vec::new(),
        ran: 0,
        in_part: false,
    };
    find_predefined(detectors, text, rules.patterns(), &mut found);
    find_custom(text, rules, clock, &mut found);
    found
        .spans
        .extend(proposed.iter().map(|span| span.of_any()));
    if rules.has_exceptions() {
        found.spans = overlap::except(found.spans, |span| {
            rules.allows(&text[span.start..span.end])
        });
    }
    found.spans = overlap::resolve(found.spans);
    found
}

fn find_predefined(
    detectors: &[Box<dyn Detector>],
    original: &str,
    patterns: &[PatternName],
    found: &mut Found<'_>,
) {
    let plain = Text::new(original);
    let view = NormalizedText::new(&plain);
    let folded = view.folded().map(Text::new);
    let text = folded.as_ref().unwrap_or(&plain);
    let mut spans = Vec::new();
    for name in patterns {
        let own = detectors.iter().filter(|one| one.name() == *name);
        let mut ran = None;
        for detector in own {
            let ended = run(&**detector, text, &mut spans);
            ran = Some(ran.unwrap_or(false) || ended.is_ok());
            if let Err(failure) = ended {
                found.fail(failure);
            }
        }
        match ran {
            Some(ran) => found.ran += usize::from(ran),
            None => found
                .failures
                .push(format!("pattern {name} has no detector")),
        }
        let spans = spans.drain(..).filter_map(|span| view.original(span));
        found.spans.extend(spans.map(|span| span.of_any()));
    }
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
    text: &str,
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
        let take = |start, end| {
            if room == 0 {
                return false;
            }
            room -= 1;
            found.spans.push(Span {
                kind: Kind::Custom(&custom.name),
                start,
                end,
                strength: Strength::CheckDigits,
            });
            true
        };
        let ended = custom.find(text, || clock() < deadline, take);
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
        let found = find(&[], "a@b.ru", &rules, &[], &|| 0);
        assert_eq!(found.failures, ["pattern EMAILS has no detector"]);
        assert_eq!((found.ran, found.spans.len()), (0, 0));
    }
}
