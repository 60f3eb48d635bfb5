//! CRYPTO_WALLET: addresses of Bitcoin, Litecoin, Dogecoin, Tron and Ethereum, by their checks. For an Ethereum address
//! with letters of one case, which checks nothing, the form is enough.

use super::nearby::stands_alone;
use crate::chars::is_word_char;
use crate::dataclean::checksum::wallet::{self, EthereumCheck};
use crate::dataclean::text::inline::is_repeated;
use crate::dataclean::{Detector, Needs, PatternName, Span, Strength, Text};
use std::ops::Range;

pub(crate) struct CryptoWallet;

/// Signs of the shortest address, and of the longest.
const SHORTEST: usize = 25;
const LONGEST: usize = 63;
const BASE58: std::ops::RangeInclusive<usize> = SHORTEST..=35;

impl Detector for CryptoWallet {
    fn name(&self) -> PatternName {
        PatternName::CryptoWallet
    }

    fn needs(&self) -> Needs {
        Needs::Digit
    }

    fn find(&self, text: &Text, out: &mut Vec<Span>) {
        let whole = text.original();
        for_each_long_word(whole.as_bytes(), |place| {
            let word = &whole.as_bytes()[place.clone()];
            let is_alone = stands_alone(whole, &place, |c| is_word_char(c) || c == '_');
            let strength = Some(word).filter(|_| is_alone).and_then(strength);
            out.extend(strength.map(|strength| Span::new(self.name(), place, strength)));
        });
    }
}

/// Calls `take` with every word of ASCII letters and digits that is long enough. A word of [`SHORTEST`] signs lies
/// on one of the places that are looked at, so that most bytes are not.
fn for_each_long_word(bytes: &[u8], mut take: impl FnMut(Range<usize>)) {
    let mut at = SHORTEST - 1;
    while at < bytes.len() {
        if bytes[at].is_ascii_alphanumeric() {
            let other = |byte: &u8| !byte.is_ascii_alphanumeric();
            // The place before was no part of a word, so that this goes back no further.
            let start = bytes[..at].iter().rposition(other).map_or(0, |at| at + 1);
            let end = bytes[at..].iter().position(other);
            let end = end.map_or(bytes.len(), |length| at + length);
            if (SHORTEST..=LONGEST).contains(&(end - start)) {
                take(start..end);
            }
            at = end;
        }
        at += SHORTEST;
    }
}

fn strength(word: &[u8]) -> Option<Strength> {
    if let [b'0', b'x' | b'X', digits @ ..] = word {
        return match wallet::ethereum(digits) {
            EthereumCheck::Right => Some(Strength::CheckDigits),
            EthereumCheck::Unchecked if !is_repeated(digits) => Some(Strength::Form),
            EthereumCheck::Unchecked | EthereumCheck::Wrong => None,
        };
    }
    let is_base58 = BASE58.contains(&word.len()) && wallet::base58check(word);
    (is_base58 || wallet::bech32(word)).then_some(Strength::CheckDigits)
}

#[cfg(test)]
mod tests {
    use super::super::super::found;
    use super::*;

    #[test]
    fn good_examples() {
        for wallet in [
            "1JS1vJYxMfpgnAW6q4AoDxiSproTkKiU2U",
            "TR8atZKpuJKjFdYfN4SG5nFmNFefXd4P5G",
            "bc1qqdscrmrtxv2kaeq9g76a4gejutle2esvunp2yh",
            "0x2d61c9b2De299153744ec19cd150b655A3372742",
            "0x2d61c9b2de299153744ec19cd150b655a3372742",
        ] {
            for text in [
                wallet.to_owned(),
                format!("Перевод на {wallet}, спасибо. Да"),
            ] {
                assert_eq!(found(&CryptoWallet, &text), [wallet], "{text}");
            }
        }
    }

    #[test]
    fn near_misses() {
        for text in [
            "1JS1vJYxMfpgnAW6q4AoDxiSproTkKiU2V",
            "bc1qqdscrmrtxv2kaeq9g76a4gejutle2esvunp2yq",
            "0x2d61c9b2de299153744ec19cd150b655A3372742",
            "0x0000000000000000000000000000000000000000",
            "0x2d61c9b2de299153744ec19cd150b655a337274211",
            "_1JS1vJYxMfpgnAW6q4AoDxiSproTkKiU2U",
        ] {
            assert!(found(&CryptoWallet, text).is_empty(), "{text}");
        }
    }

    #[test]
    fn every_long_word_is_read_once() {
        for before in 0..60 {
            for length in [24, 25, 40, 63, 64] {
                let text = format!(
                    "{} {} {}",
                    "x ".repeat(before),
                    "a".repeat(length),
                    "b".repeat(25)
                );
                let mut words = Vec::new();
                for_each_long_word(text.as_bytes(), |place| words.push(place.len()));
                let is_long = (SHORTEST..=LONGEST).contains(&length);
                let expected = is_long.then_some(length).into_iter().chain([25]);
                assert_eq!(words, expected.collect::<Vec<_>>(), "{before} {length}");
            }
        }
    }
}
