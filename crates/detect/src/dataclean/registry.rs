//! The detector of each pattern. A new detector is a file in `detectors` and an arm here.

use super::detector::Detector;
use super::detectors as d;
use super::pattern_name::PatternName;

/// Builds every detector, one per pattern.
pub(crate) fn detectors() -> Vec<Box<dyn Detector>> {
    PatternName::every().map(detector).collect()
}

fn detector(name: PatternName) -> Box<dyn Detector> {
    use PatternName as P;
    match name {
        P::Address | P::Company | P::Diagnosis | P::JobRole | P::Name => Box::new(d::Tagged(name)),
        P::BankCardNumber => Box::new(d::BankCardNumber),
        P::Cvc => Box::new(d::Cvc::new()),
        P::Date | P::DeadlineDate | P::Duration | P::Money => Box::new(d::Mentioned(name)),
        P::Domain => Box::new(d::Domain),
        P::Emails => Box::new(d::Emails),
        P::Inn => Box::new(d::Inn),
        P::Ip => Box::new(d::Ip),
        P::Kpp => Box::new(d::Kpp),
        P::Ogrn => Box::new(d::OGRN),
        P::Ogrnip => Box::new(d::OGRNIP),
        P::PassportNumber => Box::new(d::PassportNumber),
        P::PhoneNumber => Box::new(d::PhoneNumber::new()),
        P::Snils => Box::new(d::Snils),
        P::ApiKey => Box::new(d::ApiKey::new()),
        P::CadastralNumber => Box::new(d::CadastralNumber),
        P::ConnectionString => Box::new(d::ConnectionString::new()),
        P::CryptoWallet => Box::new(d::CryptoWallet),
        P::DriverLicense => Box::new(d::DriverLicense),
        P::Iban => Box::new(d::Iban),
        P::OmsPolicy => Box::new(d::OmsPolicy),
        P::PrivateKey => Box::new(d::PrivateKey),
        P::Swift => Box::new(d::Swift::new()),
        P::VehicleNumber => Box::new(d::VehicleNumber),
        P::Vin => Box::new(d::Vin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_detector_finds_the_pattern_it_stands_for() {
        for name in PatternName::every() {
            assert_eq!(detector(name).name(), name);
        }
    }
}
