//! The keys of `siem`: where events are sent. Nothing is connected here.

use crate::config::reading::collections::{groups, list};
use crate::config::reading::reader::Reader;
use crate::config::values::header;
use crate::config::values::units::{self, Form, quote};
use crate::config::values::url::{self, BaseUrl};
use monitor_model::Secret;
use std::path::{Path, PathBuf};

const MOST_DESTINATIONS: usize = 16;
const LONGEST_NAME: usize = 64;
/// The longest file with a token.
const LONGEST_FILE: u64 = 4096;

/// Where events are sent, and what they say.
#[derive(Clone, Debug, PartialEq)]
pub struct SiemSettings {
    /// The destinations; no two have the same name.
    pub destinations: Vec<DestinationSettings>,
    /// Whether events about records name the user.
    pub include_user: bool,
    /// Events that may wait for one destination; beyond it the oldest are dropped.
    pub outbox_rows: u32,
}

impl Default for SiemSettings {
    fn default() -> Self {
        Self {
            destinations: Vec::new(),
            include_user: true,
            outbox_rows: 100_000,
        }
    }
}

/// A destination of events.
#[derive(Clone, Debug, PartialEq)]
pub struct DestinationSettings {
    /// What logs, metrics and the status page call it.
    pub name: String,
    /// Its address: `tls` stands for TLS or https.
    pub url: BaseUrl,
    /// How events travel.
    pub kind: DestinationKind,
    /// PEM file of a private certificate authority.
    pub ca: Option<PathBuf>,
    /// Whether it gets records.
    pub verdicts: bool,
    /// Whether it gets the audit log.
    pub audit: bool,
}

/// How events travel to a destination.
#[derive(Clone, Debug, PartialEq)]
pub enum DestinationKind {
    /// RFC 5424 over TCP or TLS.
    Syslog(EventFormat),
    /// The HTTP event collector of Splunk, with this token.
    SplunkHec(Secret),
}

/// How the body of a syslog message is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventFormat {
    /// JSON of the Open Cybersecurity Schema Framework.
    Ocsf,
    /// The Common Event Format.
    Cef,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Syslog,
    SplunkHec,
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Verdicts,
    Audit,
}

const KINDS: &[(&str, Kind)] = &[("syslog", Kind::Syslog), ("splunk_hec", Kind::SplunkHec)];
const FORMATS: &[(&str, EventFormat)] = &[("ocsf", EventFormat::Ocsf), ("cef", EventFormat::Cef)];
const WHATS: &[(&str, What)] = &[("verdicts", What::Verdicts), ("audit", What::Audit)];

pub(crate) fn read(r: &mut Reader<'_>, prefix: &str) -> SiemSettings {
    const ALLOWED: &str = "a list of up to 16 destinations, each {name, kind, url, ca, token, token_file, format, what}";
    let list_key = format!("{prefix}siem.destinations");
    let lines = groups(r, &list_key, ALLOWED, MOST_DESTINATIONS);
    let mut destinations: Vec<DestinationSettings> = Vec::with_capacity(lines.len());
    for (index, line) in lines.into_iter().enumerate() {
        let section = format!("{list_key}[{index}]");
        let Some(destination) = destination(r, &section, line) else {
            continue;
        };
        let is_taken = destinations.iter().any(|it| it.name == destination.name);
        let text = "is the name of another destination; allowed: a name of its own";
        r.refuse_if(&format!("{section}.name"), is_taken, text);
        destinations.push(destination);
    }
    let include_user = r.switch(&format!("{prefix}siem.include_user"));
    let rows = r.read(
        &format!("{prefix}siem.outbox_rows"),
        &units::count(1_000..=1_000_000),
    );
    let unset = SiemSettings::default();
    let rows = rows.and_then(|rows| u32::try_from(rows).ok());
    SiemSettings {
        destinations,
        include_user: include_user.unwrap_or(unset.include_user),
        outbox_rows: rows.unwrap_or(unset.outbox_rows),
    }
}

/// One destination, which begins at this line; None where something is wrong, which is reported.
fn destination(r: &mut Reader<'_>, section: &str, line: usize) -> Option<DestinationSettings> {
    let key = |name: &str| format!("{section}.{name}");
    let name = r.read(&key("name"), &name());
    let kind = r.read(&key("kind"), &units::word(KINDS));
    let url = match kind {
        Some(Kind::SplunkHec) => r.read(&key("url"), &url::base_url()),
        _ => r.read(&key("url"), &syslog_url()),
    };
    let ca = r.read(&key("ca"), &units::path());
    let token = token(r, section);
    let format = r.read(&key("format"), &units::word(FORMATS));
    let what = list(r, &key("what"), &units::word(WHATS));
    let required = [
        ("name", name.is_some(), "logs and metrics name it so"),
        ("kind", kind.is_some(), "allowed: syslog, splunk_hec"),
        ("url", url.is_some(), "it is the address of the receiver"),
    ];
    for (name, is_set, why) in required {
        if !is_set && !r.has_problem_in(&key(name)) {
            r.report_line(line, &key(name), format!("is not set; {why}"));
        }
    }
    let (name, kind, url) = (name?, kind?, url?);
    let text = "is used over TLS only; allowed: a url with tls:// or https://, or no ca";
    r.refuse_if(&key("ca"), ca.is_some() && !url.tls, text);
    let transport = Transport {
        kind,
        token,
        format,
        line,
    };
    Some(DestinationSettings {
        name,
        url,
        kind: transport.check(r, section)?,
        ca,
        verdicts: what.is_empty() || what.contains(&What::Verdicts),
        audit: what.is_empty() || what.contains(&What::Audit),
    })
}

