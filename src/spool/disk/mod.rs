//! What the spool asks of its file system, and nothing more: every file of its folder is opened, written, synced,
//! renamed and removed through this room. In the program it is the operating system's, call for call. Unit tests
//! may put a simulated one in its place, which loses, tears and damages what was written.

mod about;
pub(crate) use about::About;

mod real;
#[cfg(not(test))]
pub(crate) use real::*;

#[cfg(test)]
pub(crate) mod simulated;
#[cfg(test)]
mod switch;
#[cfg(test)]
pub(crate) use switch::*;
