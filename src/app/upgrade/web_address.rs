//! Where browsers find the web UI of a running process, as its control socket tells it.

use crate::app::process::start_text;
use crate::config::{Role, Settings};

/// The base address of the web UI.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WebAddress {
    /// The value of `ui.public_url`.
    Public(String),
    /// The address of its first listener: browsers may use another one.
    Listener(String),
}

impl WebAddress {
    /// That of a process with these settings, whose listeners have their ports.
    pub(crate) fn of(settings: &Settings, role: Role) -> Option<Self> {
        (role != Role::Gateway).then(|| match &settings.analysis.public_url {
            Some(url) => Self::Public(url.clone()),
            None => Self::Listener(start_text::analysis_url(settings)),
        })
    }

    pub(crate) fn to_line(&self) -> String {
        match self {
            Self::Public(url) => format!("public {url}"),
            Self::Listener(url) => format!("listener {url}"),
        }
    }

    pub(crate) fn from_line(line: &str) -> Option<Self> {
        match line.split_once(' ')? {
            ("public", url) => Some(Self::Public(url.to_owned())),
            ("listener", url) => Some(Self::Listener(url.to_owned())),
            _ => None,
        }
    }
}
