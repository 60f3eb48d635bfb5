//! OGRN and OGRNIP, numbers of the Russian state registers (§2.8), as a table: bare, or in groups behind
//! their label; the last digit is a check digit.

use crate::chars::separator;
use crate::dataclean::text::cue::{Cue, Label};
use crate::dataclean::text::number_chain::numbers;
use crate::dataclean::{Detector, Needs, PatternName, Span, Strength, Text, checksum};

/// The number of one register.
pub(crate) struct Register {
    /// The pattern of its finds.
    name: PatternName,
    /// How many digits a number has.
    digits: usize,
    /// Its own label, and after it others under which it may stand.
    labels: &'static [Label],
    /// Whether check digits are right.
    is_right: fn(&[u8]) -> bool,
    /// Whether its parts are such as are given out, so that it needs no label.
    is_usual: fn(&[u8]) -> bool,
}

/// OGRN, the register of companies: 13 digits. Without its label only a number of a company counts:
/// first digit 1 or 5, a year, a region.
pub(crate) const OGRN: Register = Register {
    name: PatternName::Ogrn,
    digits: 13,
    labels: &[Label::Ogrn],
    is_right: checksum::ogrn,
    is_usual: |values| {
        matches!(values, [1 | 5, tens, units, region @ ..]
            if is_register_year(*tens, *units) && !region.starts_with(&[0, 0]))
    },
};

/// OGRNIP, the register of sole traders: 15 digits; the check digit is the last digit of the remainder
/// by 13. Without its label only a number with a register's year counts.
pub(crate) const OGRNIP: Register = Register {
    name: PatternName::Ogrnip,
    digits: 15,
    // "ОГРН ИП" and "ОГРН" alone are said of it too.
    labels: &[Label::Ogrnip, Label::Ogrn],
    is_right: checksum::ogrnip,
    is_usual: |values| {
        matches!(values, [3, tens, units, region @ ..]
            if is_register_year(*tens, *units) && !region.starts_with(&[0, 0]))
    },
};

/// Groups that one number is written in.
const MOST_GROUPS: usize = 6;
const LONGEST_GROUP: usize = 10;

impl Detector for Register {
    fn name(&self) -> PatternName {
        self.name
    }

    fn needs(&self) -> Needs {
        Needs::Digit
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let found = text.numbers_by(|first, run| match run.digits() {
            digits if digits == self.digits => self.bare(text, first).then_some(first),
            1..=LONGEST_GROUP => self.grouped(text, first),
            _ => None,
        });
        out.extend(found.map(|place| Span::new(self.name, place, Strength::CheckDigits)));
    }

    fn stable_until(&self, text: &Text) -> Option<usize> {
        Some(numbers(text))
    }
}

impl Register {
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
fn is_register_year(tens: u8, units: u8) -> bool {
    (2..=39).contains(&(tens * 10 + units))
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn ogrn_good_examples() {
        let text = "ОГРН 1037749746506, второй 1167752917034; огрн: 1 11 77 23667126";
        let numbers = ["1037749746506", "1167752917034", "1 11 77 23667126"];
        assert_eq!(found(&OGRN, text), numbers);
        assert_eq!(found(&OGRN, "ОГРН1247765632124"), ["1247765632124"]);
    }

    #[test]
    fn ogrn_near_misses() {
        for text in [
            "ОГРН 1037749746509",
            "заказ 1167752917034",
            "1 11 77 23667126",
            "1722251651009",
            "A1037749746506",
        ] {
            assert!(found(&OGRN, text).is_empty(), "{text}");
        }
    }

    #[test]
    fn ogrnip_good_examples() {
        let text = "ОГРНИП 322772440268590, ИП (ОГРН ИП 316776176031372); 322775289078668";
        let numbers = ["322772440268590", "316776176031372", "322775289078668"];
        assert_eq!(found(&OGRNIP, text), numbers);
        assert_eq!(
            found(&OGRNIP, "огрнип: 3 09 77 1590109280"),
            ["3 09 77 1590109280"]
        );
    }

    #[test]
    fn ogrnip_near_misses() {
        for text in [
            "ОГРНИП 322772440268596",
            "IMEI 322772440268590",
            "ОГРНИП 32277244026859",
            "392772440268598",
            "id=322772440268590",
        ] {
            assert!(found(&OGRNIP, text).is_empty(), "{text}");
        }
    }
}
