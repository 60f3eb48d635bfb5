//! The forms of single values: durations, sizes, counts, words, addresses, paths. The error message of each
//! form names what is allowed (CONTRACT 33).
//!
//! Own code instead of `humantime` and `bytesize`, which read other things than what is documented:
//! humantime takes neither bare seconds nor fractions (`60`, `1.5h`), which files have, and takes months
//! and sums (`1h 30m`); bytesize takes fractions and any case, and rounds.

use monitor_model::{ApplicationId, Secret};
use std::fmt::Display;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) const KIB: u64 = 1 << 10;
pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const GIB: u64 = 1 << 30;
pub(crate) const MILLISECOND: Duration = Duration::from_millis(1);
pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(3_600);
pub(crate) const DAY: Duration = Duration::from_secs(86_400);

/// Parses a text; the error is what is wrong with it.
type Parse<T> = Box<dyn Fn(&str) -> Result<T, String>>;

/// The form of a value of type `T`.
pub(crate) struct Form<T> {
    allowed: String,
    text_only: bool,
    parse: Parse<T>,
}

impl<T> Form<T> {
    /// A form from what it allows and a parser whose error says what is wrong.
    pub(crate) fn new(
        allowed: impl Into<String>,
        parse: impl Fn(&str) -> Result<T, String> + 'static,
    ) -> Self {
        Self {
            allowed: allowed.into(),
            text_only: false,
            parse: Box::new(parse),
        }
    }

    /// Refuses YAML numbers and booleans, which a text would otherwise swallow.
    pub(crate) fn text_only(mut self) -> Self {
        self.text_only = true;
        self
    }

    /// Whether a YAML number or boolean is a mistake here.
    pub(crate) fn is_text_only(&self) -> bool {
        self.text_only
    }

    /// The value of a text.
    ///
    /// # Errors
    /// What is wrong and what is allowed.
    pub(crate) fn parse(&self, text: &str) -> Result<T, String> {
        (self.parse)(text.trim()).map_err(|wrong| self.refuse(&wrong))
    }

    /// The message for a value that is wrong.
    pub(crate) fn refuse(&self, wrong: &str) -> String {
        format!("{wrong}; allowed: {}", self.allowed)
    }
}

/// A duration within a range.
pub(crate) fn duration(range: RangeInclusive<Duration>) -> Form<Duration> {
    let allowed = format!(
        "{} to {}, written 500ms, 60s, 2m, 1h, 7d or in bare seconds",
        show_duration(*range.start()),
        show_duration(*range.end())
    );
    Form::new(allowed, move |text| {
        let value = duration_from_text(text).ok_or_else(|| not_a("duration", text))?;
        within(&range, value, text)
    })
}

/// A duration within a range, or `auto`.
pub(crate) fn duration_or_auto(range: RangeInclusive<Duration>) -> Form<Option<Duration>> {
    let fixed = duration(range);
    Form::new(
        format!("auto, or {}", fixed.allowed),
        move |text| match text {
            "auto" => Ok(None),
            _ => (fixed.parse)(text).map(Some),
        },
    )
}

/// A number of bytes within a range.
pub(crate) fn size(range: RangeInclusive<u64>) -> Form<u64> {
    let (from, to) = (show_size(*range.start()), show_size(*range.end()));
    let allowed = format!("{from} to {to}, written 20MiB, 64KiB, 1GiB, 5MB or in bare bytes");
    Form::new(allowed, move |text| {
        let value = parse_size(text).ok_or_else(|| not_a("size", text))?;
        within(&range, value, text)
    })
}

/// A whole number within a range.
pub(crate) fn count(range: RangeInclusive<usize>) -> Form<usize> {
    Form::new(
        format!("a whole number from {} to {}", range.start(), range.end()),
        move |text| {
            let value = text.parse().map_err(|_| not_a("whole number", text))?;
            within(&range, value, text)
        },
    )
}

/// A whole number within a range, or `auto`.
pub(crate) fn count_or_auto(range: RangeInclusive<usize>) -> Form<Option<usize>> {
    let allowed = format!(
        "auto, or a whole number from {} to {}",
        range.start(),
        range.end()
    );
    let number = count(range);
    Form::new(allowed, move |text| match text {
        "auto" => Ok(None),
        _ => (number.parse)(text).map(Some),
    })
}

/// One of a few words.
pub(crate) fn word<T: Copy + 'static>(words: &'static [(&'static str, T)]) -> Form<T> {
    let names: Vec<&str> = words.iter().map(|(name, _)| *name).collect();
    Form::new(names.join(", "), move |text| {
        let found = words.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, value)| *value)
            .ok_or_else(|| format!("{} is unknown", quote(text)))
    })
}

/// What an address looks like.
pub(crate) const ADDRESS: &str = "IP:port, such as 0.0.0.0:4100 or [::1]:4100";

/// An IP address with a port.
pub(crate) fn address() -> Form<SocketAddr> {
    Form::new(ADDRESS, |text| {
        text.parse().map_err(|_| not_a("address", text))
    })
    .text_only()
}

