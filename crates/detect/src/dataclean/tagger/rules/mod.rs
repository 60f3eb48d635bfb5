//! Rules over the tokens of a sentence, one file per kind of find, and `doubts`: what the tagger finds
//! and the rules take back.

mod address_parts;
pub(crate) mod companies;
pub(crate) mod diagnoses;
pub(crate) mod doubts;
mod english_places;
pub(crate) mod places;
pub(crate) mod roles;
