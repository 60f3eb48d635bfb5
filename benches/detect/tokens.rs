//! What counting tokens costs: ordinary text, and runs without a border, which are one piece.

use super::{Scale, best, filled};
use monitor_detect::Encoding;
use std::hint::black_box;

const CODE: &str = include_str!("main.rs");
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";
const CYRILLIC: &str = "абвгдежзийклмнопрстуфхцчшщъыьэюя";
const EMOJI: &str = "😀😁😂🤣😃😄😅😆😉😊🇷🇺👍🏻🔥✨🎉🙏";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Prose, code, and texts that are hard to count.
pub(crate) fn speed(scale: &Scale, [russian, english]: &[&str; 2]) {
    let bytes = scale.bytes;
    let texts = [
        ("Russian", filled(russian, bytes)),
        ("English", filled(english, bytes)),
        ("source code", filled(CODE, bytes)),
        ("base64", mixed(BASE64, bytes)),
        ("one letter", filled("a", bytes)),
        ("letters", mixed(LETTERS, bytes)),
        ("Cyrillic letters", mixed(CYRILLIC, bytes)),
        ("spaces", filled(" ", bytes)),
        ("dashes", filled("-", bytes)),
        ("one emoji", filled("😀", bytes)),
        ("emoji", mixed(EMOJI, bytes)),
    ];
    println!("\n| tokens, {bytes} bytes | o200k_base, MB/s | cl100k_base, MB/s |\n|---|---:|---:|");
    for (name, text) in texts {
        let rates = Encoding::ALL.map(|encoding| {
            let time = best(scale.samples, || {
                black_box(encoding.count(black_box(&text)));
            });
            text.len() as f64 / time.as_secs_f64() / 1e6
        });
        println!("| {name} | {:.1} | {:.1} |", rates[0], rates[1]);
    }
}

/// These characters in an order that looks random, the same in every run.
fn mixed(alphabet: &str, bytes: usize) -> String {
    let characters: Vec<char> = alphabet.chars().collect();
    let (mut text, mut seed) = (String::new(), 1_u64);
    while text.len() < bytes {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text.push(characters[(seed >> 33) as usize % characters.len()]);
    }
    text
}
