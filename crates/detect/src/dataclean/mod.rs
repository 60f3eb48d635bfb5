//! Sensitive data: finds spans of the predefined patterns (§2.8) and cleans the text (CONTRACT 25).
//! Each detector only proposes spans; which of two overlapping ones stands is decided in `overlap`.

pub(crate) mod checksum;
pub(crate) mod context;
pub(crate) mod custom;
mod detectors;
mod fold;
mod labels;
mod local;
mod mask;
mod mentions;
pub(crate) mod numbering;
mod overlap;
mod registry;
mod settled;
mod small;
mod tagger;
mod text;

pub use local::Local;
pub(super) use mask::clean;
pub use registry::PatternName;
pub use text::{Needs, Run, Text};

use super::compiled::Compiled;
use super::confusables;
use custom::Ended;
use fold::View;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The longest that all custom patterns together may take for one message, in microseconds.
pub(crate) const CUSTOM_TIME_US: u64 = 1_000_000;
/// The most places that custom patterns may find in one message.
pub(crate) const MOST_CUSTOM_FINDS: usize = 100_000;

/// Finds one pattern. Pure, linear in the text's length.
pub trait Detector: Send + Sync {
    /// The pattern it finds.
    fn name(&self) -> PatternName;
    /// Adds its finds to `out`, in any order.
    fn find(&self, text: &Text, out: &mut Vec<Span>);

    /// What a text must hold for it to find anything: without that it is not asked.
    fn needs(&self) -> Needs {
        Needs::Nothing
    }

    /// Why it could not look at the whole of a text that [`Detector::find`] was given, for those that
    /// can fail without panicking.
    fn failure(&self, _text: &Text) -> Option<String> {
        None
    }

    /// The first byte from which on its finds could still change when more text follows: those that
    /// begin before it are the same in every longer text. It never falls as a text grows. None for a
    /// detector that cannot tell.
    fn settled(&self, _text: &Text) -> Option<usize> {
        None
    }
}

/// One find. A detector's are of its own pattern; put together, they are of any [`Kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<K = PatternName> {
    /// The pattern.
    pub kind: K,
    /// First byte in the original text.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// What speaks for it.
    pub strength: Strength,
}

impl Span {
    /// Among those of any kind.
    fn of_any<'r>(self) -> Span<Kind<'r>> {
        Span {
            kind: Kind::Predefined(self.kind),
            start: self.start,
            end: self.end,
            strength: self.strength,
        }
    }
}

/// What was found: a predefined pattern or one of the caller's, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Kind<'r> {
    Predefined(PatternName),
    Custom(&'r str),
}

impl<'r> Kind<'r> {
    /// The entity type of §2.9.
    pub(super) fn as_str(self) -> &'r str {
        match self {
            Self::Predefined(name) => name.as_str(),
            Self::Custom(name) => name,
        }
    }
}

/// What speaks for a find, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strength {
    /// It reads like one; what looks like something else at the same place is that.
    Reading,
    /// It looks like one.
    Form,
    /// A word beside it says so.
    Context,
    /// Its check digits are right; or a custom pattern says so, which is the application's own word.
    CheckDigits,
}

/// The finds of one text and what could not be looked for.
pub(super) struct Found<'r> {
    /// Sorted, not overlapping.
    pub(super) spans: Vec<Span<Kind<'r>>>,
    /// One entry per pattern that was asked for and could not run.
    pub(super) failures: Vec<String>,
    /// Patterns that ran, whole or in part.
    pub(super) ran: usize,
    /// A pattern that can be looked for was not looked for everywhere: what was not found may be
    /// there.
    pub(super) in_part: bool,
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

/// Builds every detector there is.
pub(super) fn detectors() -> Vec<Box<dyn Detector>> {
    PatternName::available()
        .filter_map(PatternName::detector)
        .collect()
}

/// Looks for what the rules ask for; a detector that panics costs its own finds only. `proposed` are
/// finds of others, which stand or fall like the detectors' own.
pub(super) fn find<'r>(
    detectors: &[Box<dyn Detector>],
    text: &str,
    (rules, proposed): (&'r Compiled, &[Span]),
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
    let view = View::new(&plain);
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
        0 => format!("more than {MOST_CUSTOM_FINDS} finds of custom patterns"),
        _ => format!(
            "custom patterns took longer than {} ms",
            CUSTOM_TIME_US / 1000
        ),
    };
    format!("custom pattern {name} was stopped: {bound}")
}
