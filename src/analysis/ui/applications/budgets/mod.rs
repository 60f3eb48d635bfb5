//! Budgets in an application's form: rows of one budget each, and the fields and the document that they stand for.

pub(super) mod spent;

use super::controls::FormControls;
use crate::analysis::ui::layout::components::choice;
use crate::analysis::ui::phrases::CostPhrases;
use crate::analysis::ui::request::form::Form;
use maud::{Markup, html};
use monitor_model::Policy;
use serde_json::{Map, Value, json};

/// The fields of a row, in the order of its labels.
const NAMES: [&str; 6] = [
    "budget.per",
    "budget.window",
    "budget.amount",
    "budget.unit",
    "budget.action",
    "budget.warn_at",
];

/// One budget as its row has it.
#[derive(Clone, Copy)]
struct Row<'f>([&'f str; 6]);

impl Row<'_> {
    const BLANK: Self = Self(["application", "day", "", "tokens", "stop", ""]);

    /// A row that is not filled in.
    fn is_blank(self) -> bool {
        self.0[2].trim().is_empty() && self.0[5].trim().is_empty()
    }

    fn document(self) -> Value {
        let [per, window, amount, unit, action, warn_at] = self.0;
        let mut budget = Map::new();
        for (key, word) in [("per", per), ("window", window), ("action", action)] {
            budget.insert(key.to_owned(), word.into());
        }
        let (unit, amount) = match unit {
            "cost" => (unit, json!(amount.trim())),
            _ => ("tokens", number(amount)),
        };
        budget.insert(unit.to_owned(), amount);
        if !warn_at.trim().is_empty() {
            budget.insert("warn_at".to_owned(), number(warn_at));
        }
        Value::Object(budget)
    }
}

/// A number, or the text of anything else, for the validation to report.
fn number(text: &str) -> Value {
    let text = text.trim();
    let whole = text.parse::<u64>().map(Value::from);
    whole.unwrap_or_else(|_| json!(text))
}

fn rows(form: &Form) -> Vec<Row<'_>> {
    let columns = NAMES.map(|name| form.all(name).collect::<Vec<_>>());
    let count = columns.iter().map(Vec::len).min().unwrap_or_default();
    let row = |at: usize| {
        let mut cells = [""; 6];
        for (cell, column) in cells.iter_mut().zip(&columns) {
            *cell = column.get(at).copied().unwrap_or_default();
        }
        Row(cells)
    };
    (0..count).map(row).filter(|row| !row.is_blank()).collect()
}

/// The fields of a policy's budgets.
pub(super) fn fields(policy: &Policy) -> Vec<(String, String)> {
    let of_budget = |budget: &monitor_model::Budget| {
        let unit = if budget.tokens.is_some() {
            "tokens"
        } else {
            "cost"
        };
        let tokens = budget.tokens.map(|tokens| tokens.to_string());
        let amount = tokens.or_else(|| budget.cost.map(|cost| cost.to_string()));
        let values = [
            budget.per.as_str().to_owned(),
            budget.window.as_str().to_owned(),
            amount.unwrap_or_default(),
            unit.to_owned(),
            budget.action.as_str().to_owned(),
            budget.warn_at.to_string(),
        ];
        NAMES.map(str::to_owned).into_iter().zip(values)
    };
    policy.budgets.iter().flat_map(of_budget).collect()
}

/// Puts the budgets of a form into a policy. A form that does not ask leaves them as they are.
pub(super) fn put(policy: &mut Map<String, Value>, form: &Form) {
    if form.all(NAMES[2]).next().is_none() {
        return;
    }
    let budgets: Vec<_> = rows(form).into_iter().map(Row::document).collect();
    match budgets.is_empty() {
        true => drop(policy.remove("budgets")),
        false => drop(policy.insert("budgets".to_owned(), budgets.into())),
    }
}

/// The rows, with a blank one at the end, which more are made of.
pub(super) fn section(c: &CostPhrases, remove: &str, controls: FormControls<'_>) -> Markup {
    let blank = controls.may_change.then_some(Row::BLANK);
    html! {
        fieldset #budgets {
            legend { (c.budgets) }
            p.hint { (c.budgets_hint) }
            div.rows data-rows {
                @for row in rows(controls.form).into_iter().chain(blank) { (budget(c, remove, row)) }
                button.quiet.scripted type="button" data-add-row { "+ " (c.add_budget) }
            }
        }
    }
}

fn budget(c: &CostPhrases, remove: &str, Row(row): Row<'_>) -> Markup {
    let select = |at: usize, label: &str, choices: &[(&str, &str)]| {
        html! {
            label { span.small { (label) }
                select name=(NAMES[at]) { @for (value, text) in choices { (choice(value, text, row[at])) } }
            }
        }
    };
    let input = |at: usize, label: &str| {
        html! {
            label { span.small { (label) } input name=(NAMES[at]) value=(row[at]) maxlength="30" inputmode="decimal" autocomplete="off"; }
        }
    };
    html! {
        div.row data-row {
            (select(0, c.budget_of, &[("application", c.whole_application), ("user", c.each_user)]))
            (select(1, c.budget_window, &[("minute", c.minute), ("day", c.day), ("month", c.month)]))
            (input(2, c.budget_amount))
            (select(3, c.budget_unit, &[("tokens", c.tokens), ("cost", c.money)]))
            (select(4, c.budget_action, &[("stop", c.refuse_calls), ("warn", c.only_warn)]))
            (input(5, c.budget_warn_at))
            button.quiet.scripted type="button" data-drop-row aria-label=(remove) title=(remove) { "×" }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_form_that_nobody_changed_keeps_the_budgets() {
        let budgets = json!([
            {"per": "user", "window": "month", "cost": "12.5", "action": "warn", "warn_at": 90},
            {"per": "application", "window": "minute", "tokens": 7, "action": "stop", "warn_at": 80},
        ]);
        let policy = json!({"app_mode": "async", "budgets": budgets});
        let form = Form::from_pairs(fields(&Policy::from_value(&policy).unwrap()));
        let mut again = Map::new();
        put(&mut again, &form);
        assert_eq!(again["budgets"], budgets);
        let mut untouched = policy.as_object().unwrap().clone();
        put(&mut untouched, &Form::of("mode=async"));
        assert_eq!(untouched["budgets"], budgets);
    }

    #[test]
    fn blank_rows_are_no_budgets_and_what_is_no_number_is_kept_for_the_report() {
        let row = |amount: &str, warn_at: &str| {
            format!(
                "budget.per=user&budget.window=day&budget.amount={amount}&budget.unit=tokens\
                 &budget.action=stop&budget.warn_at={warn_at}&"
            )
        };
        let put_rows = |rows: &str| {
            let mut policy = Map::from_iter([("budgets".to_owned(), json!([1]))]);
            put(&mut policy, &Form::of(rows));
            policy.get("budgets").cloned()
        };
        assert_eq!(put_rows(&row("", "")), None);
        let budget = json!({"per": "user", "window": "day", "action": "stop", "tokens": "many", "warn_at": 5});
        let rows = format!("{}{}", row("many", "5"), row("", ""));
        assert_eq!(put_rows(&rows), Some(json!([budget])));
    }
}
