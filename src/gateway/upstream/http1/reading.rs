//! Reads from a connection into a buffer that all connections of a thread share, so that one that waits has none.

use futures_util::FutureExt;
use pingora_core::protocols::Stream;
use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

const BUFFER: usize = 64 << 10;

thread_local! {
    static SHARED: RefCell<Vec<u8>> = RefCell::new(vec![0; BUFFER]);
}

/// Gives `take` the next bytes; none at the end of the connection. Nothing is lost where this is pending.
pub(super) fn poll_read<T>(
    stream: &mut Stream,
    cx: &mut Context<'_>,
    take: impl FnOnce(&[u8]) -> T,
) -> Poll<io::Result<T>> {
    SHARED.with_borrow_mut(|shared| {
        let mut buffer = ReadBuf::new(shared);
        ready!(Pin::new(stream).poll_read(cx, &mut buffer))?;
        Poll::Ready(Ok(take(buffer.filled())))
    })
}

/// Whether a connection between two requests is open and silent. It has ended otherwise, or says what nobody asked.
pub(crate) fn is_idle(stream: &mut Stream) -> bool {
    let mut byte = [0];
    // A task that has used up its budget would get no answer of a closed connection either.
    let reading = tokio::task::unconstrained(stream.read(&mut byte));
    reading.now_or_never().is_none()
}
