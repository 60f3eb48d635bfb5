//! The sections of an application's form: general, gateway policy, checks of each direction, storage.

use super::controls::{FormControls, Rows};
use super::fields::prefix;
use super::{budgets, categories};
use crate::analysis::ui::phrases::Phrases;
use crate::analysis::ui::request::view::View;
use maud::{Markup, html};
use monitor_detect::{CleanType, Encoding, MaskStyle, PatternName};
use monitor_model::{LOCAL_PATTERNS, ScanRole, Stage};

pub(super) fn general(t: &Phrases, controls: FormControls<'_>) -> Markup {
    let form = controls.form;
    html! {
        section.card #general {
            h2 { (t.general) }
            label { (t.name) input name="name" value=(form.text("name")) required maxlength="200" autocomplete="off"; }
            label { (t.description) textarea name="description" rows="2" maxlength="2000" { (form.text("description")) } }
        }
    }
}

pub(super) fn policy(view: &View, controls: FormControls<'_>) -> Markup {
    let t = view.t;
    html! {
        section.card #policy {
            h2 { (t.gateway_policy) }
            fieldset #app_mode {
                legend { (t.mode) }
                (controls.radio("mode", "sync", (t.mode_sync, t.mode_sync_hint)))
                (controls.radio("mode", "async", (t.mode_async, t.mode_async_hint)))
                (controls.radio("mode", "none", (t.mode_none, t.mode_none_hint)))
            }
            // Without a policy none of this is kept, so it is not shown either.
            div.with-policy {
                (blocking(t, controls)) (limits(t, controls))
                (budgets::section(view.c(), t.remove, controls))
                (more(t, controls))
            }
        }
    }
}

fn blocking(t: &Phrases, controls: FormControls<'_>) -> Markup {
    html! {
        label #phrase { (t.phrase)
            textarea name="phrase" rows="2" maxlength="10000" aria-describedby="phrase-hint" { (controls.form.text("phrase")) }
        }
        p.hint #phrase-hint { (t.phrase_hint) }
        fieldset.columns #block_on {
            legend { (t.blocks_on) }
            (controls.blocker("block.dataclean", t.sensitive_data, t.blocker_off))
            (controls.blocker("block.guardrails", t.guardrails, t.blocker_off))
            (controls.blocker("block.custom_policy", t.custom_policies, t.blocker_without_policies))
        }
        fieldset #on_backend_failure {
            legend { (t.backend_failure) }
            (controls.radio("on_backend_failure", "open", (t.failure_open, "")))
            (controls.radio("on_backend_failure", "closed", (t.failure_closed, "")))
        }
    }
}

fn limits(t: &Phrases, controls: FormControls<'_>) -> Markup {
    html! {
        fieldset #limits {
            legend { (t.limits) }
            p.hint { (t.limits_hint) }
            div.row {
                (controls.number("limits.calls", t.limit_calls))
                (controls.select("limits.per", t.limit_per, &[("minute", t.minute), ("second", t.second)]))
                (controls.number("limits.burst", t.limit_burst))
                (controls.number("limits.concurrent", t.limit_concurrent))
            }
        }
    }
}

fn more(t: &Phrases, controls: FormControls<'_>) -> Markup {
    html! {
        details {
            summary { (t.more) }
            fieldset.columns #scan_roles {
                legend { (t.checked_messages) }
                @for (role, name) in [
                    (ScanRole::LastUser, t.role_last_user), (ScanRole::UserTurn, t.role_user_turn),
                    (ScanRole::AllUser, t.role_all_user),
                    (ScanRole::System, t.role_system), (ScanRole::Assistant, t.role_assistant), (ScanRole::Tool, t.role_tool),
                ] { (controls.tick_of("scan_roles", role.as_str(), html! { (name) })) }
            }
            (controls.select("check_tool_arguments", t.tool_arguments,
                &[("true", t.tool_arguments_checked), ("false", t.tool_arguments_unchecked)]))
            p.hint { (t.tool_arguments_hint) }
            (controls.tick("replace_response", t.replace_response, t.replace_response_hint))
            (controls.tick("redact_upstream", t.redact_upstream, t.redact_upstream_hint))
            (controls.select("stream_in_sync", t.stream_in_sync,
                &[("off", t.stream_off), ("hold_back", t.stream_hold_back), ("replay", t.stream_replay)]))
            p.hint { (t.stream_in_sync_hint) }
            (controls.select("block_details", t.block_details,
                &[("metadata", t.block_details_metadata), ("header", t.block_details_header)]))
            p.hint { (t.block_details_hint) }
            (controls.select("embeddings", t.embeddings,
                &[("off", t.embeddings_off), ("record", t.embeddings_record), ("check", t.embeddings_check)]))
            p.hint { (t.embeddings_hint) }
            fieldset.local-patterns #local_patterns {
                legend { (t.local_patterns) }
                p.hint { (t.local_patterns_hint) }
                (controls.radio("local.which", "usual", (t.local_usual, t.local_usual_hint)))
                (controls.radio("local.which", "chosen", (t.patterns_chosen, "")))
                div.chips { @for name in LOCAL_PATTERNS { (controls.tick_of("local.pattern", name, html! { code { (name) } })) } }
            }
        }
    }
}

