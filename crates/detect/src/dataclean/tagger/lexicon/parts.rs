//! The roles that a word may play in a find, one bit each.

/// A job title by itself.
pub const JOB: u32 = 1;
/// A job title when something says which.
pub const JOB_WEAK: u32 = 1 << 1;
/// Stands before a job title and belongs to it.
pub const JOB_BEFORE: u32 = 1 << 2;
/// Stands behind a job title and belongs to it.
pub const JOB_BEHIND: u32 = 1 << 3;
/// A disease by itself.
pub const DISEASE: u32 = 1 << 4;
/// A disease when something says which.
pub const DISEASE_WEAK: u32 = 1 << 5;
/// Stands before a disease and belongs to it.
pub const DISEASE_BEFORE: u32 = 1 << 6;
/// Stands behind a disease and belongs to it.
pub const DISEASE_BEHIND: u32 = 1 << 7;
/// Says that a disease follows.
pub const DISEASE_CUE: u32 = 1 << 8;
/// A kind of street.
pub const STREET: u32 = 1 << 9;
/// A kind of town.
pub const TOWN: u32 = 1 << 10;
/// A kind of region or district.
pub const REGION: u32 = 1 << 11;
/// A house, or a part of one.
pub const HOUSE: u32 = 1 << 12;
/// A flat, an office.
pub const FLAT: u32 = 1 << 13;
/// A country in an address.
pub const COUNTRY: u32 = 1 << 14;
/// A state or a province of the English-speaking world, in short.
pub const STATE: u32 = 1 << 15;

/// Stands before a disease, and before much else.
pub const DISEASE_GENERAL: u32 = 1 << 16;

/// Says that a post code follows.
pub const ZIP: u32 = 1 << 18;
/// A job title that takes what it is about: учитель физики.
pub const JOB_OBJECT: u32 = 1 << 17;
