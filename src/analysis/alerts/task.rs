//! Looks at the rules, by one server at a time, and sends the messages that wait, by every server.

use super::changes::{Finding, Look};
use super::channel::Channel;
use super::send::send;
use super::{Alerts, KnownRule, known_rule};
use crate::analysis::clock::now_ms;
use crate::analysis::error::report;
use crate::observe::{AlertResult, Throttle};
use futures_util::future::join_all;
use monitor_store::{AlertChanges, AlertDelivery, DeliveryEnd, DeliveryState, StoreError};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use uuid::Uuid;

/// Between two looks at the rules.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// After which another server looks at them.
const LEASE_MS: i64 = 60_000;
/// Between two looks at what waits.
const SEND_EVERY: Duration = Duration::from_secs(2);
/// How long a server may take to send what it took.
const SEND_LEASE_MS: i64 = 60_000;
/// Messages that are sent at once.
const AT_ONCE: u32 = 20;
/// Attempts before a message is given up: about an hour.
const MOST_ATTEMPTS: i64 = 12;
/// The first and the longest wait after a failure.
const FIRST_WAIT_MS: i64 = 2_000;
const LONGEST_WAIT_MS: i64 = 1_800_000;
/// After so many looks, about an hour, old alerts are removed.
const FORGET_EVERY: u64 = 240;
/// How long alerts that ended are kept.
const KEPT_MS: i64 = 90 * 86_400_000;

static NOT_SENT: LazyLock<Throttle> = LazyLock::new(|| Throttle::every(Duration::from_secs(60)));

/// The tasks; they end with [`AlertTask::stop`].
#[derive(Default)]
pub(crate) struct AlertTask(Mutex<Vec<JoinHandle<()>>>);

impl AlertTask {
    /// Starts the tasks on the calling runtime.
    pub(crate) fn start(&self, alerts: &Arc<Alerts>) {
        let tasks = [
            tokio::spawn(look_on(alerts.clone())),
            tokio::spawn(send_on(alerts.clone())),
        ];
        self.running().extend(tasks);
    }

    fn running(&self) -> MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the tasks, and lets another server look at the rules.
    pub(crate) async fn stop(&self, alerts: &Alerts) {
        let tasks: Vec<_> = std::mem::take(&mut *self.running());
        if tasks.is_empty() {
            return;
        }
        for task in tasks {
            task.abort();
            // Its only outcome is that it was aborted.
            let _ = task.await;
        }
        let now_ms = now_ms();
        // Otherwise the lease ends by itself.
        let given_back = alerts.store.lease_alerts(alerts.server, now_ms, now_ms);
        let _ = timeout(Duration::from_secs(1), given_back).await;
    }
}

async fn look_on(alerts: Arc<Alerts>) {
    for look in 0_u64.. {
        if let Err(error) = alerts.look().await {
            report(&error);
        }
        if look.is_multiple_of(FORGET_EVERY)
            && let Err(error) = alerts.store.forget_alerts(now_ms() - KEPT_MS).await
        {
            report(&error);
        }
        // A change of the rules ends the wait early.
        let _ = timeout(LOOK_EVERY, alerts.changed.notified()).await;
    }
}

async fn send_on(alerts: Arc<Alerts>) {
    loop {
        match alerts.send_due().await {
            Ok(sent) if sent > 0 => continue,
            Ok(_) => {}
            Err(error) => report(&error),
        }
        let _ = timeout(SEND_EVERY, alerts.due.notified()).await;
    }
}

impl Alerts {
    /// Looks at every rule, if no other server does.
    async fn look(&self) -> Result<(), StoreError> {
        let firing = self.store.firing_rules().await?;
        let stored = self.store.alert_rules().await?;
        let of_file = self.file_rules();
        if stored.is_empty() && of_file.is_empty() && firing.is_empty() {
            return Ok(());
        }
        let now_ms = now_ms();
        let leased = self
            .store
            .lease_alerts(self.server, now_ms, now_ms + LEASE_MS);
        if !leased.await? {
            return Ok(());
        }
        let channels = self.channel_map().await?;
        let mut failure = Ok(());
        let is_there = |id: &Uuid| {
            let mut ids = stored.iter().map(|rule| rule.id);
            ids.any(|one| one == *id) || of_file.iter().any(|rule| rule.id == *id)
        };
        for id in firing.into_iter().filter(|id| !is_there(id)) {
            if let Err(error) = self.end_alerts(id).await {
                failure = Err(error);
            }
        }
        let known = stored.iter().filter_map(known_rule);
        for known in known.chain(of_file.iter().cloned()) {
            // A rule that cannot be looked at keeps no other from it.
            if let Err(error) = self.look_at(&known, &channels).await {
                failure = Err(error);
            }
        }
        failure
    }

