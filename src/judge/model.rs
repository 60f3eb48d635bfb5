//! The judge of custom policies that is a model: a text goes to it in pieces, its policies several at
//! once, all by one deadline; verdicts are cached. The form of a question and of an answer is in
//! `verdict`.

use super::cache::{self, Cache};
use super::chat;
use super::chunks::chunks;
use super::endpoint::{Endpoint, EndpointConfig, EndpointStatus, SetupError};
use super::fault::Fault;
use super::reason::Quoted;
use super::verdict::{Question, Verdict};
use crate::config::{BaseUrl, JudgeSettings};
use crate::observe::{Metrics, RemoteLabel, RemoteOutcome};
use async_trait::async_trait;
use futures_util::future::join_all;
use monitor_detect::custom_policy::{Judge, Ruling};
use monitor_detect::rules::CustomPolicy;
use monitor_model::PolicyRuling;
use std::sync::Arc;
use std::time::Instant;

/// Bytes of the policies of one call; a single larger policy goes alone.
const POLICIES_BYTES: usize = 64 << 10;
/// Calls about one message; pieces and policies beyond them are not judged, which the answer reports.
const MOST_CALLS: usize = 64;
const UNJUDGED: &str = "not judged";

/// A model behind an OpenAI-compatible chat endpoint.
pub struct ModelJudge {
    endpoint: Endpoint,
    settings: JudgeSettings,
    cache: Cache,
    metrics: Arc<Metrics>,
}

/// Some policies, by their place among all, and one piece of the text.
struct Part<'a> {
    from: usize,
    policies: &'a [CustomPolicy],
    piece: &'a str,
}

impl ModelJudge {
    /// A judge at that address.
    ///
    /// # Errors
    /// When the system's certificates cannot be read, or the URL or key cannot be sent.
    pub fn new(
        settings: JudgeSettings,
        base: &BaseUrl,
        metrics: Arc<Metrics>,
    ) -> Result<Self, SetupError> {
        let reached = EndpointConfig {
            label: RemoteLabel::Judge,
            base,
            path: chat::PATH,
            api_key: settings.api_key.as_ref(),
        };
        Ok(Self {
            endpoint: Endpoint::new(&reached, settings.limits, metrics.clone())?,
            cache: Cache::new(settings.cache_entries, settings.cache_ttl),
            settings,
            metrics,
        })
    }

    /// Its health, and the number of cached verdicts.
    pub fn status(&self) -> (EndpointStatus, usize) {
        (self.endpoint.status(), self.cache.len())
    }

    /// The questions to ask, and whether they cover everything.
    fn parts<'a>(&self, policies: &'a [CustomPolicy], text: &'a str) -> (Vec<Part<'a>>, bool) {
        let size = |bytes| usize::try_from(bytes).unwrap_or(usize::MAX);
        let (chunk, most) = (self.settings.chunk, self.settings.max_text);
        let (pieces, is_whole) = chunks(text, size(chunk), size(most));
        let mut parts = Vec::new();
        for piece in pieces {
            let mut from = 0;
            for policies in batches(policies) {
                parts.push(Part {
                    from,
                    policies,
                    piece,
                });
                from += policies.len();
            }
        }
        let fits = parts.len() <= MOST_CALLS;
        parts.truncate(MOST_CALLS);
        (parts, is_whole && fits)
    }

    async fn judge_part(&self, part: &Part<'_>, by: Instant) -> Result<Vec<Verdict>, Fault> {
        let (model, format) = (&self.settings.model, self.settings.response_format);
        let question = Question::new(model, format, part.policies, part.piece);
        self.endpoint.ask(&question, by).await
    }

    async fn ask(&self, policies: &[CustomPolicy], text: &str) -> Ruling {
        let (parts, is_whole) = self.parts(policies, text);
        let deadline = self.endpoint.deadline();
        let asked = parts.iter().map(|part| self.judge_part(part, deadline));
        let verdicts = join_all(asked).await;
        let mut ruling = put_together(policies, parts.iter().zip(verdicts));
        if !is_whole {
            let most = self.settings.max_text;
            let detail = format!(
                "only the first {most} bytes of a text (judge.max_text) and {MOST_CALLS} calls' worth of \
                 policies are judged"
            );
            self.endpoint.came_to(RemoteOutcome::Cut, &detail);
            ruling.failures.push(detail);
        }
        ruling
    }
}

