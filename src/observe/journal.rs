//! Lines for the journal of systemd (sd-daemon(3)): it takes the priority from the beginning of each line, and
//! keeps the time by itself.

use log::Level;
use rustix::fs::fstat;
use std::fmt::Write as _;
use std::sync::LazyLock;

/// The variable with device and inode of the stream that the journal reads.
const STREAM: &str = "JOURNAL_STREAM";

static READS_STDERR: LazyLock<bool> = LazyLock::new(|| {
    let about = fstat(std::io::stderr());
    let named = std::env::var(STREAM);
    let (Ok(about), Ok(named)) = (about, named) else {
        return false;
    };
    // Standard error may have been redirected since systemd set the variable.
    named == format!("{}:{}", about.st_dev, about.st_ino)
});

/// Whether the journal reads standard error.
pub(super) fn reads_stderr() -> bool {
    *READS_STDERR
}

/// What a line of this level begins with.
pub(super) fn priority(level: Level) -> &'static str {
    match level {
        Level::Error => "<3>",
        Level::Warn => "<4>",
        Level::Info => "<6>",
        Level::Debug | Level::Trace => "<7>",
    }
}

/// Each line of a text with its priority and its end.
pub(super) fn prefixed(level: Level, text: &str) -> String {
    let mut lines = String::with_capacity(text.len() + 4);
    for line in text.lines() {
        // Writing to a string has no failing case.
        let _ = writeln!(lines, "{}{line}", priority(level));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::prefixed;
    use log::Level;

    #[test]
    fn each_line_has_its_priority() {
        assert_eq!(prefixed(Level::Error, "a"), "<3>a\n");
        assert_eq!(prefixed(Level::Warn, "a\nb\n"), "<4>a\n<4>b\n");
        assert_eq!(prefixed(Level::Trace, "a"), "<7>a\n");
    }
}