    /// Ends the alerts of a rule that is gone: from the configuration file, with its application or its user, or while a
    /// server looked at it.
    async fn end_alerts(&self, rule: Uuid) -> Result<(), StoreError> {
        let open = self.store.open_alerts(rule).await?;
        let changes = AlertChanges {
            now_ms: now_ms(),
            ended: open.into_iter().map(|alert| alert.id).collect(),
            ..AlertChanges::default()
        };
        self.store.write_alerts(changes).await
    }

    async fn look_at(
        &self,
        known: &KnownRule,
        channels: &HashMap<Uuid, Channel>,
    ) -> Result<(), StoreError> {
        let now_ms = now_ms();
        let open = self.store.open_alerts(known.id).await?;
        let mut found = match known.rule.is_enabled {
            true => self.evaluator.look(&known.rule, now_ms).await?,
            false => Vec::new(),
        };
        self.name_applications(&mut found).await?;
        let look = Look {
            rule_id: known.id,
            rule: &known.rule,
            open: &open,
            channels,
            public_url: self.public_url.as_deref(),
            now_ms,
        };
        let changes = look.changes(found);
        let is_told = !changes.deliveries.is_empty();
        let is_empty = open.is_empty() && changes.raised.is_empty();
        if !is_empty {
            self.store.write_alerts(changes).await?;
        }
        if is_told {
            self.due.notify_one();
        }
        Ok(())
    }

    async fn name_applications(&self, found: &mut [Finding]) -> Result<(), StoreError> {
        let ids: HashSet<_> = found.iter().filter_map(|one| one.application).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let ids: Vec<_> = ids.into_iter().collect();
        let names = self.applications.application_names(&ids).await?;
        let names: HashMap<_, _> = names.into_iter().collect();
        for one in found {
            let name = one.application.and_then(|id| names.get(&id));
            one.facts.application = name.cloned();
        }
        Ok(())
    }

    /// Sends messages that wait, and says how many it tried.
    async fn send_due(&self) -> Result<usize, StoreError> {
        let now_ms = now_ms();
        let claimed = self
            .store
            .claim_deliveries(now_ms, now_ms + SEND_LEASE_MS, AT_ONCE);
        let claimed = claimed.await?;
        if claimed.is_empty() {
            return Ok(0);
        }
        let channels = self.channel_map().await?;
        let mut attempts = Vec::with_capacity(claimed.len());
        for delivery in &claimed {
            attempts.push(self.attempt(delivery, channels.get(&delivery.channel_id)));
        }
        let ends = join_all(attempts).await;
        let count = ends.len();
        self.store.end_deliveries(ends).await?;
        Ok(count)
    }

    async fn attempt(&self, delivery: &AlertDelivery, channel: Option<&Channel>) -> DeliveryEnd {
        let sent = match channel {
            Some(channel) => send(channel, delivery, &self.settings.load_full()).await,
            None => Err("the channel was removed".to_owned()),
        };
        self.ended(delivery, sent)
    }

    fn ended(&self, delivery: &AlertDelivery, sent: Result<(), String>) -> DeliveryEnd {
        let now_ms = now_ms();
        let is_last = delivery.attempts >= MOST_ATTEMPTS;
        let (state, result) = match &sent {
            Ok(()) => (DeliveryState::Sent, AlertResult::Sent),
            Err(_) if is_last => (DeliveryState::Dead, AlertResult::Dead),
            Err(_) => (DeliveryState::Waiting, AlertResult::Failed),
        };
        if let Some(metrics) = &self.metrics {
            metrics.alerts.delivered(&delivery.channel_kind, result);
        }
        if let Err(reason) = &sent
            && let Some(times) = NOT_SENT.pass()
        {
            log::warn!(
                "an alert was not sent to a channel of kind {} ({times} times since the last message): {reason}",
                delivery.channel_kind
            );
        }
        DeliveryEnd {
            id: delivery.id,
            state,
            next_ms: now_ms + wait_ms(delivery.attempts),
            done_ms: (state != DeliveryState::Waiting).then_some(now_ms),
            failure: sent.err(),
        }
    }
}

/// The wait after so many attempts.
fn wait_ms(attempts: i64) -> i64 {
    let doublings = u32::try_from(attempts.clamp(1, 20) - 1).unwrap_or(0);
    (FIRST_WAIT_MS << doublings).min(LONGEST_WAIT_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b10_waits_double_up_to_half_an_hour() {
        let waits = [0, 1, 2, 3, 11, 100].map(wait_ms);
        assert_eq!(
            waits,
            [2_000, 2_000, 4_000, 8_000, LONGEST_WAIT_MS, LONGEST_WAIT_MS]
        );
    }
}
