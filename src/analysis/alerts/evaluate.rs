//! What a rule finds now. Every look reads a bounded number of records by an index, or sums; a share compares whole
//! hours of both sides. `budgets` looks at those.

use super::changes::{Finding, MOST_GROUPS};
use super::message::{Facts, records_path};
use super::rule::{HIGHEST_COUNT, Rule, RuleKind};
use crate::analysis::budgets::BudgetBoard;
use crate::analysis::clock::day_of;
use crate::analysis::rules::file_policies::FilePolicies;
use monitor_model::ApplicationId;
use monitor_store::{
    AlertStore, ApplicationStore, GatewayReportStore, HourTraffic, RecordFilter, RecordStore,
    RecordSummary, StatisticsStore, StoreError, VerdictFilter,
};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

const HOUR_MS: i64 = 3_600_000;
/// How long something has not been seen that counts as new.
const FIRST_TIME_MS: i64 = 30 * 24 * HOUR_MS;
/// Records of the last hour in which a look searches for what is new.
const NEWEST: u32 = 1_000;
/// Gateways that are read.
const MOST_GATEWAYS: u32 = 1_000;
/// A gateway that said nothing for so long is forgotten.
const FORGOTTEN_MS: i64 = 7 * 24 * HOUR_MS;
/// What is known not to be new.
const MOST_KNOWN: usize = 20_000;

/// An application, and a user or a type in it.
type Pair = (ApplicationId, String);

/// Where budgets are, and what was counted of them.
pub(crate) struct BudgetSources {
    pub(crate) board: Arc<BudgetBoard>,
    pub(crate) file_policies: Arc<FilePolicies>,
}

/// Reads what rules ask for.
pub(super) struct Evaluator {
    pub(super) alerts: Arc<dyn AlertStore>,
    pub(super) records: Arc<dyn RecordStore>,
    pub(super) statistics: Arc<dyn StatisticsStore>,
    pub(super) reports: Arc<dyn GatewayReportStore>,
    pub(super) applications: Arc<dyn ApplicationStore>,
    pub(super) budgets: BudgetSources,
    pub(super) known: Mutex<Known>,
}

/// Users and types, told apart by the flag, that are not new. It holds for a day: then they may be new again.
#[derive(Default)]
pub(super) struct Known {
    day: i64,
    pairs: HashSet<(bool, Pair)>,
}

impl Evaluator {
    /// Everything that the rule finds; the names of applications are left to the caller.
    pub(super) async fn look(&self, rule: &Rule, now_ms: i64) -> Result<Vec<Finding>, StoreError> {
        match rule.kind {
            RuleKind::Count => self.count(rule, now_ms).await,
            RuleKind::Share => self.share(rule, now_ms).await,
            RuleKind::FirstTime => self.first_time(rule, now_ms).await,
            RuleKind::GatewaySilent => self.silent(rule, now_ms).await,
            RuleKind::Budget => self.budgets(rule).await,
        }
    }

    async fn count(&self, rule: &Rule, now_ms: i64) -> Result<Vec<Finding>, StoreError> {
        let filter = RecordFilter {
            application_id: rule.application_id,
            user_id: rule.user_id.clone(),
            kind: rule.r#type.clone(),
            verdict: rule.verdict(),
            from_ms: Some(from_ms(rule, now_ms)),
            limit: HIGHEST_COUNT as u32,
            ..RecordFilter::default()
        };
        let owners = self.alerts.record_owners(&filter).await?;
        let mut groups: BTreeMap<(Option<ApplicationId>, Option<String>), u64> = BTreeMap::new();
        for (user, application) in owners {
            let group = match (rule.per_user, user) {
                (false, _) => (rule.application_id, None),
                (true, Some(user)) => (Some(application), Some(user)),
                (true, None) => continue,
            };
            *groups.entry(group).or_default() += 1;
        }
        let reached = groups
            .into_iter()
            .filter(|(_, count)| *count >= rule.threshold);
        let mut reached: Vec<_> = reached.collect();
        reached.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        reached.truncate(MOST_GROUPS);
        let found = reached.into_iter().map(|((application, user), count)| {
            let user = user.or_else(|| rule.user_id.clone());
            Found {
                application,
                user,
                count,
                ..Found::default()
            }
            .of(rule, now_ms)
        });
        Ok(found.collect())
    }

    /// Of the last whole hours, so that messages and finds are those of the same time.
    async fn share(&self, rule: &Rule, now_ms: i64) -> Result<Vec<Finding>, StoreError> {
        let (now, length) = (now_ms.div_euclid(HOUR_MS), window_ms(rule) / HOUR_MS);
        let hours = (now - length, now - 1);
        let traffic = self.statistics.traffic(rule.application_id, hours).await?;
        let total: u64 = traffic.iter().map(|hour| hour.prompts + hour.answers).sum();
        let count: u64 = traffic.iter().map(|hour| summed(rule, hour)).sum();
        let is_reached = u128::from(count) * 100 >= u128::from(total) * u128::from(rule.threshold);
        if total < rule.minimum || !is_reached {
            return Ok(Vec::new());
        }
        let found = Found {
            application: rule.application_id,
            count,
            total,
            ..Found::default()
        };
        Ok(vec![found.of(rule, now_ms)])
    }

