//! What a form says in a few words, and links to its sections, above its many controls.

use super::fields::prefix;
use crate::analysis::ui::phrases::counted;
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};
use monitor_detect::guardrails::Category;
use monitor_model::Stage;

/// Patterns that are named; of more, their number is told.
const NAMED: usize = 4;

pub(super) fn card(view: &View, form: &Form) -> Markup {
    let (t, a) = (view.t, view.a());
    let sections = [
        ("general", t.general),
        ("policy", t.gateway_policy),
        ("prompts", t.prompts),
        ("answers", t.answers),
        ("keeping", t.keeping),
    ];
    let others = [
        checks(view, form, Stage::PreCall),
        checks(view, form, Stage::PostCall),
        keeping(view, form),
    ];
    let parts: Vec<_> = blocking(view, form).into_iter().chain(others).collect();
    html! {
        section.card.summary {
            p #summary { (parts.join("; ")) "." }
            nav.jumps aria-label=(a.sections) { @for (id, name) in sections { a href={ "#" (id) } { (name) } } }
        }
    }
}

/// What becomes of a call in which something is found; None of a form without the policy, which the file has.
fn blocking(view: &View, form: &Form) -> Option<String> {
    let (t, a) = (view.t, view.a());
    Some(match form.text("mode") {
        "sync" => {
            let checks = [
                ("block.dataclean", t.sensitive_data),
                ("block.guardrails", t.guardrails),
                ("block.custom_policy", t.custom_policies),
            ];
            let on = checks.into_iter().filter(|(name, _)| form.is_on(name));
            let on: Vec<_> = on.map(|(_, label)| label.to_lowercase()).collect();
            match on.is_empty() {
                true => a.blocks_nothing.to_owned(),
                false => a.blocks_these.replace("{}", &on.join(", ")),
            }
        }
        "async" => a.only_observes.to_owned(),
        "none" => a.has_no_policy.to_owned(),
        _ => return None,
    })
}

/// The checks of one direction that are on.
fn checks(view: &View, form: &Form, stage: Stage) -> String {
    let (t, a) = (view.t, view.a());
    let name = |name: &str| format!("{}{name}", prefix(stage));
    let mut parts = Vec::new();
    if form.is_on(&name("dataclean")) {
        parts.push(patterns(view, form, prefix(stage)));
    }
    if form.is_on(&name("guardrails")) {
        let all = Category::of(stage).count();
        let on = form.all(&name("category_on")).count();
        let told = a.guardrails_on.replacen("{}", &on.to_string(), 1);
        parts.push(told.replacen("{}", &all.to_string(), 1));
    }
    let policy = name("policy.name");
    let policies = form.all(&policy).filter(|name| !name.trim().is_empty());
    let policies = policies.count();
    if policies > 0 {
        parts.push(counted(a.policies_written, policies as u64));
    }
    let direction = match stage {
        Stage::PreCall => t.prompts,
        Stage::PostCall => t.answers,
    };
    let direction = direction.to_lowercase();
    match parts.is_empty() {
        true => format!("{direction}: {}", a.checks_nothing),
        false => format!("{direction}: {}", parts.join(", ")),
    }
}

fn patterns(view: &View, form: &Form, prefix: &str) -> String {
    let a = view.a();
    if form.text(&format!("{prefix}which")) != "chosen" {
        return a.all_patterns.to_owned();
    }
    let (chosen, custom) = (format!("{prefix}pattern"), format!("{prefix}custom.name"));
    let custom = form.all(&custom).filter(|name| !name.trim().is_empty());
    let names: Vec<_> = form.all(&chosen).chain(custom).collect();
    match names.len() {
        1..=NAMED => names.join(", "),
        many => counted(a.some_patterns, many as u64),
    }
}

/// What is stored, and for how long.
fn keeping(view: &View, form: &Form) -> String {
    let a = view.a();
    let kept = match form.is_on("keep_original") {
        true => a.keeps_originals,
        false => a.keeps_cleaned,
    };
    match form.text("retention.days").trim().parse() {
        Ok(days) => format!("{kept} {}", counted(a.for_days, days)),
        Err(_) => kept.to_owned(),
    }
}
