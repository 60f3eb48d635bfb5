//! Insults and threats, by word lists and by whom they address: a curse alone does not count, one that
//! addresses somebody does. Irony and polite contempt are not found.

use crate::guardrails::beginnings::Beginnings;
use crate::guardrails::cues::Phrases;
use crate::guardrails::reading::{Kind, TokenizedText, without_leet};
use crate::guardrails::text::Text;
use crate::guardrails::{Category, Finding, Guardrail};
use std::borrow::Cow;
use std::sync::LazyLock;

/// The guardrail of insults and threats.
pub(crate) struct Toxicity;

/// Tokens between an insult and the one it is said to.
const NEAR: usize = 4;
/// Tokens between words that are rude to somebody and an insult beside them.
const BESIDE: usize = 5;

/// Beginnings of words that are insults wherever they are said to somebody.
const INSULTS: &str = "idiot moron imbecile stupid dumbass bastard asshole bitch scumbag retard loser faggot nigger \
    whore slut cunt dickhead worthless pathetic cretin jackass motherfucker scum brainless \
    идиот дебил кретин тупиц тупой тупая придур ублюд мраз сволоч тварь подон гнид дура дурак козел урод говн \
    мудак мудил шлюх сук пидор пидар чмо ничтожеств выродок жирн чурк бездар шавк скотин дегенерат недоум";
/// Beginnings of words that are insults only where somebody is called so: "you pig".
const NAMES: &str = "freak pig swine jerk clown vermin parasite trash garbage rat dumb ugly disgusting \
    корова свинья овца обезьян крыс ничтож";
const CURSES: &str = "fuck shit motherfuck бля хуй хуе хуя пизд еба ебу нахуй нахер заеб уеб ебл";
const ADDRESSED: &str = "you your youre u ты тебя тебе твой твоя вы вас вам тобой сам";
/// Whom an insult is said to, before it: "you", "ты".
const CALLED: &str = "you youre u ты вы";
const THREATS: [&str; 16] = [
    "i|im|ill|we|were|well ..1 will|ill|gonna|going|shall ..2 kill|hurt|destroy|murder|beat|rape|stab|strangle|shoot you|u|your",
    "ill|well kill|hurt|destroy|murder|beat|rape|stab|strangle|shoot you|u|your",
    "will|ill find you and ..1 kill|hurt|beat|destroy|cut|break",
    "i|we know where you|u live",
    "kill yourself",
    "go die|kill|hang",
    "hope ..1 you|u|they die|choke|rot|burn|suffer",
    "drop dead",
    "deserve ..2 beaten|killed|raped|shot|die",
    "я ..2 тебя|вас ..1 убью|зарежу|закопаю|прибью|уничтожу|порву|изобью",
    "убью|зарежу|закопаю|прибью|порву тебя|вас",
    "знаю ..1 где ..1 ты|вы живешь|живете",
    "тебе|вам ..1 ноги|руки|шею|голову|кости|зубы|морду ..1 переломаю|сломаю|оторву|выбью|набью|сверну",
    "чтоб|чтобы ты|вы ..1 сдох*|сгор*|подох*|утоп*",
    "убей себя",
    "сдохни|повесься|убейся",
];
/// What is rude to somebody by itself, more so with an insult beside it.
const RUDE: [&str; 9] = [
    "go to hell",
    "fuck|screw ..1 you|u|off|yourself",
    "shut ..2 up",
    "get lost",
    "заткнись|заткнитесь",
    "закрой|закройте ..1 рот|пасть",
    "иди|идите|пошел|пошла|пошли ..1 нахуй|нахер|вон|лесом|хуй|жопу|черту",
    "иди|идите|пошел|пошла|пошли на|в|к хуй|хер|жопу|черту",
    "get out of here",
];

static PHRASES: LazyLock<[Phrases; 2]> =
    LazyLock::new(|| [Phrases::new(&THREATS), Phrases::new(&RUDE)]);

const INSULT: u8 = 1;
const NAME: u8 = 2;
const CURSE: u8 = 4;

/// Beginnings of words, with what they are.
static STEMS: LazyLock<Beginnings<(&'static str, u8)>> = LazyLock::new(|| {
    let mut stems = Beginnings::default();
    for (list, bit) in [(INSULTS, INSULT), (NAMES, NAME), (CURSES, CURSE)] {
        for stem in list.split_whitespace() {
            stems.add(stem, (stem, bit));
        }
    }
    stems
});

