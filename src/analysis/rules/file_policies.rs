//! The policies that the configuration file of this process lists. For an application that is listed, the stored
//! policy is not in force.

use crate::policy::FileList;
use monitor_model::{ApplicationId, Budget, Policy};
use monitor_store::Application;
use std::sync::OnceLock;

/// The list of a process that also runs a gateway; nothing is listed in others.
#[derive(Default)]
pub(crate) struct FilePolicies(OnceLock<FileList>);

impl FilePolicies {
    /// Sets the list, once.
    pub(crate) fn set(&self, list: FileList) {
        let _ = self.0.set(list);
    }

    /// The policy that the file has for an application.
    pub(crate) fn policy(&self, id: ApplicationId) -> Option<Policy> {
        self.0.get()?.policy(id)
    }

    /// The budgets of every application that the file lists.
    pub(crate) fn budgets(&self) -> Vec<(ApplicationId, Vec<Budget>)> {
        self.0.get().map(FileList::budgets).unwrap_or_default()
    }

    /// An application of the store with the policy that is in force.
    pub(crate) fn in_force(&self, mut application: Application) -> Application {
        if let Some(policy) = self.policy(application.id) {
            application.policy = Some(Ok(policy));
        }
        application
    }
}
