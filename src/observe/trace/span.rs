//! One span, finished.

use super::{SpanId, TraceId};
use std::borrow::Cow;
use std::time::SystemTime;

/// A finished span.
#[derive(Clone, Debug)]
pub struct Span {
    /// Id of the trace that the span belongs to.
    pub trace: TraceId,
    /// Id of this span.
    pub id: SpanId,
    /// The span it happened in.
    pub parent: Option<SpanId>,
    /// Name of the operation.
    pub name: String,
    /// Which side of a call it is.
    pub kind: SpanKind,
    /// When it began.
    pub from: SystemTime,
    /// When it was over.
    pub to: SystemTime,
    /// What else is known.
    pub attributes: Vec<Attribute>,
    /// What happened in it.
    pub events: Vec<Event>,
    /// Whether it failed.
    pub failed: bool,
}

/// The kinds that there are here, by their numbers in OTLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Work of this process alone.
    Internal = 1,
    /// The serving side.
    Server = 2,
    /// The calling side.
    Client = 3,
}

/// Something that happened at one moment of a span.
#[derive(Clone, Debug)]
pub struct Event {
    /// The name in the OpenTelemetry conventions.
    pub name: &'static str,
    /// When it happened.
    pub at: SystemTime,
    /// What else is known.
    pub attributes: Vec<Attribute>,
}

/// One attribute of a span, an event or a resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribute {
    /// The name in the OpenTelemetry conventions.
    pub name: &'static str,
    /// The value, of one of five kinds.
    pub value: Value,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text attribute.
    Text(Cow<'static, str>),
    /// A whole number.
    Number(i64),
    /// A number with a fraction.
    Fraction(f64),
    /// Yes or no.
    Flag(bool),
    /// A list of texts.
    Texts(Vec<String>),
}

impl Span {
    /// Adds an attribute where there is a value.
    pub fn tell(&mut self, name: &'static str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            let value = value.into();
            self.attributes.push(Attribute { name, value });
        }
    }
}

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<Vec<String>> for Value {
    fn from(texts: Vec<String>) -> Self {
        Self::Texts(texts)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<u16> for Value {
    fn from(number: u16) -> Self {
        Self::Number(number.into())
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Fraction(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}