/// What a word is.
fn bits(word: &str) -> u8 {
    let begins = |(stem, _): &&(&str, u8)| word.starts_with(stem);
    let stems = STEMS.of(word).filter(begins);
    stems.fold(0, |bits, (_, bit)| bits | bit)
}

impl Guardrail for Toxicity {
    fn category(&self) -> Category {
        Category::Toxicity
    }

    fn check(&self, text: &Text<'_>) -> Option<Finding> {
        let words = Words::of(text.read());
        let find = |score, reason| Some(Finding { score, reason });
        if words.phrase(&PHRASES[0]).is_some() {
            return find(0.8, "threat");
        }
        let insults = words.places(INSULT);
        let near = |at: &&usize| words.is_near(**at, ADDRESSED, NEAR);
        let called = words
            .places(NAME)
            .into_iter()
            .filter(|at| words.is_called(*at));
        let said = insults.iter().filter(near).count() + called.count();
        let rude = words.phrase(&PHRASES[1]);
        let beside = rude.is_some_and(|rude| insults.iter().any(|at| at.abs_diff(rude) <= BESIDE));
        let curses = words.places(CURSE);
        let cursed = curses
            .first()
            .is_some_and(|at| words.is_near(*at, ADDRESSED, NEAR));
        match (said + usize::from(beside), insults.len(), curses.len()) {
            (2.., ..) => find(0.8, "insult"),
            (1, ..) => find(0.65, "insult"),
            _ if rude.is_some() && !curses.is_empty() => find(0.65, "obscenity"),
            _ if cursed => find(0.55, "obscenity"),
            _ if rude.is_some() => find(0.4, "rude_word"),
            (_, 1.., 1..) => find(0.4, "obscenity"),
            (_, _, 1..) => find(0.3, "obscenity"),
            (_, 1.., _) => find(0.2, "rude_word"),
            _ => None,
        }
    }
}

/// The tokens of a message: a word as it is meant, nothing for what is quoted or no word.
struct Words<'r> {
    read: &'r TokenizedText,
    words: Vec<Cow<'r, str>>,
    bits: Vec<u8>,
}

impl<'r> Words<'r> {
    fn of(read: &'r TokenizedText) -> Self {
        let mut is_quoted = false;
        let mut words = Vec::with_capacity(read.tokens.len());
        for token in &read.tokens {
            let word = read.word(*token);
            match token.kind {
                Kind::Sign if word == "\"" => is_quoted = !is_quoted,
                Kind::Line => is_quoted = false,
                _ => {}
            }
            words.push(match token.kind {
                Kind::Word if is_quoted => Cow::default(),
                Kind::Word if read.leet > 0 => without_leet(word).into(),
                Kind::Word => word.into(),
                _ => Cow::default(),
            });
        }
        let bits = words.iter().map(|word| bits(word)).collect();
        Self { read, words, bits }
    }

    /// Places of words that are this.
    fn places(&self, bit: u8) -> Vec<usize> {
        let is_one = |at: &usize| self.bits[*at] & bit != 0;
        (0..self.words.len()).filter(is_one).collect()
    }

    fn is_near(&self, at: usize, others: &str, reach: usize) -> bool {
        let near = at.saturating_sub(reach)..self.words.len().min(at + reach);
        self.words[near]
            .iter()
            .any(|word| others.split_whitespace().any(|other| other == word))
    }

    /// Whether somebody is called what stands here, with a few words between.
    fn is_called(&self, at: usize) -> bool {
        const FREE: &str = "are people is so such a an the nothing but just all really total little old набитая ты как просто";
        let before = self.words[..at].iter().rev().take(NEAR + 2);
        let mut between = before.take_while(|word| !word.is_empty());
        let is_word_of =
            |word: &str, list: &str| list.split_whitespace().any(|other| other == word);
        between
            .find(|word| !is_word_of(word, FREE) && bits(word) & (INSULT | NAME) == 0)
            .is_some_and(|word| is_word_of(word, CALLED))
    }

    /// Where one of the phrases stands that is not quoted.
    fn phrase(&self, phrases: &Phrases) -> Option<usize> {
        let stands = |at: &usize| phrases.stand(self.read, *at);
        (0..self.words.len())
            .filter(|at| !self.words[*at].is_empty())
            .find(stands)
    }
}
