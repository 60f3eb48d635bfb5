//! Syslog (RFC 5424) over TCP or TLS, each message behind its length (RFC 6587 and 5425, octet counting).
//!
//! A receiver of syslog acknowledges nothing. A batch counts as sent once it was written and flushed and the connection
//! was still open a moment later; where it is not, the whole batch is sent again over the next connection.

use super::cef::cef;
use super::event::{Event, Subject, VerdictAction};
use super::ocsf::ocsf;
use crate::config::EventFormat;
use crate::http_client::{ByteStream, StreamClient};
use jiff::Timestamp;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

/// How long a connection must stay open after a batch.
const STAYS_OPEN: Duration = Duration::from_millis(250);
/// Facility 13 of RFC 5424: log audit.
const FACILITY: u8 = 13;
const APP_NAME: &str = "monitor-gateway";
/// The longest host name of a message.
const LONGEST_HOST: usize = 255;

/// A receiver of syslog.
pub(super) struct SyslogSender {
    client: StreamClient,
    format: EventFormat,
    host: String,
    connection: Option<ByteStream>,
}

impl SyslogSender {
    pub(super) fn new(client: StreamClient, format: EventFormat) -> Self {
        Self {
            client,
            format,
            host: host_name(),
            connection: None,
        }
    }

    /// # Errors
    /// Why the batch has to be sent again, in fixed words.
    pub(super) async fn send(&mut self, events: &[Event]) -> Result<(), String> {
        let mut batch = Vec::new();
        for event in events {
            self.frame(event, &mut batch);
        }
        // Also if this future is dropped, the next batch goes over a new connection.
        let mut connection = match self.open_connection().await {
            Some(connection) => connection,
            None => {
                let connected = self.client.connect().await;
                connected.map_err(|_| "no connection, or its certificate is not trusted")?
            }
        };
        let written = async {
            connection.write_all(&batch).await?;
            connection.flush().await
        };
        if written.await.is_err() || !is_open(&mut connection, STAYS_OPEN).await {
            return Err("the connection broke".to_owned());
        }
        self.connection = Some(connection);
        Ok(())
    }

    /// The connection of the batch before, if the receiver has not closed it.
    async fn open_connection(&mut self) -> Option<ByteStream> {
        let mut connection = self.connection.take()?;
        let is_open = is_open(&mut connection, Duration::ZERO).await;
        is_open.then_some(connection)
    }

    fn frame(&self, event: &Event, batch: &mut Vec<u8>) {
        let body = match self.format {
            EventFormat::Ocsf => ocsf(event).to_string(),
            EventFormat::Cef => cef(event),
        };
        let priority = u32::from(FACILITY) * 8 + u32::from(severity(event));
        let at = Timestamp::from_millisecond(event.at_ms).unwrap_or_default();
        let (host, kind) = (&self.host, kind(event));
        let message = format!("<{priority}>1 {at:.3} {host} {APP_NAME} - {kind} - {body}");
        batch.extend_from_slice(format!("{} ", message.len()).as_bytes());
        batch.extend_from_slice(message.as_bytes());
    }
}

/// Whether the other side has not closed the connection within this time. What it says is of no interest.
async fn is_open(connection: &mut ByteStream, within: Duration) -> bool {
    let mut said = [0; 256];
    let closed = async {
        while let Ok(count) = connection.read(&mut said).await {
            if count == 0 {
                break;
            }
        }
    };
    timeout(within, closed).await.is_err()
}

/// Severities of RFC 5424: 4 warning, 5 notice, 6 informational.
fn severity(event: &Event) -> u8 {
    match &event.subject {
        Subject::Verdict(verdict) if verdict.action == VerdictAction::Passed => 5,
        Subject::Verdict(_) => 4,
        Subject::Audit(_) => 6,
    }
}

/// The identifier of a message's kind.
fn kind(event: &Event) -> &'static str {
    match &event.subject {
        Subject::Verdict(_) => "verdict",
        Subject::Audit(_) => "audit",
    }
}

/// The name of this machine; `-` if it has none that a message may hold.
fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    let fits = !name.is_empty()
        && name.len() <= LONGEST_HOST
        && name.bytes().all(|byte| byte.is_ascii_graphic());
    match fits {
        true => name.to_owned(),
        false => "-".to_owned(),
    }
}
