//! What a channel is told: the rule, what was found, and where to look. No text of a message and no value in it; a name
//! of a user only where the rule says so.

use super::channel::{Channel, ChannelKind};
use super::rule::{Rule, RuleKind};
use monitor_model::ApplicationId;
use monitor_store::AlertDelivery;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Uuid;

/// What was found, as it is stored with an alert.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Facts {
    /// The name of the rule.
    pub(crate) rule: String,
    /// The word of its kind.
    pub(crate) kind: String,
    pub(crate) verdict: String,
    /// The name of the application.
    pub(crate) application: Option<String>,
    pub(crate) user: Option<String>,
    pub(crate) r#type: Option<String>,
    pub(crate) gateway: Option<Uuid>,
    /// A budget, in words.
    pub(crate) budget: Option<String>,
    /// Messages, or percent of a budget.
    pub(crate) count: u64,
    /// Of so many messages; 0 where it is no share.
    pub(crate) total: u64,
    pub(crate) threshold: u64,
    pub(crate) window_s: u64,
    /// The records, as the path of a page.
    pub(crate) records: Option<String>,
}

/// A message as it waits for its delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Message {
    pub(crate) title: String,
    pub(crate) lines: Vec<String>,
    pub(crate) link: Option<String>,
    /// `firing`, `resolved` or `test`.
    pub(crate) state: String,
}

