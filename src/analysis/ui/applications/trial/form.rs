//! The test panel beside an application's form: it checks a text by the rules in the form, or one regex
//! alone. Nothing is stored.

use crate::analysis::access::Scope;
use crate::analysis::admin::Application;
use crate::analysis::admin::trial::{CustomPolicies, Trial};
use crate::analysis::ingest::verdict;
use crate::analysis::ui::applications::document;
use crate::analysis::ui::applications::problems::refusal;
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::badge;
use crate::analysis::ui::layout::highlight::marked;
use crate::analysis::ui::phrases::Phrases;
use crate::analysis::ui::records::{rulings, scores};
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::{ApiError, Services};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use maud::{Markup, html};
use monitor_model::{AnalysisResponse, Policy, Stage};
use serde_json::{Value, json};
use std::sync::Arc;

/// The fields of the period of a replay, which no script takes for a change of the application.
pub(super) const FROM: &str = "try.from";
pub(super) const TO: &str = "try.to";

/// Checks the text without custom policies: only [`policies`] asks the judge, not every keystroke.
pub(super) async fn text(
    State(services): State<Arc<Services>>,
    visit: Visit,
    form: Form,
) -> Result<Response, Failure> {
    let (tried, t) = (Tried::read(&visit, &form)?, visit.view.t);
    match tried
        .answer(&services, &visit, CustomPolicies::LeftOut)
        .await
    {
        Ok(None) => Ok(part(html! {})),
        Ok(Some(answer)) => Ok(part(html! {
            (tried.verdict(t, &answer))
            @if tried.has_policies { p.hint { (t.policies_left_out) } }
            (scores(&visit.view, &answer.guardrails))
            (texts(t, &tried.text, &answer))
        })),
        Err(error) => wrong(&visit.view, error, &form),
    }
}

/// Checks the text by custom policies too, each with the judge's reason.
pub(super) async fn policies(
    State(services): State<Arc<Services>>,
    visit: Visit,
    form: Form,
) -> Result<Response, Failure> {
    let (tried, t) = (Tried::read(&visit, &form)?, visit.view.t);
    if !tried.has_policies {
        return Ok(part(html! { p.hint { (t.no_policies) } }));
    }
    match tried.answer(&services, &visit, CustomPolicies::Asked).await {
        Ok(None) => Ok(part(html! { p.hint { (t.no_text_tried) } })),
        Ok(Some(answer)) => Ok(part(html! {
            (tried.verdict(t, &answer))
            @if !answer.custom_policy.policies.is_empty() { (rulings(&visit.view, &answer.custom_policy.policies)) }
        })),
        Err(error) => wrong(&visit.view, error, &form),
    }
}

pub(super) async fn regex(
    State(services): State<Arc<Services>>,
    visit: Visit,
    form: Form,
) -> Result<Response, Failure> {
    visit.must(Scope::Admin)?;
    let t = visit.view.t;
    let (regex, text) = (form.text("try.regex").trim(), form.text("try.sample"));
    if regex.is_empty() {
        return Ok(part(html! {}));
    }
    match services
        .admin
        .try_regex(&visit.caller, regex.to_owned(), text.to_owned())
        .await
    {
        Ok(answer) => {
            let entities = &answer.dataclean.entities;
            Ok(part(html! {
                p { (badge(if entities.is_empty() { "plain" } else { "good" }, &format!("{}: {}", t.matches, entities.len()))) }
                pre.text { (marked(text, entities)) }
            }))
        }
        Err(error) => wrong(&visit.view, error, &form),
    }
}

/// A fragment of a page.
fn part(shown: Markup) -> Response {
    Html(shown.into_string()).into_response()
}

/// The problems of a draft, as a fragment of a page.
pub(super) fn wrong(view: &View, error: ApiError, form: &Form) -> Result<Response, Failure> {
    match error {
        ApiError::Fields(_) => {
            let shown = part(refusal(view, view.t.not_yet, &error, form));
            Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response())
        }
        other => Err(other.into()),
    }
}

/// A text and the draft it is tried by.
pub(super) struct Tried {
    pub(super) stage: Stage,
    pub(super) text: String,
    draft: Value,
    policy: Option<Policy>,
    has_policies: bool,
}

