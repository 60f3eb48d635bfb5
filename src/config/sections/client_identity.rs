//! `client_cert` and `client_key`: the certificate with which the gateway identifies itself to a server.

use crate::config::reading::reader::Reader;
use crate::config::values::units;
use std::path::PathBuf;

/// A certificate of our own towards a server, PEM files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientIdentity {
    /// Certificate chain, the leaf first.
    pub cert: PathBuf,
    /// Private key of the leaf certificate.
    pub key: PathBuf,
}

/// The client certificate towards a server: both files or none.
pub(crate) fn read(r: &mut Reader<'_>, section: &str) -> Option<ClientIdentity> {
    let names = ["client_cert", "client_key"].map(|name| format!("{section}.{name}"));
    let [cert, key] = names.each_ref().map(|name| r.read(name, &units::path()));
    let (missing, there) = match (&cert, &key) {
        (Some(_), None) => (&names[1], &names[0]),
        (None, Some(_)) => (&names[0], &names[1]),
        _ => {
            return Some(ClientIdentity {
                cert: cert?,
                key: key?,
            });
        }
    };
    let text = format!("is not set, but {there} is; allowed: both or none");
    r.refuse_if(missing, true, &text);
    None
}
