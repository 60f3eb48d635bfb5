//! Labelled texts: what stands in the data folder, in one shape.

use crate::read;
use monitor_detect::training::crf::model::{ADDRESS, COMPANY, NAME, PLACE};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;

/// A text with labeled stretches in bytes; the label is that of a stretch's first token.
#[derive(Clone, Debug, Default)]
pub struct Doc {
    pub id: String,
    pub text: String,
    pub spans: Vec<(usize, usize, usize)>,
    /// Documents of one group are never on both sides of a fold.
    pub group: String,
    pub weight: f32,
}

/// The Russian news texts: names and organizations from the development set, places from the archive.
pub fn russian(data: &Path) -> Vec<Doc> {
    let mut places: HashMap<String, Vec<(usize, usize)>> = HashMap::new();
    for (name, content) in read::tar(&data.join("factrueval/factrueval-2016-devset.tar.gz")) {
        let Some(id) = name
            .strip_prefix("devset/")
            .and_then(|name| name.strip_suffix(".spans"))
        else {
            continue;
        };
        for line in String::from_utf8_lossy(&content).lines() {
            let parts: Vec<&str> = line.split_whitespace().collect();
            if parts.len() > 3 && parts[1] == "loc_name" {
                let start: usize = parts[2].parse().expect("start");
                places
                    .entry(id.to_owned())
                    .or_default()
                    .push((start, start + parts[3].parse::<usize>().expect("length")));
            }
        }
    }
    let rows = read::json_lines(&data.join("dev/dev_ner_ru.jsonl"));
    let docs = rows.iter().map(|row| {
        let mut doc = labelled(row);
        let points = read::code_points(&doc.text);
        let id = doc.id.trim_start_matches("fre-dev-").to_owned();
        for (start, end) in places.remove(&id).unwrap_or_default() {
            let (start, end) = (points[start], points[end.min(points.len() - 1)]);
            if doc
                .spans
                .iter()
                .all(|span| span.2 <= start || end <= span.1)
            {
                doc.spans.push((PLACE, start, end));
            }
        }
        doc
    });
    docs.collect()
}

/// Russian texts labeled by the slovnet tagger.
pub fn russian_silver() -> Vec<Doc> {
    let rows = read::json_lines(Path::new("data/silver_ru.jsonl.gz"));
    let docs = rows.iter().map(|row| {
        let text = row["text"].as_str().expect("text").to_owned();
        let points = read::code_points(&text);
        let mut spans = Vec::new();
        for span in row["spans"].as_array().expect("spans") {
            let at = |index: usize| points[span[index].as_u64().expect("offset") as usize];
            let label = match span[0].as_str() {
                Some("PER") => NAME,
                Some("ORG") => COMPANY,
                _ => PLACE,
            };
            spans.push((label, at(1), at(2)));
        }
        Doc {
            id: String::new(),
            group: String::new(),
            text,
            spans,
            weight: 0.4,
        }
    });
    docs.collect()
}

/// A row of a development set.
pub fn labelled(row: &Value) -> Doc {
    let text = row["text"].as_str().expect("text").to_owned();
    let points = read::code_points(&text);
    let mut spans = Vec::new();
    for entity in row["entities"].as_array().expect("entities") {
        let at = |name: &str| points[entity[name].as_u64().expect("offset") as usize];
        if let Some(label) = label_of(entity["type"].as_str().expect("type")) {
            spans.push((label, at("start"), at("end")));
        }
    }
    let id = row["id"].as_str().expect("id").to_owned();
    Doc {
        group: id.clone(),
        id,
        text,
        spans,
        weight: 1.0,
    }
}

fn label_of(kind: &str) -> Option<usize> {
    match kind {
        "NAME" | "PERSON" | "person" => Some(NAME),
        "COMPANY" | "ORGANIZATION" | "corporation" | "group" => Some(COMPANY),
        "ADDRESS" => Some(ADDRESS),
        "LOCATION" | "location" => Some(PLACE),
        _ => None,
    }
}

