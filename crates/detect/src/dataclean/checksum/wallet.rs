//! Addresses of wallets: Base58Check (Bitcoin, Litecoin, Dogecoin, Tron), Bech32 and Bech32m (BIP 173, BIP 350), and the
//! letter case of Ethereum addresses (EIP-55).

use super::keccak::keccak256;
use sha2::{Digest, Sha256};

const BASE58: &[u8; 58] = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
/// A version, twenty bytes, and four that check them.
const BYTES: usize = 25;
const CHECKED: usize = 21;
/// First signs, and the versions of the addresses that begin so.
const VERSIONS: [(u8, &[u8]); 6] = [
    (b'1', &[0x00]),
    (b'3', &[0x05]),
    (b'D', &[0x1e]),
    (b'L', &[0x30]),
    (b'M', &[0x32]),
    (b'T', &[0x41]),
];

const BECH32: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const NETWORKS: [&[u8]; 3] = [b"bc", b"tb", b"ltc"];
const BECH32_CHECK: u32 = 1;
const BECH32M_CHECK: u32 = 0x2bc8_30a3;
/// A witness version and the six signs of the check.
const BECH32_FRAME: usize = 7;
/// Signs of programs of twenty and of thirty-two bytes.
const PROGRAMS: [usize; 2] = [32, 52];

/// Whether signs are an address in Base58Check of a version that is known.
pub(crate) fn base58check(address: &[u8]) -> bool {
    let first = address.first();
    let known = VERSIONS.iter().find(|(sign, _)| first == Some(sign));
    let version = known.and_then(|_| base58_version(address));
    known
        .zip(version)
        .is_some_and(|((_, versions), version)| versions.contains(&version))
}

/// The version of an address whose check is right.
fn base58_version(address: &[u8]) -> Option<u8> {
    let mut number = [0_u8; BYTES];
    for sign in address {
        let mut carry = BASE58.iter().position(|known| known == sign)?;
        for byte in number.iter_mut().rev() {
            carry += usize::from(*byte) * 58;
            *byte = (carry & 0xff) as u8;
            carry >>= 8;
        }
        if carry > 0 {
            return None;
        }
    }
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    let ones = address.iter().take_while(|sign| **sign == b'1').count();
    let (payload, check) = number.split_at(CHECKED);
    let hash = Sha256::digest(Sha256::digest(payload));
    (zeros == ones && hash.starts_with(check)).then_some(number[0])
}

/// Whether signs, all in one case, are an address in Bech32 (witness version 0) or Bech32m (later ones).
pub(crate) fn bech32(address: &[u8]) -> bool {
    let is_one_case =
        !address.iter().any(u8::is_ascii_uppercase) || !address.iter().any(u8::is_ascii_lowercase);
    let small = address.to_ascii_lowercase();
    let of = |network: &&&[u8]| {
        let rest = small.strip_prefix(**network);
        rest.is_some_and(|rest| rest.starts_with(b"1"))
    };
    let Some(network) = NETWORKS.iter().find(of) else {
        return false;
    };
    let data = &small[network.len() + 1..];
    let values: Option<Vec<u8>> = data.iter().map(|sign| bech32_value(*sign)).collect();
    let Some(values) = values.filter(|_| is_one_case) else {
        return false;
    };
    let is_long = |program: usize| values.len() == program + BECH32_FRAME;
    let expected = match values.first() {
        Some(0) if PROGRAMS.into_iter().any(is_long) => BECH32_CHECK,
        Some(1) if is_long(PROGRAMS[1]) => BECH32M_CHECK,
        _ => return false,
    };
    let high = network.iter().map(|letter| letter >> 5);
    let low = network.iter().map(|letter| letter & 31);
    polymod(high.chain([0]).chain(low).chain(values)) == expected
}

fn bech32_value(sign: u8) -> Option<u8> {
    let place = BECH32.iter().position(|known| *known == sign)?;
    u8::try_from(place).ok()
}

fn polymod(values: impl Iterator<Item = u8>) -> u32 {
    const GENERATOR: [u32; 5] = [
        0x3b6a_57b2,
        0x2650_8e6d,
        0x1ea1_19fa,
        0x3d42_33dd,
        0x2a14_62b3,
    ];
    values.fold(1, |check, value| {
        let top = check >> 25;
        let next = ((check & 0x01ff_ffff) << 5) ^ u32::from(value);
        let taps = GENERATOR.iter().enumerate();
        taps.filter(|(bit, _)| (top >> bit) & 1 == 1)
            .fold(next, |check, (_, tap)| check ^ tap)
    })
}

