//! The copy of the last valid policies on disk (CONTRACT 14).

use super::world::Running;
use async_trait::async_trait;
use monitor_gateway::policy::{Content, FileStore, Found, PolicyStore, PolicyStoreError};
use monitor_model::{AppMode, ApplicationId, ApplicationPolicy, Policy};
use std::borrow::Cow;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use support::eventually;
use support::stack::Folder;

/// A store that is down for good.
struct Away;

#[async_trait]
impl PolicyStore for Away {
    fn name(&self) -> Cow<'static, str> {
        "away".into()
    }
    async fn read(&mut self) -> Result<Content, PolicyStoreError> {
        Err(PolicyStoreError("away".to_owned()))
    }
    async fn changed(&mut self) {
        std::future::pending().await
    }
}

fn listed(id: ApplicationId, phrase: &str) -> ApplicationPolicy {
    ApplicationPolicy {
        id,
        name: "bot".to_owned(),
        policy: Policy::new(AppMode::Sync, phrase),
    }
}

/// Leaves a copy of these policies in the folder, as a process that ended.
fn leave(folder: &Arc<Folder>, applications: Vec<ApplicationPolicy>) {
    drop(Running::over(
        Box::new(FileStore::new(applications).0),
        Some(folder),
    ));
}

#[test]
fn it_is_one_file_for_its_owner_only_with_every_policy() {
    // CONTRACT 14.
    let folder = Folder::new();
    let ids: Vec<ApplicationId> = (0..100).map(|_| ApplicationId::random()).collect();
    for round in ["first", "second"] {
        leave(&folder, ids.iter().map(|id| listed(*id, round)).collect());
        let entries: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .flatten()
            .collect();
        assert_eq!(entries.len(), 1, "no draft is left: {entries:?}");
        assert_eq!(entries[0].file_name(), "policies.json");
        assert_eq!(
            entries[0].metadata().unwrap().permissions().mode() & 0o777,
            0o600
        );
        let running = Running::over(Box::new(Away), Some(&folder));
        for id in &ids {
            let expected = listed(*id, round).policy;
            assert_eq!(
                running.policies.find(*id),
                Found::Policy(Arc::new(expected))
            );
        }
        assert!(running.policies.status().from_copy);
    }
}

#[test]
fn a_copy_that_is_damaged_is_not_used_and_a_good_read_replaces_it() {
    let folder = Folder::new();
    let id = ApplicationId::random();
    for damage in ["", "{", "{\"format\":2,\"applications\":[]}", "[]", "\u{0}"] {
        folder.write("policies.json", damage);
        let running = Running::over(Box::new(Away), Some(&folder));
        assert_eq!(running.policies.find(id), Found::NeverKnown, "{damage:?}");
        drop(running);
        leave(&folder, vec![listed(id, "good")]);
        let running = Running::over(Box::new(Away), Some(&folder));
        assert_ne!(running.policies.find(id), Found::NeverKnown, "{damage:?}");
    }
}

#[test]
fn one_bad_policy_in_it_costs_no_other_its_place() {
    let folder = Folder::new();
    let (good, bad) = (ApplicationId::random(), ApplicationId::random());
    leave(&folder, vec![listed(good, "good"), listed(bad, "BAD")]);
    let path = folder.path().join("policies.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replace("\"BAD\"", "7")).unwrap();
    let running = Running::over(Box::new(Away), Some(&folder));
    assert!(matches!(running.policies.find(good), Found::Policy(_)));
    assert_eq!(running.policies.find(bad), Found::NeverKnown);
    assert_eq!(running.policies.status().faults[0].id, bad);
}

#[test]
fn a_folder_that_cannot_be_written_costs_nothing_but_the_copy() {
    let folder = Folder::new();
    let file = folder.write("in-the-way", "");
    let id = ApplicationId::random();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let store = Box::new(FileStore::new(vec![listed(id, "good")]).0);
    let (policies, refresher) = monitor_gateway::policy::Policies::over(store, Some(&file));
    runtime.spawn(refresher.run());
    eventually("the policy is in force", || {
        matches!(policies.find(id), Found::Policy(_)).then_some(())
    });
}
