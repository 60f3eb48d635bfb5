//! The lock under which a server creates what an empty store lacks: of several that start at once, one does.

use async_trait::async_trait;

/// Held until it is released. A process that ends has released it.
#[async_trait]
pub trait StartLock: Send {
    /// Lets the next server go on, which sees everything that was created.
    async fn release(self: Box<Self>);
}
