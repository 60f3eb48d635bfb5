//! A text that grows, as the gateway judges a stream: what is settled of a prefix is what the whole text says,
//! nothing that is settled moves, and no find crosses the border. The first bytes of the input say where to
//! look: looking at every prefix takes the square of the length.
#![no_main]

use libfuzzer_sys::fuzz_target;
use monitor_detect::{LocalDetectors, Span};
use std::sync::LazyLock;

static LOCAL: LazyLock<LocalDetectors> = LazyLock::new(LocalDetectors::new);

fn until(finds: &[Span], end: usize) -> Vec<Span> {
    finds.iter().filter(|find| find.end <= end).copied().collect()
}

fuzz_target!(|input: &[u8]| {
    let Some((places, bytes)) = input.split_at_checked(3) else {
        return;
    };
    let text = String::from_utf8_lossy(bytes);
    let whole = LOCAL.find(&text, |_| true);
    for find in &whole {
        assert!(text.get(find.start..find.end).is_some_and(|value| !value.is_empty()));
    }
    let mut ends: Vec<usize> = places.iter().map(|place| text.floor_char_boundary(usize::from(*place))).collect();
    ends.sort_unstable();
    let mut before = 0;
    for end in ends {
        let prefix = &text[..end];
        let settled = LOCAL.stable_until(prefix, |_| true);
        assert!(before <= settled && settled <= end && text.is_char_boundary(settled));
        let crosses = |find: &&Span| find.start < settled && settled < find.end;
        assert_eq!(whole.iter().find(crosses), None, "{prefix:?} of {text:?}");
        let now = until(&LOCAL.find(prefix, |_| true), settled);
        assert_eq!(now, until(&whole, settled), "{prefix:?} of {text:?}");
        before = settled;
    }
});
