//! NAME, COMPANY, ADDRESS, JOB_ROLE and DIAGNOSIS (§2.8). One run of the tagger over a text serves all
//! five.

use crate::dataclean::{Detector, PatternName, Span, Text};

/// The detector of one of them.
pub(crate) struct Tagged(pub(crate) PatternName);

impl Detector for Tagged {
    fn name(&self) -> PatternName {
        self.0
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let own = text.tagged().iter().filter(|span| span.kind == self.0);
        out.extend(own);
    }
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        assert_eq!(
            found(&Tagged(PatternName::Name), "Договор подписал Иван Петров."),
            ["Иван Петров"]
        );
        assert_eq!(
            found(
                &Tagged(PatternName::Company),
                "Счёт выставило ООО «Ромашка»."
            ),
            ["ООО «Ромашка»"]
        );
    }

    #[test]
    fn near_misses() {
        for text in [
            "Нажмите Пуск и выберите Настройки.",
            "Use the Rust compiler.",
        ] {
            assert_eq!(found(&Tagged(PatternName::Name), text), [""; 0]);
            assert_eq!(found(&Tagged(PatternName::Company), text), [""; 0]);
        }
    }
}