/// What the forty hexadecimal digits of an Ethereum address say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EthereumCheck {
    /// The case of its letters is right.
    Right,
    /// It is not.
    Wrong,
    /// All letters have one case, which checks nothing.
    Unchecked,
}

/// Checks what stands behind `0x`.
pub(crate) fn ethereum(digits: &[u8]) -> EthereumCheck {
    if digits.len() != 40 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return EthereumCheck::Wrong;
    }
    let has = |is: fn(&u8) -> bool| digits.iter().any(is);
    if !(has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase)) {
        return EthereumCheck::Unchecked;
    }
    let hash = keccak256(&digits.to_ascii_lowercase());
    let is_high = |at: usize| (hash[at / 2] >> (4 * (1 - at % 2))) & 8 != 0;
    let fits = |(at, digit): (usize, &u8)| {
        digit.is_ascii_digit() || digit.is_ascii_uppercase() == is_high(at)
    };
    match digits.iter().enumerate().all(fits) {
        true => EthereumCheck::Right,
        false => EthereumCheck::Wrong,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE58_VALID: [&str; 6] = [
        "1JS1vJYxMfpgnAW6q4AoDxiSproTkKiU2U",
        "1KSThdTkYqrjciQ7KSRTM9mWAthwfrjsND",
        "34SJNmpfx57Cqus8g7ENqvvG4bWU5nzt2U",
        "TR8atZKpuJKjFdYfN4SG5nFmNFefXd4P5G",
        "D9QdYrxwB3wCgFjqT9DuwvsyWrsKdToKsm",
        "LL2cGHnXj7GGKpPrF2MJ3gLUM9vQVMP8ti",
    ];
    const BECH32_VALID: [&str; 4] = [
        "bc1qqdscrmrtxv2kaeq9g76a4gejutle2esvunp2yh",
        "bc1q3wamlycmfws7zpfzw5z4vg0dj63t8y6r5lxcsn7h5n5xk45t4scqk043th",
        "bc1pneynwtnvpjxajq953uwynu3nj4y5hev8wu9zpuq8xxvt5f46y8rqtvwzc9",
        "ltc1qp65237uv4cg0varagtejnchejpp0d2q0xrv7mh",
    ];
    const ETHEREUM_VALID: [&str; 3] = [
        "0x2d61c9b2De299153744ec19cd150b655A3372742",
        "0xfA35382F2068ebf47153A7647a30fe4FC36096E6",
        "0x42CcF6C794EaE6de71EA62F4f7C5C0f4F2Cf9FA6",
    ];

    /// Every other sign at every place must be refused.
    fn only_these_signs_fit(valid: &str, alphabet: &[u8], check: fn(&[u8]) -> bool) {
        assert!(check(valid.as_bytes()), "{valid}");
        for at in 1..valid.len() {
            let mut other = valid.as_bytes().to_vec();
            for sign in alphabet
                .iter()
                .filter(|sign| **sign != valid.as_bytes()[at])
            {
                other[at] = *sign;
                let shown = String::from_utf8_lossy(&other);
                assert!(!check(&other), "{shown} for {valid}");
            }
        }
    }

    #[test]
    fn base58_addresses() {
        for valid in BASE58_VALID {
            only_these_signs_fit(valid, BASE58, base58check);
            assert!(!base58check(&valid.as_bytes()[1..]), "{valid}");
        }
        assert!(!base58check(b"") && !base58check(&[b'1'; 25]) && !base58check(&[b'z'; 400]));
    }

    #[test]
    fn bech32_addresses() {
        for valid in BECH32_VALID {
            only_these_signs_fit(valid, BECH32, bech32);
            assert!(bech32(valid.to_ascii_uppercase().as_bytes()), "{valid}");
            let mixed = valid.replacen('q', "Q", 1);
            assert!(!bech32(mixed.as_bytes()), "{mixed}");
        }
        assert!(!bech32(b"") && !bech32(b"bc1"));
    }

    #[test]
    fn the_case_of_letters_checks_an_ethereum_address() {
        for valid in ETHEREUM_VALID {
            let digits = &valid.as_bytes()[2..];
            assert_eq!(ethereum(digits), EthereumCheck::Right, "{valid}");
            let small = digits.to_ascii_lowercase();
            assert_eq!(ethereum(&small), EthereumCheck::Unchecked);
            for at in (0..40).filter(|at| digits[*at].is_ascii_alphabetic()) {
                let mut other = digits.to_vec();
                other[at] ^= 0x20;
                assert_eq!(ethereum(&other), EthereumCheck::Wrong, "{valid} at {at}");
            }
        }
        assert_eq!(ethereum(b"12"), EthereumCheck::Wrong);
    }
}
