//! Work whose time grows with a text, such as scanning or hashing a large body, on a thread that serves others
//! too.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Work on so many bytes takes less than a millisecond and is done where it is: to hand the thread's other tasks over
/// costs more. Callers count more bytes where small values take longer than one long text does.
const SHORT: usize = 256 * 1024;

/// Does work that costs as much as that on so many bytes of one long text. If there are many, the other tasks of this
/// thread go on meanwhile.
pub(crate) fn heavy<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let has_threads = || {
        let runtime = Handle::try_current();
        runtime.is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
    };
    match bytes > SHORT && has_threads() {
        true => block_in_place(work),
        false => work(),
    }
}
