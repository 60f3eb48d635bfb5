//! The frames of completions, whose choices have `text` where those of chat completions have `delta`.

use super::data::Data;
use super::delta::{Chunk, KnownNames, TextChoice, index, text};
use super::line::BOM;
use super::pieces::{
    Field, MOST_PIECES, Named, Pieces, Reading, Said, TextMembers, Wanted, list, object, read_texts,
};
use crate::json::Place;

/// Reads one raw frame. Behind the first one of a stream, clients disagree on what begins with a byte order mark.
pub fn read(frame: &[u8]) -> Reading {
    match frame.starts_with(BOM) {
        true => Reading::Unreadable,
        false => read_first(frame),
    }
}

/// Reads the first frame of a stream, which may begin with a byte order mark.
pub fn read_first(frame: &[u8]) -> Reading {
    read_texts(frame, Wanted::Every, chunk)
}

/// Reads one raw frame for the texts of the choices only, without [`Field::Other`].
pub fn read_known(frame: &[u8]) -> Reading {
    read_texts(frame, Wanted::Known, chunk)
}

fn chunk(data: &Data, wanted: Wanted, said: &mut Said) -> Option<()> {
    let json = std::str::from_utf8(&data.joined).ok()?;
    let chunk: Chunk<'_> = object(json)?;
    let mut outside = Pieces {
        data,
        wanted,
        choice: 0,
        said,
    };
    outside.other_members(json, Chunk::NAMES, Place::of_object("chunk"))?;
    for (place, choice) in (0..).zip(list(chunk.choices)?) {
        let Some(choice) = choice else { continue };
        let json = choice.get();
        let choice: TextChoice<'_> = object(json)?;
        let mut pieces = Pieces {
            data,
            wanted,
            choice: index(choice.index, place)?,
            said,
        };
        if pieces.said.choices.len() == MOST_PIECES {
            return None;
        }
        pieces.said.choices.push(Named {
            choice: pieces.choice,
            finished: text(choice.finish_reason).is_some_and(|reason| !reason.is_empty()),
        });
        let begin = pieces.said.pieces.len();
        pieces.texts(choice.text, Field::Content)?;
        let mut own = pieces.said.pieces[begin..].iter();
        let members = TextMembers {
            delta: own.any(|piece| !piece.text.is_empty()),
            message: false,
        };
        pieces.other_members(json, TextChoice::NAMES, Place::of_object("choice"))?;
        pieces.said.members.add(members);
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::{read, read_first, read_known};
    use crate::sse::pieces::{Field, Reading};

    #[test]
    fn the_texts_of_choices_grow_and_others_are_found_beside() {
        let frame = br#"data: {"choices":[{"index":1,"text":"a","finish_reason":"stop","delta":{"content":"b"}}]}

"#;
        let Reading::Said(said) = read(frame) else {
            panic!("not readable");
        };
        let texts: Vec<(u64, &str)> = said
            .pieces
            .iter()
            .map(|piece| (piece.choice, piece.text.as_str()))
            .collect();
        assert_eq!(texts, [(1, "a"), (1, "b")]);
        assert_eq!(said.pieces[0].field, Field::Content);
        assert!(said.choices[0].finished && said.members.delta);
        let Reading::Said(known) = read_known(frame) else {
            panic!("not readable");
        };
        assert_eq!(known.pieces.len(), 1);
    }

    #[test]
    fn what_clients_may_read_otherwise_is_unreadable() {
        for event in [
            r#"{"choices":[{"text":"a","Text":"b"}]}"#,
            r#"{"choices":[{"text":7}]}"#,
            r#"{"choices":["a"]}"#,
            "not json",
        ] {
            let frame = format!("data: {event}\n\n");
            assert_eq!(read_first(frame.as_bytes()), Reading::Unreadable, "{event}");
        }
        assert_eq!(read(b"data: [DONE]\n\n"), Reading::Done);
    }
}
