//! Accounts, one-time links and sign-ins.

use monitor_store::{Account, AccountChange, AccountId, Role, SecretHash, SignIn};
use support::bed::{Bed, MORNING_MS};

pub(crate) fn account(name: &str) -> Account {
    Account {
        id: AccountId(uuid::Uuid::new_v4()),
        name: name.to_owned(),
        role: Role::Analyst,
        application_id: None,
        password: None,
        second_factor: None,
        created_at_ms: MORNING_MS,
        disabled_at_ms: None,
        signed_in_at_ms: None,
    }
}

pub(crate) async fn added(bed: &Bed, name: &str) -> Account {
    let account = account(name);
    assert!(bed.store.add_account(account.clone(), None).await.unwrap());
    account
}

pub(crate) fn hash(number: u8) -> SecretHash {
    SecretHash([number; 32])
}

pub(crate) fn sign_in(account: &Account, seen_at_ms: i64) -> SignIn {
    SignIn {
        account: account.id,
        started_at_ms: MORNING_MS,
        seen_at_ms,
        by_password: true,
        address: Some("192.0.2.7".to_owned()),
        browser: None,
    }
}

pub(crate) async fn an_account_comes_back_by_name_and_identifier(bed: &Bed) {
    let mut whole = account("анна@example.org");
    whole.role = Role::Administrator;
    whole.application_id = Some(bed.application);
    whole.password = Some("$argon2id$x".to_owned());
    whole.second_factor = Some("kind secret 0 hash".to_owned());
    whole.disabled_at_ms = Some(7);
    whole.signed_in_at_ms = Some(8);
    assert!(bed.store.add_account(whole.clone(), None).await.unwrap());
    let again = Account {
        id: AccountId(uuid::Uuid::new_v4()),
        ..whole.clone()
    };
    assert!(
        !bed.store.add_account(again, None).await.unwrap(),
        "the name is taken"
    );
    let named = bed.store.account_named(&whole.name).await.unwrap();
    assert!(named == Some(whole.clone()));
    assert!(bed.store.account(whole.id).await.unwrap() == Some(whole));
    let unknown = AccountId(uuid::Uuid::new_v4());
    assert!(bed.store.account(unknown).await.unwrap().is_none());
    assert!(bed.store.account_named("anna").await.unwrap().is_none());
}

pub(crate) async fn accounts_come_by_name(bed: &Bed) {
    for name in ["c", "a", "_", "b"] {
        added(bed, name).await;
    }
    let names = async |after| {
        let page = bed.store.accounts(after, 2).await.unwrap();
        page.into_iter().map(|a| a.name).collect::<Vec<_>>()
    };
    assert_eq!(names(None).await, ["_", "a"]);
    assert_eq!(names(Some("a")).await, ["b", "c"]);
    assert!(names(Some("c")).await.is_empty());
}

pub(crate) async fn an_account_may_have_every_role(bed: &Bed) {
    for role in Role::ALL {
        let new = Account {
            role,
            ..account(role.as_str())
        };
        assert!(bed.store.add_account(new.clone(), None).await.unwrap());
        assert!(bed.store.account(new.id).await.unwrap() == Some(new));
    }
}

pub(crate) async fn an_accounts_change_leaves_what_it_does_not_name(bed: &Bed) {
    let account = added(bed, "ann").await;
    let change = |change| bed.store.change_account(account.id, change, None);
    let password = AccountChange {
        password: Some("hash".to_owned()),
        signed_in_at_ms: Some(9),
        ..AccountChange::default()
    };
    change(password).await.unwrap();
    let disable = AccountChange {
        role: Some(Role::Developer),
        disabled_at_ms: Some(Some(11)),
        ..AccountChange::default()
    };
    let now = change(disable).await.unwrap().unwrap();
    assert_eq!((now.role, now.disabled_at_ms), (Role::Developer, Some(11)));
    assert_eq!(now.password.as_deref(), Some("hash"));
    let enable = AccountChange {
        disabled_at_ms: Some(None),
        ..AccountChange::default()
    };
    let now = change(enable).await.unwrap().unwrap();
    assert_eq!((now.disabled_at_ms, now.signed_in_at_ms), (None, Some(9)));
    let unknown = AccountId(uuid::Uuid::new_v4());
    let none = bed
        .store
        .change_account(unknown, AccountChange::default(), None);
    assert!(none.await.unwrap().is_none());
}

pub(crate) async fn a_link_is_taken_once_and_in_time(bed: &Bed) {
    let (ann, store) = (added(bed, "ann").await, &bed.store);
    store.add_link(hash(1), ann.id, 100, None).await.unwrap();
    assert_eq!(store.link(hash(1), 99).await.unwrap(), Some(ann.id));
    assert_eq!(store.link(hash(1), 100).await.unwrap(), None);
    assert_eq!(store.take_link(hash(1), 100).await.unwrap(), None);
    let (one, other) =
        futures_util::future::join(store.take_link(hash(1), 99), store.take_link(hash(1), 99))
            .await;
    let taken = [one.unwrap(), other.unwrap()];
    assert_eq!(taken.iter().flatten().collect::<Vec<_>>(), [&ann.id]);
    assert_eq!(store.link(hash(1), 0).await.unwrap(), None);
}

