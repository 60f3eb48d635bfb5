//! Whether model servers can be called, where there is more than one: each is asked again and again,
//! and what calls find out counts too.

use super::Live;
use super::headers;
use super::upstreams::Target;
use crate::config::HealthSettings;
use futures_util::future::join_all;
use pingora_core::Result;
use pingora_core::server::ShutdownWatch;
use pingora_http::RequestHeader;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// How soon another interval is in force.
const LOOK: Duration = Duration::from_millis(500);

/// What is known of one model server.
pub(super) struct Health {
    is_up: AtomicBool,
    /// Findings in a row that speak against it.
    against: AtomicU32,
}

impl Health {
    /// Good until something else is known.
    pub(super) fn new() -> Self {
        Self {
            is_up: AtomicBool::new(true),
            against: AtomicU32::new(0),
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.is_up.load(Ordering::Relaxed)
    }

    /// Takes a finding; true when it changed what is known.
    pub(super) fn found(&self, works: bool, settings: &HealthSettings) -> bool {
        let is_up = self.is_up();
        if works == is_up {
            self.against.store(0, Ordering::Relaxed);
            return false;
        }
        let enough = match is_up {
            true => settings.unhealthy_after,
            false => settings.healthy_after,
        };
        if self.against.fetch_add(1, Ordering::Relaxed) + 1 < enough {
            return false;
        }
        self.against.store(0, Ordering::Relaxed);
        let turned =
            self.is_up
                .compare_exchange(is_up, works, Ordering::Relaxed, Ordering::Relaxed);
        turned.is_ok()
    }
}

/// Asks the model servers in force until the process ends; nobody where there is only one.
pub(super) async fn watch(live: &Live, mut shutdown: ShutdownWatch) {
    let watching = async {
        let mut last: Option<Instant> = None;
        loop {
            let shared = live.now();
            let settings = &shared.settings.upstream.health;
            if last.is_none_or(|last| last.elapsed() >= settings.interval) {
                last = Some(Instant::now());
                let targets = shared.upstream.watched();
                join_all(targets.iter().map(|target| check(target, settings))).await;
            }
            let wait = settings.interval.min(LOOK);
            drop(shared);
            sleep(wait).await;
        }
    };
    tokio::select! {
        biased;
        _ = shutdown.wait_for(|ends| *ends) => {}
        () = watching => {}
    }
}

async fn check(target: &Target, settings: &HealthSettings) {
    let asking = async {
        match &settings.path {
            None => connects(target).await,
            Some(path) => answers(target, path).await.unwrap_or(false),
        }
    };
    let works = timeout(settings.timeout, asking).await.unwrap_or(false);
    target.found(works, settings);
}

async fn connects(target: &Target) -> bool {
    let base = target.upstream.base();
    TcpStream::connect((base.host.as_str(), base.port))
        .await
        .is_ok()
}

/// Whether GET of the path is answered with 2xx, without credentials.
async fn answers(target: &Target, path: &str) -> Result<bool> {
    let Ok(peer) = target.upstream.peer(0).await else {
        return Ok(false);
    };
    let mut upstream = target.connections.get(&peer, 0).await?.session;
    let mut head = RequestHeader::build("GET", path.as_bytes(), None)?;
    let id = headers::request_id(&head.headers);
    headers::for_upstream(&mut head, target.upstream.base(), &id, None)?;
    upstream.write_request_header(Box::new(head)).await?;
    upstream.finish_request_body().await?;
    loop {
        upstream.read_response_header().await?;
        match upstream.response_header().map(|head| head.status) {
            Some(status) if status.is_informational() => {}
            status => return Ok(status.is_some_and(|status| status.is_success())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_finding_changes_nothing_and_enough_in_a_row_do() {
        let settings = HealthSettings {
            path: None,
            interval: Duration::from_secs(1),
            timeout: Duration::from_secs(1),
            unhealthy_after: 3,
            healthy_after: 2,
        };
        let health = Health::new();
        let found = |works: &[bool]| works.iter().any(|works| health.found(*works, &settings));
        assert!(!found(&[false, false, true, false, false]) && health.is_up());
        assert!(found(&[false]) && !health.is_up());
        assert!(!found(&[true, false, true]) && !health.is_up());
        assert!(found(&[true]) && health.is_up());
    }
}
