//! Budgets as a policy in a request may have them: of tokens or of money.

use super::words::{null, or_null, words};
use monitor_model::{BudgetAction, BudgetPer, BudgetWindow, MOST_BUDGET_TOKENS, MOST_BUDGETS};
use utoipa::openapi::schema::{AnyOfBuilder, ArrayBuilder, Object, ObjectBuilder, Schema, Type};

/// The list of a policy; see `Budget`.
pub(super) fn budgets() -> Schema {
    let kinds = AnyOfBuilder::new()
        .item(budget("tokens", tokens(), "cost"))
        .item(budget("cost", cost(), "tokens"));
    ArrayBuilder::new()
        .schema_type(or_null(Type::Array))
        .items(kinds)
        .max_items(Some(MOST_BUDGETS))
        .description(Some(
            "What the application and each of its users may spend; at most one budget of the same `per`, `window` and \
             unit. Null: no bound.",
        ))
        .into()
}

fn budget(unit: &str, amount: impl Into<Schema>, other: &str) -> Object {
    let warn_at = ObjectBuilder::new()
        .schema_type(or_null(Type::Integer))
        .minimum(Some(1))
        .maximum(Some(100))
        .description(Some(
            "The share of it, in percent, from which on calls are warned; by default 80.",
        ));
    let amount: Schema = amount.into();
    let required = ["per", "window", "action", unit];
    let fields = ObjectBuilder::new()
        .property("per", words(BudgetPer::ALL.iter().map(|per| per.as_str())))
        .property(
            "window",
            words(BudgetWindow::ALL.iter().map(|it| it.as_str())),
        )
        .property(unit, amount)
        .property(other, null())
        .property(
            "action",
            words(BudgetAction::ALL.iter().map(|it| it.as_str())),
        )
        .property("warn_at", warn_at.build());
    let all = required.into_iter();
    all.fold(fields, |fields, name| fields.required(name))
        .build()
}

fn tokens() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(1))
        .maximum(Some(MOST_BUDGET_TOKENS))
        .description(Some("Tokens of requests and answers."))
        .build()
}

/// As text, so that no reader rounds it; above 0.
fn cost() -> AnyOfBuilder {
    let text = ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some("^[0-9]{1,12}(\\.[0-9]{1,12})?$"));
    let number = ObjectBuilder::new()
        .schema_type(Type::Number)
        .minimum(Some(0));
    AnyOfBuilder::new()
        .item(text.build())
        .item(number.build())
        .description(Some("An amount in the currency of the price table."))
}
