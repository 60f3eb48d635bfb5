//! The text of PDF and DOCX files (CONTRACT 29), read by this program in a process of its own: these
//! formats are complex, and a file may be crafted to break its reader. The process has limits of memory and
//! time (`child`); if it breaks, the file is only marked as unreadable. `attachments` analyzes the text.

mod child;
mod docx;
mod page_tree;
mod pdf;
mod text;

pub use child::read_document;

use crate::fair_queue::{Claim, QUANTUM, Tenant, TurnFigures, TurnLimits, Turns, Urgency};
use monitor_store::Extraction;
use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;
use tokio::time::timeout;

/// The internal subcommand that reads a document.
pub const COMMAND: &str = "read-document";
/// This program, even if its file was replaced since it was started.
const PROGRAM: &str = "/proc/self/exe";
/// Documents that are read at the same time. One access key has one place less: a file of another key is read at once.
const AT_ONCE: usize = 2;
/// Documents that wait, how many of them one access key may have (a fourth), and for how long.
const WAITING: u64 = 4096;
const PARTS: u64 = 4;
const LONGEST_WAIT: Duration = Duration::from_secs(120);
/// Documents take turns by number: how long one takes does not show in its size.
const COST: u64 = QUANTUM;
/// The time limit of one document; its process has [`child::CPU_SECONDS`] of CPU time.
const LONGEST_READ: Duration = Duration::from_secs(20);
/// The longest text taken from one document, in bytes.
const LONGEST_TEXT: usize = 1024 * 1024;
/// Linux: the process has used up its CPU time.
const SIGXCPU: i32 = 24;

/// A format that is read in a process of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document {
    /// Portable Document Format.
    Pdf,
    /// Office Open XML text document.
    Docx,
}

impl Document {
    /// As the command line names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Docx => "docx",
        }
    }
}

impl FromStr for Document {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let mut formats = [Self::Pdf, Self::Docx].into_iter();
        let found = formats.find(|format| format.as_str() == word);
        found.ok_or_else(|| "pdf or docx".to_owned())
    }
}

/// The text of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Extracted {
    pub(crate) text: String,
    /// Nothing was left out because of a limit.
    pub(crate) is_whole: bool,
}

/// Reads documents, a few at once, in fair turns of tenants.
pub(crate) struct Reader {
    turns: Arc<Turns>,
}

impl Default for Reader {
    fn default() -> Self {
        Self {
            turns: Turns::new(TurnLimits {
                places: AT_ONCE,
                reserved: 1,
                short: COST,
                waiting_cost: WAITING * COST,
                parts: PARTS,
                longest_wait: LONGEST_WAIT,
            }),
        }
    }
}

impl Reader {
    /// The files that are read, and those that wait for it.
    pub(crate) fn figures(&self) -> TurnFigures {
        self.turns.figures()
    }

    /// The text of a document, or why there is none.
    pub(crate) async fn read(
        &self,
        document: Document,
        file: File,
        tenant: Tenant,
    ) -> Result<Extracted, Extraction> {
        // Whoever attaches a file waits for its answer.
        let claim = Claim {
            tenant,
            urgency: Urgency::Awaited,
        };
        let turn = self.turns.take(claim, COST).await;
        let _turn = turn.map_err(|_| Extraction::TimedOut)?;
        let read = timeout(LONGEST_READ, in_process(document, file)).await;
        read.unwrap_or(Err(Extraction::TimedOut))
    }
}

/// The process ends with its caller; it gets no environment, and its standard error is discarded.
async fn in_process(document: Document, file: File) -> Result<Extracted, Extraction> {
    let failed = |_| Extraction::Failed;
    let mut child = Command::new(PROGRAM)
        .args([COMMAND, document.as_str()])
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(file))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        let bounded = stdout.take(LONGEST_TEXT as u64 + 1);
        let read = { bounded }.read_to_end(&mut output).await;
        read.map_err(failed)?;
    }
    let status = child.wait().await.map_err(failed)?;
    told(&output, status)
}

/// Reads the output of the process: one letter, then the text.
fn told(output: &[u8], status: ExitStatus) -> Result<Extracted, Extraction> {
    let Some((letter, text)) = output.split_first() else {
        return Err(match status.signal() {
            Some(SIGXCPU) => Extraction::TimedOut,
            _ => Extraction::Failed,
        });
    };
    let is_whole = match *letter {
        child::WHOLE => true,
        child::PART => false,
        child::MALFORMED => return Err(Extraction::Malformed),
        child::ENCRYPTED => return Err(Extraction::Encrypted),
        child::TOO_LARGE => return Err(Extraction::TooLarge),
        _ => return Err(Extraction::Failed),
    };
    let text = String::from_utf8_lossy(text).into_owned();
    Ok(Extracted { text, is_whole })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn a_key_reads_one_document_at_a_time_and_another_key_has_a_place() {
        let turns = Reader::default().turns;
        let take = |key: u64| {
            let claim = Claim {
                tenant: Tenant::new(&key, &()),
                urgency: Urgency::Awaited,
            };
            turns.try_take(claim, COST)
        };
        let first = take(1);
        assert!(first.is_some() && take(1).is_none());
        let other = take(2);
        assert!(other.is_some() && take(3).is_none());
        drop(first);
        assert!(take(3).is_some());
    }

    fn ended(output: &[u8], signal: i32) -> Result<Extracted, Extraction> {
        told(output, ExitStatus::from_raw(signal))
    }

    #[test]
    fn the_end_of_the_process_says_what_became_of_the_file() {
        let text = "я".to_owned();
        let is_whole = true;
        assert_eq!(ended("Wя".as_bytes(), 0), Ok(Extracted { text, is_whole }));
        assert!(!ended(b"P", 0).unwrap().is_whole);
        for (output, signal, expected) in [
            (&b"M"[..], 0, Extraction::Malformed),
            (b"E", 0, Extraction::Encrypted),
            (b"L", 0, Extraction::TooLarge),
            (b"", SIGXCPU, Extraction::TimedOut),
            (b"", 6, Extraction::Failed),
            (b"", 0, Extraction::Failed),
            (b"some other program", 0, Extraction::Failed),
        ] {
            assert_eq!(ended(output, signal), Err(expected));
        }
    }
}
