//! One file per pattern of §2.8: its form, its checks, two good examples and two near misses. Which
//! pattern is on, and which of two finds stands, is decided above.

mod bank_card_number;
mod card_systems;
mod cvc;
mod cvc_labels;
mod date;
mod deadline_date;
mod domain;
mod domain_evidence;
mod duration;
mod email_domain;
mod emails;
mod inn;
mod ip;
mod ip_version;
mod kpp;
mod money;
mod ogrn;
mod ogrnip;
mod passport_forms;
mod passport_number;
mod phone_forms;
mod phone_number;
mod register;
mod snils;
mod tagged;

pub(super) use bank_card_number::BankCardNumber;
pub(super) use cvc::Cvc;
pub(super) use date::Date;
pub(super) use deadline_date::DeadlineDate;
pub(super) use domain::Domain;
pub(super) use duration::Duration;
pub(super) use emails::Emails;
pub(super) use inn::Inn;
pub(super) use ip::Ip;
pub(super) use kpp::Kpp;
pub(super) use money::Money;
pub(super) use ogrn::Ogrn;
pub(super) use ogrnip::Ogrnip;
pub(super) use passport_number::PassportNumber;
pub(super) use phone_number::PhoneNumber;
pub(super) use snils::Snils;
pub(super) use tagged::Tagged;

use super::mentions::Sort;
use super::{PatternName, Span, Strength, Text};

/// Adds the mentions of one sort: what the four detectors of amounts and dates share. A word says what
/// an amount is; a date in digits has its form only.
fn mentioned(text: &Text, sort: Sort, kind: PatternName, out: &mut Vec<Span>) {
    let strength = match sort {
        Sort::Money | Sort::Duration => Strength::Context,
        Sort::Date | Sort::Deadline => Strength::Form,
    };
    let all = text.mentions().all.iter();
    out.extend(
        all.filter(|mention| mention.sort == sort)
            .map(|mention| Span {
                kind,
                start: mention.start,
                end: mention.end,
                strength,
            }),
    );
}

/// Runs one detector over a text and gives what it found, in the order of the text.
#[cfg(test)]
fn found<'a>(detector: &dyn super::Detector, text: &'a str) -> Vec<&'a str> {
    let mut spans = Vec::new();
    detector.find(&super::Text::new(text), &mut spans);
    spans
        .iter()
        .map(|span| &text[span.start..span.end])
        .collect()
}
