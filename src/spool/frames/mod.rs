//! How records lie in the spool's files: in frames, with which a reader finds the next whole record behind any
//! damage (CONTRACT 23). [`format`] has their bytes, [`writer`] writes them and [`reader`] reads them, encrypted by
//! [`cipher`] with a key of the [`keyring`] if there is one. [`damage`] keeps what cannot be read, [`first_format`]
//! reads the files of versions up to 4.1, and [`lost_header`] those whose header is gone.

mod cipher;
pub(crate) mod damage;
pub(crate) mod file_format;
pub(crate) mod first_format;
pub(crate) mod format;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
pub(crate) mod keyring;
mod lost_header;
pub(crate) mod reader;
mod window;
pub(crate) mod writer;

#[cfg(test)]
pub(in crate::spool) mod tests;
