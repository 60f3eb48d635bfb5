//! The keys of `alerts`: which addresses the channels of alerts may have besides public ones.

use crate::config::reading::collections::list;
use crate::config::reading::reader::Reader;
use crate::config::sections::gateway::files::{host, network};
use crate::config::values::network::Network;

/// Where alerts may be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AlertSettings {
    /// Networks that channels may be in although they are not public.
    pub allow_networks: Vec<Network>,
    /// Hosts that channels may be at wherever they are, in lower case.
    pub allow_hosts: Vec<String>,
}

pub(crate) fn read(r: &mut Reader<'_>, prefix: &str) -> AlertSettings {
    AlertSettings {
        allow_networks: list(r, &format!("{prefix}allow_networks"), &network()),
        allow_hosts: list(r, &format!("{prefix}allow_hosts"), &host()),
    }
}
