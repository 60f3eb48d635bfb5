//! Events in the Open Cybersecurity Schema Framework, version 1.3 (docs/siem.md): verdicts as Detection Finding (2004),
//! the audit log as Entity Management (3004).

use super::event::{Event, Subject, Verdict, VerdictAction};
use monitor_model::GATEWAY_VERSION;
use monitor_store::AuditEntry;
use serde_json::{Map, Value, json};

const VERSION: &str = "1.3.0";
const PRODUCT: &str = "Monitor Gateway";
const DETECTION_FINDING: u32 = 2004;
const ENTITY_MANAGEMENT: u32 = 3004;

/// A number of the schema with its caption.
struct Term(u32, &'static str);

/// The event as a JSON object.
pub(super) fn ocsf(event: &Event) -> Value {
    let mut body = match &event.subject {
        Subject::Verdict(verdict) => finding(event, verdict),
        Subject::Audit(entry) => management(event, entry),
    };
    body.insert("time".to_owned(), event.at_ms.into());
    Value::Object(body)
}

fn metadata(event: &Event, profiles: &[&str]) -> Value {
    json!({
        "version": VERSION,
        "uid": event.uid,
        "product": {"name": PRODUCT, "vendor_name": PRODUCT, "version": GATEWAY_VERSION},
        "profiles": profiles,
    })
}

fn finding(event: &Event, verdict: &Verdict) -> Map<String, Value> {
    let Term(severity_id, severity) = severity(verdict);
    let (Term(action_id, action), Term(disposition_id, disposition)) = match verdict.action {
        VerdictAction::Passed => (Term(1, "Allowed"), Term(1, "Allowed")),
        VerdictAction::Blocked => (Term(2, "Denied"), Term(2, "Blocked")),
        VerdictAction::Unchecked => (Term(1, "Allowed"), Term(99, "Unchecked")),
    };
    let mut body = object(json!({
        "metadata": metadata(event, &["security_control"]),
        "category_uid": 2,
        "category_name": "Findings",
        "class_uid": DETECTION_FINDING,
        "class_name": "Detection Finding",
        "activity_id": 1,
        "activity_name": "Create",
        "type_uid": DETECTION_FINDING * 100 + 1,
        "severity_id": severity_id,
        "severity": severity,
        "status_id": 1,
        "status": "New",
        "action_id": action_id,
        "action": action,
        "disposition_id": disposition_id,
        "disposition": disposition,
        "finding_info": finding_info(event, verdict),
        "resources": resources(event),
        "unmapped": unmapped(verdict),
    }));
    if let Some(user) = &verdict.user_id {
        let evidence = json!([{"actor": {"user": {"uid": user}}}]);
        body.insert("evidences".to_owned(), evidence);
    }
    body
}

fn finding_info(event: &Event, verdict: &Verdict) -> Value {
    json!({
        "uid": event.uid,
        "title": verdict.title(),
        "types": finding_types(verdict),
        "created_time": event.at_ms,
        "src_url": verdict.link,
    })
}

/// What the schema has no place for.
fn unmapped(verdict: &Verdict) -> Value {
    let categories = verdict.categories.iter();
    let categories = categories.map(|one| json!({"name": one.name, "score": one.score}));
    json!({
        "action": verdict.action.as_str(),
        "record_type": verdict.record_type,
        "exchange_id": verdict.exchange_id,
        "session_id": verdict.session_id,
        "types": verdict.types,
        "guardrails_score": verdict.score,
        "categories": Value::from_iter(categories),
        "custom_policies": verdict.policies,
    })
}

fn severity(verdict: &Verdict) -> Term {
    let is_unchecked = verdict.action == VerdictAction::Unchecked;
    match verdict.action {
        VerdictAction::Blocked => Term(4, "High"),
        _ if is_unchecked || verdict.has_guardrails || verdict.has_custom_policy => {
            Term(3, "Medium")
        }
        _ => Term(2, "Low"),
    }
}

fn finding_types(verdict: &Verdict) -> Vec<&'static str> {
    let found = [
        (verdict.has_guardrails, "guardrails"),
        (verdict.has_custom_policy, "custom_policy"),
        (verdict.has_sensitive_data, "sensitive_data"),
    ];
    let found = found.into_iter().filter(|(is_found, _)| *is_found);
    found.map(|(_, name)| name).collect()
}

fn resources(event: &Event) -> Value {
    let applications = event.application.iter();
    let shown = applications.map(|application| {
        json!({"type": "application", "uid": application.id.to_string(), "name": application.name})
    });
    Value::from_iter(shown)
}

fn management(event: &Event, entry: &AuditEntry) -> Map<String, Value> {
    let (noun, verb) = entry.action.split_once('.').unwrap_or((&entry.action, ""));
    let Term(activity_id, activity) = activity(verb);
    let has_failed = entry.action == "account.sign_in_failed";
    let Term(status_id, status) = match has_failed {
        true => Term(2, "Failure"),
        false => Term(1, "Success"),
    };
    let Term(severity_id, severity) = match has_failed {
        true => Term(2, "Low"),
        false => Term(1, "Informational"),
    };
    object(json!({
        "metadata": metadata(event, &[]),
        "category_uid": 3,
        "category_name": "Identity & Access Management",
        "class_uid": ENTITY_MANAGEMENT,
        "class_name": "Entity Management",
        "activity_id": activity_id,
        "activity_name": activity,
        "type_uid": ENTITY_MANAGEMENT * 100 + activity_id,
        "severity_id": severity_id,
        "severity": severity,
        "status_id": status_id,
        "status": status,
        "message": entry.action,
        "actor": {"user": {"name": entry.actor}},
        "entity": {"type": noun, "uid": entry.target},
        "unmapped": {
            "action": entry.action,
            "token_id": entry.token_id.map(|id| id.0.to_string()),
            "application": resources(event),
            "details": entry.details,
        },
    }))
}

/// What the verb of an action is in the schema.
fn activity(verb: &str) -> Term {
    match verb {
        "create" => Term(1, "Create"),
        "read_original" | "export" | "download" => Term(2, "Read"),
        "change" | "restore" | "rotate" | "link" | "password" => Term(3, "Update"),
        "remove" | "revoke" | "erase" => Term(4, "Delete"),
        _ => Term(99, "Other"),
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => Map::new(),
    }
}
