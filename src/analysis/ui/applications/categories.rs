//! The guardrail categories of one direction: a switch each, its threshold as a slider beside a number,
//! and what that threshold costs and brings by measurement.

use super::controls::Drawn;
use super::fields::prefix;
use crate::analysis::ui::phrases::GuardrailPhrases;
use crate::detect::guardrails::{Category, DEFAULT_THRESHOLD};
use crate::model::Stage;
use maud::{Markup, html};
use serde_json::{Value, json};

/// Every category that is looked for in this direction.
pub(super) fn all(g: &GuardrailPhrases, drawn: Drawn<'_>, stage: Stage) -> Markup {
    html! {
        p.hint { (g.hint) }
        ul.categories { @for category in Category::of(stage) { (one(g, drawn, (stage, category))) } }
        p.hint { (g.source) }
    }
}

fn one(g: &GuardrailPhrases, drawn: Drawn<'_>, (stage, category): (Stage, Category)) -> Markup {
    let (prefix, code) = (prefix(stage), category.as_str());
    let on = format!("{prefix}category_on");
    let name = format!("{prefix}category.{category}");
    let (label, threshold) = (g.name(category), drawn.form.text(&name));
    let place = threshold.trim().parse().unwrap_or(DEFAULT_THRESHOLD);
    html! {
        li.category {
            (drawn.tick_of(&on, code, html! { (label) " " code.dim { (code) } }))
            div.threshold data-slider {
                input.scripted type="range" min="0" max="1" step="0.01" value=(place) aria-label={ (g.threshold) ": " (label) };
                input type="number" name=(name) value=(threshold) min="0" max="1" step="any" placeholder=(DEFAULT_THRESHOLD)
                    aria-label={ (g.threshold) ": " (label) } autocomplete="off";
                (measured(g, category, place))
            }
        }
    }
}

/// A measured point: a threshold, the share of ordinary messages at or above it, and the share of those
/// that are to be found.
struct Rate {
    threshold: f64,
    ordinary: f64,
    recall: f64,
}

fn rates(_: Category) -> Vec<Rate> {
    Vec::new()
}

fn measured(g: &GuardrailPhrases, category: Category, threshold: f64) -> Markup {
    let rates = rates(category);
    let away = |rate: &Rate| (rate.threshold - threshold).abs();
    let nearest = rates.iter().min_by(|a, b| away(a).total_cmp(&away(b)));
    let Some(nearest) = nearest else {
        return html! { span.hint.measured { (g.not_measured) } };
    };
    let points = rates.iter().map(|rate| {
        let (ordinary, recall) = (share(rate.ordinary), share(rate.recall));
        json!([rate.threshold, ordinary, recall])
    });
    let points = Value::from_iter(points).to_string();
    html! {
        output.hint.measured data-rates=(points) {
            (g.flags) " " strong data-ordinary { (share(nearest.ordinary)) } " " (g.of_ordinary) ", "
            (g.finds) " " strong data-recall { (share(nearest.recall)) } " " (g.of_attacks)
        }
    }
}

/// Percent, with as many digits as tell something.
fn share(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        0.0 => "0 %".to_owned(),
        ..0.1 => "< 0.1 %".to_owned(),
        ..10.0 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}
