//! What handlers read out of a request: who asks, how the page is shown to them, the fields of a
//! form, the filter in the address.

pub(crate) mod connection;
pub(crate) mod cookie;
pub(crate) mod form;
pub(crate) mod kept;
pub(crate) mod list_query;
pub(crate) mod view;
pub(crate) mod visit;

pub use connection::{Peer, Stopping};
pub(crate) use form::{Form, PublicForm};
pub(crate) use view::View;
pub(crate) use visit::Visit;
