//! The runtime of everything that is not a pingora service.

use anyhow::Result;
use tokio::runtime::Runtime;

/// Two worker threads.
pub(crate) fn backend_runtime() -> Result<Runtime> {
    runtime_of(2)
}

/// With so many worker threads.
pub(crate) fn runtime_of(threads: usize) -> Result<Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    Ok(builder
        .worker_threads(threads)
        .thread_name("backend")
        .enable_all()
        .build()?)
}
