//! Runs the engine on a message, on the serving thread or away from it, depending on how long it takes. Away
//! from it messages take turns (`fair_queue`), so that no tenant's messages delay those of another by more
//! than a turn.

use super::models::Models;
use super::owned_message::OwnedMessage;
use crate::analysis::clock::steady_us;
use crate::analysis::error::ApiError;
use crate::config::{AnalysisQueue, Services};
use crate::fair_queue::{Claim, NoTurn, Turn, TurnFigures, TurnLimits, Turns, Urgency, heavy};
use crate::judge::Remote;
use crate::observe::TurnRefusal;
use crate::observe::events::AnalysisRefused;
use monitor_detect::{AnalysisBudget, Compiled, Encoding, Engine, ProposedFinds, Report};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::oneshot;
use tokio::task::yield_now;

/// Longer messages are analyzed away from the threads that serve connections, which a message of this size
/// holds for a millisecond or two.
const INLINE_BYTES: usize = 16 * 1024;
/// The same for custom regexes, whose cost per byte is not known. Models always run away from these
/// threads: they take a thousand times longer.
const INLINE_BYTES_OF_REGEXES: usize = 4 * 1024;
/// The same for messages that nobody awaits, which come many at a time.
const INLINE_BYTES_OF_DEFERRED: usize = 4 * 1024;
/// Messages of at most this cost have places that longer ones never take.
const SHORT: u64 = 256 * 1024;
/// One access key may have a quarter of what waits.
const PARTS: u64 = 4;
/// What a message costs besides its bytes: with it, a tenant has a message at least in each round.
const COST_OF_A_MESSAGE: u64 = 4 * 1024;
/// Lines of batches with at most so many bytes of messages together are analyzed and stored without a turn.
const SHORT_OF_BATCH: usize = 16 * 1024;
/// How many batches with longer ones are analyzed and stored at a time: their findings take many times their bytes
/// until they are stored, and the store's queue is that of the records that somebody awaits.
const BATCHES: usize = 8;
/// How much nicer long messages are than the threads that serve connections.
const NICE: i32 = 5;
/// How many times as much a byte costs where custom regexes look at it.
const COST_OF_REGEXES: u64 = 4;

/// Bounds of the analysis.
#[derive(Clone, Copy)]
pub(crate) struct AnalyzerLimits {
    pub(crate) queue: AnalysisQueue,
    /// Bytes of one message that are analyzed.
    pub(crate) analyzed_bytes: u64,
}

/// The engine, the turns of the messages it does not analyze at once, and the remote checks.
pub(crate) struct MessageAnalyzer {
    pub(crate) engine: Arc<Engine>,
    pub(crate) remote: Remote,
    has_models: bool,
    /// Of the messages that are analyzed away from the serving threads.
    turns: Arc<Turns>,
    /// Of those that are analyzed on these threads: no job of the other turns takes their places.
    inline_turns: Arc<Turns>,
    /// Of the lines of batches.
    batch_turns: Arc<Turns>,
}

