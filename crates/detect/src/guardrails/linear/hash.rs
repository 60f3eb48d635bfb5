//! The hash of features. A change here needs new weights.

/// Mixes well into the upper bits, which choose the row; the uppermost is that of pieces of Latin words.
#[inline]
pub fn mix(tag: u32, a: u32, b: u32) -> u32 {
    let mut hash = u64::from(a) << 32 | u64::from(b);
    hash = (hash ^ u64::from(tag).wrapping_mul(0xd6e8_feb8_6659_fd93))
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^= hash >> 29;
    (hash.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) as u32
}
