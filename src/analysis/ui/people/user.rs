//! The page of one end user of an application: messages by day, what was found, the latest sessions, and where else the
//! name was used.

use super::PeopleQuery;
use super::bars::{self, change_note, share};
use super::links::{application, name, records_address, user_address};
use crate::analysis::api::records::filters::day_text;
use crate::analysis::records::{
    OTHER_FINDS, SessionFilter, SessionSummary, UserCounts, UserDay, UserDayFilter,
};
use crate::analysis::ui::application_names::Names;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::chart::{
    Chart, ChartTexts, Series, Shape, Times, Unit, label_step,
};
use crate::analysis::ui::layout::components::{
    badge, content_or_refusal, head, maybe_time, number, time_exact,
};
use crate::analysis::ui::layout::highlight::beginning;
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::paths::address;
use crate::analysis::ui::request::list_query::Pairs;
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::{ApiError, Services};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use monitor_model::{ApplicationId, TypeCount};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Sessions that the page lists.
const SESSIONS: u32 = 10;
/// Types of finds that it lists, and units across the picture of a share.
const TYPES: usize = 12;
const SHARE: f64 = 100.0;
/// Characters of a session's name that are shown, and bytes of one that is listed.
const SHOWN: usize = 60;
const LONGEST_NAME: usize = 512;

/// What the page shows.
struct UserReport<'a> {
    view: &'a View,
    application: ApplicationId,
    user: &'a str,
    /// The first and the last day.
    range: (i64, i64),
    /// Of every application that the visitor sees, with the days before to compare with.
    days: Vec<UserDay>,
}

pub(super) async fn page(
    State(services): State<Arc<Services>>,
    visit: Visit,
    pairs: Pairs,
) -> Result<Response, Failure> {
    visit.must_read()?;
    let query = PeopleQuery::read(pairs);
    let found = found(&services, &visit, &query).await;
    let (status, content) = content_or_refusal(&visit.view, found)?;
    let title = name(query.text("user_id"));
    let actions = html! { a.button href="/ui/people" { (visit.view.p().people) } };
    let content = html! {
        (head(&title, html! {}, actions))
        (form(&visit.view, &query))
        (content)
    };
    let page = layout::page(&visit, Section::People, &title, content);
    Ok((status, page).into_response())
}

fn form(view: &View, query: &PeopleQuery) -> Markup {
    html! {
        form.card.filters method="get" action="/ui/people/user" role="search" data-skips-empty {
            input type="hidden" name="application_id" value=(query.text("application_id"));
            input type="hidden" name="user_id" value=(query.text("user_id"));
            div.row {
                (query.days(view))
                div.actions { button.primary type="submit" { (view.o().show) } }
            }
        }
    }
}

async fn found(
    services: &Services,
    visit: &Visit,
    query: &PeopleQuery,
) -> Result<Markup, ApiError> {
    let filter = query.filter(services, visit).await?;
    let user = query.text("user_id");
    let application = filter.application_id.filter(|_| !user.is_empty());
    let application = application.ok_or(ApiError::NotFound)?;
    let (first, last) = filter.days;
    let with_before = UserDayFilter {
        application_id: None,
        user_ids: vec![user.to_owned()],
        days: (first - (last - first + 1), last),
    };
    let days = services
        .records
        .user_days(&visit.caller, application, with_before)
        .await?;
    let sessions = SessionFilter {
        application_id: Some(application),
        user_id: Some(user.to_owned()),
        limit: SESSIONS,
        ..SessionFilter::default()
    };
    let sessions = services.records.sessions(&visit.caller, sessions).await?;
    let ids: BTreeSet<_> = days.iter().map(|day| day.application_id).collect();
    let ids = ids.into_iter().chain([application]);
    let names = services.admin.application_names(&visit.caller, ids).await?;
    let report = UserReport {
        view: &visit.view,
        application,
        user,
        range: filter.days,
        days,
    };
    Ok(report.content(&sessions.sessions, &names))
}

