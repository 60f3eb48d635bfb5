//! The metrics of what calls cost. Exact sums are the store's (`GET /statistics/costs`): those of Prometheus are
//! floating-point numbers, for charts and alerts. Their labels name no user, and no model but by its entry in the price
//! table: clients choose users and models, in any number and with any text.

use super::register::{About, counters, labelled};
use crate::observe::labels::{Label, SumName, TokenKind};
use monitor_model::{ApplicationId, Priced};
use prometheus::{CounterVec, IntCounterVec, Opts, Registry};
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

const TOKENS: About = (
    "monitor_call_tokens_total",
    "Tokens of recorded calls, by kind, each counted once, and by whether the model has a price.",
);
const COST: About = (
    "monitor_call_cost_total",
    "Cost of recorded calls by the prices of the configuration; the currency is empty without prices.",
);
const APPLICATION_TOKENS: About = (
    "monitor_application_tokens_total",
    "The same tokens by application (other after 200) and by entry of the price table (other without one).",
);
const APPLICATION_COST: About = (
    "monitor_application_cost_total",
    "The same cost by application (other after 200) and by entry of the price table.",
);
const FULL: About = (
    "monitor_cost_names_full_total",
    "Days of an application on which sums of costs had no room for further models or users: those count as other.",
);

/// Applications that have series of their own, the first ones since the start.
const MOST_APPLICATIONS: usize = 200;
/// Their entries of the price table together.
const MOST_ENTRIES: usize = 2_000;
/// Stands for all others, and for the models without a price.
const OTHER: &str = "other";

/// Of calls whose answers are recorded.
pub struct CostMetrics {
    tokens: IntCounterVec,
    cost: CounterVec,
    application_tokens: IntCounterVec,
    application_cost: CounterVec,
    named: Mutex<Named>,
    full: IntCounterVec,
}

/// What has series of its own, the first ones since the start: applications, and their entries of the price table.
#[derive(Default)]
struct Named {
    entries: HashMap<ApplicationId, HashSet<Box<str>>>,
    count: usize,
}

impl Named {
    fn admits_application(&mut self, application: ApplicationId) -> bool {
        if self.entries.len() < MOST_APPLICATIONS {
            self.entries.entry(application).or_default();
        }
        self.entries.contains_key(&application)
    }

    /// Of an application that has series of its own.
    fn admits_entry(&mut self, application: ApplicationId, entry: &str) -> bool {
        let entries = self.entries.entry(application).or_default();
        if !entries.contains(entry) && self.count < MOST_ENTRIES {
            entries.insert(entry.into());
            self.count += 1;
        }
        entries.contains(entry)
    }
}

/// The labels of one call.
pub struct CallLabels<'a> {
    application: String,
    model: &'a str,
    priced: &'static str,
}

impl CostMetrics {
    pub(super) fn new(registry: &Registry) -> prometheus::Result<Self> {
        let tokens = counters(registry, TOKENS, &["kind", "priced"])?;
        let by_application = ["application", "kind", "model", "priced"];
        let application_tokens = counters(registry, APPLICATION_TOKENS, &by_application)?;
        for kind in TokenKind::VALUES {
            for priced in Priced::ALL {
                tokens.with_label_values(&[*kind, priced.as_str()]);
                application_tokens.with_label_values(&[OTHER, *kind, OTHER, priced.as_str()]);
            }
        }
        let by_application = ["application", "currency", "model", "priced"];
        Ok(Self {
            tokens,
            cost: amounts(registry, COST, &["currency", "priced"])?,
            application_tokens,
            application_cost: amounts(registry, APPLICATION_COST, &by_application)?,
            named: Mutex::default(),
            full: labelled::<SumName>(registry, FULL, "kind")?,
        })
    }

    /// Prices are in this currency from now on.
    pub fn set_currency(&self, currency: &str) {
        for priced in [Priced::Priced, Priced::Estimated] {
            let priced = priced.as_str();
            self.cost.with_label_values(&[currency, priced]);
            let labels = [OTHER, currency, OTHER, priced];
            self.application_cost.with_label_values(&labels);
        }
    }

    /// The sums of an application's day have no room for further names.
    pub fn full(&self, kind: SumName) {
        self.full.with_label_values(&[kind.as_str()]).inc();
    }

    /// The labels of a call, whose model has this entry in the price table.
    pub fn labels_of<'a>(
        &self,
        application: ApplicationId,
        entry: Option<&'a str>,
        priced: Priced,
    ) -> CallLabels<'a> {
        let mut named = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        let is_named = named.admits_application(application);
        // All others are one application, with few series.
        let entry = entry.filter(|entry| is_named && named.admits_entry(application, entry));
        CallLabels {
            application: match is_named {
                true => application.to_string(),
                false => OTHER.to_owned(),
            },
            model: entry.unwrap_or(OTHER),
            priced: priced.as_str(),
        }
    }

    /// A recorded call used these tokens.
    pub fn used(&self, call: &CallLabels<'_>, kind: TokenKind, tokens: u64) {
        let kind = kind.as_str();
        let labels = [kind, call.priced];
        self.tokens.with_label_values(&labels).inc_by(tokens);
        // Most models know few kinds.
        if tokens > 0 {
            let labels: [&str; 4] = [&call.application, kind, call.model, call.priced];
            let counter = self.application_tokens.with_label_values(&labels);
            counter.inc_by(tokens);
        }
    }

    /// A recorded call cost this much.
    pub fn cost(&self, call: &CallLabels<'_>, currency: &str, amount: f64) {
        let labels = [currency, call.priced];
        self.cost.with_label_values(&labels).inc_by(amount);
        let labels: [&str; 4] = [&call.application, currency, call.model, call.priced];
        let counter = self.application_cost.with_label_values(&labels);
        counter.inc_by(amount);
    }
}

fn amounts(
    registry: &Registry,
    (name, help): About,
    labels: &[&str],
) -> prometheus::Result<CounterVec> {
    let metric = CounterVec::new(Opts::new(name, help), labels)?;
    registry.register(Box::new(metric.clone()))?;
    Ok(metric)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_first_applications_have_series_of_their_own() {
        let metrics = CostMetrics::new(&Registry::new()).unwrap();
        let label = |id| metrics.labels_of(id, None, Priced::Unpriced).application;
        let first: Vec<_> = (0..MOST_APPLICATIONS)
            .map(|_| ApplicationId::random())
            .collect();
        for id in &first {
            assert_eq!(label(*id), id.to_string());
        }
        assert_eq!(label(ApplicationId::random()), OTHER);
        assert_eq!(label(first[0]), first[0].to_string());
    }
}
