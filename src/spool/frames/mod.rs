//! How records lie in the spool's files: in frames, with which a reader finds the next whole record behind any
//! damage (CONTRACT 23). [`format`] writes them, [`reader`] reads them, [`damage`] keeps what cannot be read, and
//! [`first_format`] reads the files of versions up to 4.1, and [`lost_header`] those whose header is gone.

pub(crate) mod damage;
mod first_format;
pub(crate) mod format;
mod lost_header;
pub(crate) mod reader;
mod window;

#[cfg(test)]
pub(in crate::spool) mod tests;
