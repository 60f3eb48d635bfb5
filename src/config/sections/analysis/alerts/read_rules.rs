//! `alerts.rules`: the rules of the file. They tell channels of the file.

use super::channel::AlertChannelSettings;
use super::rule::{AlertRuleKind, AlertRuleSettings};
use super::{NOT_NAME, channel_id, is_name};
use crate::config::reading::collections::{groups, list};
use crate::config::reading::reader::Reader;
use crate::config::values::units;
use std::time::Duration;
use uuid::Uuid;

const MOST_RULES: usize = 100;
const ALLOWED: &str = "a list of up to 100 rules, each {name, kind, verdict, application_id, user_id, type, window, threshold, minimum, per_user, include_user, channels, repeat_after, send_resolved, enabled}";
const KINDS: &[(&str, AlertRuleKind)] = &[
    ("count", AlertRuleKind::Count),
    ("share", AlertRuleKind::Share),
    ("first_time", AlertRuleKind::FirstTime),
    ("gateway_silent", AlertRuleKind::GatewaySilent),
    ("budget", AlertRuleKind::Budget),
];
const WEEK: Duration = Duration::from_secs(7 * 86_400);

pub(super) fn read(
    r: &mut Reader<'_>,
    list_key: &str,
    channels: &[AlertChannelSettings],
) -> Vec<AlertRuleSettings> {
    let lines = groups(r, list_key, ALLOWED, MOST_RULES);
    let mut rules: Vec<AlertRuleSettings> = Vec::with_capacity(lines.len());
    for (index, line) in lines.into_iter().enumerate() {
        let section = format!("{list_key}[{index}]");
        let told = told(r, &section, channels);
        let Some(rule) = rule(r, &section, line) else {
            continue;
        };
        let rule = AlertRuleSettings {
            channels: told,
            ..rule
        };
        report(r, &section, line, &rule);
        let is_taken = rules.iter().any(|it| it.name == rule.name);
        let text = "is the name of another rule; allowed: a name of its own";
        r.refuse_if(&format!("{section}.name"), is_taken, text);
        rules.push(rule);
    }
    rules
}

/// The channels that a rule names.
fn told(r: &mut Reader<'_>, section: &str, channels: &[AlertChannelSettings]) -> Vec<Uuid> {
    let key = format!("{section}.channels");
    let names = list(r, &key, &units::text());
    let is_known = |name: &String| channels.iter().any(|channel| channel.name == *name);
    let text = "names a channel that alerts.channels does not have; allowed: the names of those";
    r.refuse_if(&key, !names.iter().all(is_known), text);
    names.iter().map(|name| channel_id(name)).collect()
}

/// One rule without its channels; None where its name or its kind is wrong, which is reported.
fn rule(r: &mut Reader<'_>, section: &str, line: usize) -> Option<AlertRuleSettings> {
    let key = |name: &str| format!("{section}.{name}");
    let name = r.read(&key("name"), &units::text());
    let kind = r.read(&key("kind"), &units::word(KINDS));
    let usual = AlertRuleSettings::default();
    let window = seconds(r, &key("window"));
    let mut number = |name: &str, most: usize| {
        let read = r.read(&key(name), &units::count(1..=most));
        read.and_then(|read| u64::try_from(read).ok())
    };
    let threshold = number("threshold", 10_000).unwrap_or(usual.threshold);
    let minimum = number("minimum", 1_000_000_000).unwrap_or(usual.minimum);
    let rule = AlertRuleSettings {
        verdict: r.read(&key("verdict"), &units::text()).unwrap_or_default(),
        application_id: r.read(&key("application_id"), &units::application_id()),
        user_id: r.read(&key("user_id"), &units::text()),
        r#type: r.read(&key("type"), &units::text()),
        threshold,
        minimum,
        per_user: r.switch(&key("per_user")).unwrap_or(usual.per_user),
        include_user: r.switch(&key("include_user")).unwrap_or(usual.include_user),
        repeat_after_s: seconds(r, &key("repeat_after")).unwrap_or(usual.repeat_after_s),
        send_resolved: r
            .switch(&key("send_resolved"))
            .unwrap_or(usual.send_resolved),
        is_enabled: r.switch(&key("enabled")).unwrap_or(usual.is_enabled),
        ..usual
    };
    let kinds = "allowed: count, share, first_time, gateway_silent, budget";
    let required = [
        ("name", name.is_some(), "messages name it so"),
        ("kind", kind.is_some(), kinds),
    ];
    for (name, is_set, why) in required {
        if !is_set && !r.has_problem_in(&key(name)) {
            r.report_line(line, &key(name), format!("is not set; {why}"));
        }
    }
    let (name, kind) = (name?, kind?);
    Some(AlertRuleSettings {
        name,
        kind,
        window_s: window.unwrap_or(kind.usual_window()),
        ..rule
    })
}

fn seconds(r: &mut Reader<'_>, key: &str) -> Option<u64> {
    let form = units::duration(Duration::from_secs(60)..=WEEK);
    r.read(key, &form).map(|read| read.as_secs())
}

/// Reports what contradicts itself in a rule, which begins at this line.
fn report(r: &mut Reader<'_>, section: &str, line: usize, rule: &AlertRuleSettings) {
    let key = |name: &str| format!("{section}.{name}");
    r.refuse_if(&key("name"), !is_name(&rule.name), NOT_NAME);
    for (field, problem) in rule.wrong() {
        if !r.has_problem_in(&key(field)) {
            r.report_line(line, &key(field), problem);
        }
    }
}
