//! Sends a message as a letter, over SMTP. Only checked addresses are connected to. With STARTTLS nothing but the
//! greeting travels before the connection is encrypted. All recipients take the letter, or it has failed.

use super::address;
use super::bounded::Bounded;
use super::channel::{Channel, MailTls};
use super::message::Message;
use crate::config::AlertSettings;
use futures_util::FutureExt as _;
use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, SinglePart};
use lettre::transport::smtp::authentication::{Credentials, DEFAULT_MECHANISMS};
use lettre::transport::smtp::client::{AsyncSmtpConnection, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{Address, Message as Letter};
use monitor_store::AlertDelivery;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::time::Duration;
use tokio::time::timeout;

/// The longest time for one attempt.
const LONGEST: Duration = Duration::from_secs(20);
/// After which the next address is tried.
const LONGEST_CONNECT: Duration = Duration::from_secs(5);
const UNSENDABLE: &str = "the letter cannot be written";
const CLOSED: &str = "no connection, or it was closed";
const NO_CERTIFICATES: &str = "the system's certificates cannot be read";

/// Sends a delivery.
///
/// # Errors
/// Why the mail server did not take it.
pub(super) async fn send(
    channel: &Channel,
    delivery: &AlertDelivery,
    message: &Message,
    settings: &AlertSettings,
) -> Result<(), String> {
    let url = channel.server()?;
    let addresses = address::addresses(&url, settings).await?;
    let letter = letter(channel, delivery, message).ok_or(UNSENDABLE)?;
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_matches(['[', ']']).to_owned();
    let tls = match channel.mail.tls {
        MailTls::None => None,
        MailTls::StartTls | MailTls::Tls => Some(parameters(host).await?),
    };
    let delivered = timeout(LONGEST, deliver(channel, &addresses, tls, &letter));
    // The client panics on a line of blanks, which must not end the task that sends.
    match AssertUnwindSafe(delivered).catch_unwind().await {
        Ok(Ok(sent)) => sent,
        Ok(Err(_)) => Err("no answer in time".to_owned()),
        Err(_) => Err(CLOSED.to_owned()),
    }
}

/// Reads the system's authorities.
async fn parameters(host: String) -> Result<TlsParameters, String> {
    let read = tokio::task::spawn_blocking(move || TlsParameters::new(host)).await;
    let read = read.map_err(|_| NO_CERTIFICATES)?;
    read.map_err(|_| NO_CERTIFICATES.to_owned())
}

async fn deliver(
    channel: &Channel,
    addresses: &[SocketAddr],
    tls: Option<TlsParameters>,
    letter: &Letter,
) -> Result<(), String> {
    let mail = &channel.mail;
    let from: Result<Address, _> = mail.from.parse();
    let domain = from.map_err(|_| UNSENDABLE)?.domain().to_owned();
    let hello = ClientId::Domain(domain);
    let mut connection = connection(mail.tls, addresses, tls, &hello).await?;
    if !mail.user.is_empty() {
        let server = connection.server_info();
        if server.get_auth_mechanism(DEFAULT_MECHANISMS).is_none() {
            return Err("the mail server offers no sign-in by PLAIN or LOGIN".to_owned());
        }
        let password = channel.secret.expose().to_owned();
        let credentials = Credentials::new(mail.user.clone(), password);
        let signed_in = connection.auth(DEFAULT_MECHANISMS, &credentials).await;
        signed_in.map_err(|error| reason(&error))?;
    }
    let text = letter.formatted();
    let sent = connection.send(letter.envelope(), &text).await;
    sent.map_err(|error| reason(&error))?;
    // The server has the letter.
    let _ = connection.quit().await;
    Ok(())
}

/// A connection that is encrypted as the channel says.
async fn connection(
    way: MailTls,
    addresses: &[SocketAddr],
    tls: Option<TlsParameters>,
    hello: &ClientId,
) -> Result<AsyncSmtpConnection, String> {
    if way == MailTls::Tls {
        let limit = Some(LONGEST_CONNECT);
        let connected = AsyncSmtpConnection::connect_tokio1(addresses, limit, hello, tls, None);
        return connected.await.map_err(|error| reason(&error));
    }
    let stream = Bounded::connect(addresses, LONGEST_CONNECT).await;
    let stream = Box::new(stream.ok_or(CLOSED)?);
    let connected = AsyncSmtpConnection::connect_with_transport(stream, hello).await;
    let mut connection = connected.map_err(|error| reason(&error))?;
    if let Some(tls) = tls {
        if !connection.can_starttls() {
            return Err("the mail server offers no STARTTLS".to_owned());
        }
        let encrypted = connection.starttls(tls, hello).await;
        encrypted.map_err(|error| reason(&error))?;
    }
    Ok(connection)
}

/// Nothing of what the server answered but its status.
fn reason(error: &lettre::transport::smtp::Error) -> String {
    match error.status() {
        Some(status) => format!("status {status}"),
        None => CLOSED.to_owned(),
    }
}

/// The letter; its id is that of the delivery, by which receivers know repeats. None where an address is none.
fn letter(channel: &Channel, delivery: &AlertDelivery, message: &Message) -> Option<Letter> {
    const AUTOMATIC: HeaderName = HeaderName::new_from_ascii_str("Auto-Submitted");
    let mailbox = |text: &str| Some(Mailbox::new(None, text.parse::<Address>().ok()?));
    let from = mailbox(&channel.mail.from)?;
    let id = format!("<{}@{}>", delivery.id, from.email.domain());
    let mut letter = Letter::builder()
        .from(from)
        .subject(message.title.as_str())
        .message_id(Some(id))
        .raw_header(HeaderValue::new(AUTOMATIC, "auto-generated".to_owned()));
    for to in &channel.mail.to {
        letter = letter.to(mailbox(to)?);
    }
    letter.singlepart(SinglePart::plain(message.text())).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests {
    use super::super::channel::{ChannelKind, Mail};
    use super::*;
    use monitor_model::Secret;
    use monitor_store::DeliveryState;
    use uuid::Uuid;

    fn written(title: &str, line: &str) -> String {
        let channel = Channel {
            name: "mail".to_owned(),
            kind: ChannelKind::Email,
            url: Secret::new("smtp.example.com:587"),
            secret: Secret::new(""),
            chat: String::new(),
            mail: Mail {
                from: "monitor@example.com".to_owned(),
                to: vec!["a@example.com".to_owned(), "b@example.com".to_owned()],
                ..Mail::default()
            },
        };
        let message = Message {
            title: title.to_owned(),
            lines: vec![line.to_owned()],
            link: None,
            state: "firing".to_owned(),
        };
        let delivery = AlertDelivery {
            id: Uuid::from_u128(5),
            alert_id: Uuid::nil(),
            channel_id: Uuid::nil(),
            channel_name: "mail".to_owned(),
            channel_kind: "email".to_owned(),
            message: String::new(),
            state: DeliveryState::Waiting,
            attempts: 1,
            next_ms: 0,
            created_at_ms: 0,
            done_ms: None,
            failure: None,
        };
        let letter = letter(&channel, &delivery, &message).unwrap();
        assert_eq!(letter.envelope().to().len(), 2);
        String::from_utf8(letter.formatted()).unwrap()
    }

    #[test]
    fn b10_a_letter_is_plain_text_with_an_id_of_its_own() {
        let text = written("Alert: Finds", "1 message");
        for part in [
            "From: monitor@example.com\r\n",
            "Subject: Alert: Finds\r\n",
            "Message-ID: <00000000-0000-0000-0000-000000000005@example.com>\r\n",
            "Auto-Submitted: auto-generated\r\n",
            "Content-Type: text/plain; charset=utf-8\r\n",
            "Alert: Finds\r\n1 message",
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn b10_a_title_adds_no_header_and_a_letter_is_ascii() {
        let text = written("Внимание\r\nBcc: c@example.com", "ещё\r\n.\r\nQUIT");
        assert!(text.is_ascii(), "{text}");
        assert!(!text.contains("\r\nBcc:"), "{text}");
    }
}
