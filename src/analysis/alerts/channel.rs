//! Where alerts are sent. Addresses and secrets of channels are never shown again: the address of a Slack or Teams
//! webhook is a secret by itself. A stored secret goes to no other server: who changes the server enters it again.

pub(crate) use crate::config::{
    AlertChannelKind as ChannelKind, AlertChannelSettings as Channel, MailSettings as Mail, MailTls,
};

use crate::analysis::error::FieldProblem;
use crate::analysis::text_checks::check_name;
use crate::config::TELEGRAM;
use monitor_model::Secret;
use serde_json::{Value, json};

/// What a person enters. An empty address or secret leaves that of before.
#[derive(Clone)]
pub(crate) struct ChannelEdit {
    pub(crate) name: String,
    pub(crate) kind: ChannelKind,
    pub(crate) url: Secret,
    pub(crate) secret: Secret,
    pub(crate) chat: String,
    pub(crate) mail: Mail,
}

impl Channel {
    /// As it is stored.
    pub(super) fn document(&self) -> String {
        let mut document = json!({
            "name": self.name,
            "kind": self.kind.as_str(),
            "url": self.url.expose(),
            "secret": self.secret.expose(),
            "chat": self.chat,
        });
        if let (ChannelKind::Email, Value::Object(fields)) = (self.kind, &mut document) {
            fields.insert("mail".to_owned(), json!(self.mail));
        }
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
            mail: match document.get("mail") {
                Some(mail) => serde_json::from_value(mail.clone()).ok()?,
                None => Mail::default(),
            },
        })
    }

    /// Whether it leads to another server than this one, or in clear text where this one does not.
    fn is_elsewhere(&self, before: &Self) -> bool {
        let [own, other] = [self, before].map(|one| one.server().map(|url| url.origin()));
        own != other
    }

    /// The server, for people: no path, which may be a secret.
    pub(crate) fn host(&self) -> String {
        let host = self.server().ok();
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
        let mut channel = Channel {
            url: self.url(before.as_ref()),
            name: self.name,
            kind: self.kind,
            secret: self.secret,
            chat: self.chat,
            mail: match self.kind {
                ChannelKind::Email => self.mail,
                _ => Mail::default(),
            },
        };
        let has_user = channel.kind != ChannelKind::Email || !channel.mail.user.is_empty();
        let kept = before.filter(|_| has_user && channel.secret.expose().is_empty());
        if let Some(before) = kept {
            let has_secret = !before.secret.expose().is_empty();
            if has_secret && channel.server().is_ok() && channel.is_elsewhere(&before) {
                let again = "must be entered again: the address leads to another server";
                problems.push(FieldProblem::new("secret", again));
            }
            channel.secret = before.secret;
        }
        let wrong = channel.wrong().into_iter();
        problems.extend(wrong.map(|(field, problem)| FieldProblem::new(field, problem)));
        match problems.is_empty() {
            true => Ok(channel),
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
            mail: Mail::default(),
        }
    }

    fn letter(url: &str, secret: &str, tls: MailTls) -> ChannelEdit {
        ChannelEdit {
            kind: ChannelKind::Email,
            chat: String::new(),
            mail: Mail {
                tls,
                user: "monitor".to_owned(),
                from: "monitor@example.com".to_owned(),
                to: vec!["a@example.com".to_owned()],
            },
            ..edit(url, secret)
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
    fn b10_a_stored_password_goes_over_no_connection_that_is_less_encrypted() {
        let server = "smtp.example.com:587";
        let first = letter(server, "p", MailTls::StartTls).over(None).unwrap();
        assert_eq!(first.host(), "smtp.example.com");
        let same = letter("", "", MailTls::Tls).over(Some(first.clone()));
        assert_eq!(same.unwrap().secret.expose(), "p");
        for (url, tls) in [("", MailTls::None), ("smtp.example.com:25", MailTls::Tls)] {
            let moved = letter(url, "", tls).over(Some(first.clone()));
            assert_eq!(fields(moved), ["secret"], "{url}");
        }
    }

    #[test]
    fn b10_a_password_goes_with_its_user() {
        let first = letter("smtp.example.com:587", "p", MailTls::Tls);
        let mut nameless = letter("", "", MailTls::Tls);
        nameless.mail.user = String::new();
        let channel = nameless.over(Some(first.over(None).unwrap())).unwrap();
        assert_eq!(channel.secret.expose(), "");
    }

    #[test]
    fn b10_a_channel_comes_back_as_it_was_stored() {
        let letter = letter("smtp.example.com:465", "p", MailTls::Tls);
        for edit in [edit("", "1:a"), letter] {
            let channel = edit.over(None).unwrap();
            assert!(Channel::stored(&channel.document()).unwrap() == channel);
        }
        assert!(Channel::stored("{\"kind\":\"pigeon\"}").is_none());
    }

    #[test]
    fn b10_what_is_wrong_is_named() {
        assert_eq!(fields(edit("ftp://a", "").over(None)), ["url", "secret"]);
        assert_eq!(fields(edit("", "a/../b").over(None)), ["secret"]);
    }
}
