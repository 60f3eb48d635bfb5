//! The bound of the ids that clients choose: users, sessions, exchanges. They stand in every list and index.

use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// The most bytes of an id.
pub const LONGEST_ID: usize = 512;
/// Bytes of the hash that marks an id as cut.
const HASH: usize = 8;
/// The mark: an ellipsis and the hash in hexadecimal digits.
const MARK: usize = '…'.len_utf8() + 2 * HASH;

/// The id as it is stored: a longer one than [`LONGEST_ID`] is cut, and ends in `…` and a hash of the whole, so that
/// two of them stay different and the same one is found again.
pub fn stored_id(id: &str) -> Cow<'_, str> {
    if id.len() <= LONGEST_ID {
        return Cow::Borrowed(id);
    }
    let kept = id.floor_char_boundary(LONGEST_ID - MARK);
    let hash = Sha256::digest(id.as_bytes());
    let hash: String = hash
        .iter()
        .take(HASH)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Cow::Owned(format!("{}…{hash}", &id[..kept]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_id_is_cut_at_a_character_and_stays_different_from_others() {
        for (piece, fits) in [
            ("u", LONGEST_ID),
            ("ю", LONGEST_ID / 2),
            ("🦀", LONGEST_ID / 4),
        ] {
            let whole = piece.repeat(fits);
            assert_eq!(stored_id(&whole), whole);
            let (one, other) = (format!("{whole}{piece}1"), format!("{whole}{piece}2"));
            let (one, other) = (stored_id(&one), stored_id(&other));
            assert!(one.len() <= LONGEST_ID && one.contains('…'), "{one}");
            assert_ne!(one, other);
            assert_eq!(stored_id(&one), one, "once more changes nothing");
        }
    }
}
