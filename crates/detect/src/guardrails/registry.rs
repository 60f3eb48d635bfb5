//! The guardrail of each category. A new category is a row of `category`, a [`Guardrail`] that finds it, and
//! an arm here.

use super::category::Category;
use super::checks as g;
use super::guardrail::Guardrail;

/// Builds every guardrail, one per category.
pub(crate) fn guardrails() -> Vec<Box<dyn Guardrail>> {
    Category::all().map(guardrail).collect()
}

fn guardrail(category: Category) -> Box<dyn Guardrail> {
    use Category as C;
    match category {
        C::PromptInjection | C::Jailbreak | C::SystemPromptExtraction => {
            Box::new(g::Attack(category))
        }
        C::Violence
        | C::Weapons
        | C::Drugs
        | C::SelfHarm
        | C::Sexual
        | C::Hate
        | C::Extremism
        | C::Fraud
        | C::Cybercrime
        | C::Unlawful => Box::new(g::Harm(category)),
        C::Toxicity => Box::new(g::Toxicity),
        C::SystemPromptLeak => Box::new(g::PromptLeak),
        C::SecretLeak => Box::new(g::Secrets::new()),
        C::HarmfulContent => Box::new(g::HarmfulContent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_guardrail_finds_the_category_it_stands_for() {
        for category in Category::all() {
            assert_eq!(guardrail(category).category(), category);
        }
    }
}
