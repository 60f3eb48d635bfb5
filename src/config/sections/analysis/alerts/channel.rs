//! What a channel of alerts says, and what is allowed in it: of the file, of the API and of the web UI.

use lettre::Address;
use monitor_model::Secret;
use serde::{Deserialize, Serialize};
use url::Url;

/// Where Telegram's bots are called, unless a channel says otherwise.
pub(crate) const TELEGRAM: &str = "https://api.telegram.org";
/// The longest address, secret, chat or name of a user, in bytes.
const LONGEST: usize = 2_000;
/// The longest address of a letter, in bytes.
const LONGEST_MAILBOX: usize = 254;
/// The most recipients.
const MOST_RECIPIENTS: usize = 20;

/// What kind of server a channel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlertChannelKind {
    /// Any server that takes JSON.
    Webhook,
    /// An incoming webhook of Slack.
    Slack,
    /// A workflow of Microsoft Teams that takes adaptive cards.
    Teams,
    /// A bot of Telegram that writes to a chat.
    Telegram,
    /// A mail server.
    Email,
}

impl AlertChannelKind {
    /// Every kind, in the order of the forms.
    pub const ALL: [Self; 5] = [
        Self::Webhook,
        Self::Slack,
        Self::Teams,
        Self::Telegram,
        Self::Email,
    ];

    /// The word in the API, the configuration and the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Webhook => "webhook",
            Self::Slack => "slack",
            Self::Teams => "teams",
            Self::Telegram => "telegram",
            Self::Email => "email",
        }
    }

    /// The kind of this word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// How the connection to a mail server is encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MailTls {
    /// It begins in clear text, and goes on only once it is encrypted.
    #[default]
    StartTls,
    /// From the first byte.
    Tls,
    /// Not at all: for addresses that are allowed.
    None,
}

impl MailTls {
    /// Every way, the default first.
    pub const ALL: [Self; 3] = [Self::StartTls, Self::Tls, Self::None];

    /// The word in the API, the configuration and the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StartTls => "starttls",
            Self::Tls => "tls",
            Self::None => "none",
        }
    }

    /// The way of this word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == name)
    }
}

/// What only a mail server has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MailSettings {
    /// How the connection is encrypted.
    pub tls: MailTls,
    /// The name to sign in by; empty for none.
    pub user: String,
    /// The address of the sender.
    pub from: String,
    /// The addresses of the recipients.
    pub to: Vec<String>,
}

/// A channel of the configuration file, of the API or of a form.
#[derive(Clone, Debug, PartialEq)]
pub struct AlertChannelSettings {
    /// What people call it.
    pub name: String,
    /// What kind of server it is.
    pub kind: AlertChannelKind,
    /// Its address; of a mail server host and port.
    pub url: Secret,
    /// The key of a webhook's signatures, the token of a Telegram bot, or the password at a mail
    /// server; empty for none.
    pub secret: Secret,
    /// The chat of a Telegram bot.
    pub chat: String,
    /// What only a mail server has.
    pub mail: MailSettings,
}

impl AlertChannelSettings {
    /// Its server. That of a mail server has the scheme `https` where the connection is encrypted, and else `http`.
    ///
    /// # Errors
    /// What is wrong with the address, which is not repeated.
    pub(crate) fn server(&self) -> Result<Url, &'static str> {
        match self.kind {
            AlertChannelKind::Email => mail_server(self.url.expose(), self.mail.tls),
            AlertChannelKind::Webhook
            | AlertChannelKind::Slack
            | AlertChannelKind::Teams
            | AlertChannelKind::Telegram => web_address(self.url.expose()),
        }
    }

    /// Everything that is wrong with it but its name: the field, and the problem.
    pub(crate) fn wrong(&self) -> Vec<(&'static str, &'static str)> {
        let mut wrong = Vec::new();
        wrong.extend(self.server().err().map(|problem| ("url", problem)));
        match self.kind {
            AlertChannelKind::Telegram => wrong.extend(self.wrong_bot()),
            AlertChannelKind::Email => wrong.extend(self.wrong_mail()),
            AlertChannelKind::Webhook | AlertChannelKind::Slack | AlertChannelKind::Teams => {}
        }
        let texts = [
            ("url", self.url.expose()),
            ("secret", self.secret.expose()),
            ("chat", self.chat.as_str()),
            ("user", self.mail.user.as_str()),
        ];
        let long = texts.into_iter().filter(|(_, text)| text.len() > LONGEST);
        wrong.extend(long.map(|(field, _)| (field, "has more than 2000 bytes")));
        wrong
    }

    /// The token becomes a part of an address.
    fn wrong_bot(&self) -> Vec<(&'static str, &'static str)> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ':' | '-' | '_');
        let token = self.secret.expose();
        let mut wrong = Vec::new();
        if token.is_empty() || !token.chars().all(is_plain) {
            wrong.push(("secret", "must be the token of a bot"));
        }
        if self.chat.is_empty() || self.chat.chars().any(char::is_control) {
            wrong.push(("chat", "must be the id of a chat"));
        }
        wrong
    }

    fn wrong_mail(&self) -> Vec<(&'static str, &'static str)> {
        let MailSettings { user, from, to, .. } = &self.mail;
        let mut wrong = Vec::new();
        let has_password = !self.secret.expose().is_empty();
        match (user.is_empty(), has_password) {
            (true, true) => wrong.push(("user", "must be the name that the password is of")),
            (false, false) => wrong.push(("secret", "must be the password of the user")),
            _ => {}
        }
        if user.chars().any(char::is_control) {
            wrong.push(("user", "must not contain control characters"));
        }
        if !is_mailbox(from) {
            wrong.push(("from", "must be an address such as monitor@example.com"));
        }
        if to.is_empty() || to.len() > MOST_RECIPIENTS || !to.iter().all(|one| is_mailbox(one)) {
            wrong.push((
                "to",
                "must be 1 to 20 addresses such as security@example.com",
            ));
        }
        wrong
    }
}