#[async_trait]
impl Judge for ModelJudge {
    async fn judge(&self, policies: &[CustomPolicy], text: &str) -> Ruling {
        if text.trim().is_empty() {
            return Ruling {
                policies: policies.iter().map(passed).collect(),
                ..Ruling::default()
            };
        }
        let key = cache::key(&self.settings.model, policies, text);
        if let Some(known) = self.cache.get(&key, Instant::now()) {
            self.metrics.remote.cache_hits.inc();
            return Ruling {
                policies: known.to_vec(),
                ..Ruling::default()
            };
        }
        let ruling = self.ask(policies, text).await;
        if ruling.failures.is_empty() {
            let rulings = Arc::from(&*ruling.policies);
            self.cache.put(key, rulings, Instant::now());
        }
        ruling
    }
}

fn passed(policy: &CustomPolicy) -> PolicyRuling {
    PolicyRuling {
        name: policy.name.clone(),
        flagged: false,
        reason: String::new(),
    }
}

/// Splits policies into groups for one call each.
fn batches(policies: &[CustomPolicy]) -> Vec<&[CustomPolicy]> {
    let mut batches = Vec::new();
    let (mut from, mut bytes) = (0, 0);
    for (at, policy) in policies.iter().enumerate() {
        let own = policy.name.len() + policy.prompt.len();
        if at > from && bytes + own > POLICIES_BYTES {
            batches.push(&policies[from..at]);
            (from, bytes) = (at, 0);
        }
        bytes += own;
    }
    batches.push(&policies[from..]);
    batches
}

/// A policy is violated where any piece violates it; the first such piece gives the reason.
fn put_together<'a>(
    policies: &[CustomPolicy],
    judged: impl Iterator<Item = (&'a Part<'a>, Result<Vec<Verdict>, Fault>)>,
) -> Ruling {
    let mut rulings: Vec<Option<PolicyRuling>> = vec![None; policies.len()];
    let mut failures: Vec<String> = Vec::new();
    for (part, verdicts) in judged {
        match verdicts {
            Ok(verdicts) => merge(&mut rulings, policies, part, verdicts),
            Err(fault) => {
                let failure = format!("the judge gave no verdict: {fault}");
                if !failures.contains(&failure) {
                    failures.push(failure);
                }
            }
        }
    }
    let has_failed = rulings.iter().all(Option::is_none);
    let unjudged = |policy| PolicyRuling {
        reason: UNJUDGED.to_owned(),
        ..passed(policy)
    };
    let rulings = policies.iter().zip(rulings);
    Ruling {
        policies: rulings
            .map(|(policy, ruling)| ruling.unwrap_or_else(|| unjudged(policy)))
            .collect(),
        failures,
        has_failed,
    }
}

/// Adds the verdicts on one part to what is known of its policies.
fn merge(
    rulings: &mut [Option<PolicyRuling>],
    policies: &[CustomPolicy],
    part: &Part<'_>,
    verdicts: Vec<Verdict>,
) {
    let source = Quoted::of(part.piece);
    for (at, verdict) in verdicts.into_iter().enumerate() {
        let at = part.from + at;
        let known = &mut rulings[at];
        let says_more = |known: &PolicyRuling| verdict.flagged && !known.flagged;
        if known.as_ref().is_none_or(says_more) {
            *known = Some(PolicyRuling {
                name: policies[at].name.clone(),
                flagged: verdict.flagged,
                reason: source.cut(&verdict.reason, &policies[at].prompt),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(prompt: &str) -> CustomPolicy {
        CustomPolicy {
            name: "p".to_owned(),
            prompt: prompt.to_owned(),
        }
    }

    #[test]
    fn policies_go_several_at_once_within_a_bound() {
        let long = "x".repeat(POLICIES_BYTES - 10);
        let policies = [
            policy("a"),
            policy("b"),
            policy(&long),
            policy(&long),
            policy("c"),
        ];
        let sizes: Vec<_> = batches(&policies).iter().map(|one| one.len()).collect();
        assert_eq!(sizes, [3, 2]);
    }
}
