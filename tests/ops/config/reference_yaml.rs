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
    /// The comment as prose: its lines joined; an example of one line is set as code.
    pub(crate) fn meaning(&self) -> String {
        let is_example = |line: &str| line.starts_with("  ");
        let examples = self.comment.iter().filter(|line| is_example(line)).count();
        let mut words = Vec::new();
        for line in &self.comment {
            match is_example(line) {
                false => words.push(line.trim().to_owned()),
                true if examples == 1 => words.push(format!("`{}`", line.trim())),
                true => {}
            }
        }
        words.join(" ")
    }

    /// The example in the comment, where it has more than one line.
    pub(crate) fn example(&self) -> Option<String> {
        let lines: Vec<&str> = self
            .comment
            .iter()
            .filter_map(|line| line.strip_prefix("  "))
            .collect();
        (lines.len() > 1).then(|| lines.join("\n"))
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