    async fn first_time(&self, rule: &Rule, now_ms: i64) -> Result<Vec<Finding>, StoreError> {
        let filter = RecordFilter {
            application_id: rule.application_id,
            user_id: rule.user_id.clone(),
            verdict: (!rule.per_user).then_some(VerdictFilter::Dataclean),
            from_ms: Some(from_ms(rule, now_ms)),
            limit: NEWEST,
            ..RecordFilter::default()
        };
        let page = self.records.page(&filter).await?;
        let mut earliest: BTreeMap<Pair, i64> = BTreeMap::new();
        for record in &page.records {
            for name in names(rule, record) {
                let at = earliest.entry((record.application_id, name));
                let at = at.or_insert(record.created_at_ms);
                *at = record.created_at_ms.min(*at);
            }
        }
        self.begin_day(day_of(now_ms));
        earliest.retain(|pair, _| !self.is_known(rule, pair));
        let mut found = Vec::new();
        for (pair, at_ms) in earliest.into_iter().take(MOST_GROUPS) {
            if self.was_seen(rule, &pair, at_ms).await? {
                self.note_known(rule, pair);
                continue;
            }
            let (application, name) = pair;
            let (user, r#type) = match rule.per_user {
                true => (Some(name), None),
                false => (None, Some(name)),
            };
            let one = Found {
                application: Some(application),
                user,
                r#type,
                count: 1,
                ..Found::default()
            };
            found.push(one.of(rule, now_ms));
        }
        Ok(found)
    }

    /// Whether there is a record of it in the 30 days before.
    async fn was_seen(&self, rule: &Rule, pair: &Pair, at_ms: i64) -> Result<bool, StoreError> {
        let (application, name) = pair;
        let filter = RecordFilter {
            application_id: Some(*application),
            user_id: rule.per_user.then(|| name.clone()),
            kind: (!rule.per_user).then(|| name.clone()),
            from_ms: Some(at_ms - FIRST_TIME_MS),
            to_ms: Some(at_ms),
            limit: 1,
            ..RecordFilter::default()
        };
        Ok(!self.records.page(&filter).await?.records.is_empty())
    }

    fn begin_day(&self, day: i64) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.day != day || known.pairs.len() >= MOST_KNOWN {
            known.day = day;
            known.pairs.clear();
        }
    }

    fn is_known(&self, rule: &Rule, pair: &Pair) -> bool {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.pairs.contains(&(rule.per_user, pair.clone()))
    }

    fn note_known(&self, rule: &Rule, pair: Pair) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.pairs.insert((rule.per_user, pair));
    }

    async fn silent(&self, rule: &Rule, now_ms: i64) -> Result<Vec<Finding>, StoreError> {
        let reports = self.reports.gateway_reports(MOST_GATEWAYS).await?;
        let silent = (now_ms - FORGOTTEN_MS)..from_ms(rule, now_ms);
        let silent = reports.iter().filter(|one| silent.contains(&one.at_ms));
        let found = silent.take(MOST_GROUPS).map(|one| {
            let gateway = one.report.gateway;
            Finding {
                group: gateway.to_string(),
                application: None,
                user: None,
                facts: Facts {
                    gateway: Some(gateway),
                    count: 1,
                    ..Facts::of(rule)
                },
            }
        });
        Ok(found.collect())
    }
}

/// What was found, before it is put in words.
#[derive(Default)]
struct Found {
    application: Option<ApplicationId>,
    user: Option<String>,
    r#type: Option<String>,
    count: u64,
    total: u64,
}

impl Found {
    fn of(self, rule: &Rule, now_ms: i64) -> Finding {
        let shown = self.user.clone().filter(|_| rule.include_user);
        let kind = self.r#type.clone().or_else(|| rule.r#type.clone());
        let named = [("user_id", shown.as_deref()), ("type", kind.as_deref())];
        let from_ms = from_ms(rule, now_ms);
        let records = records_path(rule, self.application, named, from_ms);
        let application = self.application.map(|id| id.to_string());
        let parts = [application, self.user.clone(), self.r#type];
        let parts = parts.map(Option::unwrap_or_default);
        Finding {
            group: parts.join("\0"),
            application: self.application,
            user: self.user,
            facts: Facts {
                user: shown,
                r#type: kind,
                count: self.count,
                total: self.total,
                records: Some(records),
                ..Facts::of(rule)
            },
        }
    }
}

fn window_ms(rule: &Rule) -> i64 {
    i64::try_from(rule.window_s.saturating_mul(1_000)).unwrap_or(i64::MAX)
}

fn from_ms(rule: &Rule, now_ms: i64) -> i64 {
    now_ms.saturating_sub(window_ms(rule))
}

/// What of a record may be new.
fn names(rule: &Rule, record: &RecordSummary) -> Vec<String> {
    match rule.per_user {
        true => record.user_id.clone().into_iter().collect(),
        false => record.types.iter().map(|one| one.kind.clone()).collect(),
    }
}

fn summed(rule: &Rule, hour: &HourTraffic) -> u64 {
    match rule.verdict() {
        Some(VerdictFilter::Blocked) => hour.blocked,
        Some(VerdictFilter::Unchecked) => hour.unchecked,
        Some(VerdictFilter::Guardrails) => hour.flagged_guardrails,
        Some(VerdictFilter::CustomPolicy) => hour.flagged_custom_policy,
        Some(VerdictFilter::Dataclean) => hour.flagged_dataclean,
        Some(VerdictFilter::Failed) => hour.failed,
        Some(VerdictFilter::Flagged | VerdictFilter::Clean) | None => 0,
    }
}
