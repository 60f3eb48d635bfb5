//! The applications of the data set and the people who use them. All of them are invented.

use super::texts::{self, Talk};
use serde_json::{Value, json};

/// Who sends the cards.
pub(super) const LEAKER: &str = "viktor.lapin";

const SUPPORT: [&str; 14] = [
    LEAKER,
    "anna.belova",
    "boris.zaitsev",
    "daria.orlova",
    "egor.kuznetsov",
    "fatima.aliyeva",
    "galina.morozova",
    "igor.sokolov",
    "julia.weber",
    "kirill.popov",
    "lena.schmidt",
    "maria.ivanova",
    "nikita.volkov",
    "olga.petrova",
];
const CODE: [&str; 13] = [
    "pavel.novikov",
    "roman.fedorov",
    "sergey.titov",
    "tanya.egorova",
    "umar.karimov",
    "vera.smirnova",
    "yuri.markov",
    "alex.carter",
    "ben.walker",
    "chloe.martin",
    "dmitry.gusev",
    "emily.stone",
    "felix.brandt",
];
const SALES: [&str; 13] = [
    "grace.hill",
    "henry.cole",
    "inna.rudenko",
    "jack.morgan",
    "ksenia.frolova",
    "liam.turner",
    "mila.sorokina",
    "nora.klein",
    "oscar.lindt",
    "polina.danilova",
    "quentin.roy",
    "rita.gomez",
    "stepan.vlasov",
];

/// An application of the data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum App {
    Support,
    Code,
    Sales,
}

impl App {
    pub(super) const ALL: [Self; 3] = [Self::Support, Self::Code, Self::Sales];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Support => "Demo data: customer support",
            Self::Code => "Demo data: code helper",
            Self::Sales => "Demo data: sales assistant",
        }
    }

    pub(super) fn people(self) -> &'static [&'static str] {
        match self {
            Self::Support => &SUPPORT,
            Self::Code => &CODE,
            Self::Sales => &SALES,
        }
    }

    pub(super) fn talks(self) -> &'static [Talk] {
        match self {
            Self::Support => &texts::SUPPORT,
            Self::Code => &texts::CODE,
            Self::Sales => &texts::SALES,
        }
    }

    pub(super) fn models(self) -> &'static [&'static str] {
        match self {
            Self::Support => &["demo-small", "demo-large"],
            Self::Code => &["demo-code"],
            Self::Sales => &["demo-small", "demo-small", "demo-large"],
        }
    }

    /// Support and sales keep originals.
    pub(super) fn rules(self) -> Value {
        json!({"keep_original": self != Self::Code, "pre": {"guardrails": {}}})
    }

    /// Nothing of support is blocked, of code injections are, of sales everything that is found.
    pub(super) fn policy(self) -> Value {
        let phrase = "I cannot help with that.";
        match self {
            Self::Support => json!({"app_mode": "async"}),
            Self::Code => {
                json!({"app_mode": "sync", "phrase": phrase, "block_on": {"dataclean": false}})
            }
            Self::Sales => json!({"app_mode": "sync", "phrase": phrase}),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn forty_people_have_names_of_their_own() {
        let people = App::ALL.into_iter().flat_map(|app| app.people().iter());
        assert_eq!(people.collect::<HashSet<_>>().len(), 40);
    }
}
