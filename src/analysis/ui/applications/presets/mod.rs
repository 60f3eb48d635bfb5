//! Presets of the guardrails' thresholds: how strict all categories of one direction are. They fill the form and save
//! nothing; what each threshold costs is shown beside it.

pub(super) mod page;

use super::controls::FormControls;
use super::fields::prefix;
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};
use monitor_detect::guardrails::{Category, DEFAULT_THRESHOLD};
use monitor_model::Stage;

/// The field that names a preset, `pre.strict`.
const FIELD: &str = "preset";

/// How strict all categories are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Preset {
    /// Finds more, with more false alarms.
    Strict,
    /// The defaults of a new application.
    Balanced,
    /// Flags only what is beyond doubt.
    Careful,
}

impl Preset {
    const ALL: [Self; 3] = [Self::Strict, Self::Balanced, Self::Careful];

    fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Balanced => "balanced",
            Self::Careful => "careful",
        }
    }

    fn threshold(self) -> f64 {
        match self {
            Self::Strict => 0.3,
            Self::Balanced => DEFAULT_THRESHOLD,
            Self::Careful => 0.8,
        }
    }
}

/// The buttons of one direction.
pub(super) fn buttons(view: &View, controls: FormControls<'_>, stage: Stage) -> Markup {
    let a = view.a();
    let name = |preset: Preset| match preset {
        Preset::Strict => a.preset_strict,
        Preset::Balanced => a.preset_balanced,
        Preset::Careful => a.preset_careful,
    };
    html! {
        @if controls.may_change {
            div.actions role="group" aria-label=(a.presets) {
                span.dim { (a.presets) }
                @for preset in Preset::ALL {
                    button type="submit" formaction=(controls.preset_at) formnovalidate
                        name=(FIELD) value={ (prefix(stage)) (preset.as_str()) } { (name(preset)) }
                }
            }
            p.hint { (a.presets_hint) }
        }
    }
}

/// The form with the thresholds of the preset that it names; None where it names none.
pub(super) fn filled(form: Form) -> Option<Form> {
    let (stage, preset) = [Stage::PreCall, Stage::PostCall]
        .into_iter()
        .find_map(|stage| {
            let word = form.text(FIELD).strip_prefix(prefix(stage))?;
            let preset = Preset::ALL.into_iter().find(|one| one.as_str() == word)?;
            Some((stage, preset))
        })?;
    let threshold = preset.threshold().to_string();
    let with = |form: Form, category: Category| {
        form.with(&format!("{}category.{category}", prefix(stage)), &threshold)
    };
    Some(Category::of(stage).fold(form, with))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ui_d_a_preset_fills_the_thresholds_of_its_direction_alone() {
        let form = Form::of("preset=post.careful&post.category.toxicity=0.1&pre.category.hate=0.1");
        let filled = filled(form).unwrap();
        assert_eq!(filled.text("post.category.toxicity"), "0.8");
        assert_eq!(filled.text("pre.category.hate"), "0.1");
        for odd in ["", "preset=careful", "preset=pre.odd"] {
            assert!(super::filled(Form::of(odd)).is_none(), "{odd}");
        }
    }
}
