//! What each check saw in the text of the test panel, as a page of its own: by the rules in the form, saved or not.
//! Nothing is stored and no judge is asked.

use super::form::{Tried, texts};
use crate::analysis::admin::trial::CustomPolicies;
use crate::analysis::ui::applications::fields::prefix;
use crate::analysis::ui::applications::problems::refusal;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{badge, head};
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::phrases::counted;
use crate::analysis::ui::records::scores;
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::{ApiError, Services};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use monitor_detect::guardrails::Category;
use monitor_model::{AnalysisResponse, Entity, GuardrailsReport};
use std::sync::Arc;

/// Findings that are listed.
const LISTED: usize = 200;

pub(super) async fn page(
    State(services): State<Arc<Services>>,
    visit: Visit,
    form: Form,
) -> Result<Response, Failure> {
    let tried = Tried::read(&visit, &form)?;
    let view = &visit.view;
    let answer = tried.answer(&services, &visit, CustomPolicies::LeftOut);
    let (status, content) = match answer.await {
        Ok(None) => (
            StatusCode::OK,
            html! { div.empty { (view.t.no_text_tried) } },
        ),
        Ok(Some(answer)) => {
            let explained = Explained {
                view,
                tried: &tried,
                form: &form,
                answer: &answer,
            };
            (StatusCode::OK, explained.content())
        }
        Err(error @ ApiError::Fields(_)) => {
            let problems = refusal(view, view.t.not_yet, &error, &form);
            (StatusCode::UNPROCESSABLE_ENTITY, problems)
        }
        Err(other) => return Err(other.into()),
    };
    let a = view.a();
    let content = html! {
        (head(a.explanation, html! { p.dim { (a.explanation_hint) } }, html! {}))
        (content)
    };
    let page = layout::page(&visit, Section::Applications, a.explanation, content);
    Ok((status, page).into_response())
}

/// A verdict with the form that it was given by.
struct Explained<'a> {
    view: &'a View,
    tried: &'a Tried,
    form: &'a Form,
    answer: &'a AnalysisResponse,
}

impl Explained<'_> {
    fn content(&self) -> Markup {
        let (view, answer) = (self.view, self.answer);
        html! {
            section.card { (self.tried.verdict(view.t, answer)) }
            (self.checks())
            @if !answer.dataclean.entities.is_empty() { (self.findings()) }
            section.card { (scores(view, &answer.guardrails)) (texts(view.t, &self.tried.text, answer)) }
        }
    }

    /// One row for each check: whether it is on and blocks, what it saw, and how long it took.
    fn checks(&self) -> Markup {
        let (t, a) = (self.view.t, self.view.a());
        let table = Table {
            name: a.explanation,
            look: "",
            columns: [
                Column::Text(a.check),
                Column::Text(a.setting),
                Column::Text(a.saw),
                Column::Number(a.took),
            ],
        };
        let timings = &self.answer.timings;
        let time = |us| html! { (self.view.u().duration(us)) };
        let name = |text: &str| html! { (text) };
        let rows = html! {
            (table.row([name(t.sensitive_data), self.setting("dataclean"), self.saw_data(), time(timings.dataclean_us)]))
            (table.row([name(t.guardrails), self.setting("guardrails"), self.saw_attacks(), time(timings.guardrails_us)]))
            (table.row([name(t.custom_policies), self.policies(), name(a.not_asked), html! { "–" }]))
            (table.row([name(t.tokens), html! { "–" }, self.saw_tokens(), time(timings.tokens_us)]))
        };
        html! { div.table { (table.of(rows)) } }
    }

    fn setting(&self, check: &str) -> Markup {
        let a = self.view.a();
        let is_on = self
            .form
            .is_on(&format!("{}{check}", prefix(self.tried.stage)));
        let blocks = is_on && self.form.text("mode") == "sync";
        html! {
            @if is_on { (a.check_on) } @else { (a.check_off) }
            @if blocks && self.form.is_on(&format!("block.{check}")) { ", " (a.blocks) }
        }
    }

    fn policies(&self) -> Markup {
        let name = format!("{}policy.name", prefix(self.tried.stage));
        let written = self.form.all(&name).filter(|name| !name.trim().is_empty());
        html! { (counted(self.view.a().policies_written, written.count() as u64)) }
    }

    fn saw_data(&self) -> Markup {
        let (a, found) = (self.view.a(), &self.answer.dataclean);
        let count: u64 = found.types.iter().map(|found| found.count).sum();
        html! {
            @if found.types.is_empty() { (a.saw_nothing) } @else {
                (counted(a.saw_findings, count)) ": "
                span.badges { @for found in &found.types { (badge("warn", &format!("{} × {}", found.kind, found.count))) } }
            }
        }
    }

    fn saw_attacks(&self) -> Markup {
        let (a, report) = (self.view.a(), &self.answer.guardrails);
        let flagged = report.categories.iter().filter(|one| one.flagged);
        let flagged: Vec<_> = flagged.map(|one| self.category(&one.name)).collect();
        html! {
            @if !flagged.is_empty() { (a.saw_flagged.replace("{}", &flagged.join(", "))) }
            @else if let Some(score) = highest(report) { (a.saw_highest.replace("{}", &self.view.u().score(score))) }
            @else { (a.saw_nothing) }
        }
    }

    fn category(&self, name: &str) -> String {
        let known = name.parse::<Category>();
        known.map_or(name.to_owned(), |known| {
            self.view.g().name(known).to_owned()
        })
    }

    fn saw_tokens(&self) -> Markup {
        let tokens = &self.answer.tokens;
        html! {
            (counted(self.view.a().saw_tokens, tokens.count))
            @if let Some(severity) = tokens.usage_severity { " " (badge("warn", severity.as_str())) }
        }
    }

    /// Each finding with its text and its place.
    fn findings(&self) -> Markup {
        let (t, a) = (self.view.t, self.view.a());
        let table = Table {
            name: t.found,
            look: "",
            columns: [
                Column::Text(a.found_type),
                Column::Text(t.text),
                Column::Number(a.place),
            ],
        };
        let all = &self.answer.dataclean.entities;
        let cells = |entity: &Entity| {
            let place = format!("{}–{}", entity.start, entity.end);
            let text = self.text_of(entity);
            [
                html! { code { (&*entity.kind) } },
                html! { (text) },
                html! { (place) },
            ]
        };
        let rows = html! { @for entity in all.iter().take(LISTED) { (table.row(cells(entity))) } };
        html! {
            section.card {
                h2 { (t.found) }
                div.table.flat { (table.of(rows)) }
                @if all.len() > LISTED { p.hint { (a.only_first.replace("{}", &LISTED.to_string())) } }
            }
        }
    }

    /// Places count Unicode code points.
    fn text_of(&self, entity: &Entity) -> String {
        let length = entity.end.saturating_sub(entity.start);
        let text = self.tried.text.chars();
        text.skip(entity.start).take(length).collect()
    }
}

/// The highest score of a category, where any is known.
fn highest(report: &GuardrailsReport) -> Option<f64> {
    let flagged = report.categories.iter().map(|one| one.score);
    let low = report.low_scores.iter().map(|one| one.score);
    flagged.chain(low).reduce(f64::max)
}
