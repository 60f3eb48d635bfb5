//! The lanes in which this server counts. Counters of statistics are split into rows (column `lane`), so that writers
//! rarely wait for each other's commits. A server leases a pair of lanes, one for each of its writers, and renews it
//! with the store's maintenance. Until it has one, and where all are leased, it shares a pair drawn by chance: sums are
//! right in any case.

use sqlx::PgConnection;
use std::sync::atomic::{AtomicU8, Ordering};
use uuid::Uuid;

/// Pairs of lanes.
const PAIRS: u8 = 16;
/// Attempts to take one that another server takes at the same moment.
const ATTEMPTS: u32 = 3;

/// The lease outlasts some rounds of maintenance that fail.
const RENEW: &str = "
    UPDATE counter_lanes SET ends_at = now() + interval '5 minutes' WHERE server = $1 RETURNING pair";
const TAKE: &str = "
    INSERT INTO counter_lanes AS kept (pair, server, ends_at)
    SELECT free.pair, $1, now() + interval '5 minutes' FROM generate_series(0, $2::integer - 1) AS free (pair)
    WHERE NOT EXISTS (SELECT FROM counter_lanes AS held WHERE held.pair = free.pair AND held.ends_at > now())
    ORDER BY random() LIMIT 1
    ON CONFLICT (pair) DO UPDATE SET server = excluded.server, ends_at = excluded.ends_at
        WHERE kept.ends_at <= now()
    RETURNING pair";
pub(in crate::postgres) const GIVE_BACK: &str =
    "DELETE FROM counter_lanes WHERE server = $1 RETURNING pair";

/// The pair of this server.
pub(in crate::postgres) struct CounterLanes {
    server: Uuid,
    pair: AtomicU8,
}

impl CounterLanes {
    /// A pair drawn by chance.
    pub(in crate::postgres) fn new() -> Self {
        let server = Uuid::new_v4();
        let [random, ..] = *server.as_bytes();
        Self {
            server,
            pair: AtomicU8::new(random % PAIRS),
        }
    }

    /// Who holds the lease.
    pub(in crate::postgres) fn server(&self) -> Uuid {
        self.server
    }

    /// The lane of one of the two writers.
    pub(in crate::postgres) fn of_writer(&self, writer: u8) -> i16 {
        i16::from(self.pair.load(Ordering::Relaxed)) * 2 + i16::from(writer)
    }

    /// Renews the lease, or takes a pair that is free.
    pub(in crate::postgres) async fn lease(
        &self,
        connection: &mut PgConnection,
    ) -> Result<(), sqlx::Error> {
        let renew = sqlx::query_scalar(RENEW).bind(self.server);
        let mut pair: Option<i32> = renew.fetch_optional(&mut *connection).await?;
        for _ in 0..ATTEMPTS {
            if pair.is_some() {
                break;
            }
            let take = sqlx::query_scalar(TAKE)
                .bind(self.server)
                .bind(i32::from(PAIRS));
            pair = take.fetch_optional(&mut *connection).await?;
        }
        if let Some(pair) = pair.and_then(|pair| u8::try_from(pair).ok()) {
            self.pair.store(pair % PAIRS, Ordering::Relaxed);
        }
        Ok(())
    }
}
