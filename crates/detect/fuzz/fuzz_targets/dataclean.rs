//! Sensitive data in any text: finds stand on borders of characters, in order and apart; a masked text is what
//! stands between them with a mask in place of each, for labels and x; deletion leaves no find's characters. The
//! first byte of the input picks the style.
#![no_main]

use libfuzzer_sys::fuzz_target;
use monitor_detect::{CleanType, Compiled, DatacleanRules, Engine, MaskStyle, PatternName, Rules};
use std::sync::LazyLock;

static ENGINE: LazyLock<Engine> = LazyLock::new(Engine::default);
static RULES: LazyLock<[Compiled; 4]> = LazyLock::new(|| {
    [
        (CleanType::Masking, MaskStyle::Label),
        (CleanType::Masking, MaskStyle::X),
        (CleanType::Masking, MaskStyle::Pseudonym),
        (CleanType::Deletion, MaskStyle::Label),
    ]
    .map(|(clean_type, mask_style)| {
        // Further patterns too, in one of the styles.
        let every = || PatternName::every().map(Into::into).collect();
        Compiled::new(Rules {
            dataclean: Some(DatacleanRules {
                patterns: (mask_style == MaskStyle::X).then(every),
                clean_type,
                mask_style,
                ..DatacleanRules::default()
            }),
            ..Rules::default()
        })
    })
});

/// The text with each find replaced by what `mask` makes of its kind and its characters.
fn replaced(chars: &[char], finds: &[(usize, usize, String)], mask: impl Fn(&str, usize) -> String) -> String {
    let mut expected = String::new();
    let mut from = 0;
    for (start, end, kind) in finds {
        expected.extend(&chars[from..*start]);
        expected.push_str(&mask(kind, end - start));
        from = *end;
    }
    expected.extend(&chars[from..]);
    expected
}

/// Checks a cleaned text of the style.
fn check(style: usize, chars: &[char], finds: &[(usize, usize, String)], cleaned: &str) {
    let visible = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    match style {
        0 => assert_eq!(cleaned, replaced(chars, finds, |kind, _| format!("[{kind}]"))),
        1 => assert_eq!(cleaned, replaced(chars, finds, |_, length| "x".repeat(length))),
        2 => assert_eq!(cleaned.is_empty(), chars.is_empty()),
        _ => {
            let removed = replaced(chars, finds, |_, _| String::new());
            assert_eq!(visible(cleaned), visible(&removed));
        }
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((style, bytes)) = input.split_first() else {
        return;
    };
    let style = usize::from(*style) % RULES.len();
    let text = String::from_utf8_lossy(bytes);
    let chars: Vec<char> = text.chars().collect();
    let report = ENGINE.analyze(&text, &RULES[style], &|| 0);
    assert!(report.errors.is_empty(), "{:?}", report.errors);
    let entities = report.dataclean.entities.iter();
    let finds: Vec<_> = entities.map(|find| (find.start, find.end, find.kind.to_string())).collect();
    let mut from = 0;
    for (start, end, _) in &finds {
        assert!(from <= *start && start < end && *end <= chars.len(), "{finds:?}");
        from = *end;
    }
    check(style, &chars, &finds, report.dataclean.cleaned_text.as_deref().unwrap_or_default());
});
