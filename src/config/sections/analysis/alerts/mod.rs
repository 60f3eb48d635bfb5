//! The keys of `alerts`: which addresses the channels of alerts may have besides public ones, and the rules and
//! channels that the file sets.

pub(crate) mod channel;
mod read_channels;
mod read_rules;
pub(crate) mod rule;

use crate::config::reading::collections::list;
use crate::config::reading::reader::Reader;
use crate::config::sections::gateway::files::{host, network};
use crate::config::values::network::Network;
use channel::AlertChannelSettings;
use rule::AlertRuleSettings;
use sha2::{Digest as _, Sha256};
use uuid::{Builder, Uuid};

/// Where alerts may be sent, and what the file says of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AlertSettings {
    /// Networks that channels may be in although they are not public.
    pub allow_networks: Vec<Network>,
    /// Hosts that channels may be at wherever they are, in lower case.
    pub allow_hosts: Vec<String>,
    /// The channels of the file; no two have the same name.
    pub channels: Vec<AlertChannelSettings>,
    /// The rules of the file; no two have the same name.
    pub rules: Vec<AlertRuleSettings>,
}

pub(crate) fn read(r: &mut Reader<'_>, prefix: &str) -> AlertSettings {
    let allow_networks = list(r, &format!("{prefix}allow_networks"), &network());
    let allow_hosts = list(r, &format!("{prefix}allow_hosts"), &host());
    let channels = read_channels::read(r, &format!("{prefix}channels"));
    let rules = read_rules::read(r, &format!("{prefix}rules"), &channels);
    AlertSettings {
        allow_networks,
        allow_hosts,
        channels,
        rules,
    }
}

/// The identifier of a channel of the file: the same as long as it has its name.
pub(crate) fn channel_id(name: &str) -> Uuid {
    identifier("channel", name)
}

/// The identifier of a rule of the file.
pub(crate) fn rule_id(name: &str) -> Uuid {
    identifier("rule", name)
}

fn identifier(what: &str, name: &str) -> Uuid {
    let hash = Sha256::new().chain_update(what).chain_update([0_u8]);
    let hash: [u8; 32] = hash.chain_update(name).finalize().into();
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().zip(hash) {
        *to = from;
    }
    Builder::from_random_bytes(bytes).into_uuid()
}

/// A name of a rule or a channel, as the API takes it.
fn is_name(text: &str) -> bool {
    text.chars().count() <= LONGEST_NAME && !text.chars().any(char::is_control)
}

/// The longest name, in Unicode code points.
const LONGEST_NAME: usize = 200;
const NOT_NAME: &str =
    "has control characters or is too long; allowed: one line of up to 200 characters";
