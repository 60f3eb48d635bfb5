//! The sign-ins of an account that go on: one's own, and for administrators those of everybody. They are listed and
//! ended.

use super::People;
use super::administration::target;
use super::sign_ins::{IDLE_MS, LONGEST_MS};
use crate::analysis::access::caller::Caller;
use crate::analysis::audit::Action;
use crate::analysis::clock::now_ms;
use crate::analysis::error::ApiError;
use monitor_store::{Account, AccountId, EndedSignIns, OpenSignIn};
use serde_json::json;

/// The most sign-ins that a list has, the latest seen first.
const MOST_LISTED: u32 = 100;

impl People {
    /// The account with this id; not found for one that was removed.
    pub(crate) async fn account(&self, id: AccountId) -> Result<Account, ApiError> {
        self.accounts.account(id).await?.ok_or(ApiError::NotFound)
    }

    /// The sign-ins of an account that go on.
    pub(crate) async fn open_sign_ins(&self, id: AccountId) -> Result<Vec<OpenSignIn>, ApiError> {
        let now_ms = now_ms();
        let open = self
            .sign_ins
            .open_sign_ins(id, now_ms - IDLE_MS, MOST_LISTED);
        let mut open = open.await?;
        open.retain(|one| now_ms - one.sign_in.started_at_ms <= LONGEST_MS);
        Ok(open)
    }

    /// Ends sign-ins of an account.
    pub(crate) async fn end_sign_ins(
        &self,
        caller: &Caller,
        account: &Account,
        ended: EndedSignIns,
    ) -> Result<(), ApiError> {
        let which = match ended {
            EndedSignIns::One(_) => "one",
            EndedSignIns::Others(Some(_)) => "others",
            EndedSignIns::Others(None) => "all",
        };
        let details = json!({"name": account.name, "which": which});
        let entry = Action::AccountEndSignIns.entry(caller, target(account), details);
        let ending = self.sign_ins.end_sign_ins(account.id, ended, Some(entry));
        Ok(ending.await.map(drop)?)
    }
}
