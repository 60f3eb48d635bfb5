//! DURATION (§2.8): number and unit ("3 рабочих дня", "two weeks", PT5M). An age, a time of day and a
//! unit alone are none. The rules stand in `mentions`.

use super::mentioned;
use crate::dataclean::mentions::Sort;
use crate::dataclean::{Detector, PatternName, Span, Text};

/// See the file's head.
pub(crate) struct Duration;

impl Detector for Duration {
    fn name(&self) -> PatternName {
        PatternName::Duration
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        mentioned(text, Sort::Duration, self.name(), out);
    }

    fn settled(&self, text: &Text) -> Option<usize> {
        Some(text.mentions().settled)
    }
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        let text = "ремонт займёт 3 рабочих дня, гарантия полтора года, в течение месяца; within two weeks";
        assert_eq!(
            found(&Duration, text),
            ["3 рабочих дня", "полтора года", "месяца", "two weeks"]
        );
        assert_eq!(
            found(&Duration, "timeout PT5M, then 1h30m"),
            ["PT5M", "1h30m"]
        );
    }

    #[test]
    fn near_misses() {
        for text in [
            "в 10 часов утра",
            "мне 35 лет",
            "a 50 year old man",
            "5-й день подряд",
            "в 2024 году",
        ] {
            assert!(found(&Duration, text).is_empty(), "{text}");
        }
    }
}
