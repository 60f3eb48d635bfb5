//! `/ui/audit`: who changed what and who read originals, newest first. For administrators; one of a single application
//! sees that application's lines. Details are names, versions and counts, never a text or a secret.

mod file;
mod query;

pub(in crate::analysis::ui) use file::export;
#[cfg(test)]
pub(in crate::analysis::ui) use file::too_many;

use crate::analysis::admin::AuditEntry;
use crate::analysis::audit::Action;
use crate::analysis::people::Role;
use crate::analysis::people::refused_sign_ins::Reason;
use crate::analysis::ui::application_names::Names;
use crate::analysis::ui::applications::{field_name, switched as switched_field};
use crate::analysis::ui::failure::Failure;
use crate::analysis::ui::layout::components::{
    badge, content_or_refusal, head, number, time_exact,
};
use crate::analysis::ui::layout::table::{Column, Table};
use crate::analysis::ui::layout::{self, Section};
use crate::analysis::ui::phrases::OverviewPhrases;
use crate::analysis::ui::request::view::View;
use crate::analysis::ui::request::visit::Visit;
use crate::analysis::ui::state::Ui;
use crate::analysis::{ApiError, Services};
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};
use query::AuditQuery;
use serde_json::Value;

const PER_PAGE: u32 = 50;
/// Names that the filter offers.
const OFFERED: u32 = 100;

pub(super) async fn page(
    State(ui): State<Ui>,
    visit: Visit,
    Query(query): Query<AuditQuery>,
) -> Result<Response, Failure> {
    must_be_administrator(&visit)?;
    let found = list(&ui.services, &visit, &query).await;
    let (status, list) = content_or_refusal(&visit.view, found)?;
    let names = match visit.is_administrator() {
        true => ui.services.people.list_accounts(None, OFFERED).await?.0,
        false => Vec::new(),
    };
    let names: Vec<_> = names.into_iter().map(|account| account.name).collect();
    let (view, o) = (&visit.view, visit.view.o());
    let content = html! {
        (head(o.audit, html! { p.dim { (o.audit_hint) (layout::components::in_utc(view)) } }, html! {}))
        (query.form(view, &names))
        (list)
    };
    let page = layout::page(&visit, Section::Audit, o.audit, content);
    Ok((status, page).into_response())
}

fn must_be_administrator(visit: &Visit) -> Result<(), Failure> {
    match visit.account.role {
        Role::Administrator => Ok(()),
        _ => Err(Failure::Forbidden),
    }
}

/// One page of entries, with the links to others.
async fn list(services: &Services, visit: &Visit, query: &AuditQuery) -> Result<Markup, ApiError> {
    let filter = query.filter(services, visit, PER_PAGE).await?;
    let (entries, next) = services.admin.audit_log(&visit.caller, filter).await?;
    let applications = entries.iter().filter_map(|entry| entry.application_id);
    let called = services
        .admin
        .application_names(&visit.caller, applications)
        .await?;
    let view = &visit.view;
    Ok(html! {
        @if entries.is_empty() { div.empty { (view.t.nothing_found) } } @else { (table(view, &entries, &called)) }
        (query.pager(view, next))
    })
}

fn table(view: &View, entries: &[AuditEntry], names: &Names) -> Markup {
    let o = view.o();
    let table = Table {
        name: o.audit,
        look: "records",
        columns: [
            Column::Text(o.time),
            Column::Text(o.person),
            Column::Text(o.action),
            Column::Text(o.target),
            Column::Text(o.details),
        ],
    };
    let cells = |entry: &AuditEntry| {
        [
            time_exact(entry.at_ms),
            actor(o, entry),
            action_text(o, &entry.action),
            target(entry, names),
            html! { div.small { (details(view, entry, names)) } },
        ]
    };
    let rows = html! { @for entry in entries { (table.row(cells(entry))) } };
    html! { div.table { (table.of(rows)) } }
}

fn actor(o: &OverviewPhrases, entry: &AuditEntry) -> Markup {
    html! {
        (who(o, entry))
        @if entry.token_id.is_some() { " " (badge("plain", o.by_key)) }
    }
}

/// The actor's name, or why there is none: several at once, a name without an account, an unknown person.
fn who(o: &OverviewPhrases, entry: &AuditEntry) -> Markup {
    let reason = entry.details.get("reason").and_then(Value::as_str);
    let unknown_name = Reason::UnknownName.as_str();
    html! {
        @if let Some(more) = entry.details.get("more").and_then(Value::as_u64) {
            span.dim { (o.chain_more.replace("{}", &number(more))) }
        } @else if !entry.actor.is_empty() {
            (entry.actor)
        } @else if reason.is_none_or(|reason| reason == unknown_name) {
            span.dim { (o.nobody) }
        } @else {
            span.dim { (o.nobody_known) }
        }
    }
}