/// The English generated texts; a template is a group.
pub fn english_generated(data: &Path) -> Vec<Doc> {
    let text = read::text(&data.join("presidio-research/generated_large.json"));
    let rows: Value = serde_json::from_str(&text).expect("JSON");
    let docs = rows.as_array().expect("rows").iter().map(|row| {
        let text = row["full_text"].as_str().expect("text").to_owned();
        let points = read::code_points(&text);
        let mut spans = Vec::new();
        for span in row["spans"].as_array().expect("spans") {
            let at = |name: &str| points[span[name].as_u64().expect("offset") as usize];
            let kind = span["entity_type"].as_str().expect("type");
            let value = span["entity_value"].as_str().unwrap_or_default();
            if let (Some(label), false) = (label_of(kind), is_title(value)) {
                spans.push((label, at("start_position"), at("end_position")));
            }
        }
        let group = bare(row["masked"].as_str().unwrap_or_default());
        Doc {
            id: String::new(),
            text,
            spans,
            group,
            weight: 1.0,
        }
    });
    docs.collect()
}

/// A template without its slots and marks, to tell whether two are the same.
pub fn bare(template: &str) -> String {
    let outside = template
        .split("{{")
        .map(|part| part.split_once("}}").map_or(part, |(_, rest)| rest));
    let text = outside
        .collect::<String>()
        .replace("\\n", " ")
        .to_lowercase();
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

/// English requests that name nobody.
pub fn english_without(data: &Path) -> Vec<Doc> {
    let folder = data.join("harmful-behaviors");
    let mut text = read::text(&folder.join("malicious_instruct_train.txt"));
    for line in read::text(&folder.join("advbench_train.csv"))
        .lines()
        .skip(1)
    {
        let request = line.rsplit_once(',').map_or(line, |(request, _)| request);
        text += "\n";
        text += request.trim_matches('"');
    }
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let docs = lines.map(|line| Doc {
        group: line.to_owned(),
        text: line.to_owned(),
        weight: 0.5,
        ..Doc::default()
    });
    docs.collect()
}

/// A title is no part of a name.
pub fn is_title(value: &str) -> bool {
    let value = value.trim_end_matches('.').to_lowercase();
    matches!(
        value.as_str(),
        "mr" | "mrs" | "ms" | "dr" | "miss" | "prof" | "mx"
    )
}

/// The noisy English texts.
pub fn english_noisy(data: &Path) -> Vec<Doc> {
    let mut docs = Vec::new();
    for file in ["wnut17train.conll", "emerging.dev.conll"] {
        let text = read::text(&data.join("wnut17").join(file));
        let mut doc = Doc {
            weight: 0.5,
            ..Doc::default()
        };
        for line in text.lines() {
            let Some((word, tag)) = line
                .split_once('\t')
                .filter(|(word, _)| !word.trim().is_empty())
            else {
                docs.extend((!doc.text.is_empty()).then(|| std::mem::take(&mut doc)));
                doc.weight = 0.5;
                continue;
            };
            let glued = matches!(
                word,
                "." | "," | "!" | "?" | ":" | ";" | "'s" | "n't" | "'m" | "'re" | "'ll" | ")"
            );
            if !doc.text.is_empty() && !glued {
                doc.text.push(' ');
            }
            let start = doc.text.len();
            doc.text.push_str(word);
            let end = doc.text.len();
            match tag.trim().split_once('-') {
                Some(("I", _)) if doc.spans.last().is_some_and(|span| span.2 + 1 >= start) => {
                    if let Some(span) = doc.spans.last_mut() {
                        span.2 = end;
                    }
                }
                Some((_, kind)) => {
                    let label = label_of(kind).unwrap_or(0);
                    doc.spans.push((label, start, end));
                }
                None => {}
            }
        }
        docs.push(doc);
    }
    for doc in &mut docs {
        doc.spans.retain(|span| span.0 != 0);
        doc.group = doc.text.clone();
    }
    docs
}