impl Tried {
    pub(super) fn read(visit: &Visit, form: &Form) -> Result<Self, Failure> {
        visit.must(Scope::Admin)?;
        let stage = match form.text("try.stage") {
            "post" => Stage::PostCall,
            _ => Stage::PreCall,
        };
        let draft = document::rules(form, json!({}));
        let policies = draft.pointer("/pre/custom_policies");
        let policies = policies.and_then(Value::as_array);
        Ok(Self {
            stage,
            text: form.text("try.text").to_owned(),
            policy: Policy::from_value(&document::policy(form, None)).ok(),
            has_policies: stage == Stage::PreCall && policies.is_some_and(|all| !all.is_empty()),
            draft,
        })
    }

    /// None where there is no text.
    pub(super) async fn answer(
        &self,
        services: &Services,
        visit: &Visit,
        policies: CustomPolicies,
    ) -> Result<Option<AnalysisResponse>, ApiError> {
        if self.text.trim().is_empty() {
            return Ok(None);
        }
        let trial = Trial {
            stage: self.stage,
            policies,
            text: self.text.clone(),
        };
        let draft = self.draft.clone();
        let tried = services.admin.try_draft(&visit.caller, draft, trial);
        tried.await.map(Some)
    }

    pub(super) fn verdict(&self, t: &Phrases, answer: &AnalysisResponse) -> Markup {
        let policy = self.policy.as_ref();
        let blocks = policy.is_some_and(|policy| verdict::blocks(policy, self.stage, answer));
        verdict(t, answer, blocks)
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
        @for error in &answer.errors { p.problem { (t.tell(error)) } }
    }
}

pub(super) fn texts(t: &Phrases, text: &str, answer: &AnalysisResponse) -> Markup {
    html! {
        h3 { (t.found) }
        pre.text { (marked(text, &answer.dataclean.entities)) }
        @if let Some(cleaned) = &answer.dataclean.cleaned_text {
            h3 { (t.cleaned_text) }
            pre.text { (cleaned) }
        }
    }
}

fn policy_tester(t: &Phrases) -> Markup {
    html! {
        details.card {
            summary { (t.policy_tester) }
            p.hint { (t.policy_tester_hint) }
            button type="submit" formaction="/ui/applications/policies" formnovalidate data-into="#policies-result" { (t.ask_judge) }
            div.result #policies-result aria-live="polite" {}
        }
    }
}

/// The panel beside the form, with the replay of stored records where the application has some.
pub(in crate::analysis::ui::applications) fn panel(
    visit: &Visit,
    stored: Option<&Application>,
    address: &str,
) -> Markup {
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
                button.quiet type="submit" formaction="/ui/applications/explain" formtarget="_blank" formnovalidate { (visit.view.a().explain) }
                div.result #try-result aria-live="polite" data-live="/ui/applications/try" data-of="try.text" {}
            }
            (policy_tester(t))
            details.card {
                summary { (t.regex_tester) }
                label { (t.regex) input.code name="try.regex" autocomplete="off" spellcheck="false" data-no-guard; }
                label { (t.text) textarea name="try.sample" rows="3" data-no-guard {} }
                button.unscripted type="submit" formaction="/ui/applications/regex" formnovalidate { (t.try_it) }
                div.result #regex-result aria-live="polite" data-live="/ui/applications/regex" data-of="try.regex try.sample" {}
            }
            @if may_replay { (replay_card(visit, address)) }
        }
    }
}

/// The replay of stored records, of a period or the latest ones.
fn replay_card(visit: &Visit, address: &str) -> Markup {
    let (t, a) = (visit.view.t, visit.view.a());
    html! {
        section.card {
            h2 { (t.replay) }
            p.hint { (t.replay_hint) }
            div.stack {
                label { (a.replay_from) input type="datetime-local" name=(FROM) data-no-guard; }
                label { (a.replay_to) input type="datetime-local" name=(TO) data-no-guard; }
                button type="submit" formaction={ (address) "/replay" } formnovalidate data-into="#replay-result" { (t.replay_now) }
            }
            div.result #replay-result aria-live="polite" {}
        }
    }
}