/// A path; whether it exists is another question.
pub(crate) fn path() -> Form<PathBuf> {
    Form::new("a path", |text| match text {
        "" => Err("is empty".to_owned()),
        _ => Ok(PathBuf::from(text)),
    })
    .text_only()
}

/// A UUID. The value is not quoted: a key pasted into the wrong place would be.
pub(crate) fn application_id() -> Form<ApplicationId> {
    Form::new(
        "a UUID, such as 00000000-0000-4000-8000-000000000000",
        |text| text.parse().map_err(|_| "is not a UUID".to_owned()),
    )
    .text_only()
}

/// A text with something in it, without control characters.
pub(crate) fn text() -> Form<String> {
    Form::new("text, in quotes if digits only", |text| {
        if text.trim().is_empty() {
            Err("is empty".to_owned())
        } else if text.contains(char::is_control) {
            Err("contains a control character".to_owned())
        } else {
            Ok(text.to_owned())
        }
    })
    .text_only()
}

/// A host name, an address without brackets, or the folder of a Unix socket. The value is not quoted:
/// a whole URL with its password may have been pasted here.
pub(crate) fn host() -> Form<String> {
    const ALLOWED: &str = "a host name, an address, or the folder of a Unix socket";
    Form::new(ALLOWED, |text| {
        let named = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
        let fits = match text {
            "" => false,
            _ if text.starts_with('/') => !text.contains(char::is_control),
            _ => text.bytes().all(named) || text.parse::<std::net::IpAddr>().is_ok(),
        };
        fits.then(|| text.to_owned())
            .ok_or_else(|| "is not a host".to_owned())
    })
    .text_only()
}

/// A password, never quoted.
pub(crate) fn password() -> Form<Secret> {
    Form::new("text, in quotes if digits only", |text| match text {
        "" => Err("is empty".to_owned()),
        _ => Ok(Secret::new(text)),
    })
    .text_only()
}

/// An access key. It travels in a header, hence visible ASCII.
pub(crate) fn access_key() -> Form<Secret> {
    Form::new(
        "8 to 256 visible ASCII characters without a space, in quotes if digits only",
        |text| {
            let fits =
                (8..=256).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic());
            if fits {
                Ok(Secret::new(text))
            } else {
                Err("is not an access key".to_owned())
            }
        },
    )
    .text_only()
}

/// A log level, or a comma-separated filter of `level` and `target=level`.
pub(crate) fn log_filter() -> Form<String> {
    const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
    let allowed =
        "off, error, warn, info, debug, trace, or a filter such as info,pingora_core=warn";
    Form::new(allowed, |text| {
        let fits = |part: &&str| match part.split_once('=') {
            Some((target, level)) => !target.trim().is_empty() && LEVELS.contains(&level.trim()),
            None => LEVELS.contains(part),
        };
        let mut parts = text.split(',').map(str::trim);
        match parts.find(|part| !fits(part)) {
            None => Ok(text.to_owned()),
            // Without a level it would name nothing.
            Some(part) if part != text.trim() && !part.is_empty() && !part.contains('=') => {
                Err(format!("names {part:?} without a level; write {part}=warn"))
            }
            Some(_) => Err(not_a("log level", text)),
        }
    })
    .text_only()
}

/// A duration as it is written in the configuration.
pub(crate) fn show_duration(value: Duration) -> String {
    let millis = value.as_millis();
    let units = [(3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms")];
    let fits = units.iter().find(|(unit, _)| millis.is_multiple_of(*unit));
    match fits {
        Some((unit, name)) if millis > 0 => format!("{}{name}", millis / unit),
        _ => "0s".to_owned(),
    }
}

fn show_size(value: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match units
        .iter()
        .find(|(unit, _)| value > 0 && value.is_multiple_of(*unit))
    {
        Some((unit, name)) => format!("{}{name}", value / unit),
        None => format!("{value}B"),
    }
}

/// A duration as files and flags write it: `500ms`, `60s`, `2m`, `1h`, `90d` or bare
/// seconds (CONTRACT 33).
pub fn duration_from_text(text: &str) -> Option<Duration> {
    let (number, unit) = split_unit(text);
    let seconds = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()
}

fn parse_size(text: &str) -> Option<u64> {
    let (number, unit) = split_unit(text);
    let bytes = match unit {
        "" | "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(bytes)
}

/// Digits and a decimal point, then the unit.
fn split_unit(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim_start())
}

fn within<T: PartialOrd>(range: &RangeInclusive<T>, value: T, text: &str) -> Result<T, String> {
    let fits = range.contains(&value);
    if fits {
        Ok(value)
    } else {
        Err(format!("{} is out of range", quote(text)))
    }
}

/// `"x" is not a <kind>`, with its article.
fn not_a(kind: impl Display, text: &str) -> String {
    let kind = kind.to_string();
    let article = if kind.starts_with('a') { "an" } else { "a" };
    format!("{} is not {article} {kind}", quote(text))
}

/// A value in quotes, cut where it is long, control characters escaped.
pub(crate) fn quote(text: &str) -> String {
    const LONGEST: usize = 40;
    let cut: String = text.chars().take(LONGEST).collect();
    let dots = if cut.len() < text.len() { "…" } else { "" };
    format!("{cut:?}{dots}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;