/// The checks of prompts, or of answers.
pub(super) fn direction(
    view: &View,
    controls: FormControls<'_>,
    stage: Stage,
    lacks_judge: bool,
) -> Markup {
    let t = view.t;
    let prefix = prefix(stage);
    let name = |name: &str| format!("{prefix}{name}");
    let (id, title) = match stage {
        Stage::PreCall => ("prompts", t.prompts),
        Stage::PostCall => ("answers", t.answers),
    };
    let policies = Rows {
        first: ("name", t.name),
        second: ("prompt", t.instruction),
        is_long: true,
        add: t.add_policy,
        remove: t.remove,
    };
    html! {
        section.card id=(id) {
            h2 { (title) }
            (controls.tick(&name("dataclean"), t.sensitive_data, t.sensitive_data_hint))
            div.under { (patterns(t, controls, prefix)) }
            (controls.tick(&name("guardrails"), t.guardrails, t.guardrails_hint))
            div.under { (categories::all(view, controls, stage)) }
            @if stage == Stage::PreCall {
                fieldset id=(name("policy")) {
                    legend { (t.custom_policies) }
                    p.hint { (t.custom_policies_hint) }
                    @if lacks_judge { p.notice { (t.no_judge) } }
                    (controls.rows(&name("policy."), &policies))
                }
            }
            (tokens(t, controls, prefix))
        }
    }
}

fn patterns(t: &Phrases, controls: FormControls<'_>, prefix: &str) -> Markup {
    let name = |name: &str| format!("{prefix}{name}");
    let rows = |add| Rows {
        first: ("name", t.name),
        second: ("regex", t.regex),
        is_long: false,
        add,
        remove: t.remove,
    };
    let chip = |known: PatternName| {
        let label = html! { code { (known.as_str()) } };
        controls.tick_of(&name("pattern"), known.as_str(), label)
    };
    html! {
        fieldset id=(name("patterns")) {
            legend { (t.patterns) }
            (controls.radio(&name("which"), "all", (t.patterns_all, t.patterns_all_hint)))
            (controls.radio(&name("which"), "chosen", (t.patterns_chosen, "")))
            div.chips { @for known in PatternName::all() { (chip(known)) } }
            div.chips role="group" aria-label=(t.further_patterns) {
                span.wide { (t.further_patterns) span.hint { (t.further_patterns_hint) } }
                @for known in PatternName::further() { (chip(known)) }
            }
        }
        fieldset id=(name("custom")) { legend { (t.custom_patterns) } (controls.rows(&name("custom."), &rows(t.add_pattern))) }
        fieldset id=(name("allowed")) {
            legend { (t.allowed_patterns) }
            p.hint { (t.allowed_patterns_hint) }
            (controls.rows(&name("allowed."), &rows(t.add_allowed)))
        }
        div.row {
            (controls.select(&name("clean_type"), t.clean_type, &[
                (CleanType::Masking.as_str(), t.masking), (CleanType::Deletion.as_str(), t.deletion), (CleanType::Detection.as_str(), t.detection),
            ]))
            (controls.select(&name("mask_style"), t.mask_style, &[
                (MaskStyle::Label.as_str(), "[EMAILS]"), (MaskStyle::X.as_str(), "xxxxxx"),
                (MaskStyle::Length.as_str(), "[EMAILS:12]"), (MaskStyle::Pseudonym.as_str(), "[EMAILS_1]"),
            ]))
        }
    }
}

fn tokens(t: &Phrases, controls: FormControls<'_>, prefix: &str) -> Markup {
    let name = |name: &str| format!("{prefix}{name}");
    let encodings = Encoding::ALL.map(|encoding| (encoding.as_str(), encoding.as_str()));
    html! {
        fieldset id=(name("tokens")) {
            legend { (t.token_thresholds) }
            p.hint { (t.token_thresholds_hint) }
            div.row {
                (controls.number(&name("tokens.low"), t.low))
                (controls.number(&name("tokens.high"), t.high))
                (controls.number(&name("tokens.critical"), t.critical))
                (controls.select(&name("encoding"), t.encoding, &encodings))
            }
        }
    }
}

pub(super) fn keeping(t: &Phrases, controls: FormControls<'_>) -> Markup {
    html! {
        section.card #keeping {
            h2 { (t.keeping) }
            (controls.tick("keep_original", t.keep_original, t.keep_original_hint))
            fieldset #retention {
                legend { (t.retention) }
                p.hint { (t.retention_hint) }
                div.row {
                    (controls.number("retention.days", t.days))
                    (controls.number("retention.rows", t.records_count))
                    (controls.number("retention.bytes", t.bytes))
                }
            }
        }
    }
}
