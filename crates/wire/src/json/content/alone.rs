//! What of a content is read alone, in its form, and numbers behind the words of their names.

use crate::json::form::Form;
use crate::json::number::name::{NumberName, Sharing, label_of_number};
use crate::json::view::View;
use std::borrow::Cow;
use std::ops::Range;

/// A name, a number or arguments in a string.
#[derive(Clone, Copy)]
pub(crate) struct Alone<'a> {
    pub(crate) value: View<'a>,
    pub(crate) form: Form,
    /// Of a number.
    pub(super) name: Option<SharedName<'a>>,
}

/// The name of a number, or of a list of numbers.
#[derive(Clone, Copy)]
pub(super) struct SharedName<'a> {
    pub(super) name: View<'a>,
    pub(super) sharing: Sharing,
}

impl<'a> Alone<'a> {
    pub(super) fn of(value: View<'a>, form: Form) -> Self {
        Self {
            value,
            form,
            name: None,
        }
    }

    /// What a check reads of it, behind the words of its name.
    pub(crate) fn text(self) -> Cow<'a, str> {
        let text = self.form.text(self.value.token());
        let Some(SharedName { name, sharing }) = self.name else {
            return text;
        };
        (label_of_number(name.token(), sharing, self.value.token()) + &text).into()
    }

    pub(super) fn literal(self) -> AloneLiteral {
        AloneLiteral {
            span: self.value.span(),
            form: self.form,
            name: self.name(),
        }
    }

    /// Where the name stands.
    pub(crate) fn name(self) -> Option<NumberName> {
        self.name.map(|SharedName { name, sharing }| {
            let Range { start, end } = name.span();
            NumberName {
                start,
                end,
                sharing,
            }
        })
    }
}

/// A value of a content that is read alone.
pub struct AloneLiteral {
    /// Where it stands.
    pub span: Range<usize>,
    /// What it is written as.
    pub form: Form,
    name: Option<NumberName>,
}

impl AloneLiteral {
    /// What a check reads of it: that of a number stands behind the words of its name.
    pub fn text<'a>(&self, content: &'a [u8]) -> Cow<'a, str> {
        labelled(self.name, self.form, content, &self.span)
    }
}

/// The text of a value of `body`, behind the words of its name if it is a number.
pub(super) fn labelled<'a>(
    name: Option<NumberName>,
    form: Form,
    body: &'a [u8],
    span: &Range<usize>,
) -> Cow<'a, str> {
    let token = body.get(span.clone()).unwrap_or_default();
    let text = form.text(token);
    match name {
        Some(name) => (name.label(body, token) + &text).into(),
        None => text,
    }
}
