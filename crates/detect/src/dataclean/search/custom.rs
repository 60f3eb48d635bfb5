//! Runs custom patterns and compares finds with allowed patterns, within their bounds of time and number for one
//! message.

use super::found::{Found, too_many_parts};
use crate::compiled::Compiled;
use crate::dataclean::custom::{CustomRegex, Ended, LARGE_WINDOW, allows};
use crate::dataclean::overlap;
use crate::dataclean::span::{Kind, Span, Strength};
use crate::message::Message;
use crate::seams::{JoinedParts, Reader, joined_parts, read_bordered};
use std::ops::Range;

/// The longest that all custom and allowed patterns together may take for one message, in microseconds.
const CUSTOM_TIME_US: u64 = 1_000_000;
/// The most places that custom patterns may find in one message, and the most finds of one message that are
/// compared with allowed patterns.
const MOST_CUSTOM_FINDS: usize = 100_000;

/// The regexes of the rules, and until when they may run.
pub(super) struct CustomSearch<'r, 'c> {
    rules: &'r Compiled,
    clock: &'c dyn Fn() -> u64,
    deadline: u64,
}

impl<'r, 'c> CustomSearch<'r, 'c> {
    /// Their time begins.
    pub(super) fn new(rules: &'r Compiled, clock: &'c dyn Fn() -> u64) -> Self {
        let has_none = rules.custom().is_empty() && rules.allowed().is_empty();
        let deadline = match has_none {
            true => 0,
            false => clock().saturating_add(CUSTOM_TIME_US),
        };
        Self {
            rules,
            clock,
            deadline,
        }
    }

    fn go_on(&self) -> bool {
        (self.clock)() < self.deadline
    }

    /// Looks for custom patterns.
    pub(super) fn find(&self, message: Message<'_>, found: &mut Found<'r>) {
        for failure in self.rules.failures() {
            let (name, reason) = (&failure.name, &failure.reason);
            found
                .failures
                .push(format!("custom pattern {name}: its regex {reason}"));
            found.in_part = true;
        }
        if self.rules.custom().is_empty() {
            return;
        }
        let mut searches = PatternSearches::new(self);
        searches.run_all(found, |pattern, run| run.find_in(pattern, message.text));
        // What is read across parts is put together once for all patterns.
        let mut find_across = |joined: &JoinedParts| {
            searches.run_all(found, |pattern, run| run.find_across(pattern, joined))
        };
        let is_whole = !joined_parts(message).all(|joined| find_across(&joined))
            || read_bordered(message, Reader::CustomPatterns, find_across);
        found.ran += self.rules.custom().len();
        for PatternSearch { pattern, ended } in &searches.all {
            let name = &pattern.name;
            match ended {
                Ended::Stopped => {
                    found.failures.push(stopped(name, searches.room));
                    found.in_part = true;
                }
                Ended::AtTheEnd if !is_whole => {
                    let why = too_many_parts(message);
                    found.fail(format!("custom pattern {name}: {why}"));
                }
                Ended::AtTheEnd => {}
            }
        }
    }

    /// Takes out the finds that an allowed pattern matches, within the bounds of custom patterns. A find that could
    /// not be compared with all of them stays.
    pub(super) fn except(&self, text: &str, found: &mut Found<'_>) {
        if self.rules.allowed().is_empty() {
            return;
        }
        let (mut compared, mut left_out, mut too_long) = (0, 0_usize, 0_usize);
        let spans = std::mem::take(&mut found.spans);
        found.spans = overlap::except(spans, |span| {
            compared += 1;
            let comparison = match compared > MOST_CUSTOM_FINDS {
                true => Comparison::Stopped,
                false => self.compare(&text[span.start..span.end]),
            };
            left_out += usize::from(comparison == Comparison::Stopped);
            too_long += usize::from(comparison == Comparison::TooLong);
            comparison == Comparison::Allowed
        });
        if left_out > 0 {
            found.failures.push(format!(
            "allowed patterns were stopped: {left_out} findings were not compared with all of them and stay \
             findings; allowed: {MOST_CUSTOM_FINDS} findings, and {} ms together with custom patterns",
            CUSTOM_TIME_US / 1000
        ));
        }
        if too_long > 0 {
            found.failures.push(format!(
                "allowed patterns: {too_long} findings were not compared with large regexes and stay findings; \
                 allowed: findings of at most {LARGE_WINDOW} bytes"
            ));
        }
    }

    /// Compares a find with the allowed patterns.
    fn compare(&self, find: &str) -> Comparison {
        let mut compared = Comparison::Other;
        for regex in self.rules.allowed() {
            if !self.go_on() {
                return Comparison::Stopped;
            }
            match allows(regex, find) {
                Some(true) => return Comparison::Allowed,
                Some(false) => {}
                None => compared = Comparison::TooLong,
            }
        }
        compared
    }
}

/// How a find compares with the allowed patterns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    /// One of them matches it.
    Allowed,
    /// None matches it.
    Other,
    /// None matches it of those that a find of its length is compared with.
    TooLong,
    /// Not all were tried that might match it.
    Stopped,
}

/// The searches of all custom patterns, which share the places that they may find.
struct PatternSearches<'s, 'r> {
    search: &'s CustomSearch<'r, 's>,
    all: Vec<PatternSearch<'r>>,
    room: usize,
}

struct PatternSearch<'r> {
    pattern: &'r CustomRegex,
    ended: Ended,
}

/// What a search asks before it goes on, and where it puts what it finds.
struct SearchRun<'a> {
    go_on: &'a dyn Fn() -> bool,
    /// False ends the search.
    take: &'a mut dyn FnMut(Range<usize>) -> bool,
}

impl<'s, 'r> PatternSearches<'s, 'r> {
    fn new(search: &'s CustomSearch<'r, 's>) -> Self {
        let patterns = search.rules.custom().iter();
        let all = patterns.map(|pattern| PatternSearch {
            pattern,
            ended: Ended::AtTheEnd,
        });
        Self {
            search,
            all: all.collect(),
            room: MOST_CUSTOM_FINDS,
        }
    }

    /// Runs every search that was not stopped; false if none is left.
    fn run_all(
        &mut self,
        found: &mut Found<'r>,
        run: impl Fn(&CustomRegex, SearchRun<'_>) -> Ended,
    ) -> bool {
        for one in &mut self.all {
            let pattern = one.pattern;
            if one.ended == Ended::Stopped {
                continue;
            }
            let mut take = |place: Range<usize>| {
                if self.room == 0 {
                    return false;
                }
                self.room -= 1;
                found.spans.push(Span {
                    kind: Kind::Custom(&pattern.name),
                    start: place.start,
                    end: place.end,
                    strength: Strength::CheckDigits,
                });
                true
            };
            let run_of_it = SearchRun {
                go_on: &|| self.search.go_on(),
                take: &mut take,
            };
            one.ended = run(pattern, run_of_it);
        }
        self.all.iter().any(|one| one.ended == Ended::AtTheEnd)
    }
}

impl SearchRun<'_> {
    fn find_in(self, pattern: &CustomRegex, text: &str) -> Ended {
        pattern.find(text, self.go_on, |start, end| (self.take)(start..end))
    }

    /// What reaches across a break between parts.
    fn find_across(self, pattern: &CustomRegex, joined: &JoinedParts) -> Ended {
        pattern.find(&joined.text, self.go_on, |start, end| {
            let is_across = joined.break_in(&(start..end)).is_some();
            let place = joined.original(start..end).filter(|_| is_across);
            place.is_none_or(&mut *self.take)
        })
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
mod tests;
