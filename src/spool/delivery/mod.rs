//! From the spool to the backend (CONTRACT 23): the dispatcher gives each exchange its worker, workers send
//! and retry, and the backlog reader reads back what memory could not hold or an earlier process left.

mod backlog;
pub(crate) mod backlog_reader;
mod batch;
pub(crate) mod breaker;
mod context;
pub(crate) mod dispatch;
mod fair_items;
mod outcome;
pub(crate) mod pending_attachments;
mod retry_queue;
mod worker;

pub use dispatch::Delivery;
pub use pending_attachments::PendingAttachments;
