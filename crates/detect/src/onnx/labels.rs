//! The meaning of the outputs of a model: `id2label` of its config.json.

use serde_json::{Map, Value};

/// The labels in the order of their numbers.
///
/// # Errors
/// When there are none, or a number is missing.
pub(super) fn of_config(config: &str) -> Result<Vec<String>, String> {
    let config: Value =
        serde_json::from_str(config).map_err(|_| "config.json is no JSON".to_owned())?;
    let labels = config["id2label"].as_object();
    let labels = labels.filter(|labels| !labels.is_empty());
    in_order(labels.ok_or("config.json has no id2label")?)
}

fn in_order(labels: &Map<String, Value>) -> Result<Vec<String>, String> {
    let label = |number: usize| {
        let label = labels.get(&number.to_string()).and_then(Value::as_str);
        let missing = || format!("id2label of config.json has no label {number}");
        label.map(str::to_owned).ok_or_else(missing)
    };
    (0..labels.len()).map(label).collect()
}

/// A label of marked words without its place in a find, and whether it goes on with the word before:
/// "B-PER" begins a find, "I-PER" and a bare "PER" go on.
pub(super) fn parts(label: &str) -> (&str, bool) {
    match label.split_once(['-', '_']) {
        Some(("B" | "S" | "U", kind)) => (kind, false),
        Some(("I" | "E" | "L" | "M", kind)) => (kind, true),
        _ => (label, true),
    }
}

/// Whether the model has every label that the settings name; `is` compares one of its labels with a name.
///
/// # Errors
/// The first that it does not have, and those that it has.
pub(super) fn all_known<'n>(
    mut named: impl Iterator<Item = &'n String>,
    labels: &[String],
    is: impl Fn(&str, &str) -> bool,
) -> Result<(), String> {
    let unknown = named.find(|name| !labels.iter().any(|label| is(label, name)));
    unknown.map_or(Ok(()), |name| {
        let labels = listed(labels);
        Err(format!("it has no label {name}; its labels are {labels}"))
    })
}

/// What is wrong with a model none of whose labels says what is looked for.
pub(super) fn none_stands_for(what: &str, labels: &[String]) -> String {
    let labels = listed(labels);
    format!("none of its labels stands for a {what}; its labels are {labels}")
}

/// The first of the labels.
fn listed(labels: &[String]) -> String {
    const MOST: usize = 40;
    let shown = labels[..labels.len().min(MOST)].join(", ");
    match labels.len() > MOST {
        true => format!("{shown} …"),
        false => shown,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn labels_stand_in_the_order_of_their_numbers_and_none_is_missing() {
        let config = r#"{"id2label": {"1": "B-PER", "0": "O"}, "x": 1}"#;
        assert_eq!(of_config(config).unwrap(), ["O", "B-PER"]);
        for (config, why) in [
            ("{", "config.json is no JSON"),
            ("{}", "config.json has no id2label"),
            (r#"{"id2label": {}}"#, "config.json has no id2label"),
            (
                r#"{"id2label": {"1": "O"}}"#,
                "id2label of config.json has no label 0",
            ),
        ] {
            assert_eq!(of_config(config).unwrap_err(), why);
        }
    }

    #[test]
    fn a_label_that_the_model_does_not_have_is_named() {
        let labels = ["O".to_owned(), "B-PER".to_owned()];
        let named = ["B-PER".to_owned(), "PERS".to_owned()];
        let is = |label: &str, name: &str| label == name;
        assert_eq!(all_known(named[..1].iter(), &labels, is), Ok(()));
        let told = all_known(named.iter(), &labels, is).unwrap_err();
        assert_eq!(told, "it has no label PERS; its labels are O, B-PER");
        let many: Vec<_> = (0..90).map(|number| number.to_string()).collect();
        assert!(none_stands_for("pattern", &many).ends_with("38, 39 …"));
    }

    #[test]
    fn a_label_says_whether_it_goes_on() {
        assert_eq!(parts("B-PER"), ("PER", false));
        assert_eq!(parts("I-first_name"), ("first_name", true));
        assert_eq!(parts("ORG"), ("ORG", true));
    }
}
