//! Where alerts are sent. Addresses and secrets of channels are never shown again: the address of a Slack or Teams
//! webhook is a secret by itself. A stored secret goes to no other server: who changes the server enters it again.

use super::address;
use crate::analysis::error::FieldProblem;
use crate::analysis::text_checks::check_name;
use monitor_model::Secret;
use serde_json::{Value, json};
use url::Url;

/// The longest address, secret or chat, in bytes.
const LONGEST: usize = 2_000;
/// Where Telegram's bots are called, unless a channel says otherwise.
const TELEGRAM: &str = "https://api.telegram.org";

/// What kind of server a channel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChannelKind {
    Webhook,
    Slack,
    Teams,
    Telegram,
}

impl ChannelKind {
    pub(crate) const ALL: [Self; 4] = [Self::Webhook, Self::Slack, Self::Teams, Self::Telegram];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Slack => "slack",
            Self::Teams => "teams",
            Self::Telegram => "telegram",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// A channel.
#[derive(Clone)]
pub(crate) struct Channel {
    pub(crate) name: String,
    pub(crate) kind: ChannelKind,
    pub(crate) url: Secret,
    /// The key of a webhook's signatures, or the token of a Telegram bot; empty for none.
    pub(crate) secret: Secret,
    /// The chat of a Telegram bot.
    pub(crate) chat: String,
}

/// What a person enters. An empty address or secret leaves that of before.
#[derive(Clone)]
pub(crate) struct ChannelEdit {
    pub(crate) name: String,
    pub(crate) kind: ChannelKind,
    pub(crate) url: Secret,
    pub(crate) secret: Secret,
    pub(crate) chat: String,
}

impl Channel {
    /// As it is stored.
    pub(super) fn document(&self) -> String {
        let document = json!({
            "name": self.name,
            "kind": self.kind.as_str(),
            "url": self.url.expose(),
            "secret": self.secret.expose(),
            "chat": self.chat,
        });
        document.to_string()
    }

    /// As it was stored; None of what a later version wrote.
    pub(super) fn stored(document: &str) -> Option<Self> {
        let document: Value = serde_json::from_str(document).ok()?;
        let text = |name: &str| document.get(name).and_then(Value::as_str);
        Some(Self {
            name: text("name")?.to_owned(),
            kind: ChannelKind::from_name(text("kind")?)?,
            url: Secret::new(text("url")?),
            secret: Secret::new(text("secret")?),
            chat: text("chat")?.to_owned(),
        })
    }

    /// Whether an address leads to another server than the channel's.
    fn is_elsewhere(&self, url: &Url) -> bool {
        let own = address::parse(self.url.expose()).ok();
        own.is_none_or(|own| own.origin() != url.origin())
    }

    /// The server, for people: no path, which may be a secret.
    pub(crate) fn host(&self) -> String {
        let host = address::parse(self.url.expose()).ok();
        let host = host.and_then(|url| url.host_str().map(str::to_owned));
        host.unwrap_or_default()
    }
}

impl ChannelEdit {
    /// The channel, with what it does not say taken from the one of before.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub(super) fn over(self, before: Option<Channel>) -> Result<Channel, Vec<FieldProblem>> {
        let mut problems: Vec<_> = check_name(&self.name).err().into_iter().collect();
        let before = before.filter(|before| before.kind == self.kind);
        let url = self.url(before.as_ref());
        let parsed = address::parse(url.expose());
        if let Err(problem) = &parsed {
            problems.push(FieldProblem::new("url", *problem));
        }
        let secret = match (&before, self.secret.expose()) {
            (Some(before), "") => {
                let is_moved = parsed.is_ok_and(|url| before.is_elsewhere(&url));
                if is_moved && !before.secret.expose().is_empty() {
                    let again = "must be entered again: the address leads to another server";
                    problems.push(FieldProblem::new("secret", again));
                }
                before.secret.clone()
            }
            _ => self.secret.clone(),
        };
        if self.kind == ChannelKind::Telegram {
            problems.extend(telegram_problems(&secret, &self.chat));
        }
        let texts = [url.expose(), secret.expose(), self.chat.as_str()];
        let long = ["url", "secret", "chat"].into_iter().zip(texts);
        let long = long.filter(|(_, text)| text.len() > LONGEST);
        problems
            .extend(long.map(|(field, _)| FieldProblem::new(field, "has more than 2000 bytes")));
        match problems.is_empty() {
            true => Ok(Channel {
                name: self.name,
                kind: self.kind,
                url,
                secret,
                chat: self.chat,
            }),
            false => Err(problems),
        }
    }

    fn url(&self, before: Option<&Channel>) -> Secret {
        match (self.url.expose().trim(), before) {
            ("", Some(before)) => before.url.clone(),
            ("", None) if self.kind == ChannelKind::Telegram => Secret::new(TELEGRAM),
            (url, _) => Secret::new(url),
        }
    }
}

/// The token becomes a part of an address.
fn telegram_problems(token: &Secret, chat: &str) -> Vec<FieldProblem> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '-' | '_');
    let token = token.expose();
    let mut problems = Vec::new();
    if token.is_empty() || !token.chars().all(is_plain) {
        problems.push(FieldProblem::new("secret", "must be the token of a bot"));
    }
    if chat.is_empty() || chat.chars().any(char::is_control) {
        problems.push(FieldProblem::new("chat", "must be the id of a chat"));
    }
    problems
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::*;

    fn edit(url: &str, secret: &str) -> ChannelEdit {
        ChannelEdit {
            name: "bot".to_owned(),
            kind: ChannelKind::Telegram,
            url: Secret::new(url),
            secret: Secret::new(secret),
            chat: "-100".to_owned(),
        }
    }

    fn fields(problems: Result<Channel, Vec<FieldProblem>>) -> Vec<String> {
        let problems = problems.err().unwrap_or_default();
        problems.into_iter().map(|one| one.field).collect()
    }

    #[test]
    fn b10_a_stored_secret_goes_to_no_other_server() {
        let first = edit("", "1:a").over(None).unwrap();
        assert_eq!(first.host(), "api.telegram.org");
        let same = edit("https://api.telegram.org/", "").over(Some(first.clone()));
        assert_eq!(same.unwrap().secret.expose(), "1:a");
        let moved = edit("https://other.example", "").over(Some(first.clone()));
        assert_eq!(fields(moved), ["secret"]);
        let entered = edit("https://other.example", "2:b").over(Some(first));
        assert_eq!(entered.unwrap().secret.expose(), "2:b");
    }

    #[test]
    fn b10_a_channel_comes_back_as_it_was_stored() {
        let channel = edit("", "1:a").over(None).unwrap();
        let stored = Channel::stored(&channel.document()).unwrap();
        assert_eq!(stored.document(), channel.document());
        assert!(Channel::stored("{\"kind\":\"pigeon\"}").is_none());
    }

    #[test]
    fn b10_what_is_wrong_is_named() {
        assert_eq!(fields(edit("ftp://a", "").over(None)), ["url", "secret"]);
        assert_eq!(fields(edit("", "a/../b").over(None)), ["secret"]);
    }
}
