//! The keys of `log`: lines on standard error, and the access log of a gateway. `observe` opens them.

use crate::config::reading::reader::Reader;
use crate::config::role::Role;
use crate::config::values::units::{self, GIB, KIB};
use std::path::PathBuf;

/// The keys of `log`.
#[derive(Clone, Debug, PartialEq)]
pub struct LogSettings {
    /// `error`, `warn`, `info`, `debug` or `trace`, or a filter such as `info,pingora_core=warn`.
    pub level: String,
    /// Format of the lines on standard error.
    pub format: LogFormat,
    /// Bytes a second that the log may grow by; further lines are counted.
    pub bytes_per_second: u64,
    /// `log.access`, of a gateway.
    pub access: AccessLogSettings,
}

impl LogSettings {
    /// Just under 1 MiB a minute.
    pub const BYTES_PER_SECOND: u64 = 16 * KIB;
}

/// Format of log lines on stderr.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// One line of text, for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// The access log: one JSON line for each call of a gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessLogSettings {
    /// Where the lines go.
    pub to: AccessLogPlace,
    /// Whether lines contain the client's address.
    pub client_address: bool,
    /// Lines that may wait to be written; further ones are lost and counted.
    pub queue: usize,
}

/// Where the lines of the access log go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessLogPlace {
    /// Nowhere; standard error has one short line for each call at level info.
    Off,
    /// To standard output.
    Stdout,
    /// To a file, appended.
    File(PathBuf),
}

impl Default for AccessLogSettings {
    fn default() -> Self {
        Self {
            to: AccessLogPlace::Off,
            client_address: true,
            queue: 8_192,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    Off,
    Stdout,
    File,
}

/// An analysis server has no calls of its own, and so no access log.
pub(crate) fn read(r: &mut Reader<'_>, role: Role) -> LogSettings {
    const FORMATS: &[(&str, LogFormat)] = &[("text", LogFormat::Text), ("json", LogFormat::Json)];
    LogSettings {
        level: r
            .read("log.level", &units::log_filter())
            .unwrap_or_else(|| "info".to_owned()),
        format: r
            .read("log.format", &units::word(FORMATS))
            .unwrap_or(LogFormat::Text),
        bytes_per_second: r
            .read("log.bytes_per_second", &units::size(KIB..=GIB))
            .unwrap_or(LogSettings::BYTES_PER_SECOND),
        access: match role {
            Role::Analysis => AccessLogSettings::default(),
            Role::All | Role::Gateway => access(r),
        },
    }
}

fn access(r: &mut Reader<'_>) -> AccessLogSettings {
    const PLACES: &[(&str, To)] = &[("off", To::Off), ("stdout", To::Stdout), ("file", To::File)];
    let defaults = AccessLogSettings::default();
    let to = r.read("log.access.to", &units::word(PLACES));
    let file = r.read("log.access.file", &units::path());
    let to = match (to.unwrap_or(To::Off), file) {
        (To::File, Some(file)) => AccessLogPlace::File(file),
        (To::File, None) => {
            contradict(r, "is not set, but log.access.to is file; allowed: a path");
            AccessLogPlace::Off
        }
        (to, Some(_)) => {
            contradict(
                r,
                "is used with log.access.to: file only; set that or leave it out",
            );
            place(to)
        }
        (to, None) => place(to),
    };
    let client_address = r.switch("log.access.client_address");
    let queue = r.read("log.access.queue", &units::count(1..=1_000_000));
    AccessLogSettings {
        to,
        client_address: client_address.unwrap_or(defaults.client_address),
        queue: queue.unwrap_or(defaults.queue),
    }
}

fn place(to: To) -> AccessLogPlace {
    match to {
        To::Stdout => AccessLogPlace::Stdout,
        To::Off | To::File => AccessLogPlace::Off,
    }
}

fn contradict(r: &mut Reader<'_>, text: &str) {
    if !r.has_problem("log.access.to") && !r.has_problem("log.access.file") {
        r.contradiction("log.access.file", text);
    }
}
