//! Log lines on stderr, for people or as JSON.

use super::access;
use super::stderr::{self, STDERR, Tail};
use crate::config::{LogFormat, LogSettings, log_filter};
use arc_swap::ArcSwapOption;
use env_logger::Target;
use log::{Metadata, Record, error};
use std::io::Write;
use std::panic::PanicHookInfo;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// The default level of pingora: it reports each broken connection as an error, and the
/// gateway's own events already name the cause.
const QUIET: &str = "pingora_core=error,pingora_proxy=off,sqlx=warn,h2=warn,rustls=warn,hyper=warn";

/// How long the end of a process waits for unwritten lines.
const END: Duration = Duration::from_secs(1);
/// How long a panicking thread waits.
const SHORT: Duration = Duration::from_millis(50);

/// The logger of this process, which a reload changes.
static LOGGER: LazyLock<Logger> = LazyLock::new(|| Logger(ArcSwapOption::empty()));

struct Logger(ArcSwapOption<env_logger::Logger>);

impl log::Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let now = self.0.load();
        now.as_ref().is_some_and(|logger| logger.enabled(metadata))
    }

    fn log(&self, record: &Record<'_>) {
        if let Some(logger) = &*self.0.load() {
            if record.target() == access::TARGET {
                // It has a thread of its own, and leaves space for lines about faults.
                STDERR.wait_for_room();
            }
            logger.log(record);
        }
    }

    fn flush(&self) {
        STDERR.flush(END);
    }
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
    let mut builder = env_logger::Builder::new();
    builder.parse_filters(&format!("{QUIET},{level}"));
    builder.target(Target::Pipe(Box::new(Tail)));
    if settings.format == LogFormat::Json {
        builder.format(|out, record| {
            writeln!(
                out,
                "{}",
                json_line(record, &out.timestamp_millis().to_string())
            )
        });
    }
    let logger = builder.build();
    log::set_max_level(logger.filter());
    LOGGER.0.store(Some(Arc::new(logger)));
    for (old, new) in moved {
        log::warn!(
            "log.level: {old} is now {}; change the filter",
            new.join(" and ")
        );
    }
}

/// Writes a line to standard error at any level, after the lines of the log.
pub fn say(line: &str) {
    STDERR.push(format!("{line}\n").as_bytes());
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
