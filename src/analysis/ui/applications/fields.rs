//! An application as the fields of its form, the inverse of `document`. A page is always drawn from
//! fields, stored or just sent, so that no input is lost.

use super::budgets;
use crate::analysis::ApplicationRules;
use crate::analysis::admin::Application;
use crate::analysis::admin::applications::first_rules;
use crate::analysis::ui::request::form::Form;
use monitor_detect::guardrails::{Category, DEFAULT_THRESHOLD};
use monitor_detect::rules::{GuardrailsRules, Pattern};
use monitor_detect::{DatacleanRules, PatternName, Rules};
use monitor_model::{AppMode, ApplicationId, CallLimits, Policy, Stage};

/// The prefix of a direction's field names.
pub(super) fn prefix(stage: Stage) -> &'static str {
    match stage {
        Stage::PreCall => "pre.",
        Stage::PostCall => "post.",
    }
}

/// A new application: checked as the first one is, and nothing is blocked.
pub(super) fn new_application() -> Application {
    Application {
        id: ApplicationId::random(),
        name: String::new(),
        description: String::new(),
        created_at_ms: 0,
        updated_at_ms: 0,
        version: 0,
        rules: first_rules(),
        policy: Some(Ok(Policy::new(AppMode::Async, ""))),
    }
}

/// The fields of an application as it is stored.
pub(super) fn of(application: &Application) -> Form {
    let mut fields = Fields::default();
    fields.set("name", &application.name);
    fields.set("description", &application.description);
    fields.set("version", application.version);
    match &application.policy {
        Some(Ok(policy)) => fields.policy(policy),
        _ => fields.no_policy(),
    }
    let rules = ApplicationRules::stored(application.rules.clone()).unwrap_or_default();
    fields.flag("keep_original", rules.keep_original);
    let retention = rules.retention.unwrap_or_default();
    fields.maybe("retention.days", retention.days);
    fields.maybe("retention.rows", retention.rows);
    fields.maybe("retention.bytes", retention.bytes);
    for stage in [Stage::PreCall, Stage::PostCall] {
        fields.direction(stage, rules.of(stage));
    }
    Form::from_pairs(fields.0)
}

#[derive(Default)]
struct Fields(Vec<(String, String)>);

impl Fields {
    fn set(&mut self, name: impl Into<String>, value: impl ToString) {
        self.0.push((name.into(), value.to_string()));
    }

    fn flag(&mut self, name: impl Into<String>, is_on: bool) {
        if is_on {
            self.set(name, "on");
        }
    }

    fn maybe(&mut self, name: impl Into<String>, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.set(name, value);
        }
    }

    fn policy(&mut self, policy: &Policy) {
        self.set(
            "mode",
            match policy.app_mode {
                AppMode::Sync => "sync",
                AppMode::Async => "async",
            },
        );
        self.set("phrase", &policy.phrase);
        self.flag("block.guardrails", policy.block_on.guardrails);
        self.flag("block.custom_policy", policy.block_on.custom_policy);
        self.flag("block.dataclean", policy.block_on.dataclean);
        self.set("on_backend_failure", policy.on_backend_failure.as_str());
        self.flag("replace_response", policy.replace_response);
        self.set("stream_in_sync", policy.stream_in_sync.as_str());
        self.set("block_details", policy.block_details.as_str());
        self.set("embeddings", policy.embeddings.as_str());
        self.set("check_tool_arguments", policy.check_tool_arguments);
        self.flag("redact_upstream", policy.redact_upstream);
        for role in &policy.scan_roles {
            self.set("scan_roles", role.as_str());
        }
        self.local_patterns(policy);
        self.limits(&policy.limits.unwrap_or_default());
        self.0.extend(budgets::fields(policy));
    }

    fn local_patterns(&mut self, policy: &Policy) {
        let which = match policy.local_patterns {
            None => "usual",
            Some(_) => "chosen",
        };
        self.set("local.which", which);
        for name in policy.local_patterns().names() {
            self.set("local.pattern", name);
        }
    }

    fn limits(&mut self, limits: &CallLimits) {
        let per = match limits.requests_per_second {
            Some(_) => "second",
            None => "minute",
        };
        self.set("limits.per", per);
        let calls = limits.requests_per_second.or(limits.requests_per_minute);
        self.maybe("limits.calls", calls);
        self.maybe("limits.burst", limits.burst);
        self.maybe("limits.concurrent", limits.concurrent);
    }

    /// The fields of the default policy, with mode `none`.
    fn no_policy(&mut self) {
        self.policy(&Policy::new(AppMode::Async, ""));
        self.0.retain(|(name, _)| name != "mode");
        self.set("mode", "none");
    }

    fn direction(&mut self, stage: Stage, rules: &Rules) {
        let prefix = prefix(stage);
        let name = |name: &str| format!("{prefix}{name}");
        match &rules.dataclean {
            Some(dataclean) => {
                self.flag(name("dataclean"), true);
                self.dataclean(prefix, dataclean);
            }
            None => self.dataclean(prefix, &DatacleanRules::default()),
        }
        self.flag(name("guardrails"), rules.guardrails.is_some());
        self.categories(stage, rules.guardrails.as_ref());
        for policy in &rules.custom_policies {
            self.set(name("policy.name"), &policy.name);
            self.set(name("policy.prompt"), &policy.prompt);
        }
        self.set(name("encoding"), rules.encoding.as_str());
        self.maybe(name("tokens.low"), rules.tokens.map(|tokens| tokens.low));
        self.maybe(name("tokens.high"), rules.tokens.map(|tokens| tokens.high));
        self.maybe(
            name("tokens.critical"),
            rules.tokens.map(|tokens| tokens.critical),
        );
    }

    fn categories(&mut self, stage: Stage, rules: Option<&GuardrailsRules>) {
        let (prefix, default) = (prefix(stage), GuardrailsRules::default());
        let rules = rules.unwrap_or(&default);
        for category in Category::of(stage).map(Category::as_str) {
            if !rules.disabled.iter().any(|name| name == category) {
                self.set(format!("{prefix}category_on"), category);
            }
            let threshold = rules.categories.get(category);
            let threshold = threshold.copied().unwrap_or(DEFAULT_THRESHOLD);
            self.set(format!("{prefix}category.{category}"), threshold);
        }
    }

    fn dataclean(&mut self, prefix: &str, rules: &DatacleanRules) {
        let name = |name: &str| format!("{prefix}{name}");
        match &rules.patterns {
            None => {
                self.set(name("which"), "all");
                // Preselected when somebody switches to a choice.
                for known in PatternName::all() {
                    self.set(name("pattern"), known.as_str());
                }
            }
            Some(_) => self.set(name("which"), "chosen"),
        }
        for pattern in rules.patterns.iter().flatten() {
            match pattern {
                Pattern::Predefined(known) => self.set(name("pattern"), known.as_str()),
                Pattern::Unknown(unknown) => self.set(name("pattern"), unknown),
                Pattern::Custom(custom) => {
                    self.set(name("custom.name"), &custom.name);
                    self.set(name("custom.regex"), &custom.regex);
                }
            }
        }
        for allowed in &rules.allowed_patterns {
            self.set(name("allowed.name"), &allowed.name);
            self.set(name("allowed.regex"), &allowed.regex);
        }
        self.set(name("clean_type"), rules.clean_type.as_str());
        self.set(name("mask_style"), rules.mask_style.as_str());
    }
}
