//! What a look at a rule changes: new alerts, open ones that were found again, and those that have ended. Who is told
//! is decided with it, so that the store takes both in one transaction.

use super::channel::Channel;
use super::message::{Facts, Message};
use super::rule::Rule;
use monitor_model::ApplicationId;
use monitor_store::{
    Alert, AlertChanges, AlertDelivery, AlertState, AlertUpdate, DeliveryState, Erasure,
};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use uuid::Uuid;

/// The most groups of a rule that have an alert at a time.
pub(super) const MOST_GROUPS: usize = 100;

/// Something that a rule found.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    /// What of the rule it is about.
    pub(super) group: String,
    pub(super) application: Option<ApplicationId>,
    /// The user it is about, also where no message may say so.
    pub(super) user: Option<String>,
    pub(super) facts: Facts,
}

/// A look at a rule.
pub(super) struct Look<'a> {
    pub(super) rule_id: Uuid,
    pub(super) rule: &'a Rule,
    pub(super) open: &'a [Alert],
    pub(super) channels: &'a HashMap<Uuid, Channel>,
    pub(super) public_url: Option<&'a str>,
    pub(super) now_ms: i64,
}

impl Look<'_> {
    /// Everything that it changes.
    pub(super) fn changes(&self, found: Vec<Finding>) -> AlertChanges {
        let mut changes = AlertChanges {
            now_ms: self.now_ms,
            ..AlertChanges::default()
        };
        let mut open: HashMap<&[u8], &Alert> = HashMap::new();
        open.extend(self.open.iter().map(|alert| (&alert.group_hash[..], alert)));
        let mut room = MOST_GROUPS.saturating_sub(open.len());
        for finding in found {
            let hash = self.group_hash(&finding.group);
            match open.remove(&hash[..]) {
                Some(alert) => self.update(alert, &finding, &mut changes),
                None if room > 0 => {
                    room -= 1;
                    self.raise(hash, finding, &mut changes);
                }
                None => {}
            }
        }
        for alert in open.into_values() {
            self.end(alert, &mut changes);
        }
        changes
    }

    fn group_hash(&self, group: &str) -> Vec<u8> {
        let hash = Sha256::new().chain_update(self.rule_id.as_bytes());
        hash.chain_update(group).finalize().to_vec()
    }

    fn raise(&self, group_hash: Vec<u8>, finding: Finding, changes: &mut AlertChanges) {
        let user = finding.user.as_deref();
        let alert = Alert {
            id: Uuid::new_v4(),
            rule_id: self.rule_id,
            group_hash,
            user_hash: user.map_or(Vec::new(), |user| Erasure::user_hash(user).to_vec()),
            application_id: finding.application,
            facts: finding.facts.document(),
            state: AlertState::Firing,
            updates: 0,
            first_ms: self.now_ms,
            last_ms: self.now_ms,
            notified_ms: self.now_ms,
            muted_until_ms: None,
            resolved_ms: None,
            resolved_by: None,
        };
        self.tell(alert.id, &finding.facts, false, changes);
        changes.raised.push(alert);
    }

    /// The channels are told again after a while, unless the alert is muted or closed.
    fn update(&self, alert: &Alert, finding: &Finding, changes: &mut AlertChanges) {
        let repeat_ms = i64::try_from(self.rule.repeat_after_s.saturating_mul(1_000));
        let repeat_at = alert
            .notified_ms
            .saturating_add(repeat_ms.unwrap_or(i64::MAX));
        let is_told = self.is_heard(alert) && self.now_ms >= repeat_at;
        if is_told {
            self.tell(alert.id, &finding.facts, false, changes);
        }
        changes.updated.push(AlertUpdate {
            id: alert.id,
            facts: finding.facts.document(),
            notified_ms: if is_told {
                self.now_ms
            } else {
                alert.notified_ms
            },
        });
    }

    fn end(&self, alert: &Alert, changes: &mut AlertChanges) {
        if self.rule.send_resolved && self.is_heard(alert) {
            self.tell(alert.id, &Facts::stored(&alert.facts), true, changes);
        }
        changes.ended.push(alert.id);
    }

    fn is_heard(&self, alert: &Alert) -> bool {
        let is_muted = alert
            .muted_until_ms
            .is_some_and(|until| self.now_ms < until);
        alert.state == AlertState::Firing && !is_muted
    }

    fn tell(&self, alert: Uuid, facts: &Facts, is_resolved: bool, changes: &mut AlertChanges) {
        let message = Message::of(facts, is_resolved, self.public_url).document();
        let named = self.rule.channels.iter();
        let named = named.filter_map(|id| Some((*id, self.channels.get(id)?)));
        changes
            .deliveries
            .extend(named.map(|(id, channel)| AlertDelivery {
                id: Uuid::new_v4(),
                alert_id: alert,
                channel_id: id,
                channel_name: channel.name.clone(),
                channel_kind: channel.kind.as_str().to_owned(),
                message: message.clone(),
                state: DeliveryState::Waiting,
                attempts: 0,
                next_ms: self.now_ms,
                created_at_ms: self.now_ms,
                done_ms: None,
                failure: None,
            }));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::super::channel::{ChannelKind, Mail};
    use super::*;
    use monitor_model::Secret;

    const HOUR_MS: i64 = 3_600_000;

    struct World {
        rule: Rule,
        channels: HashMap<Uuid, Channel>,
    }

    impl World {
        fn new() -> Self {
            let id = Uuid::from_u128(1);
            let channel = Channel {
                name: "hook".to_owned(),
                kind: ChannelKind::Webhook,
                url: Secret::new("https://hook.example"),
                secret: Secret::new(""),
                chat: String::new(),
                mail: Mail::default(),
            };
            let rule = Rule {
                name: "r".to_owned(),
                channels: vec![id, Uuid::from_u128(2)],
                repeat_after_s: 3_600,
                ..Rule::default()
            };
            Self {
                rule,
                channels: HashMap::from([(id, channel)]),
            }
        }

        fn look(&self, open: &[Alert], now_ms: i64, groups: &[&str]) -> AlertChanges {
            let look = Look {
                rule_id: Uuid::from_u128(7),
                rule: &self.rule,
                open,
                channels: &self.channels,
                public_url: None,
                now_ms,
            };
            let found = groups.iter().map(|group| Finding {
                group: (*group).to_owned(),
                application: None,
                user: Some((*group).to_owned()),
                facts: Facts::of(&self.rule),
            });
            look.changes(found.collect())
        }
    }

    #[test]
    fn b10_one_alert_of_a_group_is_open_and_told_again_after_a_while() {
        let world = World::new();
        let first = world.look(&[], 1, &["a", "b"]);
        assert_eq!((first.raised.len(), first.deliveries.len()), (2, 2));
        assert_eq!(first.deliveries[0].channel_name, "hook");
        let soon = world.look(&first.raised, HOUR_MS, &["a", "b"]);
        assert_eq!((soon.updated.len(), soon.raised.len()), (2, 0));
        assert!(soon.deliveries.is_empty() && soon.ended.is_empty());
        let later = world.look(&first.raised, HOUR_MS + 1, &["a"]);
        assert_eq!((later.updated.len(), later.ended.len()), (1, 1));
        let states: Vec<_> = later.deliveries.iter().map(|one| &one.message).collect();
        assert!(states[0].contains("\"firing\"") && states[1].contains("\"resolved\""));
    }

    #[test]
    fn b10_a_muted_or_closed_alert_is_not_told() {
        let world = World::new();
        let mut alerts = world.look(&[], 1, &["a", "b"]).raised;
        alerts[0].muted_until_ms = Some(9 * HOUR_MS);
        alerts[1].state = AlertState::Closed;
        assert!(
            world
                .look(&alerts, 3 * HOUR_MS, &["a", "b"])
                .deliveries
                .is_empty()
        );
        let ended = world.look(&alerts, 3 * HOUR_MS, &[]);
        assert_eq!((ended.ended.len(), ended.deliveries.len()), (2, 0));
    }

    #[test]
    fn b10_a_rule_has_a_bounded_number_of_alerts() {
        let world = World::new();
        let groups: Vec<String> = (0..200).map(|at| at.to_string()).collect();
        let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
        assert_eq!(world.look(&[], 1, &groups).raised.len(), MOST_GROUPS);
    }
}