impl MessageAnalyzer {
    /// Builds the engine and warms it up, which takes tens of milliseconds.
    pub(crate) fn new(
        services: Services,
        models: Models,
        remote: Remote,
        limits: AnalyzerLimits,
    ) -> Self {
        let queue = limits.queue;
        let budget = AnalysisBudget {
            bytes: usize::try_from(limits.analyzed_bytes).unwrap_or(usize::MAX),
            finds: AnalysisBudget::FINDS,
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let limits = TurnLimits {
            places: cores + 1,
            reserved: 1,
            short: SHORT,
            waiting_cost: queue.waiting_bytes,
            parts: PARTS,
            longest_wait: queue.longest_wait,
        };
        let has_models = !models.are_none();
        let engine = Arc::new(models.beside(Engine::new(services)).with_budget(budget));
        engine.warm_up(Encoding::default());
        Self {
            engine,
            remote,
            has_models,
            turns: Turns::new(limits),
            inline_turns: Turns::new(limits),
            batch_turns: Turns::new(TurnLimits {
                places: BATCHES,
                reserved: 0,
                ..limits
            }),
        }
    }

    /// The messages that are analyzed away from the serving threads, and those that wait for it.
    pub(crate) fn turn_figures(&self) -> TurnFigures {
        self.turns.figures()
    }

    /// Runs the engine alone, without remote checks.
    pub(crate) async fn analyze_locally(
        &self,
        message: OwnedMessage,
        rules: &Arc<Compiled>,
        claim: Claim,
    ) -> Result<Report, ApiError> {
        let analyzed = self.run_engine(message, rules, ProposedFinds::default(), claim);
        Ok(analyzed.await?.1)
    }

    /// Runs the engine with sensitive data that a remote check has proposed.
    pub(super) async fn run_engine(
        &self,
        message: OwnedMessage,
        rules: &Arc<Compiled>,
        proposed: ProposedFinds,
        claim: Claim,
    ) -> Result<(OwnedMessage, Report), ApiError> {
        let bytes = bytes(&self.engine, &message, rules);
        let cost = cost(bytes, rules);
        if bytes <= self.longest_inline(rules, claim.urgency) {
            let analyze = || {
                let message = message.borrow();
                self.engine
                    .analyze_with(message, rules, &proposed, &steady_us)
            };
            let report = match claim.urgency {
                Urgency::Awaited => self.inline_turns.run_here(claim, cost, analyze).await,
                Urgency::Deferred => {
                    let report = analyze();
                    // More of them may be ready in this task: others get the thread in between.
                    yield_now().await;
                    report
                }
            };
            return Ok((message, report));
        }
        let (engine, rules) = (self.engine.clone(), rules.clone());
        let turn = self.turn(&self.turns, claim, cost).await;
        let turn = turn.map_err(ApiError::Busy)?;
        let is_short = turn.is_short();
        let analyze = move || {
            let report = engine.analyze_with(message.borrow(), &rules, &proposed, &steady_us);
            // Held even when the caller goes away: the work goes on.
            drop(turn);
            (message, report)
        };
        match is_short {
            true => tokio::task::spawn_blocking(analyze).await.ok(),
            false => in_background(analyze).await,
        }
        .ok_or(ApiError::Internal)
    }

    fn longest_inline(&self, rules: &Compiled, urgency: Urgency) -> usize {
        match rules.has_regexes() {
            _ if self.has_models => 0,
            true => INLINE_BYTES_OF_REGEXES,
            false if urgency == Urgency::Deferred => INLINE_BYTES_OF_DEFERRED,
            false => INLINE_BYTES,
        }
    }

    /// Waits until the next lines of a batch, with so many bytes of messages, may be analyzed and stored.
    pub(crate) async fn batch_turn(
        &self,
        claim: Claim,
        bytes: usize,
    ) -> Result<Option<Turn>, TurnRefusal> {
        if bytes <= SHORT_OF_BATCH {
            return Ok(None);
        }
        let turn = self.turn(&self.batch_turns, claim, bytes as u64);
        turn.await.map(Some)
    }

    /// Waits for the tenant's turn.
    async fn turn(&self, turns: &Arc<Turns>, claim: Claim, cost: u64) -> Result<Turn, TurnRefusal> {
        let began = Instant::now();
        let turn = take_turn(turns, claim, cost).await;
        let metrics = self.remote.metrics();
        if let Some(metrics) = metrics {
            let seconds = began.elapsed().as_secs_f64();
            metrics.turns.waited(claim.urgency.as_str(), seconds);
        }
        turn.inspect_err(|&reason| {
            if let Some(metrics) = metrics {
                AnalysisRefused { reason }.emit(metrics);
            }
        })
    }
}

/// Waits for a tenant's turn.
pub(super) async fn take_turn(
    turns: &Arc<Turns>,
    claim: Claim,
    cost: u64,
) -> Result<Turn, TurnRefusal> {
    let turn = turns.take(claim, cost).await;
    turn.map_err(|reason| match reason {
        NoTurn::Full => TurnRefusal::Full,
        NoTurn::Late => TurnRefusal::Late,
    })
}

/// Runs long work on a thread of its own with a lower priority than the threads that serve connections. There
/// are as many as places. None where there is no such thread.
pub(super) async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, done) = oneshot::channel();
    let run = move || {
        // Without the right to it, it runs like any other.
        let _ = rustix::process::nice(NICE);
        drop(sender.send(work()));
    };
    let thread = std::thread::Builder::new().name("analysis".into());
    thread.spawn(run).ok()?;
    done.await.ok()
}

/// The bytes that are looked at. Where a message has parts, counting them takes a look at what is analyzed of it.
fn bytes(engine: &Engine, message: &OwnedMessage, rules: &Compiled) -> usize {
    match message.part_breaks.is_empty() {
        true => message.text.len(),
        false => heavy(message.text.len(), || {
            engine.bytes_read(message.borrow(), rules)
        }),
    }
}

/// What the analysis of a message costs, in bytes of text without custom regexes.
fn cost(bytes: usize, rules: &Compiled) -> u64 {
    let bytes = bytes as u64 + COST_OF_A_MESSAGE;
    match rules.has_regexes() {
        true => bytes.saturating_mul(COST_OF_REGEXES),
        false => bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use monitor_detect::Rules;

    fn in_parts(parts: &[&str]) -> OwnedMessage {
        let text = parts.join("\n");
        let breaks: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
        OwnedMessage::with_breaks(text.as_str().into(), &breaks)
    }

    #[test]
    fn a_message_of_many_short_parts_is_no_short_message() {
        let (engine, rules) = (Engine::default(), Compiled::new(Rules::default()));
        let cost_of = |parts: &[&str]| {
            let message = in_parts(parts);
            (message.text.len(), bytes(&engine, &message, &rules))
        };
        let (length, read) = cost_of(&[" ", "4"].repeat(2_047));
        assert!(length < INLINE_BYTES && read > 4 * INLINE_BYTES, "{read}");
        let (length, read) = cost_of(&["This is one part of an ordinary message."; 10]);
        assert!(read >= length && read < INLINE_BYTES, "{read}");
    }

    #[test]
    fn what_lies_beyond_the_budget_is_not_read_to_learn_what_a_message_costs() {
        let rules = Compiled::new(Rules::default());
        let budget = AnalysisBudget {
            bytes: 4 * INLINE_BYTES,
            finds: AnalysisBudget::FINDS,
        };
        let engine = Engine::default().with_budget(budget);
        let parts = |count: usize| in_parts(&["12", "34"].repeat(count));
        let (within, beyond) = (parts(INLINE_BYTES), parts(16 * INLINE_BYTES));
        let across = |message: &OwnedMessage| bytes(&engine, message, &rules) - message.text.len();
        assert!(within.text.len() > budget.bytes && across(&within) > 0);
        assert_eq!(across(&beyond), across(&within));
    }
}