impl Message {
    /// As it is stored.
    pub(crate) fn document(&self) -> String {
        // Texts only: serialization has no failing case.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// About an alert that fires, or fires no more.
    pub(super) fn of(facts: &Facts, is_resolved: bool, public_url: Option<&str>) -> Self {
        let (word, state) = match is_resolved {
            true => ("Resolved", "resolved"),
            false => ("Alert", "firing"),
        };
        let mut lines = vec![facts.sentence()];
        let named = [
            ("Application", facts.application.clone()),
            ("User", facts.user.clone()),
            ("Type", facts.r#type.clone()),
            ("Gateway", facts.gateway.map(|id| id.to_string())),
        ];
        for (name, value) in named {
            lines.extend(value.map(|value| format!("{name}: {value}")));
        }
        let path = facts.records.as_deref().unwrap_or("/ui/alerts");
        Self {
            title: format!("{word}: {}", facts.rule),
            lines,
            link: public_url.map(|url| format!("{}{path}", url.trim_end_matches('/'))),
            state: state.to_owned(),
        }
    }

    pub(super) fn test(channel: &Channel) -> Self {
        Self {
            title: "Test".to_owned(),
            lines: vec![format!("This is a test of the channel {}.", channel.name)],
            link: None,
            state: "test".to_owned(),
        }
    }

    /// As plain text.
    pub(super) fn text(&self) -> String {
        let mut text = self.title.clone();
        for line in self.lines.iter().chain(&self.link) {
            text.push('\n');
            text.push_str(line);
        }
        text
    }
}

impl Facts {
    /// Of a rule that found something.
    pub(super) fn of(rule: &Rule) -> Self {
        Self {
            rule: rule.name.clone(),
            kind: rule.kind.as_str().to_owned(),
            verdict: rule.verdict.clone(),
            threshold: rule.threshold,
            window_s: rule.window_s,
            ..Self::default()
        }
    }

    /// As they were stored.
    pub(crate) fn stored(document: &str) -> Self {
        serde_json::from_str(document).unwrap_or_default()
    }

    pub(super) fn document(&self) -> String {
        // Texts and numbers only: serialization has no failing case.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// What was found, in one sentence.
    pub(crate) fn sentence(&self) -> String {
        let window = span(self.window_s);
        let verdict = self.verdict.replace('_', " ");
        match RuleKind::from_name(&self.kind) {
            Some(RuleKind::Share) => format!(
                "{} of {} messages ({verdict}) in {window} (threshold {}%)",
                self.count, self.total, self.threshold
            ),
            Some(RuleKind::FirstTime) => "Seen for the first time in 30 days".to_owned(),
            Some(RuleKind::GatewaySilent) => format!("No report of a gateway for {window}"),
            Some(RuleKind::Budget) => format!(
                "{}% of a budget is spent: {} (threshold {}%)",
                self.count,
                self.budget.as_deref().unwrap_or_default(),
                self.threshold
            ),
            Some(RuleKind::Count) | None => format!(
                "{} messages ({verdict}) in {window} (threshold {})",
                self.count, self.threshold
            ),
        }
    }
}

/// The page of the records that an alert is about.
pub(super) fn records_path(
    rule: &Rule,
    application: Option<ApplicationId>,
    named: [(&str, Option<&str>); 2],
    from_ms: i64,
) -> String {
    const PAGE: &str = "/ui/records?";
    let mut query = url::form_urlencoded::Serializer::for_suffix(PAGE.to_owned(), PAGE.len());
    if !rule.verdict.is_empty() {
        query.append_pair("verdict", &rule.verdict);
    }
    if let Some(id) = application {
        query.append_pair("application_id", &id.to_string());
    }
    for (name, value) in named {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    query.append_pair("from", &from_ms.to_string());
    query.finish()
}

/// A span of time for people.
pub(crate) fn span(seconds: u64) -> String {
    let units = [
        (86_400, "day"),
        (3_600, "hour"),
        (60, "minute"),
        (1, "second"),
    ];
    let whole = units
        .into_iter()
        .find(|(unit, _)| seconds.is_multiple_of(*unit) && seconds >= *unit);
    match whole {
        Some((unit, name)) if seconds == unit => format!("1 {name}"),
        Some((unit, name)) => format!("{} {name}s", seconds / unit),
        None => "0 seconds".to_owned(),
    }
}

/// The body of a delivery, as its kind of channel takes it.
pub(super) fn body(channel: &Channel, delivery: &AlertDelivery, message: &Message) -> Value {
    match channel.kind {
        ChannelKind::Webhook => json!({
            "delivery_id": delivery.id,
            "alert_id": delivery.alert_id,
            "state": message.state,
            "title": message.title,
            "lines": message.lines,
            "link": message.link,
            "created_at_ms": delivery.created_at_ms,
        }),
        ChannelKind::Slack => json!({"text": slack(&message.text())}),
        ChannelKind::Teams => teams(message),
        ChannelKind::Telegram => json!({
            "chat_id": channel.chat,
            "text": message.text(),
            "link_preview_options": {"is_disabled": true},
        }),
        // A letter has no body of JSON.
        ChannelKind::Email => Value::Null,
    }
}

/// Names in a message must not call people, or be links to elsewhere.
fn slack(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

/// An adaptive card, whose runs of text have no markup.
fn teams(message: &Message) -> Value {
    let run = |text: &String, weight: &str| {
        let run = json!({"type": "TextRun", "text": text, "weight": weight});
        json!({"type": "RichTextBlock", "inlines": [run]})
    };
    let mut blocks = vec![run(&message.title, "Bolder")];
    blocks.extend(message.lines.iter().map(|line| run(line, "Default")));
    let links = message.link.iter();
    let links: Vec<_> = links
        .map(|url| json!({"type": "Action.OpenUrl", "title": "Open", "url": url}))
        .collect();
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "body": blocks,
                "actions": links,
            },
        }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b10_a_message_says_what_was_found_and_where_to_look() {
        let rule = Rule {
            name: "Too many".to_owned(),
            verdict: "blocked".to_owned(),
            threshold: 5,
            ..Rule::default()
        };
        let facts = Facts {
            count: 7,
            user: None,
            application: Some("bot".to_owned()),
            records: Some(records_path(
                &rule,
                None,
                [("type", Some("CVC")), ("user_id", None)],
                9,
            )),
            ..Facts::of(&rule)
        };
        let message = Message::of(&facts, false, Some("https://m.example/"));
        assert_eq!(message.title, "Alert: Too many");
        let expected = [
            "7 messages (blocked) in 10 minutes (threshold 5)",
            "Application: bot",
        ];
        assert_eq!(message.lines, expected);
        let link = "https://m.example/ui/records?verdict=blocked&type=CVC&from=9";
        assert_eq!(message.link.as_deref(), Some(link));
        assert_eq!(Facts::stored(&facts.document()), facts);
    }

    #[test]
    fn b10_a_name_in_a_message_calls_nobody_on_slack() {
        assert_eq!(slack("<!channel> & co"), "&lt;!channel&gt; &amp; co");
    }

    #[test]
    fn b10_spans_are_for_people() {
        let spans = [60, 600, 3_600, 90, 172_800].map(span);
        assert_eq!(
            spans,
            ["1 minute", "10 minutes", "1 hour", "90 seconds", "2 days"]
        );
    }
}
