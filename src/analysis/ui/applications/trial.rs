//! The live test box beside an application's form: a text judged by the rules as they stand in the
//! form, and one regex on its own. Nothing of it is kept.

use super::document;
use crate::analysis::ui::components::{badge, refusal};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::form::Form;
use crate::analysis::ui::marks::marked;
use crate::analysis::ui::phrases::Phrases;
use crate::analysis::ui::visit::Visit;
use crate::analysis::{ApiError, Service, process};
use crate::model::{AnalysisResponse, Policy, Stage};
use crate::store::{Application, Scope};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use maud::{Markup, html};
use serde_json::json;
use std::sync::Arc;

pub(super) async fn text(
    State(service): State<Arc<Service>>,
    visit: Visit,
    form: Form,
) -> Result<Response, Failure> {
    visit.must(Scope::Admin)?;
    let t = visit.view.t;
    let stage = match form.text("try.stage") {
        "post" => Stage::PostCall,
        _ => Stage::PreCall,
    };
    let (draft, text) = (
        document::rules(&form, json!({})),
        form.text("try.text").to_owned(),
    );
    if text.is_empty() {
        return Ok(Html(String::new()).into_response());
    }
    match service.try_draft(draft, stage, text.clone()).await {
        Ok(answer) => {
            let policy = Policy::from_value(&document::policy(&form, None)).ok();
            let blocks = policy.is_some_and(|policy| process::blocks(&policy, stage, &answer));
            let shown = html! { (verdict(t, &answer, blocks)) (texts(t, &text, &answer)) };
            Ok(Html(shown.into_string()).into_response())
        }
        Err(error) => wrong(t, error),
    }
}

pub(super) async fn regex(
    State(service): State<Arc<Service>>,
    visit: Visit,
    form: Form,
) -> Result<Response, Failure> {
    visit.must(Scope::Admin)?;
    let t = visit.view.t;
    let (regex, text) = (form.text("try.regex").trim(), form.text("try.sample"));
    if regex.is_empty() {
        return Ok(Html(String::new()).into_response());
    }
    match service.try_regex(regex.to_owned(), text.to_owned()).await {
        Ok(answer) => {
            let entities = &answer.dataclean.entities;
            let shown = html! {
                p { (badge(if entities.is_empty() { "plain" } else { "good" }, &format!("{}: {}", t.matches, entities.len()))) }
                pre.text { (marked(text, entities)) }
            };
            Ok(Html(shown.into_string()).into_response())
        }
        Err(error) => wrong(t, error),
    }
}

fn wrong(t: &Phrases, error: ApiError) -> Result<Response, Failure> {
    match error {
        ApiError::Fields(_) => {
            let shown = Html(refusal(t.not_yet, &error).into_string());
            Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response())
        }
        other => Err(other.into()),
    }
}

fn verdict(t: &Phrases, answer: &AnalysisResponse, blocks: bool) -> Markup {
    let categories = answer
        .guardrails
        .categories
        .iter()
        .filter(|category| category.flagged);
    let rulings = answer
        .custom_policy
        .policies
        .iter()
        .filter(|ruling| ruling.flagged);
    let severity = answer
        .tokens
        .usage_severity
        .map(|severity| severity.as_str());
    html! {
        p.badges {
            (match blocks { true => badge("bad", t.would_block), false => badge("good", t.would_pass) })
            @for found in &answer.dataclean.types { (badge("warn", &format!("{} × {}", found.kind, found.count))) }
            @for category in categories { (badge("bad", &category.name)) }
            @for ruling in rulings { (badge("bad", &ruling.name)) }
            (badge("plain", &format!("{}: {}", t.tokens, answer.tokens.count)))
            @if let Some(severity) = severity { (badge("warn", severity)) }
        }
        @for error in &answer.errors { p.problem { (error) } }
    }
}

fn texts(t: &Phrases, text: &str, answer: &AnalysisResponse) -> Markup {
    html! {
        h3 { (t.found) }
        pre.text { (marked(text, &answer.dataclean.entities)) }
        @if let Some(cleaned) = &answer.dataclean.cleaned_text {
            h3 { (t.cleaned_text) }
            pre.text { (cleaned) }
        }
    }
}

/// The panel beside the form, with the replay of stored records where the application has some.
pub(super) fn panel(visit: &Visit, stored: Option<&Application>, address: &str) -> Markup {
    let t = visit.view.t;
    let may_replay = stored.is_some() && visit.may(Scope::Read);
    html! {
        aside.panel aria-label=(t.try_out) {
            section.card {
                h2 { (t.try_out) }
                p.hint { (t.try_out_hint) }
                div.segments role="radiogroup" aria-label=(t.direction) {
                    label { input type="radio" name="try.stage" value="pre" checked data-try-again; span { (t.prompts) } }
                    label { input type="radio" name="try.stage" value="post" data-try-again; span { (t.answers) } }
                }
                label { span.hidden { (t.text) }
                    textarea name="try.text" rows="5" placeholder=(t.try_placeholder) data-no-guard { }
                }
                button.unscripted type="submit" formaction="/ui/applications/try" formnovalidate { (t.try_it) }
                div.result #try-result aria-live="polite" data-live="/ui/applications/try" data-of="try.text" {}
            }
            details.card {
                summary { (t.regex_tester) }
                label { (t.regex) input.code name="try.regex" autocomplete="off" spellcheck="false" data-no-guard; }
                label { (t.text) textarea name="try.sample" rows="3" data-no-guard {} }
                button.unscripted type="submit" formaction="/ui/applications/regex" formnovalidate { (t.try_it) }
                div.result #regex-result aria-live="polite" data-live="/ui/applications/regex" data-of="try.regex try.sample" {}
            }
            @if may_replay {
                section.card {
                    h2 { (t.replay) }
                    p.hint { (t.replay_hint) }
                    button type="submit" formaction={ (address) "/replay" } formnovalidate data-into="#replay-result" { (t.replay_now) }
                    div.result #replay-result aria-live="polite" {}
                }
            }
        }
    }
}
