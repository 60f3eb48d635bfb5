//! The formats of files of frames.

use super::cipher::OVERHEAD;
use super::first_format;
use super::format::{FRAME_HEADER, FileHeader, HEADER, Marker};
use super::keyring::KeyId;

/// How the frames of a file are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// The file ends within its header, or is nothing but zeros: its process ended before it wrote a frame, or what it
    /// wrote is lost.
    Empty,
    /// The format of versions up to 4.1.
    First,
    Marked {
        marker: Marker,
        /// The key of the contents; None if they are not encrypted.
        key: Option<KeyId>,
    },
}

impl Format {
    /// Bytes before the first frame.
    pub(crate) fn header(self) -> u64 {
        match self {
            Self::Empty => 0,
            Self::First => first_format::HEADER,
            Self::Marked { .. } => HEADER,
        }
    }

    /// Whether each frame says how many are before it.
    pub(crate) fn has_ordinals(self) -> bool {
        matches!(self, Self::Marked { .. })
    }

    /// Bytes of a frame around its content.
    pub(crate) fn overhead(self) -> usize {
        FRAME_HEADER + self.key().map_or(0, |_| OVERHEAD)
    }

    /// The key of the contents; None if they are not encrypted.
    pub(crate) fn key(self) -> Option<KeyId> {
        match self {
            Self::Marked { key, .. } => key,
            Self::Empty | Self::First => None,
        }
    }
}

impl From<FileHeader> for Format {
    fn from(FileHeader { marker, key }: FileHeader) -> Self {
        Self::Marked { marker, key }
    }
}
