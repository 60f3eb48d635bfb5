//! Second factors of accounts, sign-ins that wait for a code, and the list of sign-ins.

use crate::accounts::{added, hash, sign_in};
use monitor_store::{
    Account, AccountChange, AuditEntry, AuditFilter, BegunSignIn, EndedSignIns, SecondFactorChange,
    SecretHash, SignIn,
};
use serde_json::json;
use support::bed::{Bed, MORNING_MS};

fn replacing(replaced: Option<&str>, new: Option<&str>) -> AccountChange {
    AccountChange {
        second_factor: Some(SecondFactorChange {
            replaced: replaced.map(str::to_owned),
            new: new.map(str::to_owned),
        }),
        ..AccountChange::default()
    }
}

fn password(new: &str) -> AccountChange {
    AccountChange {
        password: Some(new.to_owned()),
        ..AccountChange::default()
    }
}

fn begun(account: &Account, ends_at_ms: i64) -> BegunSignIn {
    BegunSignIn {
        account: account.id,
        ends_at_ms,
    }
}

pub(crate) async fn one_is_replaced_only_where_it_is_still_there(bed: &Bed) {
    let ann = added(bed, "ann").await;
    let change = |change| bed.store.change_account(ann.id, change, None);
    let now = change(replacing(None, Some("a"))).await.unwrap().unwrap();
    assert_eq!(now.second_factor.as_deref(), Some("a"));
    assert!(change(replacing(None, Some("b"))).await.unwrap().is_none());
    let now = change(password("hash")).await.unwrap().unwrap();
    assert_eq!(now.second_factor.as_deref(), Some("a"), "not named");
    let (one, other) = futures_util::future::join(
        change(replacing(Some("a"), Some("b"))),
        change(replacing(Some("a"), Some("c"))),
    )
    .await;
    let used = [one.unwrap(), other.unwrap()];
    let used: Vec<_> = used.into_iter().flatten().collect();
    assert_eq!(used.len(), 1, "of two uses at once one counts");
    let kept = used[0].second_factor.clone();
    let now = change(replacing(kept.as_deref(), None)).await.unwrap();
    assert_eq!(now.unwrap().second_factor, None);
}

pub(crate) async fn a_begun_sign_in_is_taken_once_in_time_and_for_the_same_password(bed: &Bed) {
    let (ann, store) = (added(bed, "ann").await, &bed.store);
    store
        .change_account(ann.id, password("hash"), None)
        .await
        .unwrap();
    let add = |number, password: Option<&'static str>| {
        store.add_begun_sign_in(hash(number), begun(&ann, 100), password, 50)
    };
    assert!(!add(1, Some("other")).await.unwrap());
    assert!(!add(1, None).await.unwrap());
    assert!(add(1, Some("hash")).await.unwrap());
    assert_eq!(
        store.begun_sign_in(hash(1), 99).await.unwrap(),
        Some(ann.id)
    );
    assert_eq!(store.begun_sign_in(hash(1), 100).await.unwrap(), None);
    assert_eq!(store.begun_sign_in(hash(2), 99).await.unwrap(), None);
    assert!(
        store.sign_in(hash(1)).await.unwrap().is_none(),
        "no sign-in"
    );
    assert!(store.take_begun_sign_in(hash(1)).await.unwrap());
    assert!(!store.take_begun_sign_in(hash(1)).await.unwrap());
    assert!(add(3, Some("hash")).await.unwrap());
    let late = store.add_begun_sign_in(hash(4), begun(&ann, 300), Some("hash"), 200);
    assert!(late.await.unwrap());
    let over = store.begun_sign_in(hash(3), 0).await.unwrap();
    assert_eq!(over, None, "what is over is forgotten");
}

pub(crate) async fn a_new_password_and_disabling_end_begun_sign_ins(bed: &Bed) {
    let (ann, store) = (added(bed, "ann").await, &bed.store);
    let disable = AccountChange {
        disabled_at_ms: Some(Some(1)),
        ..AccountChange::default()
    };
    let mut current: Option<&str> = None;
    for (number, change) in [(1, password("hash")), (2, disable)] {
        let add = |number| store.add_begun_sign_in(hash(number), begun(&ann, 100), current, 0);
        assert!(add(number).await.unwrap());
        let none = AccountChange::default();
        store.change_account(ann.id, none, None).await.unwrap();
        let found = store.begun_sign_in(hash(number), 0).await.unwrap();
        assert_eq!(found, Some(ann.id));
        store.change_account(ann.id, change, None).await.unwrap();
        assert_eq!(store.begun_sign_in(hash(number), 0).await.unwrap(), None);
        current = Some("hash");
    }
    let disabled = store.add_begun_sign_in(hash(3), begun(&ann, 100), Some("hash"), 0);
    assert!(!disabled.await.unwrap());
}

pub(crate) async fn sign_ins_are_listed_with_what_they_noted_and_ended(bed: &Bed) {
    let (ann, store) = (added(bed, "ann").await, &bed.store);
    let bob = added(bed, "bob").await;
    for number in 1..=4_u8 {
        let new = SignIn {
            browser: Some(format!("browser {number}")),
            by_password: number.is_multiple_of(2),
            ..sign_in(&ann, MORNING_MS + i64::from(number))
        };
        store.add_sign_in(hash(number), new, None, 0).await.unwrap();
    }
    let other = sign_in(&bob, MORNING_MS);
    store.add_sign_in(hash(9), other, None, 0).await.unwrap();
    let open = store
        .open_sign_ins(ann.id, MORNING_MS + 2, 2)
        .await
        .unwrap();
    let hashes: Vec<SecretHash> = open.iter().map(|one| one.hash).collect();
    assert_eq!(hashes, [hash(4), hash(3)]);
    let newest = &open[0].sign_in;
    assert_eq!(newest.browser.as_deref(), Some("browser 4"));
    assert_eq!(newest.address.as_deref(), Some("192.0.2.7"));
    assert!(newest.by_password && !open[1].sign_in.by_password);
    let line = || AuditEntry {
        seq: 0,
        at_ms: MORNING_MS,
        actor: "ann".to_owned(),
        token_id: None,
        action: "account.end_sign_ins".to_owned(),
        target: ann.id.0.to_string(),
        application_id: None,
        details: json!({}),
    };
    let end = |ended| store.end_sign_ins(ann.id, ended, Some(line()));
    assert!(!end(EndedSignIns::One(hash(9))).await.unwrap(), "bob's");
    let awaited = store.add_begun_sign_in(hash(5), begun(&ann, 100), None, 0);
    assert!(awaited.await.unwrap());
    assert!(end(EndedSignIns::One(hash(1))).await.unwrap());
    assert!(store.begun_sign_in(hash(5), 0).await.unwrap().is_some());
    assert!(end(EndedSignIns::Others(Some(hash(3)))).await.unwrap());
    assert!(store.begun_sign_in(hash(5), 0).await.unwrap().is_none());
    let left = store.open_sign_ins(ann.id, 0, 9).await.unwrap();
    assert!(left.len() == 1 && left[0].hash == hash(3));
    assert!(end(EndedSignIns::Others(None)).await.unwrap());
    assert!(store.open_sign_ins(ann.id, 0, 9).await.unwrap().is_empty());
    assert!(store.sign_in(hash(9)).await.unwrap().is_some());
    let filter = AuditFilter {
        limit: 9,
        ..AuditFilter::default()
    };
    assert_eq!(store.audit(&filter).await.unwrap().len(), 3);
}
