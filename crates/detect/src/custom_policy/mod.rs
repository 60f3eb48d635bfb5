//! Custom policies (§2.8 `custom.policies[]`): the interface of a judge and its ruling. One judge asks a
//! model over the network (in the module `judge` of the server), another looks for words (`cues`).

mod cues;
mod lexicon;
mod phrases;
mod stems;

pub use cues::Cues;

use super::rules::CustomPolicy;
use async_trait::async_trait;
use monitor_model::PolicyRuling;

/// Judges texts by policies that people wrote.
#[async_trait]
pub trait Judge: Send + Sync {
    /// One ruling per policy, in their order. Never fails: what could not be judged is not flagged
    /// unless it was, and [`Ruling::failures`] says so (CONTRACT 26).
    async fn judge(&self, policies: &[CustomPolicy], text: &str) -> Ruling;
}

/// What a judge says of one text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ruling {
    /// One per policy, in their order.
    pub policies: Vec<PolicyRuling>,
    /// What was not judged, or not by a judge, and why; never a piece of the text.
    pub failures: Vec<String>,
    /// Nothing was judged at all.
    pub has_failed: bool,
}

impl Ruling {
    /// Adds what the same judge finds in another reading of the text, by the same policies.
    pub fn add_findings(&mut self, other: Self) {
        for (own, other) in self.policies.iter_mut().zip(other.policies) {
            if other.flagged && !own.flagged {
                *own = other;
            }
        }
    }
}
