//! The archive of a backup: a tar compressed with zstd, so that `zstd -d | tar -t` shows what is in it, or the same
//! encrypted with a key file (`cipher`). It is written and read from front to back, a part of at most about a
//! megabyte at a time:
//!
//! ```text
//! BACKUP.json                        what this is
//! store/TABLE/000001.jsonl …         rows, a JSON object in each line; the tables in their order
//! files/SHA256/000001 …              bytes of an attached file
//! spool/NAME/000001 …                files of the spool, as they are
//! keys/ID                            keys of the spool; in encrypted archives only
//! COMPLETE.json                      how many of each there are, and a hash over everything before
//! ```
//!
//! An archive without its last entry is no archive: nothing that was interrupted looks complete.

pub(super) mod cipher;
pub(super) mod manifest;
pub(super) mod reader;
pub(super) mod writer;

#[cfg(test)]
mod tests;
