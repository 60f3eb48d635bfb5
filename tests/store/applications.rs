//! Applications, their versions, and concurrent changes (CONTRACT 38).

use monitor_model::{ApplicationId, Policy};
use monitor_store::{
    Application, ApplicationFilter, ApplicationVersion, Changed, NameFilter, StoreError,
    VersionLimits,
};
use serde_json::json;
use support::bed::{Bed, MORNING_MS, application};

async fn get(bed: &Bed) -> Application {
    let found = bed.store.application(bed.application).await.unwrap();
    found.expect("it is there")
}

async fn versions(bed: &Bed, before: Option<i64>, limit: u32) -> Vec<ApplicationVersion> {
    let versions = bed
        .store
        .application_versions(bed.application, before, limit);
    versions.await.unwrap()
}

fn policy(text: &str) -> Policy {
    Policy::from_json(text).unwrap()
}

pub(crate) async fn one_comes_back_as_it_was_added(bed: &Bed) {
    let text = "имя 100%_'\"\\";
    let mut added = application(ApplicationId::random(), text);
    added.description = text.to_owned();
    added.created_at_ms = 7;
    added.updated_at_ms = 8;
    added.version = 3;
    added.rules = json!({"keep_original": true, "pre": {text: [1.5, null]}});
    added.policy = Some(Ok(policy(r#"{"app_mode":"sync","phrase":"нет"}"#)));
    bed.store
        .add_application(added.clone(), "test", None)
        .await
        .unwrap();
    let back = bed.store.application(added.id).await.unwrap().unwrap();
    assert_eq!(
        (back.id, back.name, back.description),
        (added.id, added.name, added.description)
    );
    assert_eq!(
        (back.created_at_ms, back.updated_at_ms, back.version),
        (7, 8, 3)
    );
    assert_eq!((back.rules, back.policy), (added.rules, added.policy));
    let first = bed.store.first_application().await.unwrap().unwrap();
    assert_eq!(first.id, bed.application);
    let unknown = bed.store.application(ApplicationId::random()).await;
    assert!(unknown.unwrap().is_none());
    let twice = bed
        .store
        .add_application(application(added.id, "twice"), "test", None)
        .await;
    assert!(matches!(twice, Err(StoreError::Unavailable(_))));
}

/// Every application of a filter, page by page.
async fn all(bed: &Bed, filter: ApplicationFilter) -> Vec<ApplicationId> {
    let mut filter = ApplicationFilter { limit: 3, ..filter };
    let mut ids = Vec::new();
    loop {
        let page = bed.store.applications(&filter).await.unwrap();
        assert!(page.applications.len() <= 3);
        ids.extend(page.applications.iter().map(|one| one.id));
        filter.after = page.next_after;
        if filter.after.is_none() {
            return ids;
        }
    }
}

pub(crate) async fn pages_go_in_the_order_they_were_made(bed: &Bed) {
    let mut expected = vec![bed.application];
    for name in ["e", "d", "c", "b", "a"] {
        expected.push(bed.add_application(name).await);
    }
    assert_eq!(all(bed, ApplicationFilter::default()).await, expected);
    let one = ApplicationFilter {
        id: Some(expected[2]),
        ..ApplicationFilter::default()
    };
    assert_eq!(all(bed, one).await, [expected[2]]);
}

pub(crate) async fn names_are_found_in_any_letter_case(bed: &Bed) {
    let mut ids = Vec::new();
    for name in ["Бот 100%", "бот 2", "BOT", "b_t", "чат-БОТ", "бот"] {
        ids.push(bed.add_application(name).await);
    }
    for (name, expected) in [
        ("БоТ", vec![ids[0], ids[1], ids[4], ids[5]]),
        ("bo", vec![ids[2]]),
        ("_", vec![ids[3]]),
        ("0%", vec![ids[0]]),
        ("%b", vec![]),
    ] {
        let filter = ApplicationFilter {
            name: Some(NameFilter::Part(name.to_owned())),
            ..ApplicationFilter::default()
        };
        assert_eq!(all(bed, filter).await, expected, "{name}");
    }
}

pub(crate) async fn a_whole_name_is_found_behind_any_number_that_hold_it(bed: &Bed) {
    for number in 0..9 {
        bed.add_application(&format!("Бот {number}")).await;
    }
    let (own, twin) = (
        bed.add_application("бот").await,
        bed.add_application(" БОТ ").await,
    );
    let whole = |name: &str, id| ApplicationFilter {
        id,
        name: Some(NameFilter::Whole(name.to_owned())),
        ..ApplicationFilter::default()
    };
    assert_eq!(all(bed, whole("Бот", None)).await, [own, twin]);
    assert!(all(bed, whole("Бо", None)).await.is_empty());
    assert_eq!(all(bed, whole(" боТ", Some(twin))).await, [twin]);
    assert!(all(bed, whole("бот 1", Some(twin))).await.is_empty());
    let page = |limit| ApplicationFilter {
        limit,
        name: Some(NameFilter::Part("бот".to_owned())),
        ..ApplicationFilter::default()
    };
    for (limit, has_more) in [(10, true), (11, false), (12, false)] {
        let page = bed.store.applications(&page(limit)).await.unwrap();
        let expected = (limit.min(11) as usize, has_more);
        assert_eq!(
            (page.applications.len(), page.next_after.is_some()),
            expected
        );
    }
}

pub(crate) async fn a_change_keeps_the_version_before_it(bed: &Bed) {
    let done = bed
        .store
        .change_application(bed.change(1, "second"), None)
        .await;
    assert_eq!(done.unwrap(), Changed::Done(2));
    let now = get(bed).await;
    assert_eq!(
        (&*now.name, &*now.description, now.version),
        ("second", "about second", 2)
    );
    assert_eq!(now.rules, json!({"name": "second"}));
    assert_eq!(
        (now.created_at_ms, now.updated_at_ms),
        (MORNING_MS, MORNING_MS + 1)
    );
    let versions = versions(bed, None, 9).await;
    let numbers: Vec<_> = versions.iter().map(|one| one.version).collect();
    assert_eq!(numbers, [2, 1]);
    assert_eq!(
        (&*versions[0].name, &*versions[0].changed_by),
        ("second", "who wanted second")
    );
    assert_eq!(versions[0].changed_at_ms, MORNING_MS + 1);
    assert_eq!(versions[1].changed_by, "who made it");
    assert_eq!(
        (&*versions[1].name, &versions[1].rules),
        ("first", &json!({}))
    );
    assert_eq!(
        (versions[1].changed_at_ms, &versions[1].policy),
        (MORNING_MS, &None)
    );
}

pub(crate) async fn a_lost_update_is_refused(bed: &Bed) {
    let store = &bed.store;
    let done = store
        .change_application(bed.change(1, "mine"), None)
        .await
        .unwrap();
    assert_eq!(done, Changed::Done(2));
    let late = store
        .change_application(bed.change(1, "yours"), None)
        .await
        .unwrap();
    assert_eq!(late, Changed::Conflict(2));
    assert_eq!(get(bed).await.name, "mine");
    assert_eq!(versions(bed, None, 9).await.len(), 2);
    let mut unknown = bed.change(1, "nobody's");
    unknown.id = ApplicationId::random();
    let unknown = store.change_application(unknown, None).await.unwrap();
    assert_eq!(unknown, Changed::Unknown);
}

pub(crate) async fn of_many_changes_at_once_one_is_made(bed: &Bed) {
    let other = bed.database.open().await;
    let mut tasks = Vec::new();
    for number in 0..20 {
        let store = [&bed.store, &other][number % 2].clone();
        let change = bed.change(1, &format!("name {number}"));
        tasks.push(tokio::spawn(async move {
            store.change_application(change, None).await
        }));
    }
    let mut done = 0;
    for task in tasks {
        match task.await.unwrap().unwrap() {
            Changed::Done(2) => done += 1,
            said => assert_eq!(said, Changed::Conflict(2)),
        }
    }
    assert_eq!((done, get(bed).await.version), (1, 2));
    other.close().await;
}

pub(crate) async fn earlier_versions_beyond_the_limits_go_oldest_first(bed: &Bed) {
    let kept = async |bed: &Bed| {
        let versions = versions(bed, None, 20).await.into_iter();
        versions.map(|one| one.version).collect::<Vec<_>>()
    };
    let limits = |versions, bytes| VersionLimits { versions, bytes };
    for version in 1..8 {
        let mut change = bed.change(version, "short");
        change.keep = limits(3, 1 << 20);
        bed.store.change_application(change, None).await.unwrap();
    }
    assert_eq!(kept(bed).await, [8, 7, 6, 5]);
    // What no database can compress.
    let noise = |seed: u64| -> String {
        let mut state = seed;
        let mut hex = String::new();
        while hex.len() < 40_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            hex.push_str(&format!("{:08x}", state >> 32));
        }
        hex
    };
    for version in 8..13 {
        let mut change = bed.change(version, "long");
        change.rules = json!({"noise": noise(version.unsigned_abs())});
        change.keep = limits(10, 100_000);
        bed.store.change_application(change, None).await.unwrap();
    }
    let long = kept(bed).await;
    assert!(
        long.starts_with(&[13, 12, 11]) && long.len() < 6,
        "{long:?}"
    );
    let mut change = bed.change(13, "short");
    change.keep = limits(10, 1);
    bed.store.change_application(change, None).await.unwrap();
    assert_eq!(kept(bed).await, [14, 13], "the one before stays");
}

pub(crate) async fn versions_come_by_page_newest_first(bed: &Bed) {
    for version in 1..8 {
        let change = bed.change(version, &format!("name {version}"));
        let done = bed.store.change_application(change, None).await.unwrap();
        assert_eq!(done, Changed::Done(version + 1));
    }
    let (mut seen, mut before) = (Vec::new(), None);
    loop {
        let page = versions(bed, before, 3).await;
        assert!(page.len() <= 3);
        let Some(last) = page.last() else {
            break;
        };
        before = Some(last.version);
        seen.extend(page.into_iter().map(|one| one.version));
    }
    assert!(seen.into_iter().eq((1..9).rev()));
    let unknown = bed
        .store
        .application_versions(ApplicationId::random(), None, 3);
    assert!(unknown.await.unwrap().is_empty());
}

pub(crate) async fn a_change_sets_and_takes_away_the_policy(bed: &Bed) {
    let blocking = policy(r#"{"app_mode":"sync","phrase":"no"}"#);
    let mut set = bed.change(1, "with");
    set.policy = Some(blocking.clone());
    bed.store.change_application(set, None).await.unwrap();
    assert_eq!(get(bed).await.policy, Some(Ok(blocking.clone())));
    let listed = bed.store.policies().await.unwrap();
    assert_eq!((listed.len(), &listed[0].policy), (1, &Ok(blocking)));
    bed.store
        .change_application(bed.change(2, "without"), None)
        .await
        .unwrap();
    assert_eq!(get(bed).await.policy, None);
    assert!(bed.store.policies().await.unwrap().is_empty());
    let versions = versions(bed, None, 9).await;
    assert_eq!((&versions[0].policy, &versions[2].policy), (&None, &None));
    let kept = versions[1]
        .policy
        .as_ref()
        .expect("the second version's policy");
    assert_eq!(kept["phrase"], "no");
}

pub(crate) async fn names_of_many_come_at_once(bed: &Bed) {
    let (odd, twin) = (
        bed.add_application("имя\u{0}'%").await,
        bed.add_application("first").await,
    );
    let ids = [odd, ApplicationId::random(), bed.application, twin];
    let mut names = bed.store.application_names(&ids).await.unwrap();
    names.sort();
    let mut expected = vec![
        (odd, "имя\u{0}'%".to_owned()),
        (bed.application, "first".to_owned()),
        (twin, "first".to_owned()),
    ];
    expected.sort();
    assert_eq!(names, expected);
    assert!(bed.store.application_names(&[]).await.unwrap().is_empty());
}
