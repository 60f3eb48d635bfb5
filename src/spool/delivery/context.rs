//! What all delivery workers of a spool share.

use super::breaker::DeliveryBreaker;
use super::pending_attachments::AttachmentQueue;
use crate::backend::Analyzer;
use crate::spool::core::SpoolCore;
use std::sync::Arc;

pub(super) struct WorkerContext {
    pub(super) core: Arc<SpoolCore>,
    pub(super) analyzer: Arc<dyn Analyzer>,
    pub(super) breaker: Arc<DeliveryBreaker>,
    pub(super) attachments: AttachmentQueue,
}
