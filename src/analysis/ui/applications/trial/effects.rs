//! What a draft changes in the verdict of a record, in words.

use crate::analysis::ui::request::view::View;
use crate::analysis::{ChangedVerdict, Difference};
use serde_json::Value;
use std::collections::BTreeMap;

/// Whether something is no longer found, or is found where nothing was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Lost,
    New,
    Other,
}

/// One change of a verdict.
pub(super) struct Effect {
    pub(super) kind: Kind,
    pub(super) text: String,
}

/// The changes of one record's verdict; at least one.
pub(super) fn of(view: &View, changed: &ChangedVerdict) -> Vec<Effect> {
    let differences = changed.differences.iter();
    let told: Vec<_> = differences
        .clone()
        .flat_map(|one| told(view, one))
        .collect();
    match told.is_empty() {
        true => differences.map(plain).collect(),
        false => told,
    }
}

/// A difference in words; nothing for those that follow from another one.
fn told(view: &View, difference: &Difference) -> Vec<Effect> {
    let (t, a) = (view.t, view.a());
    let is_now = difference.now == Value::Bool(true);
    let flags = |name: &str| match is_now {
        true => effect(Kind::New, a.newly_flags, name),
        false => effect(Kind::Lost, a.no_longer_flags, name),
    };
    match difference.field {
        "blocked" if is_now => vec![effect(Kind::Other, a.newly_blocked, "")],
        "blocked" => vec![effect(Kind::Other, a.no_longer_blocked, "")],
        "guardrails.flagged" => vec![flags(t.guardrails)],
        "custom_policy.flagged" => vec![flags(t.custom_policies)],
        "dataclean.types" => types(view, difference),
        "tokens.usage_severity" => vec![effect(Kind::Other, a.other_severity, "")],
        _ => Vec::new(),
    }
}

fn effect(kind: Kind, phrase: &str, name: &str) -> Effect {
    let text = phrase.replace("{}", name);
    Effect { kind, text }
}

/// The difference as it stands in the API.
fn plain(difference: &Difference) -> Effect {
    let (was, now) = (&difference.was, &difference.now);
    let text = format!("{}: {was} → {now}", difference.field);
    let kind = Kind::Other;
    Effect { kind, text }
}

fn types(view: &View, difference: &Difference) -> Vec<Effect> {
    let a = view.a();
    let (was, now) = (counts(&difference.was), counts(&difference.now));
    let lost = was.keys().filter(|kind| !now.contains_key(*kind));
    let lost = lost.map(|kind| effect(Kind::Lost, a.no_longer_found, kind));
    let found = now.iter().filter_map(|(kind, count)| match was.get(kind) {
        None => Some(effect(Kind::New, a.newly_found, kind)),
        Some(before) if before > count => Some(effect(Kind::Other, a.found_less, kind)),
        Some(before) if before < count => Some(effect(Kind::Other, a.found_more, kind)),
        Some(_) => None,
    });
    lost.chain(found).collect()
}

/// Types with how often each was found.
fn counts(types: &Value) -> BTreeMap<&str, u64> {
    let types = types.as_array().into_iter().flatten();
    types.filter_map(count).collect()
}

fn count(found: &Value) -> Option<(&str, u64)> {
    Some((found.get("type")?.as_str()?, found.get("count")?.as_u64()?))
}
