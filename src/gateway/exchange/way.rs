//! The way of one call among the model servers and their addresses: when another attempt is made, and
//! where (CONTRACT 22). The attempts themselves are `call`'s.

use super::call::{Answering, Attempt};
use crate::gateway::Shared;
use crate::gateway::error::CallError;
use crate::gateway::upstreams::{Target, Tried};
use crate::observe::events::UpstreamRetried;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Where a call has come to among the model servers and their addresses.
pub(super) struct Way {
    pub(super) target: Arc<Target>,
    tried: Tried,
    /// Addresses of the target that did not connect.
    pub(super) address: usize,
    /// Kept connections that were dead.
    stale: usize,
}

impl Way {
    /// None where there is no model server.
    pub(super) fn begin(shared: &Shared) -> Option<Self> {
        let mut tried = Tried::default();
        let target = shared.upstream.first(&mut tried)?.clone();
        Some(Self {
            target,
            tried,
            address: 0,
            stale: 0,
        })
    }

    /// What an attempt came to, unless there is another to make.
    pub(super) fn after(
        &mut self,
        shared: &Shared,
        attempted: Result<Answering, Attempt>,
    ) -> ControlFlow<Result<Answering, CallError>> {
        match attempted {
            Ok(answering) => return self.answered(shared, answering),
            Err(Attempt::Unreachable(_)) if self.address + 1 < self.target.upstream.addresses() => {
                self.address += 1;
            }
            Err(Attempt::Stale(_)) if self.stale == 0 => self.stale += 1,
            Err(Attempt::Unreachable(error)) => {
                return match shared.upstream.after(&self.target, &mut self.tried) {
                    Some(next) => self.go_to(next.clone()),
                    None => ControlFlow::Break(Err(error)),
                };
            }
            Err(Attempt::Stale(error) | Attempt::Final(error)) => {
                return ControlFlow::Break(Err(error));
            }
        }
        UpstreamRetried.emit(&shared.metrics);
        ControlFlow::Continue(())
    }

    fn answered(
        &mut self,
        shared: &Shared,
        answering: Answering,
    ) -> ControlFlow<Result<Answering, CallError>> {
        let status = answering.head().map_or(0, |head| head.status.as_u16());
        let next = shared
            .upstream
            .instead_of(&self.target, status, &mut self.tried);
        match next {
            None => ControlFlow::Break(Ok(answering)),
            Some(next) => {
                answering.abandon();
                self.go_to(next.clone())
            }
        }
    }

    fn go_to<T>(&mut self, next: Arc<Target>) -> ControlFlow<T> {
        self.target = next;
        (self.address, self.stale) = (0, 0);
        ControlFlow::Continue(())
    }
}
