//! Events in the Common Event Format, version 0 (docs/siem.md).

use super::event::{Event, Subject, Verdict, VerdictAction};
use monitor_model::GATEWAY_VERSION;
use monitor_store::AuditEntry;
use std::fmt::Write as _;

const PRODUCT: &str = "Monitor Gateway";

/// What follows the header.
#[derive(Default)]
struct Extension(String);

impl Extension {
    fn add(&mut self, key: &str, value: &str) {
        if value.is_empty() {
            return;
        }
        let separator = if self.0.is_empty() { "" } else { " " };
        let _ = write!(self.0, "{separator}{key}={}", escaped(value, &['=']));
    }

    /// A text with a name of its own: `cs1` to `cs6`.
    fn add_custom(&mut self, number: u8, label: &str, value: &str) {
        if !value.is_empty() {
            self.add(&format!("cs{number}Label"), label);
            self.add(&format!("cs{number}"), value);
        }
    }
}

/// The event as one line.
pub(super) fn cef(event: &Event) -> String {
    let mut extension = Extension::default();
    extension.add("rt", &event.at_ms.to_string());
    extension.add("externalId", &event.uid);
    if let Some(application) = &event.application {
        extension.add_custom(1, "applicationId", &application.id.to_string());
        let name = application.name.as_deref().unwrap_or_default();
        extension.add_custom(2, "application", name);
    }
    let (signature, name, severity) = match &event.subject {
        Subject::Verdict(verdict) => {
            add_verdict(&mut extension, verdict);
            let signature = format!("verdict.{}", verdict.action.as_str());
            (signature, verdict.title(), severity(verdict))
        }
        Subject::Audit(entry) => {
            add_entry(&mut extension, entry);
            let has_failed = entry.action == "account.sign_in_failed";
            let name = format!("Audit log: {}", entry.action);
            (
                format!("audit.{}", entry.action),
                name,
                if has_failed { 3 } else { 1 },
            )
        }
    };
    let (signature, name) = (escaped(&signature, &['|']), escaped(&name, &['|']));
    format!(
        "CEF:0|{PRODUCT}|{PRODUCT}|{GATEWAY_VERSION}|{signature}|{name}|{severity}|{}",
        extension.0
    )
}

fn severity(verdict: &Verdict) -> u8 {
    match verdict.action {
        VerdictAction::Blocked => 8,
        VerdictAction::Unchecked => 5,
        VerdictAction::Passed if verdict.has_guardrails || verdict.has_custom_policy => 5,
        VerdictAction::Passed => 3,
    }
}

fn add_verdict(extension: &mut Extension, verdict: &Verdict) {
    extension.add("act", verdict.action.as_str());
    extension.add("cat", verdict.record_type);
    extension.add("suser", verdict.user_id.as_deref().unwrap_or_default());
    extension.add("request", &verdict.link);
    let types = verdict.types.iter();
    let types: Vec<String> = types
        .map(|found| format!("{}:{}", found.kind, found.count))
        .collect();
    extension.add_custom(3, "types", &types.join(","));
    let categories = verdict.categories.iter();
    let categories: Vec<String> = categories
        .map(|one| format!("{}:{:.3}", one.name, one.score))
        .collect();
    extension.add_custom(4, "categories", &categories.join(","));
    extension.add_custom(5, "customPolicies", &verdict.policies.join(","));
    let exchange = verdict.exchange_id.as_deref().unwrap_or_default();
    extension.add_custom(6, "exchangeId", exchange);
}

fn add_entry(extension: &mut Extension, entry: &AuditEntry) {
    extension.add("act", &entry.action);
    extension.add("suser", &entry.actor);
    extension.add_custom(3, "target", &entry.target);
    extension.add_custom(4, "details", &entry.details.to_string());
}

/// Escapes what would end a value; a line break becomes `\n`, and other control characters go.
fn escaped(text: &str, special: &[char]) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => escaped.push_str("\\n"),
            '\\' => escaped.push_str("\\\\"),
            c if special.contains(&c) => {
                escaped.push('\\');
                escaped.push(c);
            }
            c if c.is_control() => {}
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_ends_its_field() {
        assert_eq!(escaped("a|b\\c=d\r\ne", &['|']), "a\\|b\\\\c=d\\ne");
        let mut extension = Extension::default();
        extension.add("suser", "a=b c");
        extension.add("request", "");
        extension.add_custom(3, "types", "EMAILS:2");
        assert_eq!(extension.0, "suser=a\\=b c cs3Label=types cs3=EMAILS:2");
    }
}
