//! Log lines on stderr, for people or as JSON.

use super::access;
use super::journal;
use super::labels::LogSource;
use super::log_budget::LOG_BUDGET;
use super::stderr::{self, STDERR};
use crate::config::{LogFormat, LogSettings, log_filter};
use arc_swap::ArcSwapOption;
use env_logger::Target;
use log::{Level, Log, Metadata, Record, error};
use std::io::{self, Write};
use std::panic::PanicHookInfo;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// How long the end of a process waits for unwritten lines.
const END: Duration = Duration::from_secs(1);
/// How long a panicking thread waits.
const SHORT: Duration = Duration::from_millis(50);

/// The logger of this process, which a reload changes.
static LOGGER: LazyLock<Logger> = LazyLock::new(|| Logger(ArcSwapOption::empty()));

struct Logger(ArcSwapOption<Loggers>);

/// The loggers of one configuration: what is written, and in which form.
struct Loggers {
    /// Takes what it writes from the log's budget.
    limited: env_logger::Logger,
    unlimited: env_logger::Logger,
    /// Modules and targets that `log.level` names. Libraries are silent unless one of these covers them: they
    /// report what a peer did as a fault, at a rate that the peer chooses, and the gateway's own events already
    /// name the cause.
    named: Vec<String>,
}

/// Where the bytes of a line are counted, if they are.
enum Accounting {
    Limited(LogSource),
    Unlimited,
    Nowhere,
}

/// Standard error as the loggers write to it: each call is a whole line.
struct Tail {
    is_limited: bool,
}

impl Write for Tail {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.is_limited {
            LOG_BUDGET.charge(LogSource::Program, line.len());
        }
        STDERR.push(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Loggers {
    fn new(level: &str, format: LogFormat) -> Self {
        let directives = level.split(',').filter_map(|part| part.split_once('='));
        Self {
            limited: logger(level, format, true),
            unlimited: logger(level, format, false),
            named: directives.map(|(name, _)| name.trim().to_owned()).collect(),
        }
    }

    /// A line of an own target is recognized by its module. Short lines of calls are counted by the access log.
    fn accounting(&self, record: &Record<'_>) -> Accounting {
        let is_own = record
            .module_path()
            .is_some_and(|module| module.starts_with("monitor"));
        let target = record.target();
        match target {
            access::TARGET | "log" if is_own => Accounting::Unlimited,
            _ if is_own => Accounting::Limited(LogSource::Program),
            _ if self.named.iter().any(|name| target.starts_with(name)) => {
                Accounting::Limited(LogSource::Library)
            }
            _ => Accounting::Nowhere,
        }
    }

    fn log(&self, record: &Record<'_>) {
        match self.accounting(record) {
            Accounting::Unlimited => self.unlimited.log(record),
            Accounting::Limited(source)
                if self.limited.matches(record) && LOG_BUDGET.try_admit(source, record.level()) =>
            {
                self.limited.log(record);
            }
            Accounting::Limited(_) | Accounting::Nowhere => {}
        }
    }
}

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let now = self.0.load();
        now.as_ref()
            .is_some_and(|lines| lines.limited.enabled(metadata))
    }

    fn log(&self, record: &Record<'_>) {
        if let Some(lines) = &*self.0.load() {
            if record.target() == access::TARGET {
                // It has a thread of its own, and leaves space for lines about faults.
                STDERR.wait_for_room();
            }
            lines.log(record);
        }
    }

    fn flush(&self) {
        STDERR.flush(END);
    }
}

fn logger(level: &str, format: LogFormat, is_limited: bool) -> env_logger::Logger {
    let mut builder = env_logger::Builder::new();
    builder.parse_filters(level);
    builder.target(Target::Pipe(Box::new(Tail { is_limited })));
    let to_journal = journal::reads_stderr();
    match format {
        LogFormat::Json => builder.format(move |out, record| {
            let time = out.timestamp_millis().to_string();
            let priority = journal::priority(record.level());
            let priority = if to_journal { priority } else { "" };
            writeln!(out, "{priority}{}", json_line(record, &time))
        }),
        LogFormat::Text if to_journal => builder.format(|out, record| {
            let (level, target) = (record.level(), record.target());
            let line = format!("[{level:<5} {target}] {}", record.args());
            out.write_all(journal::prefixed(level, &line).as_bytes())
        }),
        LogFormat::Text => &mut builder,
    };
    builder.build()
}

/// Starts logging, including panics.
pub fn init(settings: &LogSettings) {
    STDERR.start();
    set(settings);
    // Only a second call finds a logger in place, and it is this one.
    let _ = log::set_logger(&*LOGGER);
    std::panic::set_hook(Box::new(report_panic));
}

/// Puts other levels and another format in force. Warns of a filter that names a module which has moved.
pub fn set(settings: &LogSettings) {
    let (level, moved) = log_filter::current(&settings.level);
    let lines = Loggers::new(&level, settings.format);
    LOG_BUDGET.set(settings.bytes_per_second);
    log::set_max_level(lines.limited.filter());
    LOGGER.0.store(Some(Arc::new(lines)));
    for (old, new) in moved {
        log::warn!(
            "log.level: {old} is now {}; change the filter",
            new.join(" and ")
        );
    }
}

/// Writes lines to standard error whatever `log.level` is, after those of the log.
pub fn say(level: Level, lines: &str) {
    let text = match journal::reads_stderr() {
        true => journal::prefixed(level, lines),
        false => format!("{lines}\n"),
    };
    STDERR.push(text.as_bytes());
}

/// Waits, a second at most, until all lines are written: none is after the process has ended.
pub fn flush() {
    log::logger().flush();
}

/// The message of a panic may quote data, so only its location is logged.
fn report_panic(panic: &PanicHookInfo<'_>) {
    match panic.location() {
        Some(place) => error!(target: "panic", "panic at {}:{}", place.file(), place.line()),
        None => error!(target: "panic", "panic at an unknown location"),
    }
    match std::thread::current().name() {
        // It would wait for itself.
        Some(stderr::THREAD) => {}
        Some("main") => STDERR.flush(END),
        // It may be the last line of this process.
        _ => STDERR.flush(SHORT),
    }
}

fn json_line(record: &Record<'_>, time: &str) -> String {
    serde_json::json!({
        "time": time,
        "level": record.level().as_str(),
        "target": record.target(),
        "message": record.args().to_string(),
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::json_line;

    #[test]
    fn a_json_line_escapes_its_message() {
        let record = log::Record::builder()
            .level(log::Level::Warn)
            .target("gateway")
            .args(format_args!("a \"b\"\nc"))
            .build();
        assert_eq!(
            json_line(&record, "t"),
            r#"{"level":"WARN","message":"a \"b\"\nc","target":"gateway","time":"t"}"#
        );
    }
}
