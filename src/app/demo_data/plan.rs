//! Who says what and when: working days with a pause at noon, quiet weekends, and one night on which a user sends the
//! numbers of cards. Times are UTC. The same seed and time give the same plan.

use super::dice::Dice;
use super::exchange::{Exchange, Outcome};
use super::people::{App, LEAKER};
use super::texts::{CARELESS, INJECTION, LEAK, Talk};

const MINUTE_MS: i64 = 60_000;
const DAY_MS: i64 = 24 * 60 * MINUTE_MS;
/// Hours at which people of a working day begin, each as often as it is.
const HOURS: [i64; 16] = [6, 7, 7, 8, 8, 8, 9, 9, 10, 11, 12, 13, 13, 14, 15, 16];
/// When the leak begins, after midnight, how long it takes at most, and how many messages it has.
const LEAK_BEGINS_MS: i64 = 70 * MINUTE_MS;
const LEAK_TAKES_MS: i64 = 110 * MINUTE_MS;
const LEAK_MESSAGES: u64 = 30;

/// What a plan is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlanRequest {
    /// Days that end with today.
    pub(super) days: i64,
    pub(super) now_ms: i64,
    pub(super) seed: u64,
}

/// All exchanges, the earliest first.
pub(super) fn exchanges(request: PlanRequest) -> Vec<Exchange> {
    let mut plan = Plan {
        dice: Dice::new(request.seed),
        sessions: 0,
        exchanges: Vec::new(),
    };
    let today = request.now_ms.div_euclid(DAY_MS);
    for day in today - request.days + 1..=today {
        plan.add_day(day);
    }
    plan.add_leak(request.now_ms);
    // None is answered in the future.
    let newest_ms = request.now_ms - MINUTE_MS;
    plan.exchanges.retain(|one| one.at_ms < newest_ms);
    plan.exchanges.sort_by_key(|one| one.at_ms);
    plan.exchanges
}

/// What an exchange is about.
struct Details {
    number: String,
    mail: String,
    phone: String,
}

impl Details {
    fn filled(&self, text: &str) -> String {
        let text = text.replace("{number}", &self.number);
        let text = text.replace("{mail}", &self.mail);
        text.replace("{phone}", &self.phone)
    }
}

struct Plan {
    dice: Dice,
    sessions: u64,
    exchanges: Vec<Exchange>,
}

impl Plan {
    fn add_day(&mut self, day: i64) {
        let count = match is_weekend(day) {
            true => self.dice.of(4..=10),
            false => self.dice.of(58..=68),
        };
        let end = self.exchanges.len() + count as usize;
        while self.exchanges.len() < end {
            if self.add_session(day).is_none() {
                return;
            }
        }
    }

    /// A conversation of a few exchanges.
    fn add_session(&mut self, day: i64) -> Option<()> {
        let app = *self.dice.one(&App::ALL)?;
        let user = *self.dice.one(app.people())?;
        let hour = match is_weekend(day) {
            true => i64::try_from(self.dice.of(9..=20)).ok()?,
            false => *self.dice.one(&HOURS)?,
        };
        let session = self.new_session();
        let mut at_ms = day * DAY_MS + hour * 60 * MINUTE_MS + self.up_to_ms(60);
        for _ in 0..self.dice.of(1..=5) {
            let talk = self.talk(app)?;
            let model = *self.dice.one(app.models())?;
            let details = self.details();
            let latency_ms = self.latency_ms()?;
            let context_tokens = self.dice.of(120..=900);
            let outcome = self.outcome(app);
            self.exchanges.push(Exchange {
                at_ms,
                app,
                user,
                session: session.clone(),
                model,
                prompt: details.filled(talk.prompt),
                answer: details.filled(talk.answer),
                latency_ms,
                context_tokens,
                outcome,
            });
            at_ms += MINUTE_MS + self.up_to_ms(4);
        }
        Some(())
    }

    fn new_session(&mut self) -> String {
        self.sessions += 1;
        format!("chat-{:04}", self.sessions)
    }

    /// Less than so many minutes.
    fn up_to_ms(&mut self, minutes: u64) -> i64 {
        let seconds = self.dice.of(0..=minutes * 60 - 1);
        i64::try_from(seconds).unwrap_or_default() * 1_000
    }

    fn talk(&mut self, app: App) -> Option<Talk> {
        if app == App::Code && self.dice.percent(2) {
            return Some(INJECTION);
        }
        match self.dice.percent(6) {
            true => self.dice.one(&CARELESS).copied(),
            false => self.dice.one(app.talks()).copied(),
        }
    }

    /// Most calls take a second or two, a few much longer.
    fn latency_ms(&mut self) -> Option<u32> {
        let latency = match self.dice.percent(4) {
            true => self.dice.of(8_000..=15_000),
            false => self.dice.of(500..=3_200),
        };
        u32::try_from(latency).ok()
    }

    fn outcome(&mut self, app: App) -> Outcome {
        match self.dice.of(1..=100) {
            1..=2 => Outcome::Failed,
            // Where nobody waits for a verdict, none is missed.
            3..=5 if app != App::Support => Outcome::Unchecked,
            _ => Outcome::Answered,
        }
    }

