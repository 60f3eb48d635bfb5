//! The identifier of a tool call where no originals are kept: the model or the client chooses it, so it may be any text.

use monitor_model::ApplicationId;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The longest identifier that is kept as it is, in bytes.
const LONGEST: usize = 64;
/// Bytes of a digest that stand for an identifier.
const DIGEST: usize = 16;

/// An identifier of letters, digits and `_.:-` with at least one letter stays; a digest stands for any other one.
/// A call and its result have the same one.
pub(super) fn cleaned(application: ApplicationId, id: &str) -> String {
    if id.is_empty() || is_plain(id) {
        return id.to_owned();
    }
    let mut hash = Sha256::new_with_prefix(application.to_string());
    hash.update([0]);
    hash.update(id);
    let mut kept = "sha256:".to_owned();
    for byte in hash.finalize().iter().take(DIGEST) {
        // Writing to a text never fails.
        let _ = write!(kept, "{byte:02x}");
    }
    kept
}

fn is_plain(id: &str) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte);
    id.len() <= LONGEST
        && id.bytes().all(is_known)
        && id.contains(|c: char| c.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn application(number: u128) -> ApplicationId {
        ApplicationId(uuid::Uuid::from_u128(number))
    }

    #[test]
    fn identifiers_of_model_servers_stay() {
        for id in [
            "",
            "call_9qXbP4v0L6",
            "toolu_01A09q90qw90lq917835lq9",
            "functions.get_weather:0",
            "chatcmpl-tool-5f1d8a0c",
            "D681PevKs",
        ] {
            assert_eq!(cleaned(application(1), id), id);
        }
    }

    #[test]
    fn other_texts_become_a_digest_that_is_the_same_for_call_and_result() {
        let long = "x".repeat(LONGEST + 1);
        for id in [
            "anna@example.org",
            "call 1",
            "4111111111111111",
            "123-45-6789",
            "анна",
            &long,
        ] {
            let digest = cleaned(application(1), id);
            assert_eq!(digest, cleaned(application(1), id));
            assert_eq!(digest.len(), "sha256:".len() + 2 * DIGEST, "{digest}");
            assert_ne!(
                digest,
                cleaned(application(2), id),
                "no table serves two applications"
            );
            assert_eq!(digest, cleaned(application(1), &digest), "a digest stays");
        }
    }
}
