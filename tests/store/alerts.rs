//! Alerts (UI.md B10): rules and channels, one open alert of a group, messages that wait, and what an erasure removes.

use monitor_store::{
    Alert, AlertChange, AlertChanges, AlertChannel, AlertDelivery, AlertRule, AlertState,
    AlertUpdate, AuditEntry, AuditFilter, DeliveryEnd, DeliveryState, Erasure, NewRecord,
    RecordFilter,
};
use serde_json::json;
use support::bed::{Bed, MORNING_MS};
use uuid::Uuid;

const RULE: Uuid = Uuid::from_u128(7);

fn line(action: &str) -> AuditEntry {
    AuditEntry {
        seq: 0,
        at_ms: MORNING_MS,
        actor: "ann".to_owned(),
        token_id: None,
        action: action.to_owned(),
        target: "x".to_owned(),
        application_id: None,
        details: json!({}),
    }
}

async fn lines(bed: &Bed, action: &str) -> usize {
    let filter = AuditFilter {
        action: Some(action.to_owned()),
        limit: 100,
        ..AuditFilter::default()
    };
    bed.store.audit(&filter).await.unwrap().len()
}

fn alert(bed: &Bed, number: u128, user: Option<&str>) -> Alert {
    Alert {
        id: Uuid::from_u128(number),
        rule_id: RULE,
        group_hash: number.to_be_bytes().to_vec(),
        user_hash: user.map_or(Vec::new(), |user| Erasure::user_hash(user).to_vec()),
        application_id: Some(bed.application),
        facts: json!({"rule": "r\0"}).to_string(),
        state: AlertState::Firing,
        updates: 0,
        first_ms: MORNING_MS + number as i64,
        last_ms: MORNING_MS,
        notified_ms: MORNING_MS,
        muted_until_ms: None,
        resolved_ms: None,
        resolved_by: None,
    }
}

fn delivery(alert: u128, number: u128) -> AlertDelivery {
    AlertDelivery {
        id: Uuid::from_u128(number),
        alert_id: Uuid::from_u128(alert),
        channel_id: Uuid::from_u128(3),
        channel_name: "hook".to_owned(),
        channel_kind: "webhook".to_owned(),
        message: "{}".to_owned(),
        state: DeliveryState::Waiting,
        attempts: 0,
        next_ms: MORNING_MS,
        created_at_ms: MORNING_MS,
        done_ms: None,
        failure: None,
    }
}

async fn raise(bed: &Bed, raised: Vec<Alert>, deliveries: Vec<AlertDelivery>) -> bool {
    let changes = AlertChanges {
        now_ms: MORNING_MS,
        raised,
        deliveries,
        ..AlertChanges::default()
    };
    bed.store.write_alerts(changes).await.is_ok()
}

fn ids<'a>(alerts: impl IntoIterator<Item = &'a Alert>) -> Vec<u128> {
    alerts.into_iter().map(|one| one.id.as_u128()).collect()
}

pub(crate) async fn rules_and_channels_come_back_and_are_replaced_and_removed(bed: &Bed) {
    let mut rule = AlertRule {
        id: RULE,
        application_id: Some(bed.application),
        user_hash: Vec::new(),
        document: "{\"name\":\"a\"}".to_owned(),
        created_at_ms: MORNING_MS,
    };
    let mut channel = AlertChannel {
        id: Uuid::from_u128(3),
        document: "{\"secret\":\"s\"}".to_owned(),
        created_at_ms: MORNING_MS,
    };
    for text in ["{\"v\":1}", "{\"v\":2}"] {
        rule.document = text.to_owned();
        channel.document = text.to_owned();
        let put = bed.store.put_alert_rule(rule.clone(), line("rule"));
        put.await.unwrap();
        let put = bed
            .store
            .put_alert_channel(channel.clone(), line("channel"));
        put.await.unwrap();
        assert_eq!(bed.store.alert_rules().await.unwrap(), [rule.clone()]);
        assert!(bed.store.alert_channels().await.unwrap() == [channel.clone()]);
    }
    assert!(raise(bed, vec![alert(bed, 1, None)], Vec::new()).await);
    let remove = bed
        .store
        .remove_alert_rule(RULE, MORNING_MS + 5, line("rule"));
    remove.await.unwrap();
    let remove = bed.store.remove_alert_channel(channel.id, line("channel"));
    remove.await.unwrap();
    assert!(bed.store.alert_rules().await.unwrap().is_empty());
    assert!(bed.store.alert_channels().await.unwrap().is_empty());
    let ended = &bed.store.alerts(None, 10).await.unwrap()[0];
    assert_eq!(ended.state, AlertState::Ended, "an alert outlives its rule");
    assert_eq!(ended.resolved_ms, Some(MORNING_MS + 5));
    assert_eq!(
        (lines(bed, "rule").await, lines(bed, "channel").await),
        (3, 3)
    );
}

