//! Keccak-256 as Ethereum uses it, with the padding from before SHA-3: for the letter case of addresses alone. No crate
//! in the tree offers it.

/// Bytes of a block.
const BLOCK: usize = 136;
const ROUNDS: [u64; 24] = [
    0x0000_0000_0000_0001,
    0x0000_0000_0000_8082,
    0x8000_0000_0000_808a,
    0x8000_0000_8000_8000,
    0x0000_0000_0000_808b,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8009,
    0x0000_0000_0000_008a,
    0x0000_0000_0000_0088,
    0x0000_0000_8000_8009,
    0x0000_0000_8000_000a,
    0x0000_0000_8000_808b,
    0x8000_0000_0000_008b,
    0x8000_0000_0000_8089,
    0x8000_0000_0000_8003,
    0x8000_0000_0000_8002,
    0x8000_0000_0000_0080,
    0x0000_0000_0000_800a,
    0x8000_0000_8000_000a,
    0x8000_0000_8000_8081,
    0x8000_0000_0000_8080,
    0x0000_0000_8000_0001,
    0x8000_0000_8000_8008,
];
const ROTATIONS: [u32; 24] = [
    1, 3, 6, 10, 15, 21, 28, 36, 45, 55, 2, 14, 27, 41, 56, 8, 25, 43, 62, 18, 39, 61, 20, 44,
];
const LANES: [usize; 24] = [
    10, 7, 11, 17, 18, 3, 5, 16, 8, 21, 24, 4, 15, 23, 19, 13, 12, 2, 20, 14, 22, 9, 6, 1,
];

/// The hash of a message shorter than a block; of a longer one, of its beginning.
pub(super) fn keccak256(message: &[u8]) -> [u8; 32] {
    let length = message.len().min(BLOCK - 1);
    let mut block = [0; BLOCK];
    block[..length].copy_from_slice(&message[..length]);
    block[length] = 1;
    block[BLOCK - 1] |= 0x80;
    let mut state = [0_u64; 25];
    for (lane, bytes) in state.iter_mut().zip(block.chunks_exact(8)) {
        let bytes = bytes.iter().rev();
        *lane = bytes.fold(0, |lane, byte| (lane << 8) | u64::from(*byte));
    }
    permute(&mut state);
    let mut hash = [0; 32];
    for (bytes, lane) in hash.chunks_exact_mut(8).zip(state) {
        bytes.copy_from_slice(&lane.to_le_bytes());
    }
    hash
}

fn permute(state: &mut [u64; 25]) {
    for round in ROUNDS {
        let parity: [u64; 5] = std::array::from_fn(|x| {
            state[x] ^ state[x + 5] ^ state[x + 10] ^ state[x + 15] ^ state[x + 20]
        });
        for (at, lane) in state.iter_mut().enumerate() {
            *lane ^= parity[(at + 4) % 5] ^ parity[(at + 1) % 5].rotate_left(1);
        }
        let mut last = state[1];
        for (lane, by) in LANES.into_iter().zip(ROTATIONS) {
            let kept = state[lane];
            state[lane] = last.rotate_left(by);
            last = kept;
        }
        for row in state.chunks_exact_mut(5) {
            let old: [u64; 5] = std::array::from_fn(|x| row[x]);
            for (x, lane) in row.iter_mut().enumerate() {
                *lane = old[x] ^ (!old[(x + 1) % 5] & old[(x + 2) % 5]);
            }
        }
        state[0] ^= round;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_hashes() {
        let hex = |message: &[u8]| {
            keccak256(message)
                .map(|byte| format!("{byte:02x}"))
                .concat()
        };
        assert_eq!(
            hex(b""),
            "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"
        );
        assert_eq!(
            hex(b"abc"),
            "4e03657aea45a94fc7d47ba826c8d667c0d1e6e33a64a036ec44f58fa12d6c45"
        );
    }
}
