//! The names of the guardrail categories, as configuration files use them. The crate `monitor-detect` defines
//! their meaning; a test there keeps both tables equal.

/// Every category, in the order in which they are reported.
pub const CATEGORY_NAMES: [&str; 17] = [
    "prompt_injection",
    "jailbreak",
    "system_prompt_extraction",
    "violence",
    "weapons",
    "drugs",
    "self_harm",
    "sexual",
    "hate",
    "extremism",
    "fraud",
    "cybercrime",
    "unlawful",
    "toxicity",
    "system_prompt_leak",
    "secret_leak",
    "harmful_content",
];
