//! The fields of a decision about findings, and the decision that was sent.

use crate::analysis::records::findings::{
    CATEGORY_LABEL, Finding, FindingReason, FindingState, Triage,
};
use crate::analysis::ui::layout::components::{badge, choice};
use crate::analysis::ui::phrases::FindingPhrases;
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};
use monitor_detect::guardrails::Category;

/// The fields for many findings: nothing is chosen.
pub(super) fn blank() -> Form {
    Form::from_pairs(Vec::new())
}

/// The fields as a finding is.
pub(super) fn of(finding: &Finding) -> Form {
    let (state, assignee) = (
        finding.state.as_str(),
        finding.assignee.as_deref().unwrap_or_default(),
    );
    let fields = [
        ("state", state),
        ("state_was", state),
        ("assignee", assignee),
        ("assignee_was", assignee),
    ];
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    Form::from_pairs(fields.into_iter().map(own).collect())
}

/// What somebody decided. What is as it was is left as it is.
pub(super) fn read(form: &Form) -> Triage {
    let reason = FindingReason::from_name(form.text("reason"));
    let is_same = form.text("state") == form.text("state_was") && reason.is_none();
    let (assignee, note) = (form.text("assignee").trim(), form.text("note").trim());
    let named = Some(assignee.to_owned()).filter(|name| !name.is_empty());
    Triage {
        state: FindingState::from_name(form.text("state")).filter(|_| !is_same),
        reason,
        assignee: (assignee != form.text("assignee_was")).then_some(named),
        note: (!note.is_empty()).then(|| note.to_owned()),
    }
}

/// The fields, filled like this. `own` is the name of the person's account.
pub(super) fn fields(view: &View, filled: &Form, own: &str) -> Markup {
    let f = view.f();
    let (state, reason) = (filled.text("state"), filled.text("reason"));
    let is_one = !filled.text("state_was").is_empty();
    html! {
        input type="hidden" name="state_was" value=(filled.text("state_was"));
        input type="hidden" name="assignee_was" value=(filled.text("assignee_was"));
        div.row {
            label { (f.state) select name="state" {
                @if !is_one { (choice("", f.unchanged, state)) }
                @for one in FindingState::ALL { (choice(one.as_str(), f.state_name(one), state)) }
            } }
            label { (f.reason) select name="reason" {
                (choice("", f.no_reason, reason))
                @for one in FindingReason::ALL { (choice(one.as_str(), f.reason_name(one), reason)) }
            } }
            label { (f.assignee) input name="assignee" value=(filled.text("assignee")) placeholder=(f.nobody) list="assignees" maxlength="200" autocomplete="off" spellcheck="false"; }
            datalist #assignees { (choice(own, "", "")) }
            label.wide { (f.note) input name="note" value=(filled.text("note")) maxlength="1000" autocomplete="off"; }
        }
    }
}

/// A state in a colored frame.
pub(super) fn state(f: &FindingPhrases, state: FindingState) -> Markup {
    let tone = match state {
        FindingState::Open => "warn",
        FindingState::Confirmed => "bad",
        FindingState::FalseAlarm | FindingState::Resolved => "plain",
    };
    badge(tone, f.state_name(state))
}

/// A label as people call it.
pub(super) fn label(view: &View, label: &str) -> String {
    let category = label.strip_prefix(CATEGORY_LABEL);
    let known = category.and_then(|name| name.parse::<Category>().ok());
    known.map_or_else(|| label.to_owned(), |known| view.g().name(known).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_as_it_was_is_no_part_of_a_decision() {
        let same = "state=open&state_was=open&assignee=anna&assignee_was=anna&reason=&note=+";
        assert!(read(&Form::of(same)).is_empty());
        let triage = read(&Form::of(
            "state=false_alarm&state_was=open&reason=test_data&assignee=&assignee_was=anna&note=x",
        ));
        assert_eq!(triage.state, Some(FindingState::FalseAlarm));
        assert_eq!(triage.reason, Some(FindingReason::TestData));
        assert_eq!(triage.assignee, Some(None));
        assert_eq!(triage.note.as_deref(), Some("x"));
        let again = read(&Form::of(
            "state=confirmed&state_was=confirmed&reason=real_data",
        ));
        assert_eq!(again.state, Some(FindingState::Confirmed));
    }
}
