//! The detectors of the patterns of §2.8 and, in `further`, of those that rules have to name, each with good
//! examples and near misses. The rules decide which patterns are on; `overlap` decides which of two finds wins.

mod bank_card_number;
mod card_groups;
mod card_systems;
mod cvc;
mod cvc_labels;
mod domain;
mod domain_evidence;
mod email_domain;
mod emails;
mod further;
mod inn;
mod ip;
mod ip_version;
mod kpp;
mod mentioned;
mod passport_forms;
mod passport_number;
mod phone_forms;
mod phone_number;
mod snils;
mod state_register;
mod tagged;

pub(super) use bank_card_number::BankCardNumber;
pub(super) use card_systems::is_card_number;
pub(super) use cvc::Cvc;
pub(super) use domain::Domain;
pub(super) use emails::Emails;
pub(super) use further::{
    ApiKey, CadastralNumber, ConnectionString, CryptoWallet, DriverLicense, Iban, OmsPolicy,
    PrivateKey, Swift, VehicleNumber, Vin,
};
pub(super) use inn::Inn;
pub(super) use ip::Ip;
pub(super) use kpp::Kpp;
pub(super) use mentioned::Mentioned;
pub(super) use passport_number::PassportNumber;
pub(super) use phone_number::PhoneNumber;
pub(super) use snils::Snils;
pub(super) use state_register::{OGRN, OGRNIP};
pub(super) use tagged::Tagged;

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
