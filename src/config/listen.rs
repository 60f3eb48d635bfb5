//! Listeners: one address or several, each with or without TLS files. Nothing is bound here
//! (CONTRACT 34).

use super::reader::{Raw, Reader, scalar};
use super::settings::{ClientAuth, ClientCheck, Listener, TlsFiles};
use super::units::{self, ADDRESS};
use super::yaml::{Entry, Node, Value};
use std::path::PathBuf;

/// The listeners of a key, or None for the default. Problems of single items are reported with
/// their own lines.
pub(super) fn read(reader: &mut Reader<'_>, key: &str) -> Option<Vec<Listener>> {
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
            })
        })
        .collect()
}

/// One item: an address, or `{address, tls: {cert, key}}`.
fn item(reader: &mut Reader<'_>, node: &Node, name: &str) -> Option<Listener> {
    let Value::Map(entries) = &node.value else {
        let address = scalar(node, &units::address());
        let address = address
            .map_err(|text| reader.report_line(node.line, name, text))
            .ok()?;
        return Some(Listener { address, tls: None });
    };
    refuse_others(reader, entries, name, &["address", "tls"]);
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
    Some(Listener {
        address: address?,
        tls,
    })
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
            None => Err(format!("is not set; {other} is nothing without it")),
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

/// Whose certificates are asked for: `client_ca`, and `client_auth` beside it. None where one of them
/// is wrong.
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
            let text = "is nothing without client_ca, the authorities that vouch for clients";
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

fn get<'n>(entries: &'n [Entry], key: &str) -> Option<&'n Node> {
    let found = entries
        .iter()
        .find(|entry| entry.key == key)
        .map(|entry| &entry.node);
    found.filter(|node| !matches!(node.value, Value::Null))
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
