//! What every page is made of: its frame, the navigation, tables and other small parts.

pub(crate) mod chart;
pub(crate) mod components;
mod frame;
pub(crate) mod highlight;
mod keys;
mod navigation;
pub(crate) mod pretty;
pub(crate) mod table;

pub(crate) use frame::{
    error_fragment, error_page, page, redirect_page, signed_out_fragment, signed_out_page,
};
pub(crate) use navigation::Section;
