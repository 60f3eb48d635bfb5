//! Core files hold what is in memory: prompts, answers, access keys. Unless the setting allows them there are none, wherever
//! the system would put them.

/// The process leaves no core file, and only root reads its memory.
#[cfg(target_os = "linux")]
pub(crate) fn forbid() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // It is refused for values alone that it does not know.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// The process leaves no core file.
#[cfg(not(target_os = "linux"))]
pub(crate) fn forbid() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = Rlimit {
        current: Some(0),
        ..getrlimit(Resource::Core)
    };
    let _ = setrlimit(Resource::Core, limit);
}
