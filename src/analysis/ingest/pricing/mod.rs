//! What a call costs, by the prices that are in force when its answer comes in. Later prices change nothing of it.

mod model_name;
pub(crate) mod names;
mod prompt_lookup;
#[cfg(test)]
pub(crate) mod without_prompts;

use super::Ingest;
use super::parameters::Parameters;
use super::record_builder::{AnalyzedMessage, NOT_KEPT};
use super::verdict::RulesInForce;
use crate::analysis::clock::steady_us;
use crate::config::{ModelPrice, Prices, TokenPrice};
use monitor_model::{Amount, CallTokens, MODEL_PARAMETER, Priced, Stage};
use monitor_store::{CallCost, Exchange, NewRecord, SumNames, Usage};
pub(super) use prompt_lookup::PendingCost;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Duration;

/// How long a look-up delays an answer that says that its record is stored.
const LONGEST_DELAY: Duration = Duration::from_millis(250);

impl Ingest {
    /// Takes other prices for the records that come in from now on.
    pub(crate) fn set_prices(&self, prices: &Prices) {
        self.prices.store(Arc::new(prices.clone()));
        self.budgets.set_currency(prices);
        if let Some(metrics) = self.remote().metrics() {
            metrics.costs.set_currency(&prices.currency);
        }
    }

    /// The tokens and the cost of the call whose answer this is, as far as the answer tells them; None of other records.
    pub(super) fn cost_of(
        &self,
        rules: &RulesInForce,
        analyzed: &AnalyzedMessage,
    ) -> Option<CallCost> {
        if rules.stage != Stage::PostCall || analyzed.tool.is_some() {
            return None;
        }
        let mut tokens = analyzed.parameters.usage.completed();
        let model = analyzed.parameters.model.clone();
        if analyzed.parameters.is_stored_response {
            return Some(repeated(model, tokens));
        }
        let estimated = tokens.prompt_tokens.is_none() || tokens.completion_tokens.is_none();
        if estimated && got_no_answer(analyzed) {
            return None;
        }
        if estimated {
            // Without a text nothing says what the model wrote: a response in the background is only begun.
            let answer = Some(analyzed.answer.tokens.count).filter(|count| *count > 0);
            tokens.completion_tokens = tokens.completion_tokens.or(answer);
            tokens = tokens.completed();
        }
        let usage = Usage { tokens, estimated };
        Some(cost(&self.prices.load(), model, usage))
    }

    /// Replaces the name of an answer's model where it may be any text, of an application that keeps no originals.
    pub(super) fn clean_model(
        &self,
        rules: &RulesInForce,
        parameters: &mut Parameters,
        sent: &mut Map<String, Value>,
    ) {
        let (Stage::PostCall, Some(model)) = (rules.stage, &mut parameters.model) else {
            return;
        };
        let compiled = rules.compiled();
        let engine = &self.analyzer.engine;
        let finds = engine.services().dataclean && compiled.rules().dataclean.is_some();
        let mask = |name: &str| match finds {
            false => name.to_owned(),
            true => {
                let masked = engine.mask_name(name, compiled, &steady_us);
                masked.unwrap_or_else(|| NOT_KEPT.to_owned())
            }
        };
        *model = model_name::cleaned(model, &self.prices.load(), mask);
        sent.insert(MODEL_PARAMETER.to_owned(), model.clone().into());
    }

    /// The look-up that completes the cost of a record; None if it needs none.
    pub(super) fn pending_cost(&self, record: &NewRecord) -> Option<PendingCost> {
        let cost = record.cost.as_ref()?;
        let needs_none = cost.priced.is_none() || cost.usage.tokens.prompt_tokens.is_some();
        let prices = self.prices.load_full();
        if needs_none || prices.models.is_empty() {
            return None;
        }
        let prompt = Exchange {
            application_id: record.application_id,
            id: record.exchange_id.clone()?,
            stage: Stage::PreCall,
        };
        Some(PendingCost::new(self.exchanges.clone(), prices, prompt))
    }
}

/// Whether the call failed before a model said anything.
fn got_no_answer(analyzed: &AnalyzedMessage) -> bool {
    let error = analyzed.additional_parameters.get("error");
    analyzed.message.is_empty() && error.is_some_and(|error| *error != Value::Null)
}

/// The tokens of an answer that was read again.
fn repeated(model: Option<String>, tokens: CallTokens) -> CallCost {
    CallCost {
        model,
        usage: Usage {
            tokens,
            estimated: false,
        },
        priced: None,
        amount: None,
        currency: None,
        counted_as: SumNames::default(),
    }
}

