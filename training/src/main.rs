//! Makes the weights of the tagger and of the guardrails: `cargo run --release -- --data DIR`. One thread,
//! fixed seed. What a token or a message looks like to the models is the engine's own code
//! (`monitor_detect::training`).

mod chain;
mod clusters;
mod corpus;
mod data_file;
mod guard;
mod made_en;
mod made_ru;
mod random;
mod read;
mod run;
mod tables;
mod vocabulary;

use std::path::PathBuf;

/// What the command line says.
pub struct Options {
    /// The folder of the training data.
    pub data: PathBuf,
    /// Where the weights go.
    pub out: PathBuf,
    /// Word vectors; without them the classes of words of the present table are kept.
    pub navec: Option<PathBuf>,
    /// Writes cross-validated finds here instead of weights.
    pub folds: Option<PathBuf>,
    /// "words", "ru", "en" or "guard": only this; "vocabularies": only those, from DIR.
    pub only: Option<String>,
    /// Finds in these JSON lines with the present weights; written to standard output.
    pub scan: Option<PathBuf>,
}

fn main() {
    let mut options = Options {
        data: PathBuf::from("../../shared/data"),
        out: PathBuf::from("../crates/detect/weights"),
        navec: None,
        folds: None,
        only: None,
        scan: None,
    };
    let mut args = std::env::args().skip(1);
    while let Some(flag) = args.next() {
        let value = args
            .next()
            .unwrap_or_else(|| panic!("{flag} needs a value"));
        match flag.as_str() {
            "--data" => options.data = value.into(),
            "--out" => options.out = value.into(),
            "--navec" => options.navec = Some(value.into()),
            "--folds" => options.folds = Some(value.into()),
            "--scan" => options.scan = Some(value.into()),
            "--only" => options.only = Some(value),
            _ => panic!("unknown option {flag}: --data --out --navec --folds --only --scan"),
        }
    }
    run::run(&options);
}
