//! One-time codes by time (RFC 6238: HMAC-SHA-1, six digits, steps of 30 seconds), and Base32 (RFC 4648), the form in
//! which apps take the secret.

use ring::hmac;
use subtle::ConstantTimeEq as _;

/// Bytes of a secret, as many as those of the hash (RFC 4226 4).
pub(super) const SECRET: usize = 20;
/// Letters of a secret.
const LETTERS: usize = 32;
const STEP_MS: i64 = 30_000;
const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The step after `last`, and at most one from now, whose code this is: a code works once, and clocks differ.
pub(super) fn step_of(given: &str, secret: &[u8], now_ms: i64, last: i64) -> Option<i64> {
    let now = now_ms.div_euclid(STEP_MS);
    let steps = [now - 1, now, now + 1].into_iter();
    let mut later = steps.filter(|step| *step > last);
    later.find(|step| {
        code(secret, *step)
            .as_bytes()
            .ct_eq(given.as_bytes())
            .into()
    })
}

/// The code of a step (RFC 4226 5.3).
fn code(secret: &[u8], step: i64) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
    let tag = hmac::sign(&key, &step.to_be_bytes());
    let bytes = tag.as_ref();
    let offset = usize::from(bytes.last().copied().unwrap_or_default() & 0xf);
    let word = bytes.iter().skip(offset).take(4);
    let word = word.fold(0_u32, |word, byte| (word << 8) | u32::from(*byte));
    format!("{:06}", (word & 0x7fff_ffff) % 1_000_000)
}

/// Bytes in Base32, without the signs that fill up a group.
pub(super) fn base32(bytes: &[u8]) -> String {
    let mut text = String::new();
    for group in bytes.chunks(5) {
        let bits = group
            .iter()
            .fold(0_u64, |bits, byte| (bits << 8) | u64::from(*byte));
        let bits = bits << (8 * (5 - group.len()));
        let letters = (group.len() * 8).div_ceil(5);
        text.extend((0..letters).map(|at| letter(bits >> (35 - 5 * at))));
    }
    text
}

/// The letter of the lowest five bits.
fn letter(bits: u64) -> char {
    let letter = ALPHABET.get((bits & 31) as usize);
    letter.copied().map_or('A', char::from)
}

/// The secret that this text writes.
pub(super) fn secret_from_base32(text: &str) -> Option<[u8; SECRET]> {
    if text.len() != LETTERS {
        return None;
    }
    let mut bytes = Vec::with_capacity(SECRET);
    for group in text.as_bytes().chunks(8) {
        let mut bits = 0_u64;
        for letter in group {
            let five = ALPHABET.iter().position(|known| known == letter)?;
            bits = (bits << 5) | five as u64;
        }
        bytes.extend(bits.to_be_bytes().iter().skip(3));
    }
    bytes.try_into().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The secret of RFC 6238, appendix B.
    const RFC: &[u8; SECRET] = b"12345678901234567890";

    #[test]
    fn the_vectors_of_rfc_6238_have_their_codes() {
        for (seconds, expected) in [
            (59, "287082"),
            (1_111_111_109, "081804"),
            (1_111_111_111, "050471"),
            (1_234_567_890, "005924"),
            (2_000_000_000, "279037"),
            (20_000_000_000, "353130"),
        ] {
            assert_eq!(code(RFC, seconds / 30), expected, "{seconds}");
        }
    }

    #[test]
    fn a_code_is_taken_one_step_early_and_late_and_once() {
        let (step, now_ms) = (41_152_263, 1_234_567_890_000);
        let found = |given: &str, now_ms, last| step_of(given, RFC, now_ms, last);
        assert_eq!(found("005924", now_ms, 0), Some(step));
        for late_ms in [-STEP_MS, STEP_MS] {
            assert_eq!(found("005924", now_ms + late_ms, 0), Some(step));
            assert_eq!(found("005924", now_ms + 2 * late_ms, 0), None);
        }
        assert_eq!(found("005924", now_ms, step), None, "it was used");
        assert_eq!(found("005924", now_ms, step - 1), Some(step));
        for wrong in ["", "5924", "005925", "0059240"] {
            assert_eq!(found(wrong, now_ms, 0), None, "{wrong}");
        }
    }

    #[test]
    fn base32_is_that_of_rfc_4648() {
        for (bytes, expected) in [
            ("", ""),
            ("f", "MY"),
            ("fo", "MZXQ"),
            ("foo", "MZXW6"),
            ("foob", "MZXW6YQ"),
            ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI"),
        ] {
            assert_eq!(base32(bytes.as_bytes()), expected);
        }
        assert_eq!(secret_from_base32(&base32(RFC)).unwrap(), *RFC);
        for wrong in ["", "MY", &"a".repeat(LETTERS), &"1".repeat(LETTERS)] {
            assert_eq!(secret_from_base32(wrong), None, "{wrong}");
        }
    }
}
