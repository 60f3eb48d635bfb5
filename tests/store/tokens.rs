//! Tokens (CONTRACT 30): how they are stored. Whether one may be used is tested elsewhere.

use monitor_store::{Scope, Scopes, Token, TokenChange, TokenHash, TokenId, TokenRotation};
use std::time::Instant;
use support::PATIENCE;
use support::bed::{Bed, MORNING_MS, token};

async fn get(bed: &Bed, hash: TokenHash) -> Token {
    bed.store.token(&hash).await.unwrap().expect("it is there")
}

pub(crate) async fn one_comes_back_by_its_hash_only_and_is_not_replaced(bed: &Bed) {
    let store = &bed.store;
    assert!(!store.has_tokens().await.unwrap());
    let mut added = token("имя", Some(bed.application));
    added.scopes = Scopes::of(&[Scope::Read, Scope::Admin]);
    added.expires_at_ms = Some(MORNING_MS + 9);
    let hash = TokenHash([7; 32]);
    store.add_token(hash, added.clone(), None).await.unwrap();
    store
        .add_token(hash, token("later", None), None)
        .await
        .unwrap();
    assert!(store.has_tokens().await.unwrap());
    let back = get(bed, hash).await;
    assert_eq!(
        (back.id, back.name, back.scopes),
        (added.id, added.name, added.scopes)
    );
    assert_eq!(back.application_id, Some(bed.application));
    assert_eq!(
        (back.created_at_ms, back.expires_at_ms),
        (MORNING_MS, Some(MORNING_MS + 9))
    );
    assert_eq!((back.revoked_at_ms, back.last_used_at_ms), (None, None));
    assert!(store.token(&TokenHash([8; 32])).await.unwrap().is_none());
}

pub(crate) async fn a_change_leaves_what_it_does_not_name(bed: &Bed) {
    let (store, hash) = (&bed.store, TokenHash([7; 32]));
    let added = token("one", None);
    store.add_token(hash, added.clone(), None).await.unwrap();
    let expire = TokenChange {
        expires_at_ms: Some(Some(MORNING_MS + 5)),
        ..TokenChange::default()
    };
    let now = store
        .change_token(added.id, expire, None)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (&*now.name, now.expires_at_ms),
        ("one", Some(MORNING_MS + 5))
    );
    let rename = TokenChange {
        name: Some("two".to_owned()),
        ..TokenChange::default()
    };
    let now = store
        .change_token(added.id, rename, None)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (&*now.name, now.expires_at_ms),
        ("two", Some(MORNING_MS + 5))
    );
    let forever = TokenChange {
        expires_at_ms: Some(None),
        ..TokenChange::default()
    };
    store.change_token(added.id, forever, None).await.unwrap();
    let back = get(bed, hash).await;
    assert_eq!(
        (&*back.name, back.expires_at_ms, back.revoked_at_ms),
        ("two", None, None)
    );
    let nobody = TokenId(uuid::Uuid::new_v4());
    let unknown = store
        .change_token(nobody, TokenChange::default(), None)
        .await;
    assert!(unknown.unwrap().is_none());
}

pub(crate) async fn a_revoked_one_stays_so(bed: &Bed) {
    let (store, hash) = (&bed.store, TokenHash([7; 32]));
    let added = token("one", None);
    store.add_token(hash, added.clone(), None).await.unwrap();
    for at in [MORNING_MS, MORNING_MS + 1] {
        let revoke = TokenChange {
            revoked_at_ms: Some(at),
            ..TokenChange::default()
        };
        let now = store
            .change_token(added.id, revoke, None)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(now.revoked_at_ms, Some(MORNING_MS));
    }
    assert!(!get(bed, hash).await.is_valid_at(MORNING_MS + 2));
}

pub(crate) async fn one_that_is_over_has_no_successor_and_none_lives_longer_for_one(bed: &Bed) {
    let store = &bed.store;
    let over = [
        TokenChange {
            revoked_at_ms: Some(MORNING_MS),
            ..TokenChange::default()
        },
        TokenChange {
            expires_at_ms: Some(Some(MORNING_MS)),
            ..TokenChange::default()
        },
    ];
    let soon = TokenChange {
        expires_at_ms: Some(Some(MORNING_MS + 5)),
        ..TokenChange::default()
    };
    let changes = over.map(|change| (change, false)).into_iter();
    for (number, (change, is_valid)) in (0..).zip(changes.chain([(soon, true)])) {
        let old = token("old", None);
        let hash = TokenHash([number; 32]);
        store.add_token(hash, old.clone(), None).await.unwrap();
        store.change_token(old.id, change, None).await.unwrap();
        let next = TokenHash([number + 100; 32]);
        let rotation = TokenRotation {
            old: old.id,
            old_ends_at_ms: MORNING_MS + 9,
            hash: next,
            new: token("new", None),
        };
        let before = get(bed, hash).await;
        assert_eq!(store.rotate_token(rotation, None).await.unwrap(), is_valid);
        let found = store.token(&next).await.unwrap();
        assert_eq!(found.is_some(), is_valid);
        let after = get(bed, hash).await;
        assert_eq!(after.expires_at_ms, before.expires_at_ms);
    }
}

pub(crate) async fn pages_go_from_new_to_old(bed: &Bed) {
    let store = &bed.store;
    for number in 0..8 {
        let bound = (number % 2 == 0).then_some(bed.application);
        let mut added = token(&format!("t{number}"), bound);
        added.created_at_ms = MORNING_MS + i64::from(number) / 3;
        if number == 5 {
            added.revoked_at_ms = Some(1);
            added.expires_at_ms = Some(1);
        }
        store
            .add_token(TokenHash([number; 32]), added, None)
            .await
            .unwrap();
    }
    for (application, expected) in [(None, 8), (Some(bed.application), 4)] {
        let (mut before, mut seen) = (None, Vec::new());
        loop {
            let page = store.tokens(application, before, 3).await.unwrap();
            assert!(page.len() <= 3);
            let Some(last) = page.last() else {
                break;
            };
            before = Some((last.created_at_ms, last.id));
            seen.extend(page.into_iter().map(|one| (one.created_at_ms, one.id)));
        }
        assert_eq!(seen.len(), expected);
        assert!(seen.is_sorted_by(|one, next| (one.0, one.1.0) > (next.0, next.1.0)));
    }
}

pub(crate) async fn a_use_is_noted_and_never_goes_back(bed: &Bed) {
    let (store, hash) = (&bed.store, TokenHash([7; 32]));
    let added = token("one", None);
    store.add_token(hash, added.clone(), None).await.unwrap();
    for at in [MORNING_MS + 60_000, MORNING_MS] {
        store.touch_token(added.id, at);
    }
    let start = Instant::now();
    while get(bed, hash).await.last_used_at_ms != Some(MORNING_MS + 60_000) {
        assert!(start.elapsed() < PATIENCE, "the use is noted");
        tokio::task::yield_now().await;
    }
    store.touch_token(added.id, MORNING_MS + 1);
    // Closing writes what is queued.
    store.close().await;
    let again = bed.database.open().await;
    let back = again.token(&hash).await.unwrap().unwrap();
    assert_eq!(back.last_used_at_ms, Some(MORNING_MS + 60_000));
    again.close().await;
}
