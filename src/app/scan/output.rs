//! Writes the findings in the order of the input, shows progress, and sums up.

use super::Done;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

/// Problems that are printed one by one; further ones are only counted.
const TOLD: u64 = 20;
/// Columns of the longest bar of the summary.
const WIDEST: u64 = 40;

/// The sum of a run.
#[derive(Clone, Debug)]
pub struct Summary {
    /// Finds of each entity type.
    pub kinds: BTreeMap<Arc<str>, u64>,
    /// Bytes that were searched.
    pub bytes: u64,
    /// Blocks or lines that could not be searched, wholly or in part.
    pub problems: u64,
    /// From the first block to the last.
    pub time: Duration,
}

impl Summary {
    /// Finds of all types.
    pub fn finds(&self) -> u64 {
        self.kinds.values().sum()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (megabytes, seconds) = (self.bytes as f64 / 1e6, self.time.as_secs_f64());
        let rate = megabytes / seconds.max(1e-9);
        let finds = self.finds();
        write!(
            f,
            "findings: {finds} in {megabytes:.2} MB, {seconds:.2} s ({rate:.1} MB/s)"
        )?;
        let most = self.kinds.values().max().copied().unwrap_or(1);
        for (kind, count) in &self.kinds {
            let width = (count * WIDEST).div_ceil(most);
            let bar = "█".repeat(usize::try_from(width).unwrap_or_default());
            write!(f, "\n  {kind:<18}{count:>8}  {bar}")?;
        }
        Ok(())
    }
}

/// The writing side of a run.
pub(super) struct Output {
    bar: ProgressBar,
    start: Instant,
    summary: Summary,
}

impl Output {
    pub(super) fn new(total: Option<u64>) -> Self {
        // Hidden by itself where standard error is no terminal.
        let bar = match total {
            Some(total) => ProgressBar::new(total),
            None => ProgressBar::new_spinner(),
        };
        let template = match total {
            Some(_) => "{bar:30} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} to go, {msg}",
            None => "{spinner} {bytes}, {bytes_per_sec}, {msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self {
            bar,
            start: Instant::now(),
            summary: Summary {
                kinds: BTreeMap::new(),
                bytes: 0,
                problems: 0,
                time: Duration::ZERO,
            },
        }
    }

    /// Ends when the reader has ended and every block is written.
    pub(super) fn write_all(
        &mut self,
        outcomes: &Receiver<Receiver<Done>>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let shares_terminal = io::stdout().is_terminal();
        for outcome in outcomes {
            let Ok(done) = outcome.recv() else {
                // The worker's own report of a panic would quote nothing, but the block is not seen.
                self.tell("a block could not be searched");
                continue;
            };
            match shares_terminal {
                true => self.bar.suspend(|| out.write_all(&done.out))?,
                false => out.write_all(&done.out)?,
            }
            out.flush()?;
            self.add(&done);
        }
        Ok(())
    }

    fn add(&mut self, done: &Done) {
        for problem in &done.problems {
            self.tell(problem);
        }
        for kind in &done.kinds {
            *self.summary.kinds.entry(kind.clone()).or_default() += 1;
        }
        self.summary.bytes += done.bytes;
        self.bar.inc(done.bytes);
        self.bar
            .set_message(format!("findings: {}", self.summary.finds()));
    }

    fn tell(&mut self, problem: &str) {
        self.summary.problems += 1;
        match self.summary.problems {
            ..=TOLD => self.bar.suspend(|| eprintln!("monitor: {problem}")),
            number if number == TOLD + 1 => {
                self.bar
                    .suspend(|| eprintln!("monitor: further problems are counted only"));
            }
            _ => {}
        }
    }

    pub(super) fn end(mut self) -> Summary {
        self.bar.finish_and_clear();
        self.summary.time = self.start.elapsed();
        self.summary
    }
}
