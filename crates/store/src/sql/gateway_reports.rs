//! Reports of gateways from their columns.

use super::columns::Columns;
use crate::error::StoreError;
use crate::gateway_reports::ReceivedReport;
use monitor_model::GatewayReport;

/// The reports of rows of `gateway_reports`. A later version may write what this one cannot read.
pub(crate) fn reports<R: Columns>(rows: &[R]) -> Result<Vec<ReceivedReport>, StoreError> {
    let mut reports = Vec::with_capacity(rows.len());
    for row in rows {
        let at_ms = row.number("at_ms")?;
        let report = GatewayReport::read(row.raw("report")?);
        reports.extend(report.map(|report| ReceivedReport { report, at_ms }));
    }
    Ok(reports)
}