/// An address without a name, in ASCII: not every server takes others.
fn is_mailbox(text: &str) -> bool {
    text.is_ascii() && text.len() <= LONGEST_MAILBOX && text.parse::<Address>().is_ok()
}

/// An address of the web.
///
/// # Errors
/// What is wrong with it; the address is not repeated.
pub(crate) fn web_address(text: &str) -> Result<Url, &'static str> {
    let url =
        Url::parse(text).map_err(|_| "must be an address such as https://example.com/hook")?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err("must begin with https:// or http://");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not have a user name or password");
    }
    Ok(url)
}

/// Host and port of a mail server, read as those of an address of the web are.
fn mail_server(text: &str, tls: MailTls) -> Result<Url, &'static str> {
    const WRONG: &str = "must be host and port of a mail server, such as smtp.example.com:587";
    let scheme = match tls {
        MailTls::StartTls | MailTls::Tls => "https",
        MailTls::None => "http",
    };
    let port = text.rsplit_once(':').map_or("", |(_, port)| port);
    let is_port = port.parse::<u16>().is_ok_and(|port| port > 0);
    if !is_port || text.contains(['/', '\\', '@', '?', '#']) {
        return Err(WRONG);
    }
    let url = Url::parse(&format!("{scheme}://{text}")).map_err(|_| WRONG)?;
    match url.host() {
        Some(_) => Ok(url),
        None => Err(WRONG),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn mail() -> AlertChannelSettings {
        AlertChannelSettings {
            name: "mail".to_owned(),
            kind: AlertChannelKind::Email,
            url: Secret::new("smtp.example.com:587"),
            secret: Secret::new("swordfish"),
            chat: String::new(),
            mail: MailSettings {
                user: "monitor".to_owned(),
                from: "monitor@example.com".to_owned(),
                to: vec!["a@example.com".to_owned(), "b@example.com".to_owned()],
                ..MailSettings::default()
            },
        }
    }

    fn fields(channel: &AlertChannelSettings) -> Vec<&'static str> {
        channel
            .wrong()
            .into_iter()
            .map(|(field, _)| field)
            .collect()
    }

    #[test]
    fn b10_a_mail_server_is_a_host_and_a_port() {
        assert_eq!(fields(&mail()), Vec::<&str>::new());
        assert_eq!(
            mail().server().unwrap().host_str(),
            Some("smtp.example.com")
        );
        for bad in [
            "",
            "smtp.example.com",
            "smtp.example.com:",
            "smtp.example.com:0",
            "smtp://smtp.example.com:25",
            "u:p@smtp.example.com:25",
            "smtp.example.com:25/x",
        ] {
            let mut channel = mail();
            channel.url = Secret::new(bad);
            assert_eq!(fields(&channel), ["url"], "{bad}");
        }
        let mut open = mail();
        open.url = Secret::new("[::1]:25");
        open.mail.tls = MailTls::None;
        let url = open.server().unwrap();
        assert_eq!((url.scheme(), url.port()), ("http", Some(25)));
    }

    #[test]
    fn b10_a_letter_has_a_sender_and_recipients_and_a_password_its_user() {
        let mut channel = mail();
        channel.mail.user = String::new();
        channel.mail.from = "Monitor".to_owned();
        channel.mail.to = vec!["a@example.com\r\nBcc: c@example.com".to_owned()];
        assert_eq!(fields(&channel), ["user", "from", "to"]);
        let mut channel = mail();
        channel.secret = Secret::new("");
        channel.mail.to.clear();
        assert_eq!(fields(&channel), ["secret", "to"]);
    }

    #[test]
    fn b10_an_address_has_a_server_and_no_password() {
        for bad in [
            "",
            "hook",
            "ftp://a.example",
            "https://u:p@a.example/",
            "data:,",
        ] {
            assert!(web_address(bad).is_err(), "{bad}");
        }
    }
}
