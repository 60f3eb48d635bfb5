//! The controls of an application's form, each drawn from the form's fields.

use crate::analysis::ui::layout::components::choice;
use crate::analysis::ui::request::form::Form;
use maud::{Markup, html};

/// The form that the controls are drawn from, and whether they may be changed.
#[derive(Clone, Copy)]
pub(super) struct FormControls<'f> {
    pub(super) form: &'f Form,
    pub(super) may_change: bool,
    /// Where the form is sent to be filled by a preset.
    pub(super) preset_at: &'f str,
}

impl FormControls<'_> {
    /// A box with its label and a hint.
    pub(super) fn tick(&self, name: &str, label: &str, hint: &str) -> Markup {
        html! {
            label.tick id=(name) {
                input type="checkbox" name=(name) checked[self.form.is_on(name)];
                span { (label) @if !hint.is_empty() { span.hint { (hint) } } }
            }
        }
    }

    /// A box for a check that may be off: a note says so, where the page's style finds that it is.
    pub(super) fn blocker(&self, name: &str, label: &str, off: &str) -> Markup {
        html! {
            label.tick.blocker id=(name) {
                input type="checkbox" name=(name) checked[self.form.is_on(name)];
                span { (label) span.hint.off { (off) } }
            }
        }
    }

    /// One of several boxes of one name.
    pub(super) fn tick_of(&self, name: &str, value: &str, label: Markup) -> Markup {
        let is_on = self.form.all(name).any(|given| given == value);
        html! { label.tick { input type="checkbox" name=(name) value=(value) checked[is_on]; span { (label) } } }
    }

    /// One of several that exclude each other.
    pub(super) fn radio(&self, name: &str, value: &str, (label, hint): (&str, &str)) -> Markup {
        html! {
            label.tick {
                input type="radio" name=(name) value=(value) checked[self.form.text(name) == value];
                span { (label) @if !hint.is_empty() { span.hint { (hint) } } }
            }
        }
    }

    /// A choice out of a short list.
    pub(super) fn select(&self, name: &str, label: &str, choices: &[(&str, &str)]) -> Markup {
        html! {
            label id=(name) { (label)
                select name=(name) { @for (value, text) in choices { (choice(value, text, self.form.text(name))) } }
            }
        }
    }

    /// A whole number.
    pub(super) fn number(&self, name: &str, label: &str) -> Markup {
        html! { label id=(name) { (label) input name=(name) value=(self.form.text(name)) inputmode="numeric" autocomplete="off"; } }
    }

    /// Rows of two texts each, with an empty one at the end, which more are made of.
    pub(super) fn rows(&self, prefix: &str, rows: &Rows<'_>) -> Markup {
        let (first, second) = (
            format!("{prefix}{}", rows.first.0),
            format!("{prefix}{}", rows.second.0),
        );
        let given = self.form.all(&first).zip(self.form.all(&second));
        let given: Vec<_> = given
            .filter(|(one, other)| !one.is_empty() || !other.is_empty())
            .collect();
        let blank = self.may_change.then_some(("", ""));
        html! {
            div.rows data-rows {
                @for (one, other) in given.into_iter().chain(blank) {
                    div.pair.long[rows.is_long] data-row {
                        label { span.small { (rows.first.1) } input name=(first) value=(one) maxlength="64" placeholder=" " autocomplete="off" spellcheck="false"; }
                        label { span.small { (rows.second.1) }
                            @if rows.is_long {
                                textarea name=(second) rows="3" maxlength="10000" { (other) }
                            } @else {
                                input.code name=(second) value=(other) maxlength="2000" autocomplete="off" spellcheck="false";
                            }
                        }
                        button.quiet.scripted type="button" data-drop-row aria-label=(rows.remove) title=(rows.remove) { "×" }
                    }
                }
                button.quiet.scripted type="button" data-add-row { "+ " (rows.add) }
            }
        }
    }
}

/// The labels of rows of two texts.
pub(super) struct Rows<'t> {
    /// Field and label of the first text.
    pub(super) first: (&'static str, &'t str),
    /// And of the second one.
    pub(super) second: (&'static str, &'t str),
    /// Whether the second one has several lines.
    pub(super) is_long: bool,
    pub(super) add: &'t str,
    pub(super) remove: &'t str,
}
