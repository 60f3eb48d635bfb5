//! Runs the engine on a message, on the serving thread or away from it, depending on how long it takes.

use super::models::Models;
use crate::analysis::clock::steady_us;
use crate::analysis::error::ApiError;
use crate::config::Services;
use crate::judge::Remote;
use monitor_detect::{Compiled, Encoding, Engine, ProposedFinds, Report};
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Longer messages are analyzed away from the threads that serve connections.
const INLINE_BYTES: usize = 64 * 1024;
/// The same for custom regexes, whose cost per byte is not known. Models always run away from these
/// threads: they take a thousand times longer.
const INLINE_BYTES_OF_REGEXES: usize = 4 * 1024;

/// The engine, its limit on long messages analyzed at once, and the remote checks.
pub(crate) struct MessageAnalyzer {
    pub(crate) engine: Arc<Engine>,
    pub(crate) remote: Remote,
    has_models: bool,
    long_messages: Arc<Semaphore>,
}

impl MessageAnalyzer {
    /// Builds the engine and warms it up, which takes tens of milliseconds.
    pub(crate) fn new(services: Services, models: Models, remote: Remote) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let has_models = !models.are_none();
        let engine = Arc::new(models.beside(Engine::new(services)));
        engine.warm_up(Encoding::default());
        Self {
            engine,
            remote,
            has_models,
            long_messages: Arc::new(Semaphore::new(cores)),
        }
    }

    /// Runs the engine alone, without remote checks; gives the message back with the report.
    pub(crate) async fn analyze_locally(
        &self,
        message: String,
        rules: &Arc<Compiled>,
    ) -> Result<(String, Report), ApiError> {
        self.run_engine(message, rules, ProposedFinds::default())
            .await
    }

    /// Runs the engine with sensitive data that a remote check has proposed.
    pub(super) async fn run_engine(
        &self,
        message: String,
        rules: &Arc<Compiled>,
        proposed: ProposedFinds,
    ) -> Result<(String, Report), ApiError> {
        let longest = match rules.has_regexes() {
            _ if self.has_models => 0,
            true => INLINE_BYTES_OF_REGEXES,
            false => INLINE_BYTES,
        };
        if message.len() <= longest {
            let report = self
                .engine
                .analyze_with(&message, rules, &proposed, &steady_us);
            return Ok((message, report));
        }
        let (engine, rules) = (self.engine.clone(), rules.clone());
        // The permit is held even when the caller goes away: the work goes on.
        let permit = self
            .long_messages
            .clone()
            .acquire_owned()
            .await
            .map_err(|_| ApiError::Internal)?;
        tokio::task::spawn_blocking(move || {
            let report = engine.analyze_with(&message, &rules, &proposed, &steady_us);
            drop(permit);
            (message, report)
        })
        .await
        .map_err(|_| ApiError::Internal)
    }
}
