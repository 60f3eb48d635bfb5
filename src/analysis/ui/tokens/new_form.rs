//! The form that creates a token. It offers only scopes that its author has.

use crate::analysis::access::{Scope, Scopes};
use crate::analysis::ui::application_field::{self, Label};
use crate::analysis::ui::application_names;
use crate::analysis::ui::layout::components::{choice, token_field};
use crate::analysis::ui::phrases::TokenPhrases;
use crate::analysis::ui::request::form::Form;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::{ApiError, Expiry, FieldProblem, NewToken, Services};
use maud::{Markup, html};
use monitor_model::ApplicationId;
use std::time::Duration;

/// Days that are offered; the first one is chosen.
const DAYS: [u64; 4] = [90, 30, 7, 365];
/// The values of the field for no end and for a chosen day.
const NEVER: &str = "never";
const OWN_DAY: &str = "day";

/// The fields of an empty form.
pub(super) fn blank(application: Option<ApplicationId>) -> Form {
    let application = application.map(|id| id.to_string()).unwrap_or_default();
    let fields = [
        ("scopes", Scope::Ingest.as_str()),
        ("expires", "90"),
        ("application_id", &application),
    ];
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    Form::from_pairs(fields.into_iter().map(own).collect())
}

/// The token that a form describes.
pub(super) async fn read(
    services: &Services,
    visit: &Visit,
    form: &Form,
) -> Result<NewToken, ApiError> {
    let application_id = application_names::of_form(services, visit, form).await?;
    let scopes: Option<Vec<_>> = form.all("scopes").map(Scope::from_name).collect();
    let scopes = scopes.ok_or_else(|| FieldProblem::new("scopes", "is not one of the list"))?;
    Ok(NewToken {
        name: form.text("name").trim().to_owned(),
        scopes: Scopes::of(&scopes),
        application_id,
        expiry: expiry(form)?,
    })
}

fn expiry(form: &Form) -> Result<Expiry, FieldProblem> {
    let unknown = || FieldProblem::new("expires", "is not one of the list");
    match form.text("expires") {
        NEVER => Ok(Expiry::Never),
        OWN_DAY => {
            let end = format!("{}T23:59:59Z", form.text("last_day"));
            let end: Result<jiff::Timestamp, _> = end.parse();
            end.map(|end| Expiry::At(end.as_millisecond()))
                .map_err(|_| FieldProblem::new("last_day", "must be a day, such as 2027-01-31"))
        }
        days => {
            let days = days.parse().ok().filter(|days| DAYS.contains(days));
            let days = days.ok_or_else(unknown)?;
            Ok(Expiry::In(Duration::from_secs(days * 86_400)))
        }
    }
}

/// The form, filled with these fields.
pub(super) fn markup(visit: &Visit, filled: &Form, is_open: bool) -> Markup {
    let (t, k, r) = (visit.view.t, visit.view.k(), visit.view.r());
    let bound = visit.account.application_id;
    html! {
        details.card open[is_open] {
            summary { (k.add) }
            form method="post" action="/ui/tokens" {
                (token_field(&visit.view))
                div.row {
                    label { (t.name) input name="name" value=(filled.text("name")) required maxlength="200" autocomplete="off" placeholder=(k.name_example); }
                    @if bound.is_none() {
                        (application_field::field(Label::Shown(k.only_application), filled.text("application_id"), r.name_or_id))
                    }
                    (ends(k, filled))
                }
                (scopes(visit, k, filled))
                button.primary type="submit" { (k.make) }
            }
        }
    }
}

fn ends(k: &TokenPhrases, filled: &Form) -> Markup {
    let chosen = filled.text("expires");
    html! {
        label { (k.ends)
            select name="expires" {
                @for days in DAYS { (choice(&days.to_string(), &format!("{} {days} {}", k.in_days, k.days), chosen)) }
                (choice(OWN_DAY, k.own_day, chosen)) (choice(NEVER, k.never, chosen))
            }
        }
        label.own-day { (k.last_day) input type="date" name="last_day" value=(filled.text("last_day")); }
    }
}

fn scopes(visit: &Visit, k: &TokenPhrases, filled: &Form) -> Markup {
    let all = [
        (Scope::Ingest, k.ingest_hint),
        (Scope::Read, k.read_hint),
        (Scope::ReadCleaned, k.read_cleaned_hint),
        (Scope::Triage, k.triage_hint),
        (Scope::Admin, k.admin_hint),
    ];
    html! {
        fieldset.scopes {
            legend { (k.scopes) }
            @for (scope, hint) in all.into_iter().filter(|(scope, _)| visit.may(*scope)) {
                label.tick {
                    input type="checkbox" name="scopes" value=(scope.as_str()) checked[filled.all("scopes").any(|given| given == scope.as_str())];
                    span { code { (scope.as_str()) } span.hint { (hint) } }
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_so_many_days_a_day_of_ones_own_or_never() {
        let read = |text: &str| expiry(&Form::of(text));
        assert_eq!(read("expires=never").unwrap(), Expiry::Never);
        let week = Duration::from_secs(7 * 86_400);
        assert_eq!(read("expires=7").unwrap(), Expiry::In(week));
        let day = read("expires=day&last_day=1970-01-01").unwrap();
        assert_eq!(day, Expiry::At(86_399_000));
        for wrong in [
            "expires=8",
            "expires=",
            "expires=day",
            "expires=day&last_day=soon",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
