//! Records that the backend refuses for good, kept for people to look at and to send again
//! (CONTRACT 23): how a dead letter is encoded, the files that hold them, the store that writes them
//! within their bounds, the import of those a process before left, and their replay.

mod class_files;
pub(crate) mod encoding;
pub(crate) mod files;
pub(crate) mod import;
mod letter_file;
mod letter_keys;
pub(crate) mod letter_room;
pub(crate) mod replay;
pub(crate) mod store;

pub use encoding::DeadLetter;
pub use files::dead_letters;
pub use replay::replay_dead_letters;
