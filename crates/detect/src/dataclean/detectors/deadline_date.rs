//! DEADLINE_DATE (§2.8): a date under a cue ("до", "не позднее", "срок —", "by", "due"), the cue itself
//! not included. Under one, "пятница", "завтра" and "конец месяца" are dates too. The rules stand in
//! `mentions`.

use super::mentioned;
use crate::dataclean::mentions::Sort;
use crate::dataclean::{Detector, PatternName, Span, Text};

/// See the file's head.
pub(crate) struct DeadlineDate;

impl Detector for DeadlineDate {
    fn name(&self) -> PatternName {
        PatternName::DeadlineDate
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        mentioned(text, Sort::Deadline, self.name(), out);
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
            "Сдать до 5 мая 2024 года, оплатить не позднее пятницы. Срок поставки: 12.03.2025";
        assert_eq!(
            found(&DeadlineDate, text),
            ["5 мая 2024 года", "пятницы", "12.03.2025"]
        );
        assert_eq!(
            found(
                &DeadlineDate,
                "Submit it by May 5th or no later than next Friday"
            ),
            ["May 5th", "next Friday"]
        );
    }

    #[test]
    fn near_misses() {
        for text in [
            "отпуск с 5 мая до 10 мая",
            "жил там до 1917 года",
            "signed on May 5th by hand",
            "договор от 12.03.2025",
            "до 15 процентов",
        ] {
            assert!(found(&DeadlineDate, text).is_empty(), "{text}");
        }
    }
}