impl UserReport<'_> {
    fn content(&self, sessions: &[SessionSummary], names: &Names) -> Markup {
        html! {
            p.facts {
                (application(self.view, self.application, names))
                a href=(self.records(self.range, &[])) { (self.view.p().to_records) }
            }
            (self.tiles())
            div.charts { (self.chart()) (self.types()) }
            (self.sessions(sessions))
            (self.applications(names))
        }
    }

    fn records(&self, days: (i64, i64), further: &[(&str, &str)]) -> String {
        records_address(self.application, self.user, days, further)
    }

    fn of(&self, application: ApplicationId) -> impl Iterator<Item = &UserDay> {
        let days = self.days.iter();
        days.filter(move |day| day.application_id == application)
    }

    fn tiles(&self) -> Markup {
        let (view, p) = (self.view, self.view.p());
        let (first, last) = self.range;
        let now = bars::total(&bars::by_day(self.of(self.application), self.range));
        let earlier = (first - (last - first + 1), first - 1);
        let before = bars::total(&bars::by_day(self.of(self.application), earlier));
        let of_all = |part| {
            let percent = view.u().percent(share(part, now.messages), 1);
            p.of_all.replace("{}", &percent)
        };
        let tile = |name: &str, further: &[(&str, &str)], value: u64, beside: Markup| {
            html! {
                li { a.card href=(self.records(self.range, further)) {
                    span.dim { (name) } strong { (number(value)) } (beside)
                } }
            }
        };
        let seen = self.of(self.application).map(|day| day.last_ms).max();
        html! {
            ul.tiles {
                (tile(p.messages, &[], now.messages, change_note(view, now.messages, before.messages)))
                (tile(p.flagged, &[("verdict", "flagged")], now.flagged, html! { span.dim.small { (of_all(now.flagged)) } }))
                (tile(p.blocked, &[("verdict", "blocked")], now.blocked, html! { span.dim.small { (of_all(now.blocked)) } }))
                li { div.card { span.dim { (p.last_seen) } strong { (maybe_time(seen)) } } }
            }
        }
    }

    fn chart(&self) -> Markup {
        let (view, p) = (self.view, self.view.p());
        let by_day = bars::by_day(self.of(self.application), self.range);
        let times = self.times();
        let row = |name, take: fn(&UserCounts) -> u64| Series {
            name,
            values: by_day.iter().map(take).collect(),
        };
        let chart = Chart {
            title: p.by_day,
            shape: Shape::Bars,
            series: vec![
                row(p.not_flagged, |day| {
                    day.messages.saturating_sub(day.flagged)
                }),
                row(p.flagged, |day| day.flagged),
            ],
            before: None,
            times: &times,
            unit: Unit::Count,
            texts: ChartTexts {
                highest: view.o().longest,
                units: view.u(),
                summary: view.o().as_table,
                first_column: p.day,
            },
        };
        chart.markup()
    }

    /// The days, each with its records.
    fn times(&self) -> Times {
        let days = || self.range.0..=self.range.1;
        let names: Vec<_> = days()
            .map(|day| day_text(day).unwrap_or_default())
            .collect();
        let labels = names.iter().step_by(label_step(names.len()));
        let short = |name: &String| name.get(5..).unwrap_or_default().to_owned();
        Times {
            labels: labels.map(short).collect(),
            links: days().map(|day| self.records((day, day), &[])).collect(),
            names,
        }
    }

    fn types(&self) -> Markup {
        let p = self.view.p();
        let types = bars::types(self.of(self.application), self.range.0);
        let most = types.first().map_or(1, |found| found.count.max(1));
        let width = |found: &TypeCount| found.count as f64 * SHARE / most as f64;
        html! {
            section.card.chart {
                h2 { (p.types) }
                @if types.is_empty() { p.dim { (p.nothing_found) } }
                ol.shares { @for found in types.iter().take(TYPES) {
                    li {
                        @if found.kind == OTHER_FINDS { span.dim { (self.view.o().other_finds) } } @else {
                            a href=(self.records(self.range, &[("type", &found.kind)])) { (found.kind) }
                        }
                        svg viewBox={ "0 0 " (SHARE) " 8" } preserveAspectRatio="none" aria-hidden="true" {
                            rect.s1 x="0" y="0" width=(format!("{:.1}", width(found))) height="8" {}
                        }
                        span.number { (number(found.count)) }
                    }
                } }
            }
        }
    }

    fn sessions(&self, sessions: &[SessionSummary]) -> Markup {
        let (r, p) = (self.view.r(), self.view.p());
        let table = Table {
            name: p.latest_sessions,
            look: "records",
            columns: [
                Column::Text(r.session),
                Column::Number(p.messages),
                Column::Number(p.flagged),
                Column::Text(p.last_seen),
            ],
        };
        let application = self.application.to_string();
        let parts = [("application_id", &*application), ("user_id", self.user)];
        let cells = |session: &SessionSummary| {
            let one = [
                ("application_id", &*application),
                ("session_id", &*session.session_id),
            ];
            [
                html! { a.cut href=(address("/ui/sessions/one", &one)) { (beginning(&session.session_id, SHOWN).0) } },
                html! { (number(session.messages)) },
                html! { @if session.flagged > 0 { (badge("warn", &number(session.flagged))) } @else { span.dim { "0" } } },
                time_exact(session.last_ms),
            ]
        };
        // Names of sessions are the callers', of any length.
        let listed = sessions
            .iter()
            .filter(|one| one.session_id.len() <= LONGEST_NAME);
        html! {
            div.bar {
                h2 { (p.latest_sessions) }
                a href=(address("/ui/sessions", &parts)) { (p.to_sessions) }
            }
            @if sessions.is_empty() { p.dim { (p.no_sessions) } } @else {
                div.table { (table.of(html! { @for session in listed { (table.row(cells(session))) } })) }
            }
        }
    }

    /// The same name in other applications.
    fn applications(&self, names: &Names) -> Markup {
        let (r, p) = (self.view.r(), self.view.p());
        let all: BTreeSet<_> = self.days.iter().map(|day| day.application_id).collect();
        let of = |id: &ApplicationId| bars::total(&bars::by_day(self.of(*id), self.range));
        let all = all.into_iter().map(|id| (id, of(&id)));
        let all: Vec<_> = all.filter(|(_, counts)| counts.messages > 0).collect();
        let table = Table {
            name: p.applications,
            look: "records",
            columns: [
                Column::Text(r.application),
                Column::Number(p.messages),
                Column::Number(p.flagged),
                Column::Number(p.blocked),
            ],
        };
        let shown = |id: ApplicationId| match names.get(&id) {
            Some(name) => name.clone(),
            None => id.to_string(),
        };
        let cells = |(id, counts): &(ApplicationId, UserCounts)| {
            [
                html! { a.cut href=(user_address(*id, self.user, self.range)) { (shown(*id)) } },
                html! { (number(counts.messages)) },
                html! { (number(counts.flagged)) },
                html! { (number(counts.blocked)) },
            ]
        };
        html! {
            @if all.len() > 1 {
                h2 { (p.applications) }
                p.hint { (p.applications_hint) }
                div.table { (table.of(html! { @for one in &all { (table.row(cells(one))) } })) }
            }
        }
    }
}
