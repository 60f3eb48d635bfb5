//! Saved filters, and the identities that identity providers give accounts.

use crate::accounts::{account, added};
use monitor_store::{Account, FilterId, Identity, SavedFilter};
use support::bed::{Bed, MORNING_MS};

fn filter(owner: &Account, name: &str, is_shared: bool) -> SavedFilter {
    SavedFilter {
        id: FilterId(uuid::Uuid::new_v4()),
        owner: owner.id,
        name: name.to_owned(),
        query: format!("text={name}"),
        is_shared,
        created_at_ms: MORNING_MS,
    }
}

async fn seen(bed: &Bed, viewer: &Account) -> Vec<(String, String)> {
    let tenant = viewer.application_id;
    let all = bed.store.saved_filters(viewer.id, tenant).await.unwrap();
    all.into_iter()
        .map(|seen| (seen.filter.name, seen.owner_name))
        .collect()
}

pub(crate) async fn a_shared_filter_is_seen_by_its_owners_tenant_alone(bed: &Bed) {
    let (ann, bob) = (added(bed, "ann").await, added(bed, "bob").await);
    let mut tenants = Vec::new();
    for name in ["carl", "dora"] {
        let mut tenant = account(name);
        tenant.application_id = Some(bed.application);
        assert!(bed.store.add_account(tenant.clone(), None).await.unwrap());
        tenants.push(tenant);
    }
    for kept in [
        filter(&ann, "b own", false),
        filter(&ann, "a shared", true),
        filter(&tenants[0], "c tenants", true),
    ] {
        bed.store.keep_filter(kept).await.unwrap();
    }
    let own = |name: &str, owner: &str| (name.to_owned(), owner.to_owned());
    assert_eq!(
        seen(bed, &ann).await,
        [own("a shared", "ann"), own("b own", "ann")]
    );
    assert_eq!(seen(bed, &bob).await, [own("a shared", "ann")]);
    for tenant in &tenants {
        assert_eq!(seen(bed, tenant).await, [own("c tenants", "carl")]);
    }
}

pub(crate) async fn a_filter_of_the_same_name_is_replaced_and_one_is_removed(bed: &Bed) {
    let ann = added(bed, "ann").await;
    let first = filter(&ann, "mine", false);
    bed.store.keep_filter(first.clone()).await.unwrap();
    let second = SavedFilter {
        query: "verdict=blocked".to_owned(),
        is_shared: true,
        ..filter(&ann, "mine", false)
    };
    bed.store.keep_filter(second).await.unwrap();
    let all = bed.store.saved_filters(ann.id, None).await.unwrap();
    let expected = SavedFilter {
        query: "verdict=blocked".to_owned(),
        is_shared: true,
        ..first.clone()
    };
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].filter, expected);
    bed.store.remove_filter(first.id).await.unwrap();
    bed.store.remove_filter(first.id).await.unwrap();
    assert!(seen(bed, &ann).await.is_empty());
}

pub(crate) async fn an_identity_has_one_account_which_it_keeps(bed: &Bed) {
    let (ann, bob) = (added(bed, "ann").await, added(bed, "bob").await);
    let identity = |issuer: &str| Identity {
        issuer: issuer.to_owned(),
        subject: "00u1".to_owned(),
    };
    let (here, there) = (
        identity("https://here.example"),
        identity("https://there.example"),
    );
    assert!(bed.store.account_of(&here).await.unwrap().is_none());
    let newcomer = Identity {
        subject: "00u2".to_owned(),
        ..here.clone()
    };
    for (identity, account, is_given) in [
        (&here, &ann, true),
        (&here, &bob, false),
        (&here, &ann, false),
        (&newcomer, &ann, false),
        (&there, &bob, true),
    ] {
        let given = bed.store.add_identity(identity.clone(), account.id).await;
        assert_eq!(given.unwrap(), is_given, "{identity:?}");
    }
    assert!(
        bed.store.account_of(&newcomer).await.unwrap().is_none(),
        "an account has one identity of an issuer"
    );
    let owner = async |identity| bed.store.account_of(identity).await.unwrap().unwrap().id;
    assert_eq!((owner(&here).await, owner(&there).await), (ann.id, bob.id));
}

pub(crate) async fn of_many_identities_at_once_one_gets_the_account(bed: &Bed) {
    for round in 0..10 {
        let owner = added(bed, &format!("owner {round}")).await;
        let identity = |number: usize| Identity {
            issuer: "https://here.example".to_owned(),
            subject: format!("{round} {number}"),
        };
        let given = (0..8).map(|number| bed.store.add_identity(identity(number), owner.id));
        let given = futures_util::future::try_join_all(given).await.unwrap();
        assert_eq!(given.iter().filter(|given| **given).count(), 1, "{given:?}");
        for (number, given) in given.into_iter().enumerate() {
            let account = bed.store.account_of(&identity(number)).await.unwrap();
            assert_eq!(account.map(|account| account.id), given.then_some(owner.id));
        }
    }
}
