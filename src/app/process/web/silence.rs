//! How long a client has sent nothing, as far as somebody was looking: what a handler does in the meantime, or
//! a busy machine, is none of the client's silence. It has an end even where every look is late.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// A look is due so many times within the limit.
const LOOKS: u32 = 8;

/// However late the looks are, the silence ends with the first look after so many times the limit that is not
/// the first look after this time: what the client sent has had the time between them to arrive.
const LONGEST: u32 = 4;

/// Begins where a body has nothing more to give.
pub(super) struct Silence {
    limit: Duration,
    /// The time of the looks that were taken in time and found nothing.
    seen: Duration,
    began: Instant,
    /// A look came after the longest silence.
    is_longest: bool,
    /// Fires at the next look.
    timer: Pin<Box<Sleep>>,
}

impl Silence {
    pub(super) fn new(limit: Duration) -> Self {
        Self {
            limit,
            seen: Duration::ZERO,
            began: Instant::now(),
            is_longest: false,
            timer: Box::pin(sleep(limit / LOOKS)),
        }
    }

    /// Resolves when it has lasted too long; asked each time nothing has arrived. A look that comes late does
    /// not count: what the client sent in the meantime may still be on its way here.
    pub(super) fn poll_too_long(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let step = self.limit / LOOKS;
        loop {
            ready!(self.timer.as_mut().poll(cx));
            let now = Instant::now();
            let late = now.saturating_duration_since(self.timer.deadline());
            if late < step {
                self.seen += step;
            }
            let was_longest = self.is_longest;
            self.is_longest = now.duration_since(self.began) >= self.limit * LONGEST;
            if self.seen >= self.limit || was_longest {
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(now + step);
        }
    }

    /// How long it lasted at least, now that something has arrived.
    pub(super) fn ended(self) -> Duration {
        let step = self.limit / LOOKS;
        let looked = self.timer.deadline() - step;
        self.seen + looked.elapsed().min(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::time::advance;

    const LIMIT: Duration = Duration::from_secs(8);

    async fn is_too_long(silence: &mut Silence) -> bool {
        poll_fn(|cx| Poll::Ready(silence.poll_too_long(cx).is_ready())).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_sends_nothing_is_silent_after_the_limit() {
        let (begun, mut silence) = (Instant::now(), Silence::new(LIMIT));
        poll_fn(|cx| silence.poll_too_long(cx)).await;
        assert!(begun.elapsed() >= LIMIT && begun.elapsed() < LIMIT * 2);
    }

    #[tokio::test(start_paused = true)]
    async fn what_nobody_was_looking_at_is_no_silence_of_the_client() {
        let mut silence = Silence::new(LIMIT);
        for _ in 0..7 {
            advance(LIMIT / LOOKS).await;
            assert!(!is_too_long(&mut silence).await);
        }
        // The handler is slow; its first look finds the body empty because nobody has filled it.
        advance(LIMIT * 10).await;
        assert!(!is_too_long(&mut silence).await);
        advance(LIMIT / LOOKS / 2).await;
        assert!(silence.ended() <= LIMIT, "a pace of seconds, not minutes");
    }

    #[tokio::test(start_paused = true)]
    async fn a_silence_ends_however_late_every_look_is() {
        let (begun, mut silence) = (Instant::now(), Silence::new(LIMIT));
        let late = LIMIT / LOOKS * 2;
        while begun.elapsed() < LIMIT * LONGEST {
            assert!(!is_too_long(&mut silence).await);
            advance(late).await;
        }
        assert!(!is_too_long(&mut silence).await, "it may be on its way");
        advance(late).await;
        assert!(is_too_long(&mut silence).await);
    }
}
