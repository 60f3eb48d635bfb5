//! The rules of alerts: their list, and the form that adds or changes one.

use super::{Filled, PAGE};
use crate::analysis::alerts::rule::{Rule, RuleKind};
use crate::analysis::alerts::{KnownChannel, KnownRule};
use crate::analysis::ui::application_field::{self, Label};
use crate::analysis::ui::application_names::Names;
use crate::analysis::ui::layout::components::{badge, choice, token_field};
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::paths::address;
use crate::analysis::ui::phrases::AlertPhrases;
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::visit::Visit;
use maud::{Markup, html};
use monitor_model::ApplicationId;
use uuid::Uuid;

pub(super) fn section(
    visit: &Visit,
    rules: &[KnownRule],
    channels: &[KnownChannel],
    names: &Names,
) -> Markup {
    let (t, a) = (visit.view.t, visit.view.alerts());
    let table = Table {
        name: a.rules,
        look: "",
        columns: [
            Column::Text(t.name),
            Column::Text(a.kind),
            Column::Text(visit.view.r().application),
            Column::Text(a.channels),
            Column::Actions(t.actions),
        ],
    };
    let told = |known: &KnownRule| {
        let told = channels.iter();
        let told = told.filter(|channel| known.rule.channels.contains(&channel.id));
        told.map(|channel| channel.channel.name.clone())
            .collect::<Vec<_>>()
    };
    let rows = html! {
        @for known in rules { (table.row([
            html! { (known.rule.name) @if !known.rule.is_enabled { " " (badge("plain", a.disabled)) } },
            html! { (kind_name(a, known.rule.kind)) " " span.dim { (known.rule.verdict) } },
            html! { @if let Some(id) = known.rule.application_id { (names.get(&id).map_or("", String::as_str)) } @else { span.dim { "–" } } },
            html! { div.badges { @for name in told(known) { (badge("plain", &name)) } } },
            row_actions(visit, known),
        ])) }
    };
    html! {
        h2 { (a.rules) }
        @if rules.is_empty() { div.empty { (a.no_rules) } } @else { div.table { (table.of(rows)) } }
    }
}

fn row_actions(visit: &Visit, known: &KnownRule) -> Markup {
    let (t, a) = (visit.view.t, visit.view.alerts());
    let id = known.id.to_string();
    html! {
        @if known.is_in_file { (badge("plain", a.in_file)) } @else {
            a.button.quiet href={ (address(PAGE, &[("rule", &id)])) "#rule" } { (a.edit) span.hidden { " " (known.rule.name) } }
            form.inline method="post" action={ (PAGE) "/rules/" (id) "/remove" } {
                (token_field(&visit.view))
                button.quiet.danger type="submit" data-confirm={ (a.remove_rule_question) " " (known.rule.name) } {
                    (t.remove) span.hidden { " " (known.rule.name) }
                }
            }
        }
    }
}

fn kind_name(a: &AlertPhrases, kind: RuleKind) -> &'static str {
    match kind {
        RuleKind::Count => a.kind_count,
        RuleKind::Share => a.kind_share,
        RuleKind::FirstTime => a.kind_first_time,
        RuleKind::GatewaySilent => a.kind_gateway_silent,
        RuleKind::Budget => a.kind_budget,
    }
}

/// The rule that a form describes. A number that is none becomes 0, which the checks refuse by its name.
pub(super) fn read(form: &Form, application_id: Option<ApplicationId>) -> Rule {
    let kind = RuleKind::from_name(form.text("kind")).unwrap_or(RuleKind::Count);
    let number = |name: &str| form.text(name).trim().parse::<u64>().unwrap_or(0);
    let text = |name: &str| Some(form.text(name).to_owned()).filter(|text| !text.is_empty());
    let has_verdict = !kind.verdicts().is_empty();
    let verdict = if has_verdict {
        form.text("verdict")
    } else {
        ""
    };
    Rule {
        name: form.text("name").trim().to_owned(),
        kind,
        verdict: verdict.to_owned(),
        application_id,
        user_id: text("user_id"),
        r#type: text("type"),
        window_s: match kind {
            RuleKind::FirstTime | RuleKind::Budget => kind.usual_window(),
            RuleKind::Count | RuleKind::Share | RuleKind::GatewaySilent => {
                number("window").saturating_mul(60)
            }
        },
        threshold: number("threshold"),
        minimum: number("minimum"),
        per_user: form.is_on("per_user"),
        include_user: form.is_on("include_user"),
        channels: form
            .all("channels")
            .filter_map(|id| id.parse().ok())
            .collect(),
        repeat_after_s: number("repeat").saturating_mul(60),
        send_resolved: form.is_on("send_resolved"),
        is_enabled: form.is_on("enabled"),
    }
}

