//! The categories of guard models and the built-in ones they map to. Those without a counterpart map to none.

/// The codes of Llama Guard 3 (MLCommons hazards), S1 to S14.
const CODES: [&[&str]; 14] = [
    &["violence", "extremism"],
    &["unlawful", "fraud", "drugs", "cybercrime"],
    &["sexual"],
    &["sexual"],
    &[],
    &[],
    &[],
    &[],
    &["weapons"],
    &["hate"],
    &["self_harm"],
    &["sexual"],
    &[],
    &["cybercrime"],
];

/// Whether it is one of the codes.
pub(super) fn is_code(code: &str) -> bool {
    place(code).is_some()
}

/// The categories of a code.
pub(super) fn of_code(code: &str) -> &'static [&'static str] {
    place(code).map_or(&[], |at| CODES[at])
}

fn place(code: &str) -> Option<usize> {
    let number: usize = code.strip_prefix('S')?.parse().ok()?;
    (1..=CODES.len()).contains(&number).then(|| number - 1)
}

/// The categories of a name that moderation endpoints use.
pub(super) fn of_moderation(name: &str) -> &'static [&'static str] {
    let name = name.to_lowercase().replace(['_', ' '], "-");
    match name.split('/').next().unwrap_or_default() {
        "hate" => &["hate"],
        "harassment" => &["toxicity"],
        "self-harm" => &["self_harm"],
        "sexual" => &["sexual"],
        "violence" => &["violence"],
        "illicit" if name.ends_with("violent") => &["weapons", "violence"],
        "illicit" => &["unlawful", "fraud", "drugs", "cybercrime"],
        "jailbreak" => &["jailbreak"],
        "prompt-injection" => &["prompt_injection"],
        _ => &[],
    }
}