    fn details(&mut self) -> Details {
        Details {
            number: self.dice.of(1_000..=9_999).to_string(),
            mail: format!("client{}@example.org", self.dice.of(1..=400)),
            phone: format!("+7 912 555-01-{:02}", self.dice.of(10..=99)),
        }
    }

    fn add_leak(&mut self, now_ms: i64) {
        let session = self.new_session();
        let mut at_ms = leak_begins(now_ms);
        for _ in 0..LEAK_MESSAGES {
            let (Some(talk), Some(latency_ms)) = (self.dice.one(&LEAK), self.latency_ms()) else {
                return;
            };
            let card = card_number(&mut self.dice);
            self.exchanges.push(Exchange {
                at_ms,
                app: App::Support,
                user: LEAKER,
                session: session.clone(),
                model: "demo-large",
                prompt: talk.prompt.replace("{card}", &card),
                answer: talk.answer.to_owned(),
                latency_ms,
                context_tokens: self.dice.of(120..=900),
                outcome: Outcome::Answered,
            });
            at_ms += 2 * MINUTE_MS + self.up_to_ms(1);
        }
    }
}

/// In the night of the latest Saturday or Sunday that has had enough of it.
fn leak_begins(now_ms: i64) -> i64 {
    let today = now_ms.div_euclid(DAY_MS);
    let nights = (0..8)
        .map(|back| today - back)
        .filter(|day| is_weekend(*day));
    let mut starts = nights.map(|day| day * DAY_MS + LEAK_BEGINS_MS);
    let latest = starts.find(|start| start + LEAK_TAKES_MS <= now_ms);
    latest.unwrap_or(now_ms - LEAK_TAKES_MS)
}

/// Saturday or Sunday; day 0 was a Thursday.
fn is_weekend(day: i64) -> bool {
    (day + 3).rem_euclid(7) >= 5
}

/// A number with a right check digit below the prefix of test cards, in groups of four.
fn card_number(dice: &mut Dice) -> String {
    let mut number = format!("400000{:09}", dice.of(100_000_000..=999_999_999));
    number.push(check_digit(&number));
    let groups = [0..4, 4..8, 8..12, 12..16].map(|place| number.get(place).unwrap_or_default());
    groups.join(" ")
}

/// The digit that makes a number right by Luhn's rule.
fn check_digit(digits: &str) -> char {
    let values = digits.chars().rev().filter_map(|digit| digit.to_digit(10));
    let sum: u32 = values
        .enumerate()
        .map(|(place, value)| match place % 2 {
            0 if value > 4 => value * 2 - 9,
            0 => value * 2,
            _ => value,
        })
        .sum();
    char::from_digit((10 - sum % 10) % 10, 10).unwrap_or('0')
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// 2026-11-30 09:00, a Monday.
    const MONDAY_MS: i64 = 1_796_029_200_000;

    fn plan(seed: u64) -> Vec<Exchange> {
        exchanges(PlanRequest {
            days: 30,
            now_ms: MONDAY_MS,
            seed,
        })
    }

    #[test]
    fn a_plan_is_bounded_and_the_same_for_the_same_seed() {
        let first = plan(1);
        assert!((1_200..=1_800).contains(&first.len()), "{}", first.len());
        assert_eq!(first, plan(1));
        assert_ne!(first, plan(2));
        let users: HashSet<_> = first.iter().map(|one| one.user).collect();
        assert_eq!(users.len(), 40);
        for outcome in [Outcome::Failed, Outcome::Unchecked] {
            assert!(first.iter().any(|one| one.outcome == outcome));
        }
        let oldest = MONDAY_MS.div_euclid(DAY_MS) - 29;
        assert!(first.iter().all(|one| one.at_ms >= oldest * DAY_MS));
        assert!(first.iter().all(|one| one.at_ms < MONDAY_MS));
    }

    #[test]
    fn one_user_sends_thirty_cards_in_the_night_of_the_weekend() {
        let all = plan(1);
        let leak: Vec<_> = all
            .iter()
            .filter(|one| one.prompt.contains("4000 00"))
            .collect();
        assert_eq!(leak.len(), 30);
        assert!(leak.iter().all(|one| one.user == LEAKER));
        let sunday = MONDAY_MS.div_euclid(DAY_MS) - 1;
        let night = sunday * DAY_MS..sunday * DAY_MS + 4 * 60 * MINUTE_MS;
        assert!(leak.iter().all(|one| night.contains(&one.at_ms)));
    }

    #[test]
    fn the_leak_is_over_and_within_seven_days_whenever_it_is_planned() {
        for hours in 0..7 * 24 {
            let now_ms = MONDAY_MS + hours * 60 * MINUTE_MS;
            let begins = leak_begins(now_ms);
            let day = begins.div_euclid(DAY_MS);
            assert!(is_weekend(day), "{hours}");
            assert!(begins + LEAK_TAKES_MS <= now_ms, "{hours}");
            assert!(day >= now_ms.div_euclid(DAY_MS) - 6, "{hours}");
        }
    }

    #[test]
    fn numbers_of_cards_have_their_check_digit() {
        assert_eq!(check_digit("411111111111111"), '1');
        assert_eq!(check_digit("401288888888188"), '1');
        assert_eq!(card_number(&mut Dice::new(1)).len(), 19);
    }
}