/// The fields of a rule.
fn fields(rule: &Rule) -> Form {
    let mut pairs = vec![
        ("name", rule.name.clone()),
        ("kind", rule.kind.as_str().to_owned()),
        ("verdict", rule.verdict.clone()),
        ("user_id", rule.user_id.clone().unwrap_or_default()),
        ("type", rule.r#type.clone().unwrap_or_default()),
        ("window", (rule.window_s / 60).to_string()),
        ("threshold", rule.threshold.to_string()),
        ("minimum", rule.minimum.to_string()),
        ("repeat", (rule.repeat_after_s / 60).to_string()),
    ];
    let application = rule.application_id.map(|id| id.to_string());
    pairs.push(("application_id", application.unwrap_or_default()));
    let channels = rule.channels.iter();
    pairs.extend(channels.map(|id| ("channels", id.to_string())));
    let ticks = [
        ("per_user", rule.per_user),
        ("include_user", rule.include_user),
        ("send_resolved", rule.send_resolved),
        ("enabled", rule.is_enabled),
    ];
    let ticked = ticks.into_iter().filter(|(_, is_on)| *is_on);
    pairs.extend(ticked.map(|(name, _)| (name, "on".to_owned())));
    let own = |(name, value): (&str, String)| (name.to_owned(), value);
    Form::from_pairs(pairs.into_iter().map(own).collect())
}

/// The form of the rule that is changed, or of a new one.
pub(super) fn form(
    visit: &Visit,
    rules: &[KnownRule],
    channels: &[KnownChannel],
    filled: &Filled,
) -> Markup {
    let a = visit.view.alerts();
    let mut changed = rules.iter().filter(|known| !known.is_in_file);
    let known = changed.find(|known| Some(known.id) == filled.rule_id);
    let stored = fields(&known.map_or_else(usual, |known| known.rule.clone()));
    let form = filled.rule.as_ref().unwrap_or(&stored);
    let is_open = filled.rule.is_some() || known.is_some();
    let title = if known.is_some() {
        a.edit_rule
    } else {
        a.new_rule
    };
    html! {
        details.card #rule open[is_open] {
            summary { (title) }
            form method="post" action={ (PAGE) "/rules" } {
                (token_field(&visit.view))
                @if let Some(known) = known { input type="hidden" name="id" value=(known.id); }
                (what(visit, form))
                (bounds(a, form))
                (ticks(a, form))
                @if !channels.is_empty() { (channel_ticks(a, channels, form)) }
                button.primary type="submit" { (visit.view.t.save) }
            }
        }
    }
}

fn usual() -> Rule {
    Rule {
        verdict: "blocked".to_owned(),
        ..Rule::default()
    }
}

fn what(visit: &Visit, form: &Form) -> Markup {
    let (t, a, r) = (visit.view.t, visit.view.alerts(), visit.view.r());
    let verdicts = RuleKind::Count.verdicts().iter();
    html! {
        div.row {
            label { (t.name) input name="name" value=(form.text("name")) required maxlength="200" autocomplete="off"; }
            label { (a.kind) select name="kind" {
                @for kind in RuleKind::ALL { (choice(kind.as_str(), kind_name(a, kind), form.text("kind"))) }
            } }
            label { (a.verdict) select name="verdict" {
                @for one in verdicts { (choice(one, one, form.text("verdict"))) }
            } }
        }
        p.hint { (a.verdict_hint) }
        div.row {
            (application_field::field(Label::Shown(a.only_application), form.text("application_id"), r.name_or_id))
            label { (a.user) input name="user_id" value=(form.text("user_id")) maxlength="512" autocomplete="off"; }
            label { (a.kind_of_find) input name="type" value=(form.text("type")) maxlength="512" autocomplete="off"; }
        }
    }
}

fn bounds(a: &AlertPhrases, form: &Form) -> Markup {
    let numbers = [
        ("window", a.window),
        ("threshold", a.threshold),
        ("minimum", a.minimum),
        ("repeat", a.repeat),
    ];
    html! {
        div.row { @for (name, label) in numbers {
            label { (label) input type="number" name=(name) value=(form.text(name)) min="1" required; }
        } }
        p.hint { (a.window_hint) }
    }
}

fn ticks(a: &AlertPhrases, form: &Form) -> Markup {
    let all = [
        ("per_user", a.per_user, ""),
        ("include_user", a.include_user, a.include_user_hint),
        ("send_resolved", a.send_resolved, ""),
        ("enabled", a.enabled, ""),
    ];
    html! {
        @for (name, label, hint) in all {
            label.tick {
                input type="checkbox" name=(name) checked[form.is_on(name)];
                span { (label) @if !hint.is_empty() { span.hint { (hint) } } }
            }
        }
    }
}

fn channel_ticks(a: &AlertPhrases, channels: &[KnownChannel], form: &Form) -> Markup {
    let chosen: Vec<Uuid> = form
        .all("channels")
        .filter_map(|id| id.parse().ok())
        .collect();
    html! {
        fieldset {
            legend { (a.channels) }
            @for known in channels {
                label.tick {
                    input type="checkbox" name="channels" value=(known.id) checked[chosen.contains(&known.id)];
                    span { (known.channel.name) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b10_a_rule_comes_back_from_its_form() {
        let rule = Rule {
            name: "r".to_owned(),
            verdict: "blocked".to_owned(),
            per_user: true,
            channels: vec![Uuid::from_u128(1), Uuid::from_u128(2)],
            user_id: Some("anna".to_owned()),
            ..Rule::default()
        };
        assert_eq!(read(&fields(&rule), None), rule);
    }
}
