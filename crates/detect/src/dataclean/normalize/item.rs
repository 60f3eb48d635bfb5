//! A character of a reading.

/// A character as it is read, and its place in the original.
#[derive(Clone, Copy)]
pub(super) struct Item {
    pub(super) c: char,
    pub(super) at: usize,
    pub(super) length: usize,
    /// It is a digit, and stands above or below the line, in a circle and the like.
    pub(super) is_sign: bool,
}