fn action_text(o: &OverviewPhrases, word: &str) -> Markup {
    let known = Action::ALL
        .into_iter()
        .find(|action| action.as_str() == word);
    html! { @match known {
        Some(action) => span title=(word) { (name(o, action)) },
        None => code { (word) },
    } }
}

/// The target of an action: its name where the line has one, else its identifier.
fn target(entry: &AuditEntry, names: &Names) -> Markup {
    let is_application = entry.action.starts_with("application.");
    let application = entry.application_id.filter(|_| is_application);
    let called = application.and_then(|id| names.get(&id).map(String::as_str));
    let name = called.or_else(|| entry.details.get("name").and_then(Value::as_str));
    let reads = [
        Action::RecordReadOriginal,
        Action::AttachmentDownload,
        Action::FindingTriage,
    ];
    let is_record = reads.iter().any(|action| action.as_str() == entry.action);
    html! {
        @if let Some(name) = name { div.cut title=(name) { (name) } }
        @if called.is_some() {
            a href={ "/ui/applications/" (entry.target) } { code.small { (entry.target) } }
        } @else if is_record {
            a href={ "/ui/records/" (entry.target) } { code.small { (entry.target) } }
        } @else if name.is_none() { code.small { (entry.target) } }
    }
}

/// Lists of fields that are shown in words.
const LISTS: [&str; 3] = ["switched_off", "switched_on", "weakened"];

fn details(view: &View, entry: &AuditEntry, names: &Names) -> Markup {
    let o = view.o();
    let parts = entry.details.as_object().into_iter().flatten();
    let is_told_beside = |name: &str| matches!(name, "name" | "more") || LISTS.contains(&name);
    let parts = parts.filter(|(name, value)| !is_told_beside(name) && !value.is_null());
    html! {
        p.facts { @for (name, value) in parts { (detail(view, name, value)) } }
        (fields(view, entry))
        @if let Some(version) = changed_version(entry, names) {
            a href={ "/ui/applications/" (entry.target) "/versions?before=" (version + 1) } { (o.show_change) }
        }
    }
}

/// What was switched, and what else of a change weakens protection.
fn fields(view: &View, entry: &AuditEntry) -> Markup {
    let [off, on, weakened] = LISTS.map(|list| {
        let paths = entry.details.get(list).and_then(Value::as_array);
        let paths = paths.into_iter().flatten().filter_map(Value::as_str);
        paths.collect::<Vec<_>>()
    });
    let switched = off.iter().map(|path| (*path, false));
    let switched: Vec<_> = switched
        .chain(on.iter().map(|path| (*path, true)))
        .collect();
    let is_switch = |path: &str| off.contains(&path) || on.contains(&path);
    let others = weakened.iter().filter(|path| !is_switch(path));
    let called = |path: &str| field_name(view, path).unwrap_or_else(|| path.to_owned());
    let mark = || html! { (badge("bad", view.t.weaker)) " " };
    html! {
        @if !switched.is_empty() || !weakened.is_empty() {
            ul.bare {
                @for (path, is_on) in &switched {
                    li { @if weakened.contains(path) { (mark()) } (switched_field(view, path, *is_on)) }
                }
                @for path in others { li { (mark()) (called(path)) } }
            }
        }
    }
}

fn detail(view: &View, name: &str, value: &Value) -> Markup {
    let o = view.o();
    match (name, value) {
        ("reason", Value::String(word)) => html! { span { (o.reason) ": " (reason(o, word)) } },
        ("reasons", Value::Object(counts)) => html! {
            @for (word, count) in counts { span { (reason(o, word)) " × " (count) } }
        },
        _ => {
            let (word, text) = (called(view, name), plain(view, name, value));
            html! { span title=(name) { (word) ": " span.value { (text) } } }
        }
    }
}

/// A reason in the page's language, with the log's own word as its title.
fn reason(o: &OverviewPhrases, word: &str) -> Markup {
    let known = Reason::from_word(word).map(|reason| why(o, reason));
    html! { span.value title=(word) { (known.unwrap_or(word)) } }
}

/// The version that a change made, where the page of versions still has it.
fn changed_version(entry: &AuditEntry, names: &Names) -> Option<i64> {
    let is_application = entry.action.starts_with("application.");
    let is_there = entry
        .application_id
        .is_some_and(|id| names.contains_key(&id));
    let version = entry.details.get("version_to").and_then(Value::as_i64);
    version.filter(|_| is_application && is_there)
}

