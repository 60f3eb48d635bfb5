//! What a gateway says of itself beside the records it registers: one header, so that people see on the
//! analysis server how each spool is. A backend that does not know it loses nothing.

use std::fmt;
use uuid::Uuid;

/// The header's name.
pub const GATEWAY_HEADER: &str = "x-monitor-gateway";

/// The header of a record that no client waits for: those that one waits for are analyzed before it.
pub const DEFERRED_HEADER: &str = "x-monitor-deferred";
/// The header by which a caller asks for a verdict without its long parts: no `entities`, and `cleaned_text` null.
pub const VERDICT_HEADER: &str = "x-monitor-verdict";
/// Its only value.
pub const COMPACT_VERDICT: &str = "compact";
/// The header in which the answer to a batch names the application that the access key is bound to.
pub const KEY_APPLICATION_HEADER: &str = "x-monitor-key-application";
/// The longest header that is read.
const LONGEST: usize = 300;
const LONGEST_VERSION: usize = 32;

/// A gateway's spool, as the gateway sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayReport {
    /// The gateway, as it numbers its records (CONTRACT 5).
    pub gateway: Uuid,
    /// The version of the gateway's program.
    pub version: String,
    /// Records that the backend has not taken.
    pub records: u64,
    /// Bytes of the spool's files.
    pub bytes: u64,
    /// Age of the oldest of them, in seconds.
    pub oldest_seconds: u64,
    /// Records that the backend refused for good.
    pub dead_letters: u64,
    /// The spool's disk refuses to be written.
    pub degraded: bool,
    /// What it adds to calls itself; None before the first one.
    pub overhead: Option<Overhead>,
}

/// A gateway's own share of calls since it started: all of a call but the upstream and the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead {
    /// Calls it was measured on.
    pub calls: u64,
    /// Microseconds on average.
    pub mean_us: u64,
}

impl fmt::Display for GatewayReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            gateway, version, ..
        } = self;
        write!(
            f,
            "id={gateway}; version={version}; records={}",
            self.records
        )?;
        write!(f, "; bytes={}; oldest={}", self.bytes, self.oldest_seconds)?;
        let degraded = u8::from(self.degraded);
        write!(f, "; dead={}; degraded={degraded}", self.dead_letters)?;
        match self.overhead {
            Some(own) => write!(f, "; calls={}; overhead_us={}", own.calls, own.mean_us),
            None => Ok(()),
        }
    }
}

impl GatewayReport {
    /// Reads a header; None if a part is missing or malformed. Parts that this version
    /// does not know are ignored.
    pub fn read(header: &str) -> Option<Self> {
        if header.len() > LONGEST {
            return None;
        }
        let part = |name: &str| {
            let mut parts = header
                .split(';')
                .filter_map(|part| part.trim().split_once('='));
            parts
                .find(|(given, _)| *given == name)
                .map(|(_, text)| text)
        };
        let number = |name| part(name)?.parse::<u64>().ok();
        let version = part("version")?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '+');
        if version.len() > LONGEST_VERSION || !version.chars().all(plain) {
            return None;
        }
        Some(Self {
            gateway: Uuid::try_parse(part("id")?).ok()?,
            version: version.to_owned(),
            records: number("records")?,
            bytes: number("bytes")?,
            oldest_seconds: number("oldest")?,
            dead_letters: number("dead")?,
            degraded: number("degraded")? != 0,
            overhead: number("calls")
                .zip(number("overhead_us"))
                .map(|(calls, mean_us)| Overhead { calls, mean_us }),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_report_comes_back_as_it_was_said_and_nothing_else_is_one() {
        let report = GatewayReport {
            gateway: Uuid::from_u128(7),
            version: "4.1.0".to_owned(),
            records: 12,
            bytes: 3_400,
            oldest_seconds: 61,
            dead_letters: 1,
            degraded: true,
            overhead: Some(Overhead {
                calls: 9,
                mean_us: 120,
            }),
        };
        let header = report.to_string();
        let (before, _) = header.split_once("; calls=").unwrap();
        let silent = GatewayReport {
            overhead: None,
            ..report.clone()
        };
        assert_eq!(GatewayReport::read(before), Some(silent.clone()));
        assert_eq!(silent.to_string(), before);
        assert_eq!(GatewayReport::read(&header), Some(report.clone()));
        assert_eq!(
            GatewayReport::read(&format!("{header}; more=x")),
            Some(report)
        );
        for wrong in [
            String::new(),
            "id=1".to_owned(),
            header.replace("records=12", "records=-1"),
            header.replace("4.1.0", "<b>"),
            format!("{header};{}", " ".repeat(LONGEST)),
        ] {
            assert_eq!(GatewayReport::read(&wrong), None, "{wrong}");
        }
    }
}
