//! The guardrails that use the linear models: attacks by kind, harmful requests by subject, and answers
//! that help with a crime. The weights decide; see `training/`.

use crate::guardrails::cues::table::CueKind;
use crate::guardrails::linear::{ATTACK, HARM};
use crate::guardrails::text::Text;
use crate::guardrails::{Category, Finding, Guardrail};

/// An attack on the model or the application in front of it.
pub(crate) struct Attack(pub(crate) Category);

impl Guardrail for Attack {
    fn category(&self) -> Category {
        self.0
    }

    fn check(&self, text: &Text<'_>) -> Option<Finding> {
        let (place, kind) = match self.0 {
            Category::PromptInjection => (0, CueKind::Injection),
            Category::Jailbreak => (1, CueKind::Jailbreak),
            _ => (2, CueKind::Extraction),
        };
        let verdict = text.attack()?;
        Some(Finding {
            score: f64::from(verdict.scores[ATTACK] * verdict.kinds()[place]),
            reason: verdict.reason(kind),
        })
    }
}

/// A request for help with something harmful.
pub(crate) struct Harm(pub(crate) Category);

impl Guardrail for Harm {
    fn category(&self) -> Category {
        self.0
    }

    fn check(&self, text: &Text<'_>) -> Option<Finding> {
        let verdict = text.harm()?;
        let share = verdict.share(self.0);
        (share > 0.0).then(|| Finding {
            score: f64::from(verdict.scores[HARM] * share),
            reason: verdict.reason(CueKind::Harm),
        })
    }
}

/// An answer that helps with something harmful; one that begins by refusing does not.
pub(crate) struct HarmfulContent;

/// Beginnings of answers that refuse, as they are read.
const REFUSALS: [&str; 16] = [
    "i cant",
    "i cannot",
    "i can not",
    "im sorry",
    "i am sorry",
    "sorry",
    "im not able",
    "im unable",
    "i wont",
    "я не могу",
    "не могу",
    "извините",
    "к сожалению",
    "простите",
    "я не буду",
    "прошу прощения",
];

impl Guardrail for HarmfulContent {
    fn category(&self) -> Category {
        Category::HarmfulContent
    }

    fn check(&self, text: &Text<'_>) -> Option<Finding> {
        let read = text.read();
        let mut beginning = String::new();
        for token in read.tokens.iter().take(4) {
            beginning.push_str(read.word(*token));
            beginning.push(' ');
        }
        if REFUSALS
            .iter()
            .any(|refusal| beginning.starts_with(refusal))
        {
            return None;
        }
        let verdict = text.harm()?;
        let score = f64::from(verdict.scores[HARM]);
        Some(Finding {
            // The models know requests: of an answer they must be surer.
            score: score * score,
            reason: verdict.reason(CueKind::Harm),
        })
    }
}