fn cost(prices: &Prices, model: Option<String>, usage: Usage) -> CallCost {
    let tokens = usage.tokens;
    // A side that nobody counted did not cost nothing.
    let is_counted = tokens.prompt_tokens.is_some() && tokens.completion_tokens.is_some();
    let entry = model.as_deref().and_then(|model| prices.entry(model));
    let price = entry.filter(|_| is_counted).map(|entry| &entry.price);
    let amount = price.map(|price| TokensByPrice::of(tokens).amount(price));
    // A column holds no more; a sum that is left out has to be seen.
    let amount = amount.filter(|amount| i64::try_from(amount.units()).is_ok());
    CallCost {
        counted_as: SumNames {
            model: entry.map(ModelPrice::key),
            user: None,
        },
        model,
        usage,
        priced: Some(match (amount, usage.estimated) {
            (None, _) => Priced::Unpriced,
            (Some(_), true) => Priced::Estimated,
            (Some(_), false) => Priced::Priced,
        }),
        currency: amount.map(|_| prices.currency.clone()),
        amount,
    }
}

/// The tokens of a call by the price that applies to them; each counts once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TokensByPrice {
    pub(super) input: u64,
    pub(super) cached_input: u64,
    pub(super) cache_write: u64,
    pub(super) output: u64,
    pub(super) reasoning: u64,
}

impl TokensByPrice {
    /// Those of the cache are no other input, and those of reasoning no other output.
    pub(super) fn of(tokens: CallTokens) -> Self {
        let [prompt, cached, written, completion, reasoning, _] =
            tokens.to_array().map(Option::unwrap_or_default);
        let cached = cached.min(prompt);
        let written = written.min(prompt - cached);
        let reasoning = reasoning.min(completion);
        Self {
            input: prompt - cached - written,
            cached_input: cached,
            cache_write: written,
            output: completion - reasoning,
            reasoning,
        }
    }

    fn amount(self, price: &TokenPrice) -> Amount {
        let parts = [
            price.input.times(self.input),
            price.cached_input.times(self.cached_input),
            price.cache_write.times(self.cache_write),
            price.output.times(self.output),
            price.reasoning.times(self.reasoning),
        ];
        parts.into_iter().fold(Amount::default(), Amount::plus)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    pub(super) fn prices(input: i128) -> Prices {
        let of = Amount::of_units;
        Prices {
            currency: "EUR".to_owned(),
            models: vec![ModelPrice {
                name: "m".to_owned(),
                is_prefix: true,
                price: TokenPrice {
                    input: of(input),
                    cached_input: of(10),
                    cache_write: of(1_000),
                    output: of(10_000),
                    reasoning: of(100_000),
                },
            }],
        }
    }

    fn units(numbers: [Option<u64>; 6]) -> Option<i128> {
        let usage = Usage {
            tokens: CallTokens::from_array(numbers).completed(),
            estimated: false,
        };
        let cost = cost(&prices(100), Some("m-1".to_owned()), usage);
        cost.amount.map(Amount::units)
    }

    #[test]
    fn each_token_has_one_price() {
        for (numbers, expected) in [
            ([Some(3), None, None, Some(2), None, None], 20_300),
            ([Some(3), Some(1), Some(1), Some(2), Some(1), None], 111_110),
            ([Some(3), Some(9), Some(9), Some(2), Some(9), None], 200_030),
            ([Some(0), Some(9), None, Some(0), None, None], 0),
        ] {
            assert_eq!(units(numbers), Some(expected), "{numbers:?}");
        }
    }

    #[test]
    fn a_side_that_nobody_counted_is_not_free() {
        let of = |numbers| {
            let usage = Usage {
                tokens: CallTokens::from_array(numbers),
                estimated: true,
            };
            cost(&prices(1), Some("m-1".to_owned()), usage).priced
        };
        let no = Some(Priced::Unpriced);
        assert_eq!(of([None, None, None, Some(5), None, None]), no);
        assert_eq!(of([Some(5), None, None, None, None, None]), no);
        let known = of([Some(5), None, None, Some(0), None, None]);
        assert_eq!(known, Some(Priced::Estimated));
    }

    #[test]
    fn what_has_no_price_or_too_high_a_cost_is_unpriced() {
        let tokens = CallTokens::from_array([Some(1_000_000_000), None, None, Some(0), None, None]);
        let usage = Usage {
            tokens,
            estimated: true,
        };
        let of = |input, model: Option<&str>| cost(&prices(input), model.map(str::to_owned), usage);
        assert_eq!(of(1, Some("m-1")).priced, Some(Priced::Estimated));
        for unpriced in [
            of(1, None),
            of(1, Some("other")),
            of(i128::from(i64::MAX), Some("m-1")),
        ] {
            assert_eq!(unpriced.priced, Some(Priced::Unpriced));
            assert_eq!((unpriced.amount, unpriced.currency), (None, None));
        }
    }
}
