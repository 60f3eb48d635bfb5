//! `monitor scan` (CONTRACT 36): the detectors over files and pipes, without any server. One thread reads,
//! one per CPU searches, this one writes the findings in the order of the input. Nothing here knows a
//! pattern. Memory is bounded by the blocks in progress, not by the size of the input.

mod evaluate;
mod input;
mod jsonl;
mod output;
mod text;

pub use evaluate::{Counts, Evaluation, evaluate};
pub use output::Summary;

use crate::analysis::Models;
use crate::config::DetectSettings;
use anyhow::Context;
use input::{Block, Blocks, Shape};
use monitor_detect::rules::GuardrailsRules;
use monitor_detect::{Compiled, DatacleanRules, Engine, MaskStyle, PatternName, Rules};
use monitor_model::{DatacleanReport, GuardrailsReport};
use output::Output;
use std::io::Write;
use std::num::NonZero;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// Blocks that were read and not yet written, for each CPU.
const AHEAD: usize = 4;

/// What to search and what to write.
#[derive(Clone, Debug)]
pub struct ScanRequest {
    /// Files; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// Patterns to search for; None: all of §2.8.
    pub patterns: Option<Vec<PatternName>>,
    /// Lines `{"id","text"}` in and lines of entities out, instead of text in and a list out.
    pub jsonl: bool,
    /// The style of a masked copy; None: no copy.
    pub mask: Option<MaskStyle>,
    /// Models that search too.
    pub models: DetectSettings,
}

/// The result of one block.
#[derive(Default)]
struct Done {
    /// What is to be written.
    out: Vec<u8>,
    /// Entity types in order of appearance, one entry per find.
    kinds: Vec<Arc<str>>,
    /// What could not be searched, with its position; never a piece of the text.
    problems: Vec<String>,
    /// Bytes of input.
    bytes: u64,
}

/// The channel of a block to a worker, and of its result back.
type Job = (Block, SyncSender<Done>);

/// Searches everything and writes to `out`; progress is shown on standard error if that is a terminal.
///
/// # Errors
/// A model that cannot be used, a file that cannot be read or is not UTF-8, a line over the limit, an
/// output that is closed. What was found before stands in the output.
pub fn scan(request: &ScanRequest, out: &mut dyn Write) -> anyhow::Result<Summary> {
    let scanner = Scanner::new(request)?;
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let (jobs, queue) = sync_channel::<Job>(workers);
    let (order, outcomes) = sync_channel::<Receiver<Done>>(workers * AHEAD);
    let queue = Mutex::new(queue);
    let mut output = Output::new(input::total_bytes(&request.files));
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| scanner.work(&queue));
        }
        let reading = scope.spawn(|| read(request, jobs, &order_of(order)));
        let written = output.write_all(&outcomes, out);
        // A reader that waits to send learns that the writer is gone.
        drop(outcomes);
        let read = reading
            .join()
            .unwrap_or_else(|_| anyhow::bail!("reading failed"));
        written.context("cannot write").and(read)
    })?;
    Ok(output.end())
}

/// Queues the result of every block in order before a worker gets the block.
fn order_of(order: SyncSender<Receiver<Done>>) -> impl Fn() -> Option<SyncSender<Done>> {
    move || {
        let (reply, outcome) = sync_channel(1);
        order.send(outcome).ok().map(|()| reply)
    }
}

fn read(
    request: &ScanRequest,
    jobs: SyncSender<Job>,
    place: &dyn Fn() -> Option<SyncSender<Done>>,
) -> anyhow::Result<()> {
    let shape = Shape::of(request);
    for file in &request.files {
        for block in Blocks::open(file, shape)? {
            let block = block?;
            // Both fail only when the writer is gone.
            let Some(reply) = place() else {
                return Ok(());
            };
            if jobs.send((block, reply)).is_err() {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// What every worker needs.
struct Scanner {
    engine: Engine,
    rules: Compiled,
    jsonl: bool,
    has_copy: bool,
    many_files: bool,
}

impl Scanner {
    fn new(request: &ScanRequest) -> anyhow::Result<Self> {
        let patterns = request.patterns.clone();
        let dataclean = DatacleanRules {
            patterns: patterns.map(|names| names.into_iter().map(Into::into).collect()),
            mask_style: request.mask.unwrap_or_default(),
            ..DatacleanRules::default()
        };
        let rules = Rules {
            dataclean: Some(dataclean),
            guardrails: request.jsonl.then(GuardrailsRules::default),
            ..Rules::default()
        };
        // No caller waits for a single message: a file is searched whole, however long a model takes.
        let models = Models::read(&request.models.clone().unhurried())?;
        Ok(Self {
            engine: models.beside(Engine::default()),
            rules: Compiled::new(rules),
            jsonl: request.jsonl,
            has_copy: request.mask.is_some(),
            many_files: request.files.len() > 1,
        })
    }

    /// The findings of a text, and one entry per failure.
    fn look(&self, text: &str) -> (DatacleanReport, Vec<String>) {
        let start = Instant::now();
        let clock = move || u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.engine.sensitive_data(text, &self.rules, &clock)
    }

    /// The verdicts of the built-in policies for user messages, and one entry per failure.
    fn judge(&self, text: &str) -> (GuardrailsReport, Vec<String>) {
        self.engine.guardrails(text, &self.rules)
    }

    /// Ends when the reader has ended.
    fn work(&self, queue: &Mutex<Receiver<Job>>) {
        loop {
            let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok((block, reply)) = job else {
                return;
            };
            let mut done = Done {
                bytes: block.text.len() as u64,
                ..Done::default()
            };
            match self.jsonl {
                true => jsonl::scan(self, &block, &mut done),
                false => text::scan(self, &block, &mut done),
            }
            // The output is closed.
            let _ = reply.send(done);
        }
    }
}
