//! What can be known of a file without reading it.

/// One file, whichever of its names was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) bytes: u64,
    /// When it was created, milliseconds since 1970, as far as the file system knows; never after `last_ms`.
    pub(crate) begun_ms: i64,
    /// When it was last written to, milliseconds since 1970.
    pub(crate) last_ms: i64,
    /// Tells whether two names, or a name and an open file, are one file.
    pub(crate) identity: (u64, u64),
}
