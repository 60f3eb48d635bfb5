//! SIGHUP before the process can reload: it would end it.

use anyhow::{Context, Result};
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// From here on SIGHUP does not end the process. It has no effect until the process handles it.
///
/// # Errors
/// When the system takes no handler.
pub(crate) fn outlive() -> Result<()> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let _context = runtime.enter();
    // The handler of the system stays for the life of the process; this one listener is not needed.
    let listener = signal(SignalKind::hangup()).context("cannot handle SIGHUP")?;
    drop(listener);
    Ok(())
}