pub(crate) async fn a_password_and_disabling_end_the_links(bed: &Bed) {
    let (ann, store) = (added(bed, "ann").await, &bed.store);
    let password = AccountChange {
        password: Some("hash".to_owned()),
        ..AccountChange::default()
    };
    let disable = AccountChange {
        disabled_at_ms: Some(Some(1)),
        ..AccountChange::default()
    };
    for change in [password, disable] {
        store.add_link(hash(2), ann.id, 100, None).await.unwrap();
        store
            .change_account(ann.id, AccountChange::default(), None)
            .await
            .unwrap();
        assert_eq!(store.link(hash(2), 0).await.unwrap(), Some(ann.id));
        store.change_account(ann.id, change, None).await.unwrap();
        assert_eq!(store.link(hash(2), 0).await.unwrap(), None);
    }
}

pub(crate) async fn a_password_that_was_replaced_begins_no_sign_in(bed: &Bed) {
    let (ann, store) = (added(bed, "ann").await, &bed.store);
    let password = |new: &str, replaced: Option<&str>| AccountChange {
        password: Some(new.to_owned()),
        if_password: replaced.map(str::to_owned),
        ..AccountChange::default()
    };
    let set = |change| store.change_account(ann.id, change, None);
    let enter = |number, hash_of_password| {
        let new = sign_in(&ann, MORNING_MS);
        store.add_sign_in(hash(number), new, hash_of_password, 0)
    };
    assert!(set(password("old", None)).await.unwrap().is_some());
    assert!(enter(1, Some("old")).await.unwrap());
    assert!(set(password("new", Some("old"))).await.unwrap().is_some());
    assert!(!enter(2, Some("old")).await.unwrap());
    assert!(!enter(3, None).await.unwrap());
    assert!(store.sign_in(hash(2)).await.unwrap().is_none());
    assert!(enter(4, Some("new")).await.unwrap());
    assert!(set(password("other", Some("old"))).await.unwrap().is_none());
    assert!(enter(5, Some("new")).await.unwrap(), "nothing was changed");
}

pub(crate) async fn sign_ins_begin_are_seen_and_end(bed: &Bed) {
    let (ann, store) = (added(bed, "ann").await, &bed.store);
    for number in 1..=4 {
        let new = sign_in(&ann, MORNING_MS + i64::from(number));
        store.add_sign_in(hash(number), new, None, 0).await.unwrap();
    }
    let (found, owner) = store.sign_in(hash(1)).await.unwrap().unwrap();
    assert!(owner == ann && found == sign_in(&ann, MORNING_MS + 1));
    store.touch_sign_in(hash(1), MORNING_MS + 50).await.unwrap();
    store.touch_sign_in(hash(1), MORNING_MS + 40).await.unwrap();
    let (found, _) = store.sign_in(hash(1)).await.unwrap().unwrap();
    assert_eq!(found.seen_at_ms, MORNING_MS + 50);
    store.end_sign_in(hash(2)).await.unwrap();
    assert!(store.sign_in(hash(2)).await.unwrap().is_none());
    let late = sign_in(&ann, MORNING_MS + 60);
    store
        .add_sign_in(hash(5), late, None, MORNING_MS + 4)
        .await
        .unwrap();
    assert!(
        store.sign_in(hash(3)).await.unwrap().is_none(),
        "it was stale"
    );
    store
        .end_other_sign_ins(ann.id, Some(hash(5)))
        .await
        .unwrap();
    assert!(store.sign_in(hash(4)).await.unwrap().is_none());
    assert!(store.sign_in(hash(5)).await.unwrap().is_some());
    let disable = AccountChange {
        disabled_at_ms: Some(Some(1)),
        ..AccountChange::default()
    };
    store.change_account(ann.id, disable, None).await.unwrap();
    assert!(store.sign_in(hash(5)).await.unwrap().is_none());
}

pub(crate) async fn an_account_goes_with_its_application(bed: &Bed) {
    let own = bed.add_application("own").await;
    let mut tenant = account("tenant");
    tenant.application_id = Some(own);
    bed.store.add_account(tenant.clone(), None).await.unwrap();
    let new = sign_in(&tenant, MORNING_MS);
    bed.store.add_sign_in(hash(9), new, None, 0).await.unwrap();
    bed.store.remove_application(own, 1, None).await.unwrap();
    assert!(bed.store.account(tenant.id).await.unwrap().is_none());
    assert!(bed.store.sign_in(hash(9)).await.unwrap().is_none());
}
