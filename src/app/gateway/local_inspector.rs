//! The detectors of this process behind the trait that the gateway knows.

use crate::gateway::{Find, Inspector};
use monitor_detect::{LocalDetectors, Message, PatternName, Reader, is_read_whole};
use monitor_model::PatternSet;

/// An [`Inspector`] over the detectors of this process.
pub(crate) struct LocalInspector(LocalDetectors);

impl LocalInspector {
    pub(crate) fn new() -> Self {
        Self(LocalDetectors::new())
    }
}

impl Inspector for LocalInspector {
    fn find(&self, text: &str, part_breaks: &[usize], patterns: PatternSet) -> Vec<Find> {
        let spans = self.0.find(Message { text, part_breaks }, among(patterns));
        let find = |span: monitor_detect::Span| Find {
            start: span.start,
            end: span.end,
            kind: span.kind.as_str(),
        };
        spans.into_iter().map(find).collect()
    }

    fn finds_across(&self, text: &str, part_breaks: &[usize]) -> bool {
        is_read_whole(Message { text, part_breaks }, Reader::Detectors)
    }

    fn stable_until(&self, text: &str, patterns: PatternSet) -> usize {
        self.0.stable_until(text, among(patterns))
    }
}

fn among(patterns: PatternSet) -> impl Fn(PatternName) -> bool {
    move |name| patterns.contains(name.as_str())
}
