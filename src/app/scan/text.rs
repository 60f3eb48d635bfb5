//! One block of text: a line per find with its place and what stands around it, or the masked copy.
//! A found value is never written.

use super::{Block, Done, Scanner};
use monitor_model::Entity;
use std::io::Write;

/// Code points shown on either side of a find.
const AROUND: usize = 30;

pub(super) fn scan(scanner: &Scanner, block: &Block, done: &mut Done) {
    let (report, errors) = scanner.look(&block.text);
    for error in errors {
        let (file, line) = (block.file.display(), block.line);
        done.problems
            .push(format!("{file}, from line {line}: {error}"));
    }
    if scanner.has_copy {
        // Without a masked copy the text was not searched; it is not passed on unchecked.
        done.out = report.cleaned_text.unwrap_or_default().as_bytes().to_vec();
    } else {
        list(scanner, block, &report.entities, &mut done.out);
    }
    done.kinds = report.entities.into_iter().map(|find| find.kind).collect();
}

/// The position of a find.
struct Place {
    start: usize,
    end: usize,
    line: u64,
    column: u64,
}

fn list(scanner: &Scanner, block: &Block, entities: &[Entity], out: &mut Vec<u8>) {
    let places = places(block, entities);
    for (index, (entity, place)) in entities.iter().zip(&places).enumerate() {
        let from = index.checked_sub(1).map_or(0, |before| places[before].end);
        let until = places
            .get(index + 1)
            .map_or(block.text.len(), |next| next.start);
        let before = last_of_line(&block.text[from..place.start]);
        let after = first_of_line(&block.text[place.end..until]);
        let name = match scanner.many_files {
            true => format!("{}:", block.file.display()),
            false => String::new(),
        };
        let Place { line, column, .. } = place;
        // Writing to memory has no failing case.
        let _ = writeln!(
            out,
            "{name}{line}:{column}: {before}[{}]{after}",
            entity.kind
        );
    }
}

/// Code points to bytes, lines and columns, in one walk over the text.
fn places(block: &Block, entities: &[Entity]) -> Vec<Place> {
    let mut chars = block.text.char_indices();
    let (mut point, mut byte, mut line, mut column) = (0, 0, block.line, 1);
    let mut walk_to = |target: usize| {
        while point < target {
            let Some((at, c)) = chars.next() else {
                break;
            };
            point += 1;
            byte = at + c.len_utf8();
            (line, column) = match c {
                '\n' => (line + 1, 1),
                _ => (line, column + 1),
            };
        }
        (byte, line, column)
    };
    let place = |entity: &Entity| {
        let (start, line, column) = walk_to(entity.start);
        let (end, ..) = walk_to(entity.end);
        Place {
            start,
            end,
            line,
            column,
        }
    };
    entities.iter().map(place).collect()
}

fn last_of_line(text: &str) -> String {
    let line = text.rsplit('\n').next().unwrap_or_default();
    let from = line
        .char_indices()
        .rev()
        .nth(AROUND - 1)
        .map_or(0, |(at, _)| at);
    printable(&line[from..])
}

fn first_of_line(text: &str) -> String {
    let line = text.split('\n').next().unwrap_or_default();
    printable(&line.chars().take(AROUND).collect::<String>())
}

/// A text may hold bytes that a terminal would obey.
fn printable(text: &str) -> String {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(shown).collect()
}
