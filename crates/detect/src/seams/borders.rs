//! A part break is nothing to a value that was split, and a border to one that ends there: of the parts "is",
//! "4111 1111 11" and "11 1111" the first stands before the card, which goes over the other two. Joined, "is4111"
//! is one word. So each break is read both ways: around the breaks that stand close, a value may begin or end at
//! one as at a line's end, and reach across those between.
//!
//! A reading is a text with borders at some of its breaks and nothing at the others. Values that share no byte
//! share a reading, so that the readings of long parts are none, of parts as long as words a few times the text,
//! and the bytes of all of them are bounded by the caller, who learns what each takes before it is made.

use super::parts::{JoinedParts, Reader, Seam};
use crate::chars::is_mark;
use crate::confusables::{Reading, reading};
use std::ops::Range;

/// The longest value that is read so, in bytes.
pub(super) const LONGEST: usize = 96;
/// What is read beside its borders: a label, for instance.
const BESIDE: usize = 96;
/// A value of any kind that begins and ends at a break is looked for over so many parts, a number over any.
const PARTS: usize = 4;
/// Digits of a number.
const DIGITS: std::ops::RangeInclusive<usize> = 4..=19;
/// What a reading costs besides its bytes.
const COST_OF_A_READING: usize = 128;

/// Takes a reading that is planned; false ends the plans.
pub(super) type Take<'t> = &'t mut dyn FnMut(&Plan) -> bool;

/// The breaks of joined parts, and what stands between them.
pub(super) struct Borders<'a> {
    joined: &'a JoinedParts,
    /// Ascending, no two at one place.
    breaks: Vec<Seam>,
    /// What stands before each break.
    before: Vec<Counts>,
    /// Where something stands without which no detector of borders finds anything, ascending. None for regexes.
    marks: Vec<usize>,
    reader: Reader,
}

/// Characters that tell what kind of value there may be.
#[derive(Clone, Copy, Default)]
struct Counts {
    letters: usize,
    digits: usize,
    marks: usize,
}

/// A reading that is not made yet.
pub(super) struct Plan {
    text: Range<usize>,
    borders: Vec<Seam>,
    /// Where the breaks are that a find may reach across, ascending.
    crossed: Vec<Range<usize>>,
}

impl Plan {
    /// What reading it costs, in bytes.
    pub(super) fn cost(&self) -> usize {
        self.text.len() + self.borders.len() + COST_OF_A_READING
    }
}

impl<'a> Borders<'a> {
    pub(super) fn new(joined: &'a JoinedParts, reader: Reader) -> Self {
        let mut breaks: Vec<Seam> = joined.seams.clone();
        breaks.retain(|seam| seam.is_break);
        // Empty parts are nothing in any reading.
        breaks.dedup_by_key(|seam| seam.at);
        let mut borders = Self {
            joined,
            breaks,
            before: Vec::new(),
            marks: Vec::new(),
            reader,
        };
        let is_any_near = |pair: &[Seam]| pair[1].at - pair[0].at < LONGEST;
        match borders.breaks.windows(2).any(is_any_near) {
            true => borders.count(),
            false => borders.breaks.clear(),
        }
        borders
    }

    fn count(&mut self) {
        let mut counts = Counts::default();
        let mut breaks = self.breaks.iter().map(|seam| seam.at).peekable();
        for (at, c) in self.joined.text.char_indices() {
            while breaks.next_if(|place| *place <= at).is_some() {
                self.before.push(counts);
            }
            let c = match reading(c) {
                Reading::As(c) => c,
                _ => continue,
            };
            counts.letters += usize::from(c.is_alphabetic());
            counts.digits += usize::from(c.is_ascii_digit());
            if self.reader == Reader::Detectors && is_mark(c) {
                counts.marks += 1;
                self.marks.push(at);
            }
        }
        self.before.resize(self.breaks.len(), counts);
    }

    /// Gives each reading to `take`, those of the likeliest values first; false if it ended them.
    pub(super) fn each(&self, take: Take<'_>) -> bool {
        (2..=PARTS).all(|parts| self.values_over(parts, take))
            && self.values_at_one(take)
            && (PARTS + 1..)
                .take_while(|parts| self.reaches_over(*parts))
                .all(|parts| self.values_over(parts, take))
    }

    pub(super) fn read(&self, plan: &Plan) -> JoinedParts {
        let mut variant = JoinedParts::default();
        let mut at = plan.text.start;
        for border in &plan.borders {
            self.add(&mut variant, at..border.at, &plan.crossed);
            variant.push("\n", border.original);
            at = border.at;
        }
        self.add(&mut variant, at..plan.text.end, &plan.crossed);
        variant
    }

    /// Those that begin at a break and end at the one so many parts behind it.
    fn values_over(&self, parts: usize, take: Take<'_>) -> bool {
        let last = self.breaks.len().saturating_sub(parts);
        (0..parts).all(|first| {
            let starts = (first..last).step_by(parts);
            let places = starts.map(|at| at..at + parts);
            let places = places.filter(|place| self.may_be_one(place));
            self.plan_between(places).iter().all(&mut *take)
        })
    }

    /// Whether a pair of breaks with so many parts between them is near.
    fn reaches_over(&self, parts: usize) -> bool {
        let behind = self.breaks.iter().skip(parts);
        let mut pairs = self.breaks.iter().zip(behind);
        pairs.any(|(from, end)| end.at - from.at < LONGEST)
    }

