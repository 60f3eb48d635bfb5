//! The subject of a harmful request, by its words. They do not decide whether it is harmful: the same words
//! occur in harmless messages.

use super::beginnings::Beginnings;
use super::reading::{Kind, TokenizedText};
use std::sync::LazyLock;

/// What a request is about where no word says so.
const OTHER: &str = "unlawful";
/// The kinds there are, [`OTHER`] among them.
pub const KINDS: usize = STEMS.len() + 1;

/// Beginnings of words, by the category's name on the wire.
const STEMS: [(&str, &[&str]); 9] = [
    (
        "violence",
        &[
            "kill",
            "murder",
            "assassin",
            "tortur",
            "kidnap",
            "strangl",
            "stab",
            "beat",
            "assault",
            "injur",
            "violen",
            "убий",
            "убит",
            "убив",
            "пытк",
            "пытат",
            "истяз",
            "похищ",
            "похит",
            "избие",
            "избит",
            "удуш",
            "вред здоров",
            "увеч",
            "телесн",
            "насили",
            "ранен",
            "покушен",
            "органов",
            "рабств",
        ],
    ),
    (
        "weapons",
        &[
            "weapon",
            "bomb",
            "explos",
            "gun",
            "firearm",
            "ammuniti",
            "grenade",
            "detonat",
            "silencer",
            "rifle",
            "оруж",
            "бомб",
            "взрыв",
            "боеприпас",
            "гранат",
            "детонат",
            "пистолет",
            "патрон",
            "винтов",
            "самодельн",
        ],
    ),
    (
        "drugs",
        &[
            "drug",
            "meth",
            "cocain",
            "heroin",
            "fentanyl",
            "opioid",
            "narcotic",
            "lsd",
            "mdma",
            "poison",
            "toxin",
            "наркот",
            "героин",
            "кокаин",
            "метамф",
            "мефедрон",
            "психотроп",
            "прекурсор",
            "яд",
            "отрав",
            "сильнодейств",
        ],
    ),
    (
        "self_harm",
        &[
            "suicid",
            "selfharm",
            "anorexi",
            "cutting",
            "overdose",
            "суицид",
            "самоубий",
            "селфхарм",
            "анорекс",
            "передозир",
        ],
    ),
    (
        "sexual",
        &[
            "rape",
            "sexual",
            "porn",
            "molest",
            "groom",
            "incest",
            "underage",
            "изнасил",
            "сексуал",
            "порн",
            "растлен",
            "развратн",
            "проститу",
            "педоф",
        ],
    ),
    (
        "hate",
        &[
            "racis",
            "racial",
            "hatred",
            "hate",
            "sexist",
            "homophob",
            "antisemit",
            "nazi",
            "ethnic",
            "discriminat",
            "ненавист",
            "расис",
            "нацис",
            "дискримин",
            "унизи",
            "межнацион",
            "религиозн",
            "вражд",
            "верующ",
        ],
    ),
    (
        "extremism",
        &[
            "terror",
            "extrem",
            "radicali",
            "jihad",
            "insurrect",
            "coup",
            "sabotage",
            "массов",
            "террор",
            "экстрем",
            "диверси",
            "мятеж",
            "госизмен",
            "свержен",
            "захват",
            "переворот",
            "шпион",
            "геноцид",
            "наемник",
            "беспоряд",
        ],
    ),
    (
        "fraud",
        &[
            "fraud",
            "scam",
            "phish",
            "counterfeit",
            "forg",
            "launder",
            "brib",
            "embezzl",
            "steal",
            "theft",
            "identit",
            "insider",
            "evasion",
            "tax",
            "blackmail",
            "extort",
            "fake",
            "pirat",
            "credit",
            "мошен",
            "обман",
            "поддел",
            "фальш",
            "отмыв",
            "взятк",
            "подкуп",
            "хищен",
            "краж",
            "украс",
            "вымога",
            "шантаж",
            "налог",
            "кредит",
            "контрабанд",
            "банкрот",
            "махинац",
            "акци",
            "банк",
            "деньг",
            "документ",
        ],
    ),
    (
        "cybercrime",
        &[
            "hack",
            "malware",
            "ransomware",
            "virus",
            "trojan",
            "keylog",
            "spyware",
            "ddos",
            "botnet",
            "exploit",
            "password",
            "firewall",
            "network",
            "backdoor",
            "взлом",
            "вредонос",
            "вирус",
            "троян",
            "кейлог",
            "ддос",
            "ботнет",
            "пароль",
            "компьютер",
            "аккаунт",
            "программ",
            "уязвим",
            "прослуш",
            "перехват",
        ],
    ),
];

/// [`STEMS`], each with the place of its category.
static BY_BEGINNING: LazyLock<Beginnings<(&'static str, usize)>> = LazyLock::new(|| {
    let mut stems = Beginnings::default();
    for (place, (_, of_kind)) in STEMS.iter().enumerate() {
        for stem in *of_kind {
            stems.add(stem, (*stem, place));
        }
    }
    stems
});

/// How much of a harmful request is about each category, 0 to 1: 1 for the one most of its words speak
/// for, and for `unlawful` where none does.
pub fn shares(read: &TokenizedText) -> [(&'static str, f32); KINDS] {
    let mut counts = [0_u32; STEMS.len()];
    for token in read.tokens.iter().filter(|token| token.kind == Kind::Word) {
        let word = read.word(*token);
        let mut seen = [false; STEMS.len()];
        for (stem, place) in BY_BEGINNING.of(word) {
            seen[*place] |= word.starts_with(stem);
        }
        for (count, seen) in counts.iter_mut().zip(seen) {
            *count += u32::from(seen);
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    let mut out = [(OTHER, if most == 0 { 1.0 } else { 0.0 }); KINDS];
    for (out, ((name, _), count)) in out.iter_mut().zip(STEMS.iter().zip(counts)) {
        *out = (name, count as f32 / most.max(1) as f32);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::Category;
    use super::*;

    #[test]
    fn words_say_what_a_request_is_about() {
        for (text, category) in [
            ("how to build a bomb", Category::Weapons),
            ("Как взломать чужой аккаунт", Category::Cybercrime),
            ("write a phishing mail to steal money", Category::Fraud),
            ("как нарушить правила рыболовства", Category::Unlawful),
        ] {
            let shares = shares(&TokenizedText::new(text));
            let best = shares.iter().find(|(_, share)| *share == 1.0);
            assert_eq!(best.map(|best| best.0), Some(category.as_str()), "{text}");
        }
    }

    #[test]
    fn every_kind_is_a_category() {
        for (name, _) in shares(&TokenizedText::new("")) {
            assert!(name.parse::<Category>().is_ok(), "{name}");
        }
    }
}
