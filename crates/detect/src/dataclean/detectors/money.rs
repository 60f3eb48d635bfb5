//! MONEY (§2.8): an amount with its currency, in digits or words ("5 млн руб.", "$1.2bn", "полтора
//! миллиона рублей"). A number without a currency is none. The rules stand in `mentions`.

use super::mentioned;
use crate::dataclean::mentions::Sort;
use crate::dataclean::{Detector, PatternName, Span, Text};

/// See the file's head.
pub(crate) struct Money;

impl Detector for Money {
    fn name(&self) -> PatternName {
        PatternName::Money
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        mentioned(text, Sort::Money, self.name(), out);
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
            "долг 5 млн руб. 30 коп., аванс 1 000 000 ₽, ещё полтора миллиона рублей; paid $1.2bn";
        assert_eq!(
            found(&Money, text),
            [
                "5 млн руб. 30 коп.",
                "1 000 000 ₽",
                "полтора миллиона рублей",
                "$1.2bn"
            ]
        );
        assert_eq!(
            found(&Money, "two thousand dollars, EUR 15-20 thousand"),
            ["two thousand dollars", "EUR 15-20 thousand"]
        );
    }

    #[test]
    fn near_misses() {
        for text in [
            "Евро 2024 и стандарт Евро-5",
            "awk '{print $1}'",
            "15 тыс. человек",
            "5 р-нов области",
            "курс доллара вырос",
        ] {
            assert!(found(&Money, text).is_empty(), "{text}");
        }
    }
}
