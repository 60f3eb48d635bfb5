//! What a request asks of the model besides its conversation, by the names of its API. Members of an odd type count as
//! absent, and of several of one name the last one counts.

use super::Request;
use crate::json::kind::Kind;
use crate::json::view::View;
use std::borrow::Cow;

impl<'a> Request<'a> {
    /// The most tokens that the answer may have.
    pub fn token_limit(&self) -> Option<u64> {
        let limits = self.shape.parameters.token_limits;
        limits.iter().find_map(|name| self.count(name))
    }

    /// How many answers are asked for; None where the API has one only.
    pub fn answers(&self) -> Option<u64> {
        self.count(self.shape.parameters.choices?)
    }

    /// The texts that end the answer, in their order, at most `most` of them.
    pub fn stops(&self, most: usize) -> Vec<Cow<'a, str>> {
        let name = self.shape.parameters.stops;
        let Some(stops) = name.and_then(|name| self.views(name).last()) else {
            return Vec::new();
        };
        match stops.kind() {
            Kind::Array => stops.elements().take(most).filter_map(View::text).collect(),
            _ => stops.text().into_iter().take(most).collect(),
        }
    }

    /// The format that the answer is to have, as the API names it.
    pub fn output_format(&self) -> Option<Cow<'a, str>> {
        let (first, rest) = self.shape.parameters.output_format.split_first()?;
        let outermost = self.views(first).last()?;
        let mut rest = rest.iter();
        let format = rest.try_fold(outermost, |object, name| object.named(name).last())?;
        format.named("type").last()?.text()
    }

    fn count(&self, name: &'a str) -> Option<u64> {
        let number = self.number(name)?;
        (number >= 0.0 && number.fract() == 0.0).then_some(number as u64)
    }
}
