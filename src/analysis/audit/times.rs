//! Where the entries of a period stand in the audit log. Entries have numbers in the order in which they are written
//! and no index by time: a search by halves finds the numbers, so that a page reads the entries of its period alone.

use monitor_store::{AuditEntry, AuditFilter, AuditStore, StoreError};

/// How far times may be out of the order of the numbers: several processes write entries, each by its own clock, and
/// some are written after what they are about.
const OUT_OF_ORDER_MS: i64 = 3_600_000;

/// The same filter with the numbers between which its period stands.
pub(super) async fn narrowed(
    store: &dyn AuditStore,
    mut filter: AuditFilter,
) -> Result<AuditFilter, StoreError> {
    if let Some(from) = filter.from_ms {
        let first = first_since(store, from.saturating_sub(OUT_OF_ORDER_MS)).await?;
        filter.after = Some(first.saturating_sub(1));
    }
    if let Some(to) = filter.to_ms {
        let end = first_since(store, to.saturating_add(OUT_OF_ORDER_MS)).await?;
        filter.before = Some(filter.before.map_or(end, |before| before.min(end)));
    }
    Ok(filter)
}

/// The number from which on entries are of this time or later; one more than the newest where there is none.
async fn first_since(store: &dyn AuditStore, time_ms: i64) -> Result<i64, StoreError> {
    let Some(newest) = latest_before(store, i64::MAX).await? else {
        return Ok(0);
    };
    // Up to `low` all are earlier, from `high` on none is.
    let (mut low, mut high) = (0, newest.seq.saturating_add(1));
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match latest_before(store, middle + 1).await? {
            Some(entry) if entry.seq > low && entry.at_ms >= time_ms => high = entry.seq,
            _ => low = middle,
        }
    }
    Ok(high)
}

async fn latest_before(
    store: &dyn AuditStore,
    before: i64,
) -> Result<Option<AuditEntry>, StoreError> {
    let filter = AuditFilter {
        before: Some(before),
        limit: 1,
        ..AuditFilter::default()
    };
    Ok(store.audit(&filter).await?.pop())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use async_trait::async_trait;
    use serde_json::Value;

    /// Numbers and times of entries.
    struct Log(Vec<(i64, i64)>);

    #[async_trait]
    impl AuditStore for Log {
        async fn add_audit(&self, _: AuditEntry) -> Result<(), StoreError> {
            Ok(())
        }

        async fn audit(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>, StoreError> {
            let before = filter.before.unwrap_or(i64::MAX);
            let found = self.0.iter().rev().find(|(seq, _)| *seq < before);
            let entry = |&(seq, at_ms): &(i64, i64)| AuditEntry {
                seq,
                at_ms,
                actor: String::new(),
                token_id: None,
                action: String::new(),
                target: String::new(),
                application_id: None,
                details: Value::Null,
            };
            Ok(found.map(entry).into_iter().collect())
        }
    }

    #[tokio::test]
    async fn the_first_entry_of_a_time_is_found_across_gaps() {
        let gaps = Log(vec![(3, 10), (4, 20), (90, 30), (1_000, 40)]);
        for (time_ms, expected) in [
            (5, 1),
            (10, 1),
            (11, 4),
            (20, 4),
            (21, 5),
            (31, 91),
            (41, 1_001),
        ] {
            let first = first_since(&gaps, time_ms).await.unwrap();
            // A number in a gap stands for the entry behind it.
            let next = |from: i64| gaps.0.iter().map(|(seq, _)| *seq).find(|seq| *seq >= from);
            assert_eq!(next(first), next(expected), "{time_ms}: {first}");
        }
        assert_eq!(first_since(&Log(Vec::new()), 7).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn a_period_keeps_entries_that_are_an_hour_out_of_order() {
        let hour = OUT_OF_ORDER_MS;
        let log = Log((1..=100).map(|seq| (seq, seq * hour)).collect());
        let filter = AuditFilter {
            from_ms: Some(50 * hour),
            to_ms: Some(60 * hour),
            before: Some(90),
            ..AuditFilter::default()
        };
        let found = narrowed(&log, filter).await.unwrap();
        assert_eq!((found.after, found.before), (Some(48), Some(61)));
    }
}
