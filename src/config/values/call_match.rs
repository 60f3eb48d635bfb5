//! Which calls an entry of `upstreams` takes: by the route, and by the model that the body names. Knows no
//! request; the gateway asks it about each call.

use super::units::{self, Form, quote};
use std::fmt;

/// The routes by the words of the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelRoute {
    /// Calls of `/v1/chat/completions`.
    Chat,
    /// Calls of `/v1/completions`.
    Completions,
    /// Calls of `/v1/embeddings`.
    Embeddings,
    /// Calls of `/v1/messages`.
    Messages,
    /// Calls of `/v1/models`.
    Models,
    /// Calls of `/v1/responses`.
    Responses,
}

const WORDS: &[(&str, ModelRoute)] = &[
    ("chat", ModelRoute::Chat),
    ("completions", ModelRoute::Completions),
    ("embeddings", ModelRoute::Embeddings),
    ("messages", ModelRoute::Messages),
    ("models", ModelRoute::Models),
    ("responses", ModelRoute::Responses),
];

impl ModelRoute {
    /// A word of the configuration.
    pub(crate) fn form() -> Form<Self> {
        units::word(WORDS)
    }

    /// Whether the gateway reads the body of its calls, and so knows their model.
    pub(crate) fn has_model(self) -> bool {
        !matches!(self, Self::Embeddings | Self::Models)
    }

    /// The routes whose calls have a model.
    fn with_model() -> Vec<Self> {
        let all = WORDS.iter().map(|(_, route)| *route);
        all.filter(|route| route.has_model()).collect()
    }
}

impl fmt::Display for ModelRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = WORDS.iter().find(|(_, route)| route == self);
        f.write_str(found.map_or("", |(word, _)| word))
    }
}

/// Models by their names, compared byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelPattern {
    /// The model of this name.
    Name(String),
    /// All names that begin like this; written with a `*` at its end.
    Prefix(String),
}

impl ModelPattern {
    /// A name, or a prefix that ends in `*`.
    pub(crate) fn form() -> Form<Self> {
        const ALLOWED: &str = "a model's name, or the beginning of names and a *, such as claude-*";
        Form::new(ALLOWED, |text| {
            let (begin, is_prefix) = match text.strip_suffix('*') {
                Some(begin) => (begin, true),
                None => (text, false),
            };
            match begin {
                "" if is_prefix => {
                    Err("is every model; leave models out and name routes instead".to_owned())
                }
                "" => Err("is empty".to_owned()),
                _ if begin.contains('*') => Err(format!("{} has a * before its end", quote(text))),
                _ if begin.contains(char::is_control) => {
                    Err("contains a control character".to_owned())
                }
                _ if is_prefix => Ok(Self::Prefix(begin.to_owned())),
                _ => Ok(Self::Name(begin.to_owned())),
            }
        })
        .text_only()
    }

    fn takes(&self, model: &str) -> bool {
        match self {
            Self::Name(name) => name == model,
            Self::Prefix(begin) => model.starts_with(begin.as_str()),
        }
    }

    /// Whether it takes every model that the other one takes.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Prefix(begin), Self::Name(other) | Self::Prefix(other)) => {
                other.starts_with(begin.as_str())
            }
            (Self::Name(name), Self::Name(other)) => name == other,
            (Self::Name(_), Self::Prefix(_)) => false,
        }
    }
}

impl fmt::Display for ModelPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Prefix(begin) => write!(f, "{begin}*"),
        }
    }
}

/// The calls of these routes for these models; an empty list is all of them. Both are never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallMatch {
    /// Empty: every route, and with models every route whose calls have one.
    pub routes: Vec<ModelRoute>,
    /// Empty: every model, and calls that name none.
    pub models: Vec<ModelPattern>,
}

/// Calls of one route: those for the models of a pattern, or all.
pub(crate) type CallPart<'a> = (ModelRoute, Option<&'a ModelPattern>);

impl CallMatch {
    /// Whether it takes a call. A call whose body is not read has no model.
    pub(crate) fn takes(&self, route: ModelRoute, model: Option<&str>) -> bool {
        let of_route = self.routes.is_empty() || self.routes.contains(&route);
        let takes = |model| self.models.iter().any(|pattern| pattern.takes(model));
        of_route && (self.models.is_empty() || model.is_some_and(takes))
    }

