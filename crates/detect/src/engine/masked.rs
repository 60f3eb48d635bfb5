//! Short texts beside a message, such as names and errors, with the finds of the rules masked.

use super::Engine;
use crate::compiled::Compiled;
use crate::dataclean::{self, Kind, PatternName as P};
use crate::rules::CleanType;
use std::panic::{AssertUnwindSafe, catch_unwind};

impl Engine {
    /// A short text with the finds of the rules masked. None where the stage is off, or has not looked
    /// at the whole text.
    pub fn mask(&self, text: &str, rules: &Compiled, clock: &dyn Fn() -> u64) -> Option<String> {
        self.mask_kinds(text, rules, clock, |_| true)
    }

    /// As [`Engine::mask`], for the name of a thing: a date, a version or a word in it says nothing of a person.
    pub fn mask_name(
        &self,
        name: &str,
        rules: &Compiled,
        clock: &dyn Fn() -> u64,
    ) -> Option<String> {
        self.mask_kinds(name, rules, clock, is_of_a_person)
    }

    fn mask_kinds(
        &self,
        text: &str,
        rules: &Compiled,
        clock: &dyn Fn() -> u64,
        counts: fn(Kind<'_>) -> bool,
    ) -> Option<String> {
        let dataclean = rules.rules().dataclean.as_ref()?;
        let mask = || {
            let search = self.search(text.into(), &[]);
            let mut found = dataclean::find(&self.detectors, search, rules, clock);
            found.spans.retain(|span| counts(span.kind));
            let style = dataclean.mask_style;
            (!found.in_part && found.looked_to == text.len())
                .then(|| dataclean::clean(text, &found.spans, CleanType::Masking, style))
        };
        let masked = catch_unwind(AssertUnwindSafe(mask)).ok();
        masked.flatten().filter(|_| self.services.dataclean)
    }
}

/// Whether a find in a name is more than a part of it: an address or a number of a person, or what the rules' own
/// patterns are for.
fn is_of_a_person(kind: Kind<'_>) -> bool {
    match kind {
        Kind::Custom(_) => true,
        Kind::Predefined(name) if name.is_further() => true,
        Kind::Predefined(name) => matches!(
            name,
            P::BankCardNumber
                | P::Emails
                | P::Inn
                | P::Ogrn
                | P::Ogrnip
                | P::PassportNumber
                | P::PhoneNumber
                | P::Snils
        ),
    }
}
