//! The writer's thread stands back behind those that serve requests: where they share a CPU, a call
//! in sync mode does not wait for the end of a batch of records. Under full load the writer keeps a
//! share, and callers that wait for a full queue leave it the rest. Linux only, elsewhere nothing.

/// Name of the thread of the writing connection, as `top -H` shows it; the kernel keeps 15 bytes.
pub(super) const WRITER_THREAD: &str = "store writer";

/// Steps behind an ordinary thread (nice value).
#[cfg(target_os = "linux")]
const BEHIND: i32 = 10;

/// Best effort: a thread that is not found or may not be changed writes as fast as the others serve.
#[cfg(target_os = "linux")]
pub(super) fn stand_back() {
    use rustix::process::{Pid, setpriority_process};
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return;
    };
    for thread in threads.flatten() {
        let name = std::fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
        if name.trim_end() != WRITER_THREAD {
            continue;
        }
        let id = thread.file_name().to_str().and_then(|id| id.parse().ok());
        if let Some(id) = id.and_then(Pid::from_raw) {
            // On Linux the call takes the id of a thread and changes that thread only.
            let _ = setpriority_process(Some(id), BEHIND);
        }
    }
}

/// Best effort: a thread that cannot be changed writes as fast as the others serve.
#[cfg(not(target_os = "linux"))]
pub(super) fn stand_back() {}
