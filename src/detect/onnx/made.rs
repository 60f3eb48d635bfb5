//! Models made for tests: a table with scores for each word, written as ONNX. For tests only.

use super::Parts;

/// Each word with the number of its label.
const WORDS: &[(&str, usize)] = &[
    ("[UNK]", 0),
    ("[CLS]", 0),
    ("[SEP]", 0),
    ("зубр", 1),
    ("##ов", 0),
    ("лосев", 2),
    ("рога", 3),
    (",", 0),
];
pub(super) const LABELS: &[&str] = &["O", "B-PER", "I-PER", "I-ORG"];

/// A message of the wire format of ONNX (Protocol Buffers).
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn number(mut self, field: u64, value: u64) -> Self {
        self.varint(field << 3);
        self.varint(value);
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn message(self, field: u64, message: Self) -> Self {
        self.bytes(field, &message.0)
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// A value of the graph: 1 × tokens of 64-bit numbers, or scores.
fn value(name: &str, kind: u64, dimensions: &[&str]) -> Message {
    let shape = dimensions.iter().fold(Message::default(), |shape, name| {
        let dimension = Message::default().bytes(2, name.as_bytes());
        shape.message(1, dimension)
    });
    let tensor = Message::default().number(1, kind).message(2, shape);
    Message::default()
        .bytes(1, name.as_bytes())
        .message(2, Message::default().message(1, tensor))
}

fn node(inputs: &[&str], output: &str, kind: &str, attributes: Vec<Message>) -> Message {
    let node = inputs.iter().fold(Message::default(), |node, input| {
        node.bytes(1, input.as_bytes())
    });
    let node = node.bytes(2, output.as_bytes()).bytes(4, kind.as_bytes());
    attributes
        .into_iter()
        .fold(node, |node, attribute| node.message(5, attribute))
}

const FLOAT: u64 = 1;
const INT64: u64 = 7;

/// The scores of each word.
fn table() -> Message {
    let row =
        |label: usize| (0..LABELS.len()).map(move |at| if at == label { 9.0_f32 } else { 0.0 });
    let table = WORDS.iter().flat_map(|(_, label)| row(*label));
    let table: Vec<u8> = table.flat_map(f32::to_le_bytes).collect();
    Message::default()
        .number(1, WORDS.len() as u64)
        .number(1, LABELS.len() as u64)
        .number(2, FLOAT)
        .bytes(8, b"table")
        .bytes(9, &table)
}

/// A model that looks each token up in a table of scores; for whole texts, the mean of them.
fn model(whole: bool) -> Vec<u8> {
    let looked_up = if whole { "each" } else { "logits" };
    let mut graph = Message::default().message(
        1,
        node(&["table", "input_ids"], looked_up, "Gather", vec![]),
    );
    if whole {
        let number = |name: &str, value| {
            let attribute = Message::default().bytes(1, name.as_bytes());
            attribute.number(3, value).number(20, 2)
        };
        let axes = Message::default()
            .bytes(1, b"axes")
            .number(8, 1)
            .number(20, 7);
        let mean = node(
            &["each"],
            "logits",
            "ReduceMean",
            vec![axes, number("keepdims", 0)],
        );
        graph = graph.message(1, mean);
    }
    let scores: &[&str] = if whole {
        &["one", "labels"]
    } else {
        &["one", "tokens", "labels"]
    };
    let graph = graph
        .bytes(2, b"words")
        .message(5, table())
        .message(11, value("input_ids", INT64, &["one", "tokens"]))
        .message(12, value("logits", FLOAT, scores));
    let opset = Message::default().bytes(1, b"").number(2, 13);
    Message::default()
        .number(1, 8)
        .message(7, graph)
        .message(8, opset)
        .0
}

/// The files of a model that marks words, or of one for whole texts.
pub(crate) fn parts(whole: bool) -> Parts {
    let vocabulary: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
    let labels = LABELS.iter().enumerate();
    let labels: Vec<String> = labels
        .map(|(n, label)| format!("\"{n}\": \"{label}\""))
        .collect();
    Parts {
        model: model(whole),
        vocabulary: vocabulary.join("\n"),
        config: format!("{{\"id2label\": {{{}}}}}", labels.join(", ")),
    }
}