    /// Whether what stands between two breaks may be a value.
    fn may_be_one(&self, place: &Range<usize>) -> bool {
        let (from, end) = (self.before[place.start], self.before[place.end]);
        let digits = end.digits - from.digits;
        let is_number = end.letters == from.letters && DIGITS.contains(&digits);
        let is_near = self.breaks[place.end].at - self.breaks[place.start].at < LONGEST;
        let is_of_use = self.reader == Reader::CustomPatterns || end.marks > from.marks;
        is_near && is_of_use && (place.len() <= PARTS || is_number)
    }

    fn plan_between(&self, places: impl Iterator<Item = Range<usize>>) -> Vec<Plan> {
        let mut plans: Vec<Plan> = Vec::new();
        for place in places {
            let (from, end) = (self.breaks[place.start], self.breaks[place.end]);
            let near = plans.last_mut();
            let near = near.filter(|plan| from.at <= plan.text.end + BESIDE);
            let plan = match near {
                Some(plan) => plan,
                None => {
                    let text = from.at.saturating_sub(BESIDE)..0;
                    plans.push(Plan::of(text));
                    let at = plans.len() - 1;
                    &mut plans[at]
                }
            };
            if plan.borders.last().is_none_or(|last| last.at < from.at) {
                plan.borders.push(from);
            }
            plan.borders.push(end);
            plan.crossed.push(from.at..end.at);
            plan.text.end = self.joined.text.len().min(end.at + BESIDE);
        }
        plans
    }

    /// Those that begin or end at a break, wherever their other end is.
    fn values_at_one(&self, take: Take<'_>) -> bool {
        let mut left: Vec<usize> = (0..self.breaks.len()).collect();
        left.retain(|at| self.may_begin_or_end(*at));
        while !left.is_empty() {
            // As many as stand so far apart that each value has one border.
            let (mut taken, mut rest) = (Vec::<Seam>::new(), Vec::new());
            for at in left {
                let border = self.breaks[at];
                let last = taken.last();
                match last.is_none_or(|last| border.at - last.at >= LONGEST) {
                    true => taken.push(border),
                    false => rest.push(at),
                }
            }
            left = rest;
            let groups = taken.chunk_by(|one, next| next.at - one.at <= 4 * LONGEST);
            if !groups
                .map(|group| self.plan_around(group))
                .all(|plan| take(&plan))
            {
                return false;
            }
        }
        true
    }

    fn may_begin_or_end(&self, at: usize) -> bool {
        let here = self.breaks[at].at;
        let is_near =
            |other: Option<&Seam>| other.is_some_and(|seam| seam.at.abs_diff(here) < LONGEST);
        let before = at.checked_sub(1).and_then(|before| self.breaks.get(before));
        let may_end = is_near(before) && self.has_mark(here.saturating_sub(LONGEST)..here);
        may_end || is_near(self.breaks.get(at + 1)) && self.has_mark(here..here + LONGEST)
    }

    fn has_mark(&self, place: Range<usize>) -> bool {
        let next = self.marks.partition_point(|mark| *mark < place.start);
        let is_marked = self.marks.get(next).is_some_and(|mark| *mark < place.end);
        is_marked || self.reader == Reader::CustomPatterns
    }

    fn plan_around(&self, borders: &[Seam]) -> Plan {
        let first = borders.first().map_or(0, |first| first.at);
        let last = borders.last().map_or(0, |last| last.at);
        let around = |length: usize| first.saturating_sub(length)..last + length;
        let text = around(2 * LONGEST);
        Plan {
            text: text.start..text.end.min(self.joined.text.len()),
            borders: borders.to_vec(),
            crossed: vec![around(LONGEST)],
        }
    }

    /// Adds what stands at a place, and the breaks in it that a find may reach across.
    fn add(&self, variant: &mut JoinedParts, place: Range<usize>, crossed: &[Range<usize>]) {
        let text = &self.joined.text;
        let start = text.ceil_char_boundary(place.start);
        let end = text.floor_char_boundary(place.end.min(text.len()));
        let added = variant.text.len();
        variant.copy(self.joined, start..end);
        let is_crossed = |seam: &&Seam| {
            let next = crossed.partition_point(|range| range.end <= seam.at);
            crossed.get(next).is_some_and(|range| range.start < seam.at)
        };
        let first = self.breaks.partition_point(|seam| seam.at <= start);
        let seams = self.breaks[first..].iter();
        let seams = seams.take_while(|seam| seam.at < end).filter(is_crossed);
        variant.seams.extend(seams.map(|seam| Seam {
            at: added + seam.at - start,
            ..*seam
        }));
    }
}

impl Plan {
    fn of(text: Range<usize>) -> Self {
        Self {
            text,
            borders: Vec::new(),
            crossed: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_kept_for_detectors_only() {
        let mut joined = JoinedParts::default();
        joined.push("123", 0);
        joined.seams = [1, 2]
            .map(|at| Seam {
                at,
                original: at,
                is_break: true,
            })
            .into();
        let marks = |reader| Borders::new(&joined, reader).marks.len();
        assert_eq!(marks(Reader::Detectors), 3);
        assert_eq!(marks(Reader::CustomPatterns), 0);
    }
}
