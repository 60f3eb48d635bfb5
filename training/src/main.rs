//! Makes the weights of the tagger: `cargo run --release -- --data DIR`. One thread, fixed seed.
//! What a token looks like to the tagger is the product's own code, taken in by path.

#[path = "../../crates/detect/src/dataclean/tagger/decode.rs"]
#[allow(dead_code)]
mod decode;
#[path = "../../crates/detect/src/dataclean/tagger/english_places.rs"]
#[allow(dead_code)]
mod english_places;
#[path = "../../crates/detect/src/dataclean/tagger/features.rs"]
#[allow(dead_code)]
mod features;
#[path = "../../crates/detect/src/dataclean/tagger/model.rs"]
#[allow(dead_code)]
mod model;
#[path = "../../crates/detect/src/dataclean/tagger/table.rs"]
#[allow(dead_code)]
mod table;
#[path = "../../crates/detect/src/dataclean/tagger/token.rs"]
#[allow(dead_code)]
mod token;

#[path = "../../crates/detect/src/dataclean/tagger/companies.rs"]
#[allow(dead_code)]
mod companies;
#[path = "../../crates/detect/src/dataclean/tagger/diagnoses.rs"]
#[allow(dead_code)]
mod diagnoses;
#[path = "../../crates/detect/src/dataclean/tagger/doubts.rs"]
#[allow(dead_code)]
mod doubts;
#[path = "../../crates/detect/src/dataclean/tagger/lexicon.rs"]
#[allow(dead_code)]
mod lexicon;
#[path = "../../crates/detect/src/dataclean/tagger/places.rs"]
#[allow(dead_code)]
mod places;
#[path = "../../crates/detect/src/dataclean/tagger/roles.rs"]
#[allow(dead_code)]
mod roles;
#[path = "../../crates/detect/src/dataclean/tagger/sentence.rs"]
#[allow(dead_code)]
mod sentence;
#[path = "../../crates/detect/src/dataclean/tagger/whole.rs"]
#[allow(dead_code)]
mod whole;
#[path = "../../crates/detect/src/dataclean/tagger/words.rs"]
#[allow(dead_code)]
mod words;

mod chain;
mod clusters;
mod corpus;
mod guard;
mod made_en;
mod made_ru;
mod random;
mod read;
mod run;
mod tables;

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
    /// "words", "ru", "en" or "guard": only this.
    pub only: Option<String>,
    /// Finds in these JSON lines with the present weights; written to standard output.
    pub scan: Option<PathBuf>,
}

fn main() {
    let mut options = Options {
        data: PathBuf::from("../../shared/data"),
        out: PathBuf::from("../crates/detect/src/dataclean/weights"),
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
