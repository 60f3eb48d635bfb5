//! The certificate files that settings name: whether they can be read and used.

use crate::config::pem;
use crate::config::reading::reader::Reader;
use crate::config::sections::client_identity::ClientIdentity;
use crate::config::values::url::BaseUrl;
use std::fs::File;
use std::path::Path;

/// Reports authorities that cannot be read.
pub(super) fn authorities(path: Option<&Path>, key: &str, reader: &mut Reader<'_>) {
    let Some(path) = path else { return };
    if readable(path, key, "", reader)
        && let Err(wrong) = pem::authorities(path)
    {
        reader.contradiction(key, wrong);
    }
}

/// Reports a client certificate that cannot be used.
pub(super) fn client(
    client: &Option<ClientIdentity>,
    url: &Option<BaseUrl>,
    section: &str,
    reader: &mut Reader<'_>,
) {
    let Some(ClientIdentity { cert, key }) = client else {
        return;
    };
    let name = format!("{section}.client_cert");
    if url.as_ref().is_some_and(|url| !url.tls) {
        let text = "is sent over https only; allowed: a URL with https, or no client certificate";
        reader.contradiction(&name, text);
    }
    let read = readable(cert, &name, "", reader)
        & readable(key, &format!("{section}.client_key"), "", reader);
    if read && let Err(wrong) = pem::identity(cert, key) {
        reader.contradiction(&name, wrong);
    }
}

/// Reports a file that cannot be read. `name` is put before the text where the key alone does not identify the file.
pub(super) fn readable(path: &Path, key: &str, name: &str, reader: &mut Reader<'_>) -> bool {
    // Looked at first: opening a pipe waits, and a device has no end.
    let reason = match std::fs::metadata(path) {
        Ok(found) if !found.is_file() => "it is not a file".to_owned(),
        Ok(found) if found.len() > pem::LARGEST => {
            format!("it is larger than {} bytes", pem::LARGEST)
        }
        Ok(_) => match File::open(path) {
            Ok(_) => return true,
            Err(error) => error.to_string(),
        },
        Err(error) => error.to_string(),
    };
    let path = path.display();
    let text = format!("{name}{path} cannot be read: {reason}; allowed: a readable PEM file");
    reader.contradiction(key, text);
    false
}
