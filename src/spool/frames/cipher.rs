//! Encrypts the contents of one file's frames (AES-256-GCM):
//!
//! ```text
//! key of the file:  HKDF-SHA256(salt: the file's marker, key: the spool's key, info: "monitor spool frames 1")
//! content:          nonce[12]  encrypted content  tag[16]
//! authenticated:    the marker, the ordinal and the length of the frame's header
//! ```
//!
//! So no frame can be moved within its file or to another one. The nonce is random: a frame that is written again
//! with the same ordinal, as after a failed write, never meets a nonce of before. The checksums cover what is on
//! disk: damage is found, and the next frame behind it, without the key.

use super::keyring::SpoolKey;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::error::Unspecified;
use ring::hkdf::{HKDF_SHA256, Salt};
use uuid::Uuid;

/// Bytes of the tag behind the encrypted content.
const TAG: usize = 16;
/// Bytes that encryption adds to a content.
pub(crate) const OVERHEAD: usize = NONCE_LEN + TAG;

/// The authenticated part of a frame's header.
pub(super) type Identity = [u8; 16];

/// The cipher of one file.
pub(super) struct FileCipher(LessSafeKey);

impl FileCipher {
    /// The cipher of the file with this marker; None if the library refuses, which it has no reason to.
    pub(super) fn new(key: &SpoolKey, marker: [u8; 8]) -> Option<Self> {
        let extracted = Salt::new(HKDF_SHA256, &marker).extract(key.expose());
        let expanded = extracted.expand(&[b"monitor spool frames 1"], &AES_256_GCM);
        let key = UnboundKey::from(expanded.ok()?);
        Some(Self(LessSafeKey::new(key)))
    }

    /// Encrypts in place; `content` has [`NONCE_LEN`] bytes before the text and [`TAG`] behind it.
    pub(super) fn seal(&self, identity: Identity, content: &mut [u8]) -> Result<(), Unspecified> {
        let (nonce, rest) = content.split_at_mut_checked(NONCE_LEN).ok_or(Unspecified)?;
        nonce.copy_from_slice(&random_nonce());
        let nonce = Nonce::try_assume_unique_for_key(nonce)?;
        let length = rest.len().checked_sub(TAG).ok_or(Unspecified)?;
        let (text, place) = rest.split_at_mut(length);
        let aad = Aad::from(identity);
        let tag = self.0.seal_in_place_separate_tag(nonce, aad, text)?;
        place.copy_from_slice(tag.as_ref());
        Ok(())
    }

    /// The text of a content; None if the content is not the one that was sealed in this frame.
    pub(super) fn open(&self, identity: Identity, mut content: Vec<u8>) -> Option<Vec<u8>> {
        let (nonce, sealed) = content.split_at_mut_checked(NONCE_LEN)?;
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let opened = self.0.open_in_place(nonce, Aad::from(identity), sealed);
        let length = opened.ok()?.len();
        content.copy_within(NONCE_LEN..NONCE_LEN + length, 0);
        content.truncate(length);
        Some(content)
    }
}

/// Random bytes of a version 4 id, without those that have fixed bits.
fn random_nonce() -> [u8; NONCE_LEN] {
    let random = Uuid::new_v4().into_bytes();
    let mut nonce = [0; NONCE_LEN];
    nonce[..6].copy_from_slice(&random[..6]);
    nonce[6..].copy_from_slice(&random[9..15]);
    nonce
}
