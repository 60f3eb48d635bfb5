//! The guardrail categories of one direction: a switch each, its threshold as a slider beside a number,
//! and the measured false alarms and recall at that threshold.

use super::controls::FormControls;
use super::fields::prefix;
use super::presets;
use crate::analysis::ui::phrases::UnitPhrases;
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};
use monitor_detect::guardrails::{Category, DEFAULT_THRESHOLD, rate_at, rates};
use monitor_model::Stage;
use serde_json::{Value, json};

/// Every category of this direction.
pub(super) fn all(view: &View, controls: FormControls<'_>, stage: Stage) -> Markup {
    let g = view.g();
    html! {
        p.hint { (g.hint) }
        p.hint { (g.source) }
        (presets::buttons(view, controls, stage))
        ul.categories { @for category in Category::of(stage) { (category_row(view, controls, stage, category)) } }
    }
}

fn category_row(
    view: &View,
    controls: FormControls<'_>,
    stage: Stage,
    category: Category,
) -> Markup {
    let g = view.g();
    let (prefix, code) = (prefix(stage), category.as_str());
    let on = format!("{prefix}category_on");
    let name = format!("{prefix}category.{category}");
    let (label, threshold) = (g.name(category), controls.form.text(&name));
    let place = threshold.trim().parse().unwrap_or(DEFAULT_THRESHOLD);
    html! {
        li.category {
            (controls.tick_of(&on, code, html! { (label) " " code.dim { (code) } }))
            div.threshold data-slider {
                input.scripted type="range" min="0" max="1" step="0.01" value=(place) aria-label={ (g.threshold) ": " (label) };
                input type="number" name=(name) value=(threshold) min="0" max="1" step="any" placeholder=(DEFAULT_THRESHOLD)
                    aria-label={ (g.threshold) ": " (label) } autocomplete="off";
                (measured(view, category, place))
            }
        }
    }
}

/// False alarms and recall at the threshold. The script gets all measured points; each holds up to
/// the next one.
fn measured(view: &View, category: Category, threshold: f64) -> Markup {
    let (g, u) = (view.g(), view.u());
    let Some(here) = rate_at(category, threshold) else {
        return html! { span.hint.measured { (g.not_measured) } };
    };
    let own = rates().iter().filter(|rate| rate.category == category);
    let points = own.map(|rate| {
        let (ordinary, recall) = (share(u, rate.false_alarms()), share(u, rate.recall()));
        json!([rate.threshold, ordinary, recall])
    });
    let points = Value::from_iter(points).to_string();
    html! {
        output.hint.measured data-rates=(points) {
            (g.false_alarms) " " strong data-ordinary { (share(u, here.false_alarms())) } ", "
            (g.found) " " strong data-recall { (share(u, here.recall())) }
        }
    }
}

/// Percent, with as many digits as tell something.
fn share(u: &UnitPhrases, share: Option<f64>) -> String {
    let Some(percent) = share.map(|share| share * 100.0) else {
        return "?".to_owned();
    };
    match percent {
        0.0 => u.percent(0.0, 0),
        ..0.1 => format!("< {}", u.percent(0.1, 1)),
        ..10.0 => u.percent(percent, 1),
        _ => u.percent(percent, 0),
    }
}
