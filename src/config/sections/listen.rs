//! Listeners: one address or several, each with or without TLS files. Nothing is bound here
//! (CONTRACT 34).

use crate::config::reading::reader::{Raw, Reader};
use crate::config::reading::yaml::{Entry, Node, Value, get, scalar};
use crate::config::values::units::{self, ADDRESS};
use std::net::SocketAddr;
use std::path::PathBuf;

/// One client-facing address.
#[derive(Clone, Debug, PartialEq)]
pub struct Listener {
    /// Address and port; port 0 lets the system choose.
    pub address: SocketAddr,
    /// Certificate and key (PEM files); None is clear text.
    pub tls: Option<TlsFiles>,
    /// Each connection begins with a header of the PROXY protocol, which a trusted proxy sends.
    pub proxy_protocol: bool,
}

/// PEM files of one listener.
#[derive(Clone, Debug, PartialEq)]
pub struct TlsFiles {
    /// Certificate chain, the leaf first.
    pub cert: PathBuf,
    /// Private key of the leaf certificate.
    pub key: PathBuf,
    /// Who may connect; None: everybody.
    pub clients: Option<ClientCheck>,
}

/// Which client certificates are accepted.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientCheck {
    /// The authorities that issue them.
    pub ca: PathBuf,
    /// Whether a client without a certificate is accepted.
    pub auth: ClientAuth,
}

/// Whether a client without a certificate is accepted; an invalid one is always refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuth {
    /// It is refused in the handshake.
    Required,
    /// It is accepted.
    Optional,
}

/// The listeners of a key, or None for the default. Problems of single items are reported with
/// their own lines.
pub(crate) fn read(reader: &mut Reader<'_>, key: &str) -> Option<Vec<Listener>> {
    reader.read_with(key, |reader, raw| match raw {
        Raw::Text(text) => from_text(text).map_err(Some),
        Raw::Node(Node {
            value: Value::List(items),
            ..
        }) if items.is_empty() => Err(Some(format!(
            "is an empty list; allowed: at least one {ADDRESS}"
        ))),
        Raw::Node(Node {
            value: Value::List(items),
            ..
        }) => {
            let names = (0..items.len()).map(|index| format!("{key}[{index}]"));
            let listeners: Vec<Option<Listener>> = items
                .iter()
                .zip(names)
                .map(|(node, name)| item(reader, node, &name))
                .collect();
            listeners
                .into_iter()
                .collect::<Option<Vec<_>>>()
                .ok_or(None)
        }
        Raw::Node(node) => item(reader, node, key)
            .map(|listener| vec![listener])
            .ok_or(None),
    })
}

/// Addresses separated by commas, as a variable or a flag has them.
fn from_text(text: &str) -> Result<Vec<Listener>, String> {
    let form = units::address();
    text.split(',')
        .map(|part| {
            Ok(Listener {
                address: form.parse(part)?,
                tls: None,
                proxy_protocol: false,
            })
        })
        .collect()
}

/// One item: an address, or `{address, proxy_protocol, tls: {cert, key}}`.
fn item(reader: &mut Reader<'_>, node: &Node, name: &str) -> Option<Listener> {
    let Value::Map(entries) = &node.value else {
        let address = scalar(node, &units::address());
        let address = address
            .map_err(|text| reader.report_line(node.line, name, text))
            .ok()?;
        return Some(Listener {
            address,
            tls: None,
            proxy_protocol: false,
        });
    };
    refuse_others(reader, entries, name, &["address", "tls", "proxy_protocol"]);
    let address = match get(entries, "address") {
        Some(node) => scalar(node, &units::address()),
        None => Err(format!("has no address; allowed: {ADDRESS}")),
    };
    let address = address
        .map_err(|text| reader.report_line(node.line, &format!("{name}.address"), text))
        .ok();
    let tls = match get(entries, "tls") {
        Some(node) => Some(tls_files(reader, node, &format!("{name}.tls"))?),
        None => None,
    };
    let proxy_protocol = match get(entries, "proxy_protocol") {
        Some(node) => switch(reader, node, &format!("{name}.proxy_protocol")),
        None => Some(false),
    };
    Some(Listener {
        address: address?,
        tls,
        proxy_protocol: proxy_protocol?,
    })
}

fn switch(reader: &mut Reader<'_>, node: &Node, name: &str) -> Option<bool> {
    if let Value::Flag(flag) = node.value {
        return Some(flag);
    }
    let text = format!("is {}; allowed: true, false", node.value.shape());
    reader.report_line(node.line, name, text);
    None
}

fn tls_files(reader: &mut Reader<'_>, node: &Node, name: &str) -> Option<TlsFiles> {
    let Value::Map(entries) = &node.value else {
        let text = format!(
            "is {}; allowed: cert and key, two PEM files",
            node.value.shape()
        );
        reader.report_line(node.line, name, text);
        return None;
    };
    refuse_others(
        reader,
        entries,
        name,
        &["cert", "key", "client_ca", "client_auth"],
    );
    let clients = clients(reader, entries, name)?;
    let mut file = |wanted: &str, other: &str| -> Option<PathBuf> {
        let path = match get(entries, wanted) {
            Some(node) => scalar(node, &units::path()),
            None => Err(format!("is not set; {other} requires it")),
        };
        path.map_err(|text| reader.report_line(node.line, &format!("{name}.{wanted}"), text))
            .ok()
    };
    let (cert, key) = (file("cert", "a TLS key"), file("key", "a TLS certificate"));
    Some(TlsFiles {
        cert: cert?,
        key: key?,
        clients,
    })
}

/// Reads `client_ca` and `client_auth`. None where one of them has a problem.
fn clients(reader: &mut Reader<'_>, entries: &[Entry], name: &str) -> Option<Option<ClientCheck>> {
    const AUTH: &[(&str, ClientAuth)] = &[
        ("required", ClientAuth::Required),
        ("optional", ClientAuth::Optional),
    ];
    let ca = get(entries, "client_ca").map(|node| (node.line, scalar(node, &units::path())));
    let auth =
        get(entries, "client_auth").map(|node| (node.line, scalar(node, &units::word(AUTH))));
    let (ca, auth) = match (ca, auth) {
        (None, None) => return Some(None),
        (None, Some((line, _))) => {
            let text = "has no effect without client_ca, the authorities of client certificates";
            reader.report_line(line, &format!("{name}.client_auth"), text);
            return None;
        }
        (Some(ca), auth) => (ca, auth),
    };
    let (line, ca) = ca;
    let ca = ca.map_err(|text| reader.report_line(line, &format!("{name}.client_ca"), text));
    let auth = match auth {
        None => Ok(ClientAuth::Required),
        Some((line, auth)) => {
            auth.map_err(|text| reader.report_line(line, &format!("{name}.client_auth"), text))
        }
    };
    Some(Some(ClientCheck {
        ca: ca.ok()?,
        auth: auth.ok()?,
    }))
}

fn refuse_others(reader: &mut Reader<'_>, entries: &[Entry], name: &str, allowed: &[&str]) {
    for entry in entries
        .iter()
        .filter(|entry| !allowed.contains(&entry.key.as_str()))
    {
        let text = format!("is an unknown key; allowed: {}", allowed.join(", "));
        reader.report_line(entry.line, &format!("{name}.{}", entry.key), text);
    }
}
