//! What OGRN and OGRNIP share: one number of a state register, bare or in groups under its label.
//! What the digits must be is said by each of them.

use crate::dataclean::context::{Cue, Label};
use crate::dataclean::text::separator;
use crate::dataclean::{PatternName, Span, Strength, Text};

/// The number of one register.
pub(super) struct Register {
    /// The pattern of its finds.
    pub(super) name: PatternName,
    /// Its length.
    pub(super) digits: usize,
    /// Its own label, and after it others under which it may stand.
    pub(super) labels: &'static [Label],
    /// Whether check digits are right.
    pub(super) is_right: fn(&[u8]) -> bool,
    /// Whether its parts are such as are given out, so that it needs no label.
    pub(super) is_usual: fn(&[u8]) -> bool,
}

/// Groups that one number is written in.
const MOST_GROUPS: usize = 6;
const LONGEST_GROUP: usize = 10;

impl Register {
    /// Adds every number of this register.
    pub(super) fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let mut next = 0;
        while let Some(run) = text.runs().get(next) {
            let last = match run.digits() {
                digits if digits == self.digits => Some(next).filter(|_| self.bare(text, next)),
                1..=LONGEST_GROUP => self.grouped(text, next),
                _ => None,
            };
            if let Some(last) = last {
                out.push(Span {
                    kind: self.name,
                    start: run.start,
                    end: text.runs()[last].end,
                    strength: Strength::CheckDigits,
                });
            }
            next = last.unwrap_or(next) + 1;
        }
    }

    fn bare(&self, text: &Text, at: usize) -> bool {
        let run = text.runs()[at];
        let values = text.values(&[run]);
        let alone = text.isolated(run.start, run.end, self.labels[0]) && !is_sum(text, run.end);
        if !(self.is_right)(&values) || !alone {
            return false;
        }
        let cue = text.cue_before(run.start);
        if self.named(cue) || text.labelled_after(run.end, self.labels[0]) {
            return true;
        }
        let denied = cue.is_some_and(|cue| cue.denies(self.labels[0]));
        (self.is_usual)(&values) && !denied && !text.is_key(run.start)
    }

    /// Digits in groups are such a number only right behind its label.
    fn grouped(&self, text: &Text, first: usize) -> Option<usize> {
        let mut digits = text.runs()[first].digits();
        let mut last = first;
        while digits < self.digits && last < first + MOST_GROUPS {
            separator(text.gap(last)?)?;
            last += 1;
            digits += text.runs()[last].digits();
        }
        let (start, end) = (text.runs()[first].start, text.runs()[last].end);
        let direct = |cue: Cue| self.named(Some(cue)) && cue.direct();
        let right = digits == self.digits
            && (self.is_right)(&text.values(&text.runs()[first..=last]))
            && text.isolated(start, end, self.labels[0])
            && text.cue_before(start).is_some_and(direct);
        right.then_some(last)
    }

    fn named(&self, cue: Option<Cue>) -> bool {
        cue.is_some_and(|cue| self.labels.iter().any(|label| cue.has(*label)))
    }
}

/// "5077896265684,50"
fn is_sum(text: &Text, end: usize) -> bool {
    let cents = text.original()[end..].strip_prefix(',').unwrap_or_default();
    matches!(cents.bytes().take_while(u8::is_ascii_digit).count(), 1 | 2)
}

/// Years since the registers were opened. No clock is read here, so that some to come are among them.
pub(super) fn is_register_year(tens: u8, units: u8) -> bool {
    (2..=39).contains(&(tens * 10 + units))
}
