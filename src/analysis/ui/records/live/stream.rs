//! The live tail of a list as an event stream: rows of records that came since the page was made.
//! The store is looked at, not this process, since other servers may write to it too.
//!
//! - A stream ends with the sign-in that opened it, with the server, and after a while by itself; it
//!   does not keep a sign-in alive.
//! - How often the store is looked at follows how long a look takes, so that a filter which is hard
//!   to answer costs little more than an easy one.

use super::limit::LivePermit;
use crate::analysis::people::Account;
use crate::analysis::records::{RecordFilter, RecordSummary};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::records::rows;
use crate::analysis::ui::request::connection::Stopping;
use crate::analysis::ui::request::list_query::{ListQuery, Pairs};
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::ui::state::Ui;
use crate::analysis::{ApiError, Caller, Services};
use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::{Query, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use maud::html;
use monitor_model::Secret;
use std::collections::HashSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The shortest time between two queries of the store.
const PACE: Duration = Duration::from_millis(700);
/// The pause is at least this many times as long as the query took.
const REST: u32 = 20;
/// Silence after which a sign of life is sent.
const SILENCE: Duration = Duration::from_secs(15);
/// The longest a stream lasts.
const LONGEST: Duration = Duration::from_secs(3600);
/// Tells the page that nothing more comes and that it must not ask again by itself.
const END: &str = "event: end\ndata: \n\n";
/// The same, because nobody is signed in any more.
pub(crate) const SIGNED_OUT_EVENT: &str = "event: end\ndata: signed-out\n\n";

/// One open list.
struct Tail {
    services: Arc<Services>,
    account: Account,
    caller: Caller,
    browser: Secret,
    view: View,
    filter: RecordFilter,
    query: ListQuery,
    known: SeenRecords,
    stopping: Option<Stopping>,
    ends: Instant,
    spoke: Instant,
    pause: Duration,
    _permit: LivePermit,
}

/// Which records the page has.
struct SeenRecords {
    /// At and before this place everything is known.
    floor: i64,
    seen: HashSet<i64>,
}

/// The outcome of one look at the store.
enum Poll {
    Records(Vec<RecordSummary>),
    Empty,
    /// The stream ends: its time is over, or the store refuses.
    Ended,
    /// The sign-in is over.
    SignedOut,
}

pub(crate) async fn stream(
    State(ui): State<Ui>,
    visit: Visit,
    stopping: Option<Extension<Stopping>>,
    Query(mut pairs): Pairs,
) -> Result<Response, Failure> {
    visit.must_read()?;
    let after = pairs.extract_if(.., |(name, _)| name == "after").last();
    let floor = after.and_then(|(_, text)| text.parse().ok()).unwrap_or(0);
    let query = ListQuery::read(Query(pairs)).with("before", None);
    let browser = visit.view.browser.clone().ok_or(Failure::SignedOut)?;
    let mut filter = query.records()?;
    // Refused here, since a stream that has begun has no status any more.
    filter.application_id = visit.caller.narrow(filter.application_id)?;
    let Some(permit) = ui.live_limit.acquire(visit.account.id) else {
        return Ok(StatusCode::SERVICE_UNAVAILABLE.into_response());
    };
    let now = Instant::now();
    let tail = Tail {
        services: ui.services,
        account: visit.account,
        caller: visit.caller,
        browser,
        view: visit.view,
        filter,
        query,
        known: SeenRecords {
            floor,
            seen: HashSet::new(),
        },
        stopping: stopping.map(|Extension(stopping)| stopping),
        ends: now + LONGEST,
        spoke: now,
        pause: Duration::ZERO,
        _permit: permit,
    };
    Ok(tail.answer())
}

impl Tail {
    fn answer(self) -> Response {
        let headers = [
            (header::CONTENT_TYPE, "text/event-stream"),
            // Proxies that collect answers would keep the rows to themselves.
            (HeaderName::from_static("x-accel-buffering"), "no"),
        ];
        let events = unfold(Some(self), |tail| async move { tail?.next().await });
        (headers, Body::from_stream(events)).into_response()
    }

    /// The next event; None behind it where it was the last one.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Option<Self>)> {
        loop {
            self.wait().await?;
            match self.poll().await {
                Poll::Ended => return Some((Ok(Bytes::from_static(END.as_bytes())), None)),
                Poll::SignedOut => {
                    let end = Bytes::from_static(SIGNED_OUT_EVENT.as_bytes());
                    return Some((Ok(end), None));
                }
                Poll::Records(records) => {
                    let event = self.event(&records).await.ok()?;
                    self.spoke = Instant::now();
                    return Some((Ok(event.into()), Some(self)));
                }
                Poll::Empty if self.spoke.elapsed() >= SILENCE => {
                    self.spoke = Instant::now();
                    return Some((Ok(Bytes::from_static(b":\n\n")), Some(self)));
                }
                Poll::Empty => {}
            }
        }
    }

    /// Until the next look; None once the server stops.
    async fn wait(&mut self) -> Option<()> {
        let pause = tokio::time::sleep(self.pause);
        match &mut self.stopping {
            None => pause.await,
            Some(Stopping(stopping)) => tokio::select! {
                () = pause => {}
                _ = stopping.wait_for(|stops| *stops) => return None,
            },
        }
        Some(())
    }

    async fn poll(&mut self) -> Poll {
        if Instant::now() >= self.ends {
            return Poll::Ended;
        }
        if !self.is_signed_in().await {
            return Poll::SignedOut;
        }
        let begun = Instant::now();
        let page = self
            .services
            .records
            .page(&self.caller, self.filter.clone())
            .await;
        self.pause = PACE.max(begun.elapsed() * REST);
        match page {
            Err(_) => Poll::Ended,
            Ok(page) => {
                let is_full = page.next_before.is_some();
                match self.known.fresh(page.records, is_full) {
                    fresh if fresh.is_empty() => Poll::Empty,
                    fresh => Poll::Records(fresh),
                }
            }
        }
    }

    /// By the sign-in that opened it, and with the rights of then.
    async fn is_signed_in(&self) -> bool {
        let account = self.services.people.still_signed_in(&self.browser).await;
        account.is_ok_and(|account| {
            account.is_some_and(|now| {
                now.role == self.account.role && now.application_id == self.account.application_id
            })
        })
    }

    /// The rows, as a table that the page takes them out of.
    async fn event(&self, records: &[RecordSummary]) -> Result<String, ApiError> {
        let ids = records.iter().map(|record| record.application_id);
        let names = self
            .services
            .admin
            .application_names(&self.caller, ids)
            .await?;
        let shown = self
            .services
            .records
            .rows(&self.caller, &self.filter, records)
            .await?;
        let rows = rows::rows(&self.view, &shown, &names, &self.query);
        let rows = html! { table { tbody { (rows) } } };
        // JSON has no line's end in it, which would end the event.
        let data = serde_json::to_string(&rows.into_string()).map_err(|_| ApiError::Internal)?;
        Ok(format!("event: rows\ndata: {data}\n\n"))
    }
}

impl SeenRecords {
    /// What is new of a first page, newest first.
    fn fresh(&mut self, records: Vec<RecordSummary>, is_full: bool) -> Vec<RecordSummary> {
        let seqs: HashSet<i64> = records.iter().map(|record| record.seq).collect();
        let is_new = |seq: i64| seq > self.floor && !self.seen.contains(&seq);
        let fresh = records
            .into_iter()
            .filter(|record| is_new(record.seq))
            .collect();
        // When something on the page is removed, what comes up from below is not new.
        if let Some(lowest) = seqs.iter().min().filter(|_| is_full) {
            self.floor = self.floor.max(*lowest);
        }
        self.seen = seqs;
        fresh
    }
}
