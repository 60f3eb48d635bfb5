//! The detectors of the further patterns, which rules have to name: they cost nothing where no rule does. Each begins
//! with an anchor that is quick to find (the runs of digits, a literal, a long word) and checks what stands there.

mod api_key;
mod api_key_forms;
mod cadastral_number;
mod connection_string;
mod crypto_wallet;
mod driver_license;
mod iban;
mod nearby;
mod oms_policy;
mod private_key;
mod swift;
mod vehicle_number;
mod vin;

pub(crate) use api_key::ApiKey;
pub(crate) use cadastral_number::CadastralNumber;
pub(crate) use connection_string::ConnectionString;
pub(crate) use crypto_wallet::CryptoWallet;
pub(crate) use driver_license::DriverLicense;
pub(crate) use iban::Iban;
pub(crate) use oms_policy::OmsPolicy;
pub(crate) use private_key::PrivateKey;
pub(crate) use swift::Swift;
pub(crate) use vehicle_number::VehicleNumber;
pub(crate) use vin::Vin;
