//! The guardrails and the decoders before them: no text makes them fail, every score is a share, and the same
//! text has the same verdict.
#![no_main]

use libfuzzer_sys::fuzz_target;
use monitor_detect::rules::GuardrailsRules;
use monitor_detect::{Compiled, Engine, Rules};
use std::sync::LazyLock;

static ENGINE: LazyLock<Engine> = LazyLock::new(Engine::default);
static RULES: LazyLock<Compiled> = LazyLock::new(|| {
    Compiled::new(Rules {
        guardrails: Some(GuardrailsRules::default()),
        dataclean: None,
        ..Rules::default()
    })
});

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let (report, errors) = ENGINE.guardrails(&text, &RULES);
    assert!(errors.is_empty(), "{errors:?}");
    let is_share = |score: f64| (0.0..=1.0).contains(&score);
    assert!(report.score.is_none_or(is_share));
    assert!(report.categories.iter().all(|category| is_share(category.score)));
    let first = format!("{report:?}");
    let (again, _) = ENGINE.guardrails(&text, &RULES);
    assert_eq!(first, format!("{again:?}"));
});
