//! Runs custom patterns and compares finds with allowed patterns, within their bounds of time and number for one
//! message.

use super::found::{Found, too_many_parts};
use crate::compiled::Compiled;
use crate::dataclean::custom::{Ended, allows};
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
        let go_on = || self.go_on();
        let mut room = MOST_CUSTOM_FINDS;
        for custom in self.rules.custom() {
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
            let is_whole = !joined_parts(message).all(|joined| find_across(&joined))
                || read_bordered(message, Reader::CustomPatterns, find_across);
            found.ran += 1;
            if !is_whole {
                let (name, why) = (&custom.name, too_many_parts(message));
                found.fail(format!("custom pattern {name}: {why}"));
            }
            if ended == Ended::Stopped {
                found.failures.push(stopped(&custom.name, room));
                found.in_part = true;
            }
        }
    }

    /// Takes out the finds that an allowed pattern matches, within the bounds of custom patterns. A find that could
    /// not be compared with all of them stays.
    pub(super) fn except(&self, text: &str, found: &mut Found<'_>) {
        if self.rules.allowed().is_empty() {
            return;
        }
        let (mut compared, mut left_out) = (0, 0_usize);
        let spans = std::mem::take(&mut found.spans);
        found.spans = overlap::except(spans, |span| {
            compared += 1;
            let is_left = compared > MOST_CUSTOM_FINDS;
            let allows = match is_left {
                true => None,
                false => self.is_allowed(&text[span.start..span.end]),
            };
            left_out += usize::from(allows.is_none());
            allows == Some(true)
        });
        if left_out > 0 {
            found.failures.push(format!(
            "allowed patterns were stopped: {left_out} findings were not compared with all of them and stay \
             findings; allowed: {MOST_CUSTOM_FINDS} findings, and {} ms together with custom patterns",
            CUSTOM_TIME_US / 1000
        ));
        }
    }

    /// Whether an allowed pattern matches a find; None if not all that might were tried.
    fn is_allowed(&self, find: &str) -> Option<bool> {
        let mut is_sure = true;
        for regex in self.rules.allowed() {
            if !self.go_on() {
                return None;
            }
            match allows(regex, find) {
                Some(true) => return Some(true),
                unsure => is_sure &= unsure.is_some(),
            }
        }
        is_sure.then_some(false)
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::dataclean::PatternName;
    use crate::rules::{DatacleanRules, Rules};

    /// A clock whose every look takes a tenth of the time of custom patterns.
    fn slow() -> impl Fn() -> u64 {
        let now = std::cell::Cell::new(0);
        move || now.replace(now.get() + CUSTOM_TIME_US / 10)
    }

    fn with_allowed(allowed: &[&str]) -> Compiled {
        let pattern = |regex: &&str| crate::rules::CustomPattern {
            name: "ours".to_owned(),
            regex: (*regex).to_owned(),
        };
        let dataclean = DatacleanRules {
            patterns: Some(vec![PatternName::Emails.into()]),
            allowed_patterns: allowed.iter().map(pattern).collect(),
            ..DatacleanRules::default()
        };
        Compiled::new(Rules {
            dataclean: Some(dataclean),
            ..Rules::default()
        })
    }

    #[test]
    fn allowed_patterns_have_the_time_of_custom_patterns_and_what_was_not_compared_stays_a_find() {
        let engine = crate::Engine::default();
        let text = "a@ours.example ".repeat(20);
        let said = |rules: &Compiled, clock: &dyn Fn() -> u64| {
            let (report, errors) = engine.sensitive_data(&text, rules, clock);
            (report.entities.len(), errors)
        };
        let rules = with_allowed(&["b@.*", r"a@ours\.example"]);
        assert_eq!(said(&rules, &|| 0), (0, Vec::new()));
        // The first look begins; nine more are within the time: four finds and a half.
        let (finds, errors) = said(&rules, &slow());
        assert_eq!(finds, 16);
        assert_eq!(
            errors,
            [
                "dataclean: allowed patterns were stopped: 16 findings were not compared with all of them and \
              stay findings; allowed: 100000 findings, and 1000 ms together with custom patterns"
            ]
        );
    }

    #[test]
    fn the_time_of_custom_patterns_is_none_of_allowed_ones() {
        let mut rules = with_allowed(&[r"a@ours\.example"]).rules().clone();
        let custom = crate::rules::CustomPattern {
            name: "X".to_owned(),
            regex: "x".to_owned(),
        };
        if let Some(dataclean) = &mut rules.dataclean {
            let patterns = dataclean.patterns.as_mut();
            patterns
                .unwrap()
                .push(crate::rules::Pattern::Custom(custom));
        }
        let rules = Compiled::new(rules);
        let engine = crate::Engine::default();
        let text = "x ".repeat(9) + "a@ours.example";
        let clock = slow();
        let (report, errors) = engine.sensitive_data(&text, &rules, &clock);
        assert_eq!(report.entities.len(), 10);
        assert_eq!(errors.len(), 2, "{errors:?}");
        assert!(errors[0].contains("custom pattern X was stopped"));
        assert!(errors[1].contains("10 findings were not compared"));
    }
}
