//! What the spool asks of its file system, and nothing more: every file of its folder is opened, written, synced,
//! renamed and removed through this room. In the program it is the operating system's, call for call. Unit tests
//! may put a simulated one in its place, which loses, tears and damages what was written.

mod real;
#[cfg(not(test))]
pub(crate) use real::*;

#[cfg(test)]
pub(crate) mod simulated;
#[cfg(test)]
mod switch;
#[cfg(test)]
pub(crate) use switch::*;

/// What is known of a file without reading it.
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
