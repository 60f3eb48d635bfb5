//! DATE (§2.8): days, months, years and their parts, in digits and words. A date under a cue ("до",
//! "by") is a DEADLINE_DATE and no DATE; a time of day alone is neither. The rules stand in `mentions`.

use super::mentioned;
use crate::dataclean::mentions::Sort;
use crate::dataclean::{Detector, PatternName, Span, Text};

/// See the file's head.
pub(crate) struct Date;

impl Detector for Date {
    fn name(&self) -> PatternName {
        PatternName::Date
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        mentioned(text, Sort::Date, self.name(), out);
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
        let text =
            "Встреча 5 мая 2024 г., отчёт от 12.03.2023 и за март 2022 года; born on May 5th, 1990";
        assert_eq!(
            found(&Date, text),
            [
                "5 мая 2024 г.",
                "12.03.2023",
                "март 2022 года",
                "May 5th, 1990"
            ]
        );
        assert_eq!(
            found(&Date, "at 2024-05-03T10:15:00Z"),
            ["2024-05-03T10:15:00Z"]
        );
    }

    #[test]
    fn near_misses() {
        for text in [
            "версия 12.03.24, адрес 10.12.20.24",
            "оплатить до 5 мая",
            "You may 5 times march",
            "счёт 45.03.2024 и 2024 рубля",
            "в 10:30 глава 12.3",
        ] {
            assert!(found(&Date, text).is_empty(), "{text}");
        }
    }
}
