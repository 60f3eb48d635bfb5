//! Files of the spool on a disk that damages them: every frame that is untouched is read, in its order, and no
//! content that was not written. The input says what is written and what happens to it: bytes that change, sectors
//! that are lost or that hold what belongs elsewhere, an end that is missing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use monitor_gateway::config::key_file;
use monitor_gateway::spool::{Keyring, SpoolKey, fuzzing};
use std::path::PathBuf;
use std::sync::LazyLock;

const SECTOR: usize = 512;
/// Where the two copies of a file's header lie.
const HEADERS: [usize; 2] = [0, 4096];
const HEADER: usize = 32;

static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let name = format!("monitor-fuzz-spool-{}", std::process::id());
    std::env::temp_dir().join(name)
});
static KEYS: LazyLock<[Keyring; 2]> = LazyLock::new(|| {
    let path = FILE.with_extension("key");
    let _ = std::fs::remove_file(&path);
    let key = key_file::create(&path).expect("a key file");
    [
        Keyring::default(),
        Keyring::new(Some(SpoolKey::from(key)), Vec::new()),
    ]
});

/// What happens to the bytes, by the next four of the input.
fn damage(bytes: &mut Vec<u8>, [kind, place, fine, length]: [u8; 4]) {
    let at = (usize::from(place) << 8 | usize::from(fine)) % bytes.len().max(1);
    let sectors = bytes.len() / SECTOR;
    match kind % 5 {
        0 => bytes[at] ^= length.max(1),
        1 => {
            let end = bytes.len().min(at + usize::from(length) * 8);
            bytes[at..end].fill(0);
        }
        2 => bytes.truncate(at.max(1)),
        3 => bytes[at / SECTOR * SECTOR..].iter_mut().take(SECTOR).for_each(|byte| *byte = 0),
        _ if sectors > 0 => {
            let from = usize::from(length) % sectors * SECTOR;
            let to = at / SECTOR % sectors * SECTOR;
            bytes.copy_within(from..from + SECTOR, to);
        }
        _ => {}
    }
}

fuzz_target!(|input: &[u8]| {
    let Some(([options, cuts], rest)) = input.split_first_chunk() else {
        return;
    };
    let (damages, texts) = rest.split_at(rest.len().min(usize::from(options >> 1 & 3) * 4));
    let keys = &KEYS[usize::from(options & 1)];
    // Several times, so that a file has more than a few sectors.
    let repeated = texts.repeat(usize::from(options >> 3) + 1);
    let contents: Vec<&[u8]> = repeated.chunks(usize::from(*cuts) * 4 + 1).collect();
    let written = fuzzing::write(&contents, keys).expect("it can be written");
    let mut bytes = written.bytes.clone();
    for one in damages.as_chunks().0 {
        damage(&mut bytes, *one);
    }
    std::fs::write(&*FILE, &bytes).expect("a temporary file");
    let is_same = |place: std::ops::Range<usize>| bytes.get(place.clone()) == Some(&written.bytes[place]);
    let whole: Vec<usize> = (0..contents.len())
        .filter(|index| is_same(written.frames[*index].clone()))
        .collect();
    let Ok(found) = fuzzing::read(&FILE, keys) else {
        // Both copies of the header are gone. A frame that can be decrypted still names its file.
        assert!(HEADERS.iter().all(|at| !is_same(*at..at + HEADER)), "its header is whole");
        assert!(options & 1 == 0 || whole.is_empty(), "its frames can be decrypted");
        return;
    };
    let mut ordinals = Vec::new();
    for (ordinal, content) in &found {
        let index = ordinal.expect("frames are numbered") as usize;
        assert_eq!(contents.get(index), Some(&content.as_slice()), "never written");
        ordinals.push(index);
    }
    // A sector in a wrong place may hold a whole frame: it is read there as well.
    let mut left = ordinals.iter();
    for index in &whole {
        assert!(left.any(|found| found == index), "frame {index} is whole: {ordinals:?}");
    }
});
