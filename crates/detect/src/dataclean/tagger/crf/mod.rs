//! The linear-chain tagger (a conditional random field): features of a token, the tables they are looked
//! up in, the weights, and the decoding of the best sequence of labels.

pub mod decode;
pub mod features;
pub mod model;
pub mod table;
