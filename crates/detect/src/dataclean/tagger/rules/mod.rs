//! Rules over the tokens of a sentence, one file per type of find, and `doubts`, which rejects finds of the
//! models.

mod address_parts;
pub(crate) mod companies;
pub(crate) mod diagnoses;
pub(crate) mod doubts;
mod english_places;
pub(crate) mod places;
pub(crate) mod roles;
