//! What is known about a word alone: the name lists it is in, and its class among words that occur in
//! similar contexts. A read-only hash table over the bytes of a data file, which holds only hashes of
//! words. The trainer writes it.

/// Bits of a hash that choose the bucket.
pub const BUCKET_BITS: u32 = 16;
/// First bytes of the file; the last is the version.
pub const MAGIC: &[u8; 8] = b"MGWORDS1";
/// Bytes of one entry: fingerprint, two classes and flags, each two, least significant first.
pub const ENTRY: usize = 8;

/// A first name.
pub const FIRST: u16 = 1;
/// A surname of the lists.
pub const LAST: u16 = 2;
/// A patronymic of the lists.
pub const PATRONYMIC: u16 = 4;
/// The stem of a first name.
pub const FIRST_STEM: u16 = 8;
/// The stem of a surname.
pub const LAST_STEM: u16 = 16;
/// A word of names of organizations.
#[allow(dead_code)] // set by the trainer; the chains see all flags at once
pub const COMPANY_WORD: u16 = 32;
/// A word that names a kind of organization.
pub const COMPANY_KIND: u16 = 64;
/// A word that stands in a list of diseases.
pub const DISEASE: u16 = 128;
/// A very frequent first name.
pub const FIRST_COMMON: u16 = 256;
/// A frequent word of the language.
#[allow(dead_code)] // set by the trainer; the chains see all flags at once
pub const COMMON: u16 = 512;

/// What is known of one word; nothing is all zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// Class by meaning.
    pub near: u16,
    /// Class by the part it plays in names.
    pub role: u16,
    pub flags: u16,
}

/// The entries by the hash of their word, in buckets.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    offsets: &'a [u8],
    entries: &'a [u8],
}

impl<'a> Table<'a> {
    /// Reads the table; None where the bytes are none.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(MAGIC)?;
        let (offsets, entries) = rest.split_at_checked(4 * ((1 << BUCKET_BITS) + 1))?;
        Some(Self { offsets, entries })
    }

    /// What is known of the word with this hash.
    pub fn get(&self, hash: u64) -> Entry {
        let bucket = (hash >> (64 - BUCKET_BITS)) as usize;
        let fingerprint = fingerprint(hash);
        let (from, to) = (self.offset(bucket), self.offset(bucket + 1));
        let entries = self.entries.get(from * ENTRY..to * ENTRY);
        for entry in entries.unwrap_or_default().chunks_exact(ENTRY) {
            if half(entry, 0) == fingerprint {
                return Entry {
                    near: half(entry, 1),
                    role: half(entry, 2),
                    flags: half(entry, 3),
                };
            }
        }
        Entry::default()
    }

    #[inline]
    fn offset(&self, bucket: usize) -> usize {
        let bytes = self.offsets.get(bucket * 4..bucket * 4 + 4);
        let bytes = bytes.and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
        bytes.map_or(0, |bytes| u32::from_le_bytes(bytes) as usize)
    }
}

/// The part of a hash that an entry keeps.
#[inline]
pub fn fingerprint(hash: u64) -> u16 {
    hash as u16
}

#[inline]
fn half(entry: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([entry[2 * at], entry[2 * at + 1]])
}