pub(crate) async fn of_one_group_one_alert_is_open_and_a_look_is_whole_or_nothing(bed: &Bed) {
    let first = alert(bed, 1, None);
    assert!(raise(bed, vec![first.clone()], vec![delivery(1, 11)]).await);
    assert_eq!(
        bed.store.alerts(None, 10).await.unwrap(),
        std::slice::from_ref(&first)
    );
    let same_group = Alert {
        id: Uuid::from_u128(2),
        ..first.clone()
    };
    let other = alert(bed, 3, None);
    assert!(!raise(bed, vec![other, same_group.clone()], vec![delivery(2, 12)]).await);
    assert_eq!(ids(&bed.store.open_alerts(RULE).await.unwrap()), [1]);
    let changes = AlertChanges {
        now_ms: MORNING_MS + 9,
        updated: vec![AlertUpdate {
            id: first.id,
            facts: "{}".to_owned(),
            notified_ms: MORNING_MS + 8,
        }],
        ..AlertChanges::default()
    };
    bed.store.write_alerts(changes).await.unwrap();
    let open = bed.store.open_alerts(RULE).await.unwrap();
    let times = (open[0].updates, open[0].last_ms, open[0].notified_ms);
    assert_eq!(times, (1, MORNING_MS + 9, MORNING_MS + 8));
    let ended = AlertChanges {
        ended: vec![first.id],
        ..AlertChanges::default()
    };
    bed.store.write_alerts(ended).await.unwrap();
    assert!(
        raise(bed, vec![same_group], Vec::new()).await,
        "it fires anew"
    );
    let page = bed.store.alerts(None, 1).await.unwrap();
    let next = bed.store.alerts(Some((page[0].first_ms, page[0].id)), 5);
    let all = [ids(&page), ids(&next.await.unwrap())].concat();
    assert_eq!(all, [2, 1], "also between equal times");
}

pub(crate) async fn an_alert_is_closed_once_and_muted_while_it_fires(bed: &Bed) {
    assert!(raise(bed, vec![alert(bed, 1, None)], Vec::new()).await);
    let id = Uuid::from_u128(1);
    let mute = AlertChange::Mute(Some(MORNING_MS + 7));
    assert!(
        bed.store
            .change_alert(id, mute, line("mute"))
            .await
            .unwrap()
    );
    let close = || AlertChange::Close {
        by: "ann".to_owned(),
        at_ms: MORNING_MS + 1,
    };
    for is_first in [true, false] {
        let closed = bed.store.change_alert(id, close(), line("close"));
        assert_eq!(closed.await.unwrap(), is_first);
    }
    let open = &bed.store.open_alerts(RULE).await.unwrap()[0];
    assert_eq!(open.state, AlertState::Closed);
    assert_eq!(open.muted_until_ms, Some(MORNING_MS + 7));
    assert_eq!(open.resolved_by.as_deref(), Some("ann"));
    assert_eq!(
        (lines(bed, "mute").await, lines(bed, "close").await),
        (1, 1)
    );
}

pub(crate) async fn a_message_is_taken_by_one_server_until_its_lease_ends(bed: &Bed) {
    let other = bed.database.open().await;
    let waiting = vec![delivery(1, 11), delivery(1, 12)];
    assert!(raise(bed, vec![alert(bed, 1, None)], waiting).await);
    let (now, until) = (MORNING_MS, MORNING_MS + 60);
    let first = bed.store.claim_deliveries(now, until, 1).await.unwrap();
    let second = other.claim_deliveries(now, until, 5).await.unwrap();
    assert_eq!((first.len(), second.len()), (1, 1));
    assert_ne!(first[0].id, second[0].id);
    assert_eq!(first[0].attempts, 1);
    assert!(
        other
            .claim_deliveries(now, until, 5)
            .await
            .unwrap()
            .is_empty()
    );
    let end = |taken: &AlertDelivery, state, failure: Option<&str>| DeliveryEnd {
        id: taken.id,
        state,
        next_ms: until,
        done_ms: Some(now),
        failure: failure.map(str::to_owned),
    };
    let ends = vec![
        end(&first[0], DeliveryState::Sent, None),
        end(&second[0], DeliveryState::Dead, Some("status 403")),
    ];
    bed.store.end_deliveries(ends).await.unwrap();
    let told = bed
        .store
        .alert_deliveries(Uuid::from_u128(1))
        .await
        .unwrap();
    assert_eq!(told.len(), 2);
    let dead = told.iter().find(|one| one.id == second[0].id).unwrap();
    assert_eq!(dead.failure.as_deref(), Some("status 403"));
    assert!(
        other
            .claim_deliveries(until, until, 5)
            .await
            .unwrap()
            .is_empty()
    );
    for is_dead in [true, false] {
        let again = bed.store.retry_delivery(dead.id, until, line("again"));
        assert_eq!(again.await.unwrap(), is_dead);
    }
    let again = other.claim_deliveries(until, until + 60, 5).await.unwrap();
    assert_eq!(again[0].id, dead.id);
    // Its server went away: another one gets it once the lease has ended.
    let late = bed.store.claim_deliveries(until + 60, until + 90, 5);
    assert_eq!(late.await.unwrap()[0].attempts, 2);
    assert_eq!(lines(bed, "again").await, 1);
}