/// What a destination says of the way to it.
struct Transport {
    kind: Kind,
    token: Token,
    format: Option<EventFormat>,
    line: usize,
}

impl Transport {
    /// None where a token is missing, which is reported.
    fn check(self, r: &mut Reader<'_>, section: &str) -> Option<DestinationKind> {
        let key = |name: &str| format!("{section}.{name}");
        if self.kind == Kind::Syslog {
            let text = "is for splunk_hec only; allowed: no token for syslog";
            r.refuse_if(&key("token"), self.token.is_here, text);
            r.refuse_if(&key("token_file"), self.token.is_in_file, text);
            let format = self.format.unwrap_or(EventFormat::Ocsf);
            return Some(DestinationKind::Syslog(format));
        }
        let is_cef = self.format == Some(EventFormat::Cef);
        let text = "cef is for syslog only; allowed: ocsf";
        r.refuse_if(&key("format"), is_cef, text);
        let is_told = r.has_problem(&key("token")) || r.has_problem(&key("token_file"));
        if self.token.value.is_none() && !is_told {
            let text = "is not set; allowed: the token of the collector, here or in token_file";
            r.report_line(self.line, &key("token"), text);
        }
        self.token.value.map(DestinationKind::SplunkHec)
    }
}

/// A token, and which of its keys are set.
struct Token {
    value: Option<Secret>,
    is_here: bool,
    is_in_file: bool,
}

fn token(r: &mut Reader<'_>, section: &str) -> Token {
    let here = r.read(&format!("{section}.token"), &header::secret());
    let file_key = format!("{section}.token_file");
    let file = r.read(&file_key, &units::path());
    let (is_here, is_in_file) = (here.is_some(), file.is_some());
    let text = "conflicts with token; allowed: one of the two";
    r.refuse_if(&file_key, is_here && is_in_file, text);
    let read = file.map(|path| of_file(&path));
    let value = match (here, read) {
        (Some(here), _) => Some(here),
        (None, Some(Ok(token))) => Some(token),
        (None, Some(Err(wrong))) => {
            r.refuse_if(&file_key, true, &wrong);
            None
        }
        (None, None) => None,
    };
    Token {
        value,
        is_here,
        is_in_file,
    }
}

/// The error says nothing of what the file holds.
fn of_file(path: &Path) -> Result<Secret, String> {
    let shown = path.display();
    let failed = |reason: &dyn std::fmt::Display| {
        format!("{shown} cannot be read: {reason}; allowed: a file with a token in its one line")
    };
    // Looked at first: opening a pipe waits, and a device has no end.
    let found = std::fs::metadata(path).map_err(|error| failed(&error))?;
    if !found.is_file() || found.len() > LONGEST_FILE {
        return Err(failed(&"it is no file of at most 4096 bytes"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    let token = header::secret().parse(&text);
    token.map_err(|_| failed(&"it holds no token"))
}

/// The address of a syslog receiver. Its port is always named: there is no usual one for TCP.
fn syslog_url() -> Form<BaseUrl> {
    Form::new("tcp://host:port, or tls://host:port", |text| {
        let (scheme, rest) = text.split_once("://").ok_or("is no address")?;
        let scheme = match scheme.to_ascii_lowercase().as_str() {
            "tcp" => "http",
            "tls" => "https",
            _ => return Err("has another scheme than tcp and tls".to_owned()),
        };
        let port = rest.rsplit_once(':').map_or("", |(_, port)| port);
        if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err("names no port".to_owned());
        }
        url::parse(&format!("{scheme}://{rest}")).map_err(str::to_owned)
    })
    .text_only()
}

fn name() -> Form<String> {
    let allowed = "up to 64 letters, digits, - and _ of ASCII, in quotes if digits only";
    Form::new(allowed, |text| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        match text {
            "" => Err("is empty".to_owned()),
            _ if text.len() <= LONGEST_NAME && text.bytes().all(plain) => Ok(text.to_owned()),
            _ => Err(format!("{} is not a plain word", quote(text))),
        }
    })
    .text_only()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_syslog_has_a_scheme_a_host_and_a_port() {
        let url = syslog_url().parse("tls://siem.example:6514").unwrap();
        assert_eq!(
            (url.tls, url.host.as_str(), url.port),
            (true, "siem.example", 6514)
        );
        let url = syslog_url().parse("tcp://[::1]:601").unwrap();
        assert_eq!((url.tls, url.host.as_str(), url.port), (false, "::1", 601));
        for wrong in [
            "siem.example:6514",
            "udp://siem.example:514",
            "tcp://siem.example",
            "tcp://[::1]",
            "tls://user:secret@siem.example:6514",
        ] {
            let said = syslog_url().parse(wrong).err().unwrap();
            assert!(!said.contains("secret"), "{said}");
        }
    }
}
