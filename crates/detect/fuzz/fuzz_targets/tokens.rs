//! Counts of tokens: no more than bytes, and none only for nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use monitor_detect::Encoding;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    for encoding in [Encoding::O200kBase, Encoding::Cl100kBase] {
        let count = encoding.count(&text);
        assert!(count <= text.len() as u64, "{count} tokens of {} bytes", text.len());
        assert_eq!(count == 0, text.is_empty());
    }
});
