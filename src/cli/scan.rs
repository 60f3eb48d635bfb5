//! `monitor scan`: offline detection for people and pipelines (CONTRACT 36). Offsets of `--jsonl` are
//! Unicode code points, end exclusive; no found value is ever printed.

use super::failure::Failure;
use super::load::load;
use super::output;
use super::store::DatabaseRole;
use crate::app::{self, ScanRequest};
use crate::config::{DetectSettings, Overrides};
use clap::{Args, ValueEnum};
use monitor_detect::{MaskStyle, PatternName};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct ScanArgs {
    /// Files of UTF-8 text; `-` or no file reads standard input.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Search for these patterns only, such as EMAILS,INN; a further one, such as IBAN, is searched for only by name.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    patterns: Vec<PatternName>,
    /// Write a masked copy instead of a list of findings; with --jsonl, add `cleaned_text`.
    #[arg(long)]
    mask: bool,
    /// Form of a mask.
    #[arg(long, value_enum, requires = "mask", default_value_t = StyleArg::Label)]
    mask_style: StyleArg,
    /// Read lines {"id","text"}, write lines {"id","entities":[{"type","start","end"}]}.
    #[arg(long)]
    jsonl: bool,
    /// Read an evaluation set of decided findings, write precision and recall of each type; with --jsonl as JSON.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["files", "mask", "fail"])]
    evaluate: Option<PathBuf>,
    /// Exit with code 3 if anything is found.
    #[arg(long)]
    fail: bool,
    /// Configuration file (YAML) whose models (`detect`) search too.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Role that the configuration file is for.
    #[arg(long, value_enum, requires = "config", default_value_t = DatabaseRole::All)]
    role: DatabaseRole,
}

/// A [`MaskStyle`] as a value of `--mask-style`.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum StyleArg {
    /// [EMAILS]
    Label,
    /// One x per character.
    X,
    /// [EMAILS:12], the number of characters.
    Length,
    /// [EMAILS_1], the same number for the same value within one text.
    Pseudonym,
}

impl From<StyleArg> for MaskStyle {
    fn from(style: StyleArg) -> Self {
        match style {
            StyleArg::Label => Self::Label,
            StyleArg::X => Self::X,
            StyleArg::Length => Self::Length,
            StyleArg::Pseudonym => Self::Pseudonym,
        }
    }
}

/// Scans everything; the summary goes to standard error.
pub(super) fn run(args: ScanArgs) -> Result<(), Failure> {
    let (fails_on_finds, set) = (args.fail, args.evaluate.clone());
    let request = request(args)?;
    output::end_with_reader();
    if let Some(set) = set {
        return evaluate(&request, &set);
    }
    let summary = app::scan(&request, &mut io::stdout().lock()).map_err(ended)?;
    eprintln!("{summary}");
    match (summary.problems, summary.finds()) {
        (0, finds) if finds > 0 && fails_on_finds => Err(Failure::Found(finds)),
        (0, _) => Ok(()),
        (problems, _) => Err(Failure::Runtime(anyhow::anyhow!(
            "{problems} lines or blocks could not be searched"
        ))),
    }
}

/// Checks an evaluation set.
fn evaluate(request: &ScanRequest, set: &Path) -> Result<(), Failure> {
    let evaluation = app::evaluate(request, set).map_err(Failure::Runtime)?;
    let text = match request.jsonl {
        true => evaluation.json_lines(),
        false => format!("{evaluation}\n"),
    };
    let written = io::stdout().lock().write_all(text.as_bytes());
    written.map_err(|error| ended(error.into()))?;
    match evaluation.problems {
        0 => Ok(()),
        problems => Err(Failure::Runtime(anyhow::anyhow!(
            "{problems} lines could not be evaluated"
        ))),
    }
}

/// A write may find the reader gone before the watch does.
fn ended(error: anyhow::Error) -> Failure {
    let cause = error.downcast_ref::<io::Error>();
    if cause.is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe) {
        output::end();
    }
    Failure::Runtime(error)
}

fn request(args: ScanArgs) -> Result<ScanRequest, Failure> {
    let files = match args.files.is_empty() {
        true => vec![PathBuf::from("-")],
        false => args.files,
    };
    if args.mask && !args.jsonl && files.len() > 1 {
        let problem = "--mask writes one copy of one text; name one FILE at a time";
        return Err(Failure::Runtime(anyhow::anyhow!(problem)));
    }
    let models = match args.config {
        Some(file) => {
            let settings = load(args.role.into(), Some(file), &Overrides::default())?;
            settings.analysis.detect
        }
        None => DetectSettings::default(),
    };
    Ok(ScanRequest {
        files,
        patterns: (!args.patterns.is_empty()).then_some(args.patterns),
        jsonl: args.jsonl,
        mask: args.mask.then(|| args.mask_style.into()),
        models,
    })
}
