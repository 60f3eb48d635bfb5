//! Which trace a call belongs to (W3C Trace Context): reading and writing `traceparent`.

use std::fmt;
use uuid::Uuid;

/// Names a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceId(u128);

/// Names a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanId(u64);

/// A span as it is passed to other services.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// Id of the trace, 16 bytes.
    pub trace: TraceId,
    /// The span in it.
    pub span: SpanId,
    /// Whether spans are kept.
    pub sampled: bool,
}

impl TraceId {
    pub(super) fn random() -> Self {
        Self(Uuid::new_v4().as_u128())
    }

    /// The 56 bits that are random in every trace (W3C Trace Context 2, "random-trace-id").
    pub(super) fn random_part(self) -> u64 {
        (self.0 as u64) & ((1 << 56) - 1)
    }
}

impl SpanId {
    /// A new one; never zero, because a UUID's lower half is not.
    pub fn random() -> Self {
        Self(Uuid::new_v4().as_u64_pair().1)
    }
}

impl TraceContext {
    /// Reads `traceparent`; None for one that is to be ignored.
    pub fn parse(header: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(header).ok()?.trim_ascii();
        let (version, rest) = text.split_at_checked(2)?;
        let version = hex(version)?;
        // A later version may have more fields after the flags.
        let fits = match version {
            0 => rest.len() == 53,
            0xff => false,
            _ => rest.len() == 53 || rest.as_bytes().get(53) == Some(&b'-'),
        };
        let rest = rest.get(..53).filter(|_| fits)?.strip_prefix('-')?;
        let (trace, rest) = rest.split_at_checked(32)?;
        let (span, flags) = rest.strip_prefix('-')?.split_at_checked(16)?;
        let (trace, span) = (hex(trace)?, hex(span)?);
        let flags = hex(flags.strip_prefix('-')?)?;
        (trace != 0 && span != 0).then_some(Self {
            trace: TraceId(trace),
            span: SpanId(u64::try_from(span).ok()?),
            sampled: flags & 1 == 1,
        })
    }

    /// The header's value.
    pub fn header(&self) -> String {
        format!(
            "00-{}-{}-{:02x}",
            self.trace,
            self.span,
            u8::from(self.sampled)
        )
    }
}

/// Lower-case digits only, as the standard has it.
fn hex(text: &str) -> Option<u128> {
    let plain = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    let fits = text.bytes().all(plain);
    fits.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_header_is_read_and_written() {
        let read = TraceContext::parse(GOOD.as_bytes()).unwrap();
        assert!(read.sampled);
        assert_eq!(read.header(), GOOD);
        let other = GOOD.replace("-01", "-00");
        assert!(!TraceContext::parse(other.as_bytes()).unwrap().sampled);
        let later = format!("cc{}-more", &GOOD[2..]);
        assert_eq!(TraceContext::parse(later.as_bytes()).unwrap(), read);
    }

    #[test]
    fn what_the_standard_calls_invalid_is_ignored() {
        for bad in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01more",
            "00-яяяяяяяяяяяяяяяя-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceContext::parse(bad.as_bytes()), None, "{bad}");
        }
    }
}