/// A detail as people call it; one without a name by its key.
fn called<'k>(view: &View, key: &'k str) -> &'k str {
    let a = view.a();
    match key {
        "version_from" => a.version_from,
        "version_to" => a.version_to,
        "changed" => a.changed_fields,
        "scopes" => view.k().scopes,
        "expires_at_ms" => a.expires_at,
        "new_token_id" => a.new_token,
        "old_expires_at_ms" => a.old_expires_at,
        "records" => a.records,
        "attachments" => a.attachments,
        "incomplete" => a.incomplete,
        "role" => a.role,
        "disabled" => a.disabled,
        "ends_at_ms" => a.link_ends_at,
        "address" => a.client_address,
        "format" => a.file_format,
        "originals" => a.with_originals,
        "user_id" => a.filter_user,
        "session_id" => a.filter_session,
        "text" => a.filter_text,
        "verdict" => a.filter_verdict,
        "type" => a.filter_type,
        "from_at_ms" => a.filter_from,
        "to_at_ms" => a.filter_to,
        "first_at_ms" => a.first_at,
        "last_at_ms" => a.last_at,
        _ => key,
    }
}

fn plain(view: &View, name: &str, value: &Value) -> String {
    match value {
        Value::Bool(true) => view.a().yes.to_owned(),
        Value::Bool(false) => view.a().no.to_owned(),
        Value::String(text) if name == "changed" => {
            field_name(view, text).unwrap_or_else(|| text.clone())
        }
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items = items.iter().map(|item| plain(view, name, item));
            let items: Vec<_> = items.collect();
            items.join(", ")
        }
        Value::Number(number) if name.ends_with("_at_ms") => {
            let stamp = number.as_i64().map(jiff::Timestamp::from_millisecond);
            let stamp = stamp.and_then(Result::ok);
            stamp.map_or_else(
                || number.to_string(),
                |stamp| stamp.strftime("%Y-%m-%d %H:%M").to_string(),
            )
        }
        other => other.to_string(),
    }
}

fn name(o: &OverviewPhrases, action: Action) -> &'static str {
    match action {
        Action::ApplicationCreate => o.application_create,
        Action::ApplicationChange => o.application_change,
        Action::ApplicationRestore => o.application_restore,
        Action::ApplicationRemove => o.application_remove,
        Action::TokenCreate => o.token_create,
        Action::TokenChange => o.token_change,
        Action::TokenRotate => o.token_rotate,
        Action::TokenRevoke => o.token_revoke,
        Action::RecordsErase => o.records_erase,
        Action::RecordsReadmit => o.records_readmit,
        Action::RecordReadOriginal => o.record_read_original,
        Action::RecordsExport => o.records_export,
        Action::RecordsFindValue => o.records_find_value,
        Action::AttachmentDownload => o.attachment_download,
        Action::FindingTriage => o.finding_triage,
        Action::FindingsTriage => o.findings_triage,
        Action::FindingsExport => o.findings_export,
        Action::AccountCreate => o.account_create,
        Action::AccountChange => o.account_change,
        Action::AccountLink => o.account_link,
        Action::AccountPassword => o.account_password,
        Action::AccountSignIn => o.account_sign_in,
        Action::AccountSignInFailed => o.account_sign_in_failed,
        Action::AccountEndSignIns => o.account_end_sign_ins,
        Action::AccountSecondFactorOn => o.account_second_factor_on,
        Action::AccountSecondFactorOff => o.account_second_factor_off,
        Action::AccountRecoveryCode => o.account_recovery_code,
        Action::ValueKeyRotate => o.value_key_rotate,
        Action::AlertRuleSet => o.alert_rule_set,
        Action::AlertRuleRemove => o.alert_rule_remove,
        Action::AlertChannelSet => o.alert_channel_set,
        Action::AlertChannelRemove => o.alert_channel_remove,
        Action::AlertClose => o.alert_close,
        Action::AlertMute => o.alert_mute,
        Action::AlertRetry => o.alert_retry,
    }
}

fn why(o: &OverviewPhrases, reason: Reason) -> &'static str {
    match reason {
        Reason::UnknownName => o.unknown_name,
        Reason::WrongPassword => o.wrong_password,
        Reason::WrongCode => o.wrong_code,
        Reason::AccountDisabled => o.account_disabled,
        Reason::ProviderUnreachable => o.provider_unreachable,
        Reason::ProviderAnswer => o.provider_answer,
        Reason::ProviderRefused => o.provider_refused,
        Reason::DeniedAtProvider => o.denied_at_provider,
        Reason::TokenRefused => o.token_refused,
        Reason::NotBegunHere => o.not_begun_here,
        Reason::OtherDomain => o.other_domain,
        Reason::NoAccount => o.no_account,
        Reason::NameTaken => o.name_taken,
    }
}
