//! The phrase that the client of a blocked message got: that of the policy by which it was judged.

use super::Admin;
use crate::analysis::access::caller::Caller;
use crate::analysis::error::ApiError;
use monitor_model::ApplicationId;

impl Admin {
    /// The phrase of this version of an application; None if nobody knows it any more.
    pub(crate) async fn phrase(
        &self,
        caller: &Caller,
        application: ApplicationId,
        version: Option<i64>,
    ) -> Result<Option<String>, ApiError> {
        let Some(version) = version.filter(|_| caller.sees(Some(application))) else {
            return Ok(None);
        };
        let known = self.version(application, version).await?;
        let policy = known.and_then(|(_, policy)| policy);
        let phrase = policy.map(|policy| policy.phrase);
        Ok(phrase.filter(|phrase| !phrase.is_empty()))
    }
}