pub(crate) async fn one_server_looks_at_the_rules_at_a_time(bed: &Bed) {
    let [one, two] = [1, 2].map(Uuid::from_u128);
    let other = bed.database.open().await;
    assert!(bed.store.lease_alerts(one, 100, 200).await.unwrap());
    assert!(!other.lease_alerts(two, 150, 250).await.unwrap());
    assert!(bed.store.lease_alerts(one, 150, 250).await.unwrap());
    assert!(other.lease_alerts(two, 250, 350).await.unwrap());
    assert!(!bed.store.lease_alerts(one, 300, 400).await.unwrap());
}

pub(crate) async fn what_names_an_erased_user_goes_and_old_alerts_too(bed: &Bed) {
    let alerts = vec![
        alert(bed, 1, Some("anna\0")),
        alert(bed, 2, Some("berta")),
        alert(bed, 3, None),
    ];
    assert!(raise(bed, alerts, vec![delivery(1, 11), delivery(2, 12)]).await);
    let rule = AlertRule {
        id: RULE,
        application_id: None,
        user_hash: Erasure::user_hash("anna\0").to_vec(),
        document: "{}".to_owned(),
        created_at_ms: MORNING_MS,
    };
    let put = bed.store.put_alert_rule(rule.clone(), line("rule"));
    put.await.unwrap();
    let erasure = Erasure {
        id: Uuid::new_v4(),
        user_id: "anna\0".to_owned(),
        application_id: None,
        at_ms: MORNING_MS,
    };
    bed.store.add_tombstone(&erasure, None).await.unwrap();
    bed.store.erase_step(&erasure).await.unwrap();
    // A server looked at the records before, and writes now.
    let late = vec![alert(bed, 5, Some("anna\0"))];
    assert!(raise(bed, late, vec![delivery(5, 15)]).await);
    assert_eq!(ids(&bed.store.alerts(None, 10).await.unwrap()), [3, 2]);
    let gone = bed.store.alert_deliveries(Uuid::from_u128(1)).await;
    assert!(gone.unwrap().is_empty());
    assert!(bed.store.alert_rules().await.unwrap().is_empty());
    let ended = AlertChanges {
        now_ms: MORNING_MS,
        ended: vec![Uuid::from_u128(2)],
        ..AlertChanges::default()
    };
    bed.store.write_alerts(ended).await.unwrap();
    let other = AlertRule {
        user_hash: Vec::new(),
        ..rule
    };
    let put = bed.store.put_alert_rule(other, line("rule"));
    put.await.unwrap();
    let without_rule = Alert {
        rule_id: Uuid::from_u128(8),
        ..alert(bed, 4, None)
    };
    assert!(raise(bed, vec![without_rule], Vec::new()).await);
    bed.store.forget_alerts(MORNING_MS + 10).await.unwrap();
    assert_eq!(
        ids(&bed.store.alerts(None, 10).await.unwrap()),
        [3],
        "it fires, and has a rule"
    );
}

pub(crate) async fn alerts_go_with_their_application_and_owners_of_records_are_counted(bed: &Bed) {
    for user in [Some("anna"), Some("anna"), None] {
        let record = NewRecord {
            user_id: user.map(str::to_owned),
            ..bed.record()
        };
        bed.keep(record).await;
    }
    let filter = RecordFilter {
        from_ms: Some(MORNING_MS),
        limit: 2,
        ..RecordFilter::default()
    };
    let owner = |user: Option<&str>| (user.map(str::to_owned), bed.application);
    let owners = bed.store.record_owners(&filter).await.unwrap();
    assert_eq!(owners, [owner(None), owner(Some("anna"))]);
    assert!(raise(bed, vec![alert(bed, 1, None)], vec![delivery(1, 11)]).await);
    let removed = bed.store.remove_application(bed.application, 1, None).await;
    removed.unwrap();
    assert!(bed.store.alerts(None, 10).await.unwrap().is_empty());
    assert!(bed.store.record_owners(&filter).await.unwrap().is_empty());
}
