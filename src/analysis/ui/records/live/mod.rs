//! `/ui/records/live`: the updates of the list, and how many pages may follow them.

mod limit;
mod stream;

pub(crate) use limit::LiveLimit;
pub(crate) use stream::SIGNED_OUT_EVENT;
pub(super) use stream::stream;
