//! The events of a stream whose events have names.

use super::fields::text;
use crate::json::{Scan, View, scan};
use crate::sse::Data;

/// Whether an event has its type as its name: clients that go by the name leave out another one, or show it.
pub(super) fn is_named_by_type(name: &[u8], event: View<'_>) -> bool {
    text(event, "type").is_none_or(|kind| kind.as_bytes() == name)
}

/// Hands over the event of a raw frame.
pub(super) fn each_event(frame: &[u8], see: impl FnOnce(View<'_>)) {
    let data = Data::of(frame);
    if let Some(event) = Event::of(&data.joined) {
        see(event.object());
    }
}

/// The data of an event that are an object.
pub(super) struct Event<'a> {
    data: &'a [u8],
    scan: Scan,
}

impl<'a> Event<'a> {
    /// None of data that are anything else.
    pub(super) fn of(data: &'a [u8]) -> Option<Self> {
        let scan = scan(data).ok()?;
        scan.is_object().then_some(Self { data, scan })
    }

    /// The object that the data are.
    pub(super) fn object(&self) -> View<'_> {
        self.scan.root(self.data)
    }
}
