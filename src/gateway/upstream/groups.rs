//! All groups of model servers of a gateway: `upstream`, and the entries of `upstreams` with the calls that go to each
//! of them. The first entry that takes a call gets it, else `upstream`.

use super::group::{UpstreamGroup, UpstreamStatus};
use super::server::UpstreamConfig;
use super::tls::UpstreamTlsFiles;
use crate::config::{CallMatch, GatewaySettings, ModelRoute};
use crate::observe::{Metrics, RouteLabel};
use pingora_core::connectors::ConnectorOptions;
use std::sync::Arc;

/// The settings of all groups, and the certificate files they name.
pub(crate) struct GroupsConfig<'a> {
    pub(crate) settings: &'a GatewaySettings,
    pub(crate) tls: &'a UpstreamTlsFiles,
    pub(crate) options: &'a ConnectorOptions,
}

/// Every group of model servers.
pub(crate) struct UpstreamGroups {
    default: UpstreamGroup,
    /// In the order of the file.
    named: Vec<NamedGroup>,
    /// Whether an entry takes calls by their model.
    wants_model: bool,
}

struct NamedGroup {
    calls: CallMatch,
    group: UpstreamGroup,
}

/// Which of the groups of one snapshot a call goes to; before it is known, and by default, `upstream`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ChosenUpstream(Option<usize>);

impl UpstreamGroups {
    /// The groups of the settings. Those that `previous` has by the same name keep what did not change; the others of
    /// `previous` are removed from the metrics. None when the settings name no upstream.
    pub(crate) fn new(
        config: &GroupsConfig<'_>,
        metrics: &Arc<Metrics>,
        previous: Option<&Self>,
    ) -> Option<Self> {
        let GroupsConfig {
            settings,
            tls,
            options,
        } = *config;
        let entries = settings.upstreams.iter().zip(&tls.named);
        let named: Option<Vec<NamedGroup>> = entries
            .map(|(entry, tls)| {
                let own = UpstreamConfig {
                    settings: &entry.servers,
                    tls,
                    group: &entry.name,
                    options,
                };
                let previous = previous.and_then(|previous| previous.named(&entry.name));
                Some(NamedGroup {
                    calls: entry.calls.clone(),
                    group: UpstreamGroup::new(own, metrics, previous)?,
                })
            })
            .collect();
        let default = UpstreamConfig {
            settings: &settings.upstream,
            tls: &tls.default,
            group: "",
            options,
        };
        let of_previous = previous.map(|previous| &previous.default);
        let groups = Self {
            default: UpstreamGroup::new(default, metrics, of_previous)?,
            wants_model: settings
                .upstreams
                .iter()
                .any(|entry| !entry.calls.models.is_empty()),
            named: named?,
        };
        let before = previous.iter().flat_map(|previous| &previous.named);
        for removed in before.filter(|before| groups.named(before.group.name()).is_none()) {
            removed.group.remove();
        }
        Some(groups)
    }

    /// The group of a call by its route and by the model that its body names. `model` is called only where an
    /// entry needs it.
    pub(crate) fn choose(
        &self,
        route: RouteLabel,
        model: impl FnOnce() -> Option<String>,
    ) -> ChosenUpstream {
        if self.named.is_empty() {
            return ChosenUpstream::default();
        }
        let Some(route) = word(route) else {
            return ChosenUpstream::default();
        };
        let model = match self.wants_model && route.has_model() {
            true => model(),
            false => None,
        };
        let takes = |entry: &NamedGroup| entry.calls.takes(route, model.as_deref());
        ChosenUpstream(self.named.iter().position(takes))
    }

    /// The servers of a call.
    pub(crate) fn get(&self, chosen: ChosenUpstream) -> &UpstreamGroup {
        let named = chosen.0.and_then(|index| self.named.get(index));
        named.map_or(&self.default, |named| &named.group)
    }

    /// Every group, `upstream` first.
    pub(super) fn all(&self) -> impl Iterator<Item = &UpstreamGroup> {
        let named = self.named.iter().map(|named| &named.group);
        std::iter::once(&self.default).chain(named)
    }

    /// The state of each server; empty where there is only one.
    pub(crate) fn status(&self) -> Vec<UpstreamStatus> {
        let all: Vec<UpstreamStatus> = self.all().flat_map(UpstreamGroup::status).collect();
        match all.len() {
            1 => Vec::new(),
            _ => all,
        }
    }

    fn named(&self, name: &str) -> Option<&UpstreamGroup> {
        let mut named = self.named.iter().map(|named| &named.group);
        named.find(|group| group.name() == name)
    }
}

/// The word of the configuration for a route; None for routes that call no model server. A new route to model servers
/// gets its line here.
fn word(route: RouteLabel) -> Option<ModelRoute> {
    match route {
        RouteLabel::Chat => Some(ModelRoute::Chat),
        RouteLabel::Completions => Some(ModelRoute::Completions),
        RouteLabel::Responses | RouteLabel::ResponsesBelow => Some(ModelRoute::Responses),
        RouteLabel::Messages | RouteLabel::MessagesBelow => Some(ModelRoute::Messages),
        RouteLabel::Embeddings => Some(ModelRoute::Embeddings),
        RouteLabel::Models => Some(ModelRoute::Models),
        RouteLabel::Docs | RouteLabel::Other => None,
    }
}
