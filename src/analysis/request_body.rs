//! What a listener tells the handlers about the body of a request: why it ended early, and that its memory is
//! counted. The listener itself is no part of this module.

use async_trait::async_trait;
use std::error::Error;
use std::sync::Arc;
use thiserror::Error as ThisError;

/// Why a listener ended the body of a request; the error that reading it gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
pub enum RefusedBody {
    /// It did not keep arriving (`limits.header_timeout`).
    #[error("the request body did not arrive in time")]
    TooSlow,
    /// There is no memory for it (`limits.buffered_bytes`, `limits.client_bytes`).
    #[error("there is no memory for the request body")]
    NoMemory,
}

impl RefusedBody {
    /// The refusal that caused an error, if one did.
    pub(crate) fn cause_of(error: &(dyn Error + 'static)) -> Option<Self> {
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(refused) = error.downcast_ref::<Self>() {
                return Some(*refused);
            }
            // Its own source is that of the error inside.
            let inside = error
                .downcast_ref::<std::io::Error>()
                .and_then(|error| error.get_ref());
            cause = inside
                .map(|inside| inside as &(dyn Error + 'static))
                .or_else(|| error.source());
        }
        None
    }
}

/// The counted memory of a request's body.
#[async_trait]
pub trait HeldMemory: Send + Sync {
    /// Counts `bytes` more that the body takes, such as those of a compressed one that is being decoded; false where
    /// there is no memory for them, and others returned none in time.
    async fn grow(self: Arc<Self>, bytes: usize) -> bool;

    /// Nothing of the body that was read so far is in memory any more.
    fn release(&self);

    /// The request has brought an access token for messages, so it counts for that and no longer for the address
    /// of its client. Tokens are told apart by this number.
    fn count_for(&self, token: u64);
}

/// The memory of the body of the request that has this extension. It is released when the request has been
/// handled; a handler that passes the body on releases it piece by piece.
#[derive(Clone)]
pub struct BodyMemory(pub Arc<dyn HeldMemory>);

impl BodyMemory {
    /// Counts `bytes` more of the body.
    ///
    /// # Errors
    /// [`RefusedBody::NoMemory`] where there are none.
    pub(crate) async fn grow(&self, bytes: usize) -> Result<(), RefusedBody> {
        match self.0.clone().grow(bytes).await {
            true => Ok(()),
            false => Err(RefusedBody::NoMemory),
        }
    }

    /// Nothing of the body that was read so far is in memory any more.
    pub fn release(&self) {
        self.0.release();
    }

    /// The request has brought an access token for messages, so it counts for that.
    pub(crate) fn count_for(&self, token: u64) {
        self.0.count_for(token);
    }
}

#[cfg(test)]
mod tests {
    use super::RefusedBody;
    use std::io;

    #[test]
    fn a_refusal_is_found_below_the_errors_of_the_libraries() {
        let refused = RefusedBody::NoMemory;
        for error in [
            axum::Error::new(refused),
            axum::Error::new(axum::Error::new(refused)),
            axum::Error::new(io::Error::other(axum::Error::new(refused))),
        ] {
            assert_eq!(RefusedBody::cause_of(&error), Some(refused), "{error:?}");
        }
        let other = axum::Error::new(io::Error::from(io::ErrorKind::BrokenPipe));
        assert_eq!(RefusedBody::cause_of(&other), None);
    }
}
