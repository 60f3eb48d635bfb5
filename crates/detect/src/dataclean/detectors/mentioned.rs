//! The four patterns that the grammars of `mentions` read in one pass (§2.8), as a table:
//!
//! - DATE: days, months, years and their parts, in digits and words. A date under a cue ("до", "by") is
//!   a DEADLINE_DATE and no DATE; a time of day alone is neither.
//! - DEADLINE_DATE: a date under a cue ("до", "не позднее", "срок —", "by", "due"), the cue itself not
//!   included. Under one, "пятница", "завтра" and "конец месяца" are dates too.
//! - DURATION: number and unit ("3 рабочих дня", "two weeks", PT5M). An age, a time of day and a unit
//!   alone are none.
//! - MONEY: an amount with its currency, in digits or words ("5 млн руб.", "$1.2bn", "полтора миллиона
//!   рублей"). A number without a currency is none.

use crate::dataclean::mentions::MentionKind;
use crate::dataclean::{Detector, PatternName, Span, Strength, Text};

/// The detector of one of them.
pub(crate) struct Mentioned(pub(crate) PatternName);

impl Mentioned {
    /// A word says what an amount is; a date in digits has its form only. None for any other pattern.
    fn kind(&self) -> Option<(MentionKind, Strength)> {
        match self.0 {
            PatternName::Date => Some((MentionKind::Date, Strength::Form)),
            PatternName::DeadlineDate => Some((MentionKind::Deadline, Strength::Form)),
            PatternName::Duration => Some((MentionKind::Duration, Strength::Context)),
            PatternName::Money => Some((MentionKind::Money, Strength::Context)),
            _ => None,
        }
    }
}

impl Detector for Mentioned {
    fn name(&self) -> PatternName {
        self.0
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let Some((kind, strength)) = self.kind() else {
            return;
        };
        let own = text.mentions().all.iter().filter(|one| one.kind == kind);
        out.extend(own.map(|mention| Span::new(self.0, mention.start..mention.end, strength)));
    }

    fn stable_until(&self, text: &Text) -> Option<usize> {
        Some(text.mentions().stable_until)
    }
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;
    use PatternName as P;

    #[test]
    fn date_good_examples() {
        let text =
            "Встреча 5 мая 2024 г., отчёт от 12.03.2023 и за март 2022 года; born on May 5th, 1990";
        assert_eq!(
            found(&Mentioned(P::Date), text),
            [
                "5 мая 2024 г.",
                "12.03.2023",
                "март 2022 года",
                "May 5th, 1990"
            ]
        );
        assert_eq!(
            found(&Mentioned(P::Date), "at 2024-05-03T10:15:00Z"),
            ["2024-05-03T10:15:00Z"]
        );
    }

    #[test]
    fn date_near_misses() {
        for text in [
            "версия 12.03.24, адрес 10.12.20.24",
            "оплатить до 5 мая",
            "You may 5 times march",
            "счёт 45.03.2024 и 2024 рубля",
            "в 10:30 глава 12.3",
        ] {
            assert!(found(&Mentioned(P::Date), text).is_empty(), "{text}");
        }
    }

    #[test]
    fn deadline_date_good_examples() {
        let text =
            "Сдать до 5 мая 2024 года, оплатить не позднее пятницы. Срок поставки: 12.03.2025";
        assert_eq!(
            found(&Mentioned(P::DeadlineDate), text),
            ["5 мая 2024 года", "пятницы", "12.03.2025"]
        );
        assert_eq!(
            found(
                &Mentioned(P::DeadlineDate),
                "Submit it by May 5th or no later than next Friday"
            ),
            ["May 5th", "next Friday"]
        );
    }

    #[test]
    fn deadline_date_near_misses() {
        for text in [
            "отпуск с 5 мая до 10 мая",
            "жил там до 1917 года",
            "signed on May 5th by hand",
            "договор от 12.03.2025",
            "до 15 процентов",
        ] {
            assert!(
                found(&Mentioned(P::DeadlineDate), text).is_empty(),
                "{text}"
            );
        }
    }

    #[test]
    fn duration_good_examples() {
        let text = "ремонт займёт 3 рабочих дня, гарантия полтора года, в течение месяца; within two weeks";
        assert_eq!(
            found(&Mentioned(P::Duration), text),
            ["3 рабочих дня", "полтора года", "месяца", "two weeks"]
        );
        assert_eq!(
            found(&Mentioned(P::Duration), "timeout PT5M, then 1h30m"),
            ["PT5M", "1h30m"]
        );
    }

    #[test]
    fn duration_near_misses() {
        for text in [
            "в 10 часов утра",
            "мне 35 лет",
            "a 50 year old man",
            "5-й день подряд",
            "в 2024 году",
        ] {
            assert!(found(&Mentioned(P::Duration), text).is_empty(), "{text}");
        }
    }

    #[test]
    fn money_good_examples() {
        let text =
            "долг 5 млн руб. 30 коп., аванс 1 000 000 ₽, ещё полтора миллиона рублей; paid $1.2bn";
        assert_eq!(
            found(&Mentioned(P::Money), text),
            [
                "5 млн руб. 30 коп.",
                "1 000 000 ₽",
                "полтора миллиона рублей",
                "$1.2bn"
            ]
        );
        assert_eq!(
            found(
                &Mentioned(P::Money),
                "two thousand dollars, EUR 15-20 thousand"
            ),
            ["two thousand dollars", "EUR 15-20 thousand"]
        );
    }

    #[test]
    fn money_near_misses() {
        for text in [
            "Евро 2024 и стандарт Евро-5",
            "awk '{print $1}'",
            "15 тыс. человек",
            "5 р-нов области",
            "курс доллара вырос",
        ] {
            assert!(found(&Mentioned(P::Money), text).is_empty(), "{text}");
        }
    }
}
