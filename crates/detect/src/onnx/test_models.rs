//! Small models for tests: a table with scores for each word, written as ONNX. Only for tests, including
//! those that run the program.

/// Each word, the number of its label, and how strongly it speaks for it.
const WORDS: &[(&str, usize, f32)] = &[
    ("[UNK]", 0, 2.0),
    ("[CLS]", 0, 2.0),
    ("[SEP]", 0, 2.0),
    ("зубр", 1, 9.0),
    ("##ов", 0, 2.0),
    ("лосев", 2, 9.0),
    ("лосяш", 2, 1.0),
    ("рога", 3, 9.0),
    (",", 0, 2.0),
];
/// A word of the vocabulary that the table does not have: a model that is shown it fails.
pub const BEYOND: &str = "олень";
pub const LABELS: &[&str] = &["O", "B-PER", "I-PER", "I-ORG"];

/// What a model scores.
#[derive(Clone, Copy, PartialEq)]
pub enum Scored {
    /// Every word by itself.
    Words,
    /// A whole text: by its words that speak loudest.
    Texts,
}

/// The vocabulary as `vocab.txt`, one word a line.
pub fn vocabulary() -> String {
    let words = WORDS.iter().map(|(word, ..)| *word).chain([BEYOND]);
    words.collect::<Vec<_>>().join("\n")
}

/// The same as `tokenizer.json`.
pub fn tokenizer() -> String {
    let vocabulary = vocabulary();
    let numbered = vocabulary.lines().enumerate();
    let words: Vec<_> = numbered
        .map(|(n, word)| format!("\"{word}\": {n}"))
        .collect();
    format!(
        r###"{{"version": "1.0", "normalizer": {{"type": "BertNormalizer", "lowercase": true}},
        "pre_tokenizer": {{"type": "BertPreTokenizer"}}, "model": {{"type": "WordPiece",
        "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": {{{}}}}}}}"###,
        words.join(", ")
    )
}

/// `config.json` with these labels, and whether several of them may hold at once.
pub fn config(labels: &[&str], several: bool) -> String {
    let labels = labels.iter().enumerate();
    let labels: Vec<_> = labels
        .map(|(n, label)| format!("\"{n}\": \"{label}\""))
        .collect();
    let kind = match several {
        true => "multi_label_classification",
        false => "single_label_classification",
    };
    format!(
        "{{\"model_type\": \"bert\", \"problem_type\": \"{kind}\", \"id2label\": {{{}}}}}",
        labels.join(", ")
    )
}

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
    let row = |(_, label, score): &(&str, usize, f32)| {
        let (label, score) = (*label, *score);
        (0..LABELS.len()).map(move |at| if at == label { score } else { -9.0 })
    };
    let table = WORDS.iter().flat_map(row);
    let table: Vec<u8> = table.flat_map(f32::to_le_bytes).collect();
    Message::default()
        .number(1, WORDS.len() as u64)
        .number(1, LABELS.len() as u64)
        .number(2, FLOAT)
        .bytes(8, b"table")
        .bytes(9, &table)
}

/// The highest score of each label in a text.
fn loudest() -> Message {
    let axes = Message::default()
        .bytes(1, b"axes")
        .number(8, 1)
        .number(20, 7);
    let keep = Message::default().bytes(1, b"keepdims");
    let keep = keep.number(3, 0).number(20, 2);
    node(&["each"], "logits", "ReduceMax", vec![axes, keep])
}

/// A model that looks each token up in a table of scores, as `model.onnx`.
pub fn model(scored: Scored) -> Vec<u8> {
    let (looked_up, scores): (_, &[&str]) = match scored {
        Scored::Words => ("logits", &["one", "tokens", "labels"]),
        Scored::Texts => ("each", &["one", "labels"]),
    };
    let look_up = node(&["table", "input_ids"], looked_up, "Gather", vec![]);
    let mut graph = Message::default().message(1, look_up);
    if scored == Scored::Texts {
        graph = graph.message(1, loudest());
    }
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
