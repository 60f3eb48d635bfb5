//! Why a library does not show an answer, or hides that it is a block: which rule of the product makes it so.

/// A sentence below the table, and the cells that refer to it.
pub(super) struct Note {
    /// By the names that the scripts know; none stands for all that call chat completions.
    libraries: &'static [&'static str],
    columns: &'static [&'static str],
    text: &'static str,
}

const BLOCKED: [&str; 4] = [
    "blocked call",
    "blocked call, `header`",
    "`hold_back`: blocked",
    "`replay`: blocked",
];

pub(super) const NOTES: [Note; 5] = [
    Note {
        libraries: &[],
        columns: &["`off`: stream", "`off`: blocked"],
        text: "§3, §4.1: a synchronous answer of chat completions is never a stream, so a library that waits for events finds none. \
               `hold_back` and `replay` (CONTRACT 41, 43) are the way out.",
    },
    Note {
        libraries: &["pydantic-ai"],
        columns: &["blocked call"],
        text: "§2.4: `metadata.monitor` is an object, and the library accepts only texts in `metadata`. \
               `block_details: header` leaves it out.",
    },
    Note {
        libraries: &["openai-agents", "autogen", "haystack"],
        columns: &BLOCKED,
        text: "§2.4: the id and `metadata` mark a block, and the library hands over neither.",
    },
    Note {
        libraries: &["langchain-openai"],
        columns: &["`hold_back`: blocked", "`replay`: blocked"],
        text: "§2.4: the id marks a block, and the chunks have ids of the library's own. \
               [A header](#langchain-python) tells it.",
    },
    Note {
        libraries: &["instructor"],
        columns: &BLOCKED,
        text: "§2.4: a block is a message with the phrase, which is no object of a response model. `create` raises, \
               with the answer and its id; `create_partial` yields nothing.",
    },
];

const NUMBERS: [&str; NOTES.len()] = ["¹", "²", "³", "⁴", "⁵"];

/// Those that call another API than chat completions.
const ELSEWHERE: [&str; 1] = ["openai-agents-responses"];

impl Note {
    fn is_for(&self, library: &str, column: &str) -> bool {
        let is_named = match self.libraries {
            [] => !ELSEWHERE.contains(&library),
            named => named.contains(&library),
        };
        is_named && self.columns.contains(&column)
    }
}

/// The number of the note for a cell.
pub(super) fn number(library: &str, column: &str) -> Option<&'static str> {
    let at = NOTES.iter().position(|note| note.is_for(library, column));
    at.map(|at| NUMBERS[at])
}

/// The list below the table. Each note names a section of the specification or a requirement.
pub(super) fn list() -> String {
    let line = |(number, note): (&&str, &Note)| {
        let names_rule = note.text.starts_with('§') || note.text.starts_with("CONTRACT ");
        assert!(names_rule, "no rule: {}", note.text);
        format!("- {number} {}\n", note.text)
    };
    NUMBERS.iter().zip(&NOTES).map(line).collect()
}
