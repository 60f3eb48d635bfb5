//! What gateways report about themselves, for every server that shows it.

use crate::error::StoreError;
use async_trait::async_trait;
use monitor_model::GatewayReport;

/// What a gateway reported, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedReport {
    /// What it said.
    pub report: GatewayReport,
    /// When a server received it, milliseconds since 1970.
    pub at_ms: i64,
}

/// The latest report of each gateway.
#[async_trait]
pub trait GatewayReportStore: Send + Sync {
    /// Replaces older reports of these gateways by these. Reports from before `forgotten_ms` are deleted, and the
    /// oldest ones beyond `most`.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be written.
    async fn put_gateway_reports(
        &self,
        reports: &[ReceivedReport],
        forgotten_ms: i64,
        most: u32,
    ) -> Result<(), StoreError>;

    /// Reports, the latest first. Those that this version cannot read are left out.
    ///
    /// # Errors
    /// [`StoreError`] when the store cannot be read.
    async fn gateway_reports(&self, limit: u32) -> Result<Vec<ReceivedReport>, StoreError>;
}
