//! Turns the published vocabularies of tokens into data files of the engine: for each token one byte
//! with its length, then its bytes, in the order of the ranks.

use crate::{Options, data_file, read};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// The vocabularies: `NAME.tiktoken` or `NAME.tiktoken.gz` of the folder of data becomes `NAME.tokens`.
const NAMES: [&str; 2] = ["cl100k_base", "o200k_base"];

pub fn run(options: &Options) {
    for name in NAMES {
        let plain = options.data.join(format!("{name}.tiktoken"));
        let text = match plain.exists() {
            true => read::text(&plain),
            false => read::text(&options.data.join(format!("{name}.tiktoken.gz"))),
        };
        data_file::write(&options.out, &format!("{name}.tokens"), &tokens(&text));
    }
}

fn tokens(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let (token, rank) = line.split_once(' ').expect("token and rank");
        assert_eq!(rank.parse(), Ok(at), "ranks without a gap");
        let token = BASE64_STANDARD.decode(token).expect("base64");
        out.push(u8::try_from(token.len()).expect("a short token"));
        out.extend(token);
    }
    out
}
