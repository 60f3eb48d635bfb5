//! The reference files of the configuration, read by indentation alone: keys, values and the comments
//! above them. The program's own reader does not take part, so that it is not its own witness.

/// One key of a reference file.
pub(crate) struct Entry {
    /// `section.key`.
    pub(crate) key: String,
    /// The value as it is written; None of a section.
    pub(crate) value: Option<String>,
    /// The lines of the comment above it, without `# `.
    pub(crate) comment: Vec<String>,
}

impl Entry {
    /// The comment as prose: its lines joined; an example of one line is set as code. What introduces a longer
    /// example goes with it.
    pub(crate) fn meaning(&self) -> String {
        let is_long = self.comment.iter().filter(|line| is_example(line)).count() > 1;
        let parts = self
            .parts()
            .into_iter()
            .map(|(prose, example)| match example[..] {
                [] => prose,
                _ if is_long => split_introduction(&prose).0.to_owned(),
                _ => format!("{prose} `{}`", example[0].trim()),
            });
        let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
        parts.join(" ")
    }

    /// The examples in the comment, where they have more than one line, each below what introduces it.
    pub(crate) fn example(&self) -> Option<String> {
        let mut lines = Vec::new();
        for (prose, example) in self.parts() {
            if !example.is_empty() {
                lines.push(format!("# {}", split_introduction(&prose).1));
                lines.extend(example.iter().map(|line| line[2..].to_owned()));
            }
        }
        (lines.len() > 2).then(|| lines.join("\n"))
    }

    /// The comment in parts: prose, and the lines of the example that follows it.
    fn parts(&self) -> Vec<(String, Vec<&str>)> {
        let blocks = self
            .comment
            .chunk_by(|a, b| !is_example(a) || is_example(b));
        let parts = blocks.map(|lines| {
            let at = lines.iter().position(|line| is_example(line));
            let (prose, example) = lines.split_at(at.unwrap_or(lines.len()));
            let prose: Vec<&str> = prose.iter().map(|line| line.trim()).collect();
            (
                prose.join(" "),
                example.iter().map(String::as_str).collect(),
            )
        });
        parts.collect()
    }
}

fn is_example(line: &str) -> bool {
    line.starts_with("  ")
}

/// Prose without its last sentence, where that ends in a colon, and that sentence.
fn split_introduction(prose: &str) -> (&str, &str) {
    match prose.ends_with(':') {
        true => prose
            .rsplit_once(". ")
            .map_or(("", prose), |(before, last)| {
                (&prose[..=before.len()], last)
            }),
        false => (prose, ""),
    }
}

/// The keys of a file in block style, in its order.
pub(crate) fn entries(text: &str) -> Vec<Entry> {
    let mut groups: Vec<(usize, String)> = Vec::new();
    let mut comment: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for line in text.lines() {
        let stripped = line.trim_start();
        if stripped.is_empty() {
            comment.clear();
            continue;
        }
        if let Some(words) = stripped.strip_prefix('#') {
            comment.push(words.strip_prefix(' ').unwrap_or(words).to_owned());
            continue;
        }
        let Some((name, value)) = stripped.split_once(':') else {
            continue;
        };
        let indent = line.len() - stripped.len();
        groups.retain(|(depth, _)| *depth < indent);
        groups.push((indent, name.to_owned()));
        let names: Vec<&str> = groups.iter().map(|(_, name)| name.as_str()).collect();
        let value = value.trim();
        found.push(Entry {
            key: names.join("."),
            value: (!value.is_empty()).then(|| value.to_owned()),
            comment: std::mem::take(&mut comment),
        });
    }
    found
}
