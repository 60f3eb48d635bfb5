//! The attempts of one monitored call: whether another one is made, and at which server and address
//! (CONTRACT 22). The exchange makes the attempts; transparent routes have [`super::transparent`].

use super::group::{TriedServers, UpstreamGroup};
use super::server::ModelServer;
use crate::gateway::error::CallError;
use std::sync::Arc;

/// Why an attempt failed, by whether it may be repeated.
pub(crate) enum AttemptError {
    /// The address accepts no connection, so the upstream has received nothing.
    Unreachable(CallError),
    /// A kept connection was closed before the first byte, so the upstream has received nothing.
    StaleConnection(CallError),
    /// The upstream may have received the call.
    Final(CallError),
}

/// The server and the address of the next attempt.
pub(crate) struct AttemptPlan {
    pub(crate) server: Arc<ModelServer>,
    tried: TriedServers,
    /// The index of the address; those before it did not connect.
    pub(crate) address: usize,
    /// Whether a stale connection has been retried already.
    retried_stale: bool,
}

impl AttemptPlan {
    /// The first attempt at the servers of a group; None when there is no model server.
    pub(crate) fn new(group: &UpstreamGroup) -> Option<Self> {
        let mut tried = TriedServers::default();
        let server = group.first(&mut tried)?.clone();
        Some(Self {
            server,
            tried,
            address: 0,
            retried_stale: false,
        })
    }

    /// Plans another attempt after a failed one.
    ///
    /// # Errors
    /// The failure, when no other attempt is allowed or left.
    pub(crate) fn retry(
        &mut self,
        group: &UpstreamGroup,
        failure: AttemptError,
    ) -> Result<(), CallError> {
        match failure {
            AttemptError::Unreachable(_)
                if self.address + 1 < self.server.resolver.address_count() =>
            {
                self.address += 1;
            }
            AttemptError::StaleConnection(_) if !self.retried_stale => self.retried_stale = true,
            AttemptError::Unreachable(error) => {
                let next = group.after_connect_failure(&self.server, &mut self.tried);
                return match next {
                    Some(next) => {
                        self.switch_to(next.clone());
                        Ok(())
                    }
                    None => Err(error),
                };
            }
            AttemptError::StaleConnection(error) | AttemptError::Final(error) => {
                return Err(error);
            }
        }
        group.count_retry();
        Ok(())
    }

    /// Plans an attempt at another server after an answer with `status`; false to relay the answer.
    pub(crate) fn retry_status(&mut self, group: &UpstreamGroup, status: u16) -> bool {
        let next = group.after_status(&self.server, status, &mut self.tried);
        match next {
            Some(next) => {
                self.switch_to(next.clone());
                true
            }
            None => false,
        }
    }

    fn switch_to(&mut self, next: Arc<ModelServer>) {
        self.server = next;
        self.address = 0;
        self.retried_stale = false;
    }
}
