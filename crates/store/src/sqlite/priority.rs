//! Lowers the priority of the writer's thread below that of the threads that serve requests: where they share
//! a CPU, a call in sync mode does not wait for the end of a batch of records. Under full load the writer
//! still gets a share, and callers that wait for a full queue leave it the rest. Linux only; does nothing
//! elsewhere.

/// Name of the writing connection's thread, as `top -H` shows it; the kernel keeps 15 bytes.
pub(super) const WRITER_THREAD: &str = "store writer";

/// Nice value of the writer's thread.
#[cfg(target_os = "linux")]
const NICE: i32 = 10;

/// Best effort: if the thread is not found or cannot be changed, it keeps its ordinary priority.
#[cfg(target_os = "linux")]
pub(super) fn lower_writer_priority() {
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
            // On Linux the call takes a thread id and changes that thread only.
            let _ = setpriority_process(Some(id), NICE);
        }
    }
}

/// Does nothing on this platform.
#[cfg(not(target_os = "linux"))]
pub(super) fn lower_writer_priority() {}