    /// Its calls in parts: one for each pair of a route and a pattern.
    pub(crate) fn parts(&self) -> Vec<CallPart<'_>> {
        let routes = match self.routes.is_empty() {
            true => ModelRoute::with_model(),
            false => self.routes.clone(),
        };
        let of_route = |route| {
            let patterns = self
                .models
                .iter()
                .map(move |pattern| (route, Some(pattern)));
            let all = self.models.is_empty().then_some((route, None));
            patterns.chain(all)
        };
        routes.into_iter().flat_map(of_route).collect()
    }

    /// Whether it takes every call of a part.
    pub(crate) fn covers(&self, (route, models): CallPart<'_>) -> bool {
        let of_route = self.routes.is_empty() || self.routes.contains(&route);
        let covers = |other| self.models.iter().any(|pattern| pattern.covers(other));
        of_route && (self.models.is_empty() || models.is_some_and(covers))
    }
}

impl fmt::Display for CallMatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let routes = self.routes.iter().map(ToString::to_string);
        let models = self.models.iter().map(ToString::to_string);
        let words: Vec<String> = routes.chain(models).collect();
        f.write_str(&words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn of(routes: &[ModelRoute], models: &[&str]) -> CallMatch {
        let models = models.iter();
        CallMatch {
            routes: routes.to_vec(),
            models: models
                .map(|text| ModelPattern::form().parse(text).unwrap())
                .collect(),
        }
    }

    #[test]
    fn a_call_is_taken_by_its_route_and_its_model_where_both_are_named() {
        use ModelRoute::{Chat, Embeddings, Messages};
        let claude = of(&[], &["claude-*", "opus"]);
        for (model, is_taken) in [
            (Some("claude-3"), true),
            (Some("claude-"), true),
            (Some("opus"), true),
            (Some("opus-4"), false),
            (Some("Claude-3"), false),
            (Some(" claude-3"), false),
            (Some("claude"), false),
            (Some(""), false),
            (None, false),
        ] {
            assert_eq!(claude.takes(Chat, model), is_taken, "{model:?}");
            assert_eq!(claude.takes(Messages, model), is_taken, "{model:?}");
        }
        assert!(!claude.takes(Embeddings, None));
        let messages = of(&[Messages], &[]);
        assert!(messages.takes(Messages, None) && messages.takes(Messages, Some("m")));
        assert!(!messages.takes(Chat, Some("m")));
        let both = of(&[Messages], &["claude-*"]);
        assert!(both.takes(Messages, Some("claude-3")));
        assert!(!both.takes(Messages, Some("m")) && !both.takes(Chat, Some("claude-3")));
        assert!(of(&[Embeddings], &[]).takes(Embeddings, None));
    }

    #[test]
    fn a_pattern_is_a_name_or_a_beginning() {
        let form = ModelPattern::form();
        for text in ["gpt-4o", "gpt-*", "org/model:7b", "модель*"] {
            assert_eq!(form.parse(text).unwrap().to_string(), text);
        }
        for (text, wrong) in [
            ("*", "is every model"),
            ("", "is empty"),
            ("*-mini", "has a * before its end"),
            ("gpt-**", "has a * before its end"),
            ("a\nb", "contains a control character"),
        ] {
            let refused = form.parse(text).unwrap_err();
            assert!(refused.contains(wrong), "{text}: {refused}");
        }
    }

    #[test]
    fn what_one_covers_another_cannot_get() {
        use ModelRoute::{Chat, Completions, Embeddings, Messages, Models, Responses};
        let covers = |one: &CallMatch, other: &CallMatch| {
            let parts = other.parts();
            assert!(!parts.is_empty());
            parts.into_iter().all(|part| one.covers(part))
        };
        let gpt = of(&[], &["gpt-*"]);
        assert!(covers(&gpt, &of(&[Chat], &["gpt-4"])));
        assert!(covers(&gpt, &of(&[], &["gpt-4*", "gpt-5"])));
        assert!(!covers(&gpt, &of(&[], &["gpt-4", "o1"])));
        assert!(!covers(&gpt, &of(&[], &["gp*"])));
        assert!(!covers(&gpt, &of(&[Chat], &[])));
        assert!(!covers(&of(&[], &["gpt-4"]), &of(&[], &["gpt-4*"])));
        assert!(covers(&of(&[Chat], &[]), &of(&[Chat], &["gpt-4"])));
        assert!(!covers(&of(&[Chat], &[]), &of(&[], &["gpt-4"])));
        assert!(!covers(&of(&[Chat], &[]), &of(&[Chat, Embeddings], &[])));
        let all_with_model = of(&[Chat, Completions, Messages, Responses], &[]);
        assert!(covers(&all_with_model, &gpt));
        assert!(!covers(&all_with_model, &of(&[Models], &[])));
    }
}
