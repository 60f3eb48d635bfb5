//! `alerts.channels`: the channels of the file. Nothing is connected here.

use super::channel::{AlertChannelKind, AlertChannelSettings, MailSettings, MailTls, TELEGRAM};
use super::{NOT_NAME, is_name};
use crate::config::reading::collections::{groups, list};
use crate::config::reading::reader::Reader;
use crate::config::values::units;
use monitor_model::Secret;
use std::path::Path;

const MOST_CHANNELS: usize = 100;
/// The longest file with a secret.
const LONGEST_FILE: u64 = 4096;
const ALLOWED: &str = "a list of up to 100 channels, each {name, kind, url, url_file, secret, secret_file, chat, user, from, to, tls}";
const KINDS: &[(&str, AlertChannelKind)] = &[
    ("webhook", AlertChannelKind::Webhook),
    ("slack", AlertChannelKind::Slack),
    ("teams", AlertChannelKind::Teams),
    ("telegram", AlertChannelKind::Telegram),
    ("email", AlertChannelKind::Email),
];
const TLS: &[(&str, MailTls)] = &[
    ("starttls", MailTls::StartTls),
    ("tls", MailTls::Tls),
    ("none", MailTls::None),
];

pub(super) fn read(r: &mut Reader<'_>, list_key: &str) -> Vec<AlertChannelSettings> {
    let lines = groups(r, list_key, ALLOWED, MOST_CHANNELS);
    let mut channels: Vec<AlertChannelSettings> = Vec::with_capacity(lines.len());
    for (index, line) in lines.into_iter().enumerate() {
        let section = format!("{list_key}[{index}]");
        let Some(channel) = channel(r, &section, line) else {
            continue;
        };
        let is_taken = channels.iter().any(|it| it.name == channel.name);
        let text = "is the name of another channel; allowed: a name of its own";
        r.refuse_if(&format!("{section}.name"), is_taken, text);
        channels.push(channel);
    }
    channels
}

/// One channel, which begins at this line; None where its name or its kind is wrong, which is reported.
fn channel(r: &mut Reader<'_>, section: &str, line: usize) -> Option<AlertChannelSettings> {
    let key = |name: &str| format!("{section}.{name}");
    let name = r.read(&key("name"), &units::text());
    let kind = r.read(&key("kind"), &units::word(KINDS));
    let url = secret(r, section, "url");
    let password = secret(r, section, "secret");
    let chat = r.read(&key("chat"), &units::text());
    let mail = mail(r, section, kind);
    let kinds = "allowed: webhook, slack, teams, telegram, email";
    let required = [
        ("name", name.is_some(), "rules name it so"),
        ("kind", kind.is_some(), kinds),
    ];
    for (name, is_set, why) in required {
        if !is_set && !r.has_problem_in(&key(name)) {
            r.report_line(line, &key(name), format!("is not set; {why}"));
        }
    }
    let (name, kind) = (name?, kind?);
    let is_bot = kind == AlertChannelKind::Telegram;
    let text = "is for telegram only; allowed: nothing here for this kind";
    r.refuse_if(&key("chat"), chat.is_some() && !is_bot, text);
    let usual = Secret::new(if is_bot { TELEGRAM } else { "" });
    let channel = AlertChannelSettings {
        name,
        kind,
        url: url.unwrap_or(usual),
        secret: password.unwrap_or_else(|| Secret::new("")),
        chat: chat.unwrap_or_default(),
        mail,
    };
    report(r, section, line, &channel);
    Some(channel)
}

/// What only a mail server has.
fn mail(r: &mut Reader<'_>, section: &str, kind: Option<AlertChannelKind>) -> MailSettings {
    let key = |name: &str| format!("{section}.{name}");
    let user = r.read(&key("user"), &units::text());
    let from = r.read(&key("from"), &units::text());
    let to = list(r, &key("to"), &units::text());
    let tls = r.read(&key("tls"), &units::word(TLS));
    let is_other = kind.is_some_and(|kind| kind != AlertChannelKind::Email);
    let set = [
        ("user", user.is_some()),
        ("from", from.is_some()),
        ("to", !to.is_empty()),
        ("tls", tls.is_some()),
    ];
    for (name, is_set) in set {
        let text = "is for email only; allowed: nothing here for this kind";
        r.refuse_if(&key(name), is_set && is_other, text);
    }
    MailSettings {
        tls: tls.unwrap_or_default(),
        user: user.unwrap_or_default(),
        from: from.unwrap_or_default(),
        to,
    }
}

/// Reports what is wrong with a channel, which begins at this line.
fn report(r: &mut Reader<'_>, section: &str, line: usize, channel: &AlertChannelSettings) {
    let key = |name: &str| format!("{section}.{name}");
    r.refuse_if(&key("name"), !is_name(&channel.name), NOT_NAME);
    for (field, problem) in channel.wrong() {
        let file = format!("{field}_file");
        if !r.has_problem_in(&key(field)) && !r.has_problem(&key(&file)) {
            r.report_line(line, &key(field), problem);
        }
    }
}

/// A value that may be a secret: here, or in the file that the key with `_file` names.
fn secret(r: &mut Reader<'_>, section: &str, name: &str) -> Option<Secret> {
    let here = r.read(&format!("{section}.{name}"), &units::password());
    let file_key = format!("{section}.{name}_file");
    let file = r.read(&file_key, &units::path());
    let is_both = here.is_some() && file.is_some();
    let text = format!("conflicts with {name}; allowed: one of the two");
    r.refuse_if(&file_key, is_both, &text);
    match (here, file.map(|path| of_file(&path))) {
        (Some(here), _) => Some(here),
        (None, Some(Ok(read))) => Some(read),
        (None, Some(Err(wrong))) => {
            r.refuse_if(&file_key, true, &wrong);
            None
        }
        (None, None) => None,
    }
}

/// The error says nothing of what the file holds.
fn of_file(path: &Path) -> Result<Secret, String> {
    let shown = path.display();
    let failed = |reason: &dyn std::fmt::Display| {
        format!("{shown} cannot be read: {reason}; allowed: a file with the value in its one line")
    };
    // Looked at first: opening a pipe waits, and a device has no end.
    let found = std::fs::metadata(path).map_err(|error| failed(&error))?;
    if !found.is_file() || found.len() > LONGEST_FILE {
        return Err(failed(&"it is no file of at most 4096 bytes"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    let line = text.trim();
    match line.is_empty() || line.chars().any(char::is_control) {
        true => Err(failed(&"it does not hold one line of text")),
        false => Ok(Secret::new(line)),
    }
}
