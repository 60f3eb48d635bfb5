//! The rules that an application or a request brings: their strict check, which names every field that is wrong
//! (CONTRACT 27, 38). What rules do is `monitor_detect`.

pub(crate) mod application_rules;
pub(crate) mod direction;
pub(crate) mod document;
pub(crate) mod file_policies;
