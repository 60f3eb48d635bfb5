"""Runs tests against every mutant of cargo-mutants, of which one build holds all:

  mutants.py TREE PACKAGE OUTPUT FILE… -- FILTER… [-- SUITE FILTER…]…

The first filters choose unit tests. What they miss goes through the following groups one by one: tests of a suite of the
package (tests/SUITE), which start the program.

A mutant of the gateway costs a minute to build, and there are more than a thousand. So each changed expression stands
beside the original one, and the variable MUTANT_NUMBER says which of them counts. What does not compile is taken out
again ("unviable"); what cannot stand beside the original (a constant, an operator in a chain of `let`, a function of
an unnamed type) is counted as "not run". TREE is a copy of the sources, which are changed in place. Needs
cargo-mutants, and tree-sitter with its grammar of Rust. Prints what was missed, and the counts by file.
"""

import collections
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import tree_sitter
import tree_sitter_rust

PARSER = tree_sitter.Parser(tree_sitter.Language(tree_sitter_rust.language()))
OPERATORS = {
    "BinaryOperator": ("binary_expression", "compound_assignment_expr"),
    "UnaryOperator": ("unary_expression",),
}
# Rounds in which what does not compile is taken out.
ROUNDS = 12
# Seconds of a test run without mutants, many times over, that count as an endless loop.
PATIENCE = 5

SWITCH = """
/// The mutant that counts.
#[doc(hidden)]
pub fn mutant() -> u32 {
    static NUMBER: std::sync::LazyLock<u32> = std::sync::LazyLock::new(|| {
        let number = std::env::var("MUTANT_NUMBER").ok();
        number.and_then(|number| number.parse().ok()).unwrap_or(0)
    });
    *NUMBER
}
"""


class Source:
    """A file and its mutants."""

    def __init__(self, path, mutants):
        self.path, self.mutants = path, mutants
        self.bytes = path.read_bytes()
        self.lines = self.bytes.split(b"\n")
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.root = PARSER.parse(self.bytes).root_node
        self.apart = set()

    def place(self, position):
        line = self.lines[position["line"] - 1].decode()
        before = line[: position["column"] - 1].encode()
        return self.starts[position["line"] - 1] + len(before)

    def has_let(self, start, end):
        return b"let " in self.bytes[start:end]

    def is_constant(self, node):
        """Whether this is computed by the compiler, which has no variables."""
        while node is not None and node.type not in ("function_item", "const_item", "static_item"):
            whole = node.parent
            if whole is not None and whole.type == "array_expression" and whole.child_by_field_name("length") == node:
                return True
            node = whole
        if node is None or node.type != "function_item":
            return node is not None
        return b"const" in self.bytes[node.start_byte : node.child_by_field_name("name").start_byte].split()

    def add(self, mutant):
        """Notes a mutant as an insertion or as alternatives of an expression; false where it can be neither."""
        start, end = (self.place(mutant["span"][side]) for side in ("start", "end"))
        number, genre, text = mutant["number"], mutant["genre"], mutant["replacement"].encode()
        node = self.root.descendant_for_byte_range(start, max(start, end - 1))
        if self.is_constant(node):
            return False
        if genre == "FnValue":
            condition = b"if crate::mutant() == %d { return %s; }" % (number, text)
            self.insertions[start].append((number, condition))
            return "impl " not in (mutant["function"]["return_type"] or "")
        if genre in OPERATORS:
            whole = node.parent
            if node.start_byte != start or whole is None or whole.type not in OPERATORS[genre]:
                return False
            if any(child.type in ("let_condition", "let_chain") for child in whole.children):
                return False
            changed = self.bytes[whole.start_byte : start] + b" " + text + b" " + self.bytes[end : whole.end_byte]
            self.alternatives[whole.start_byte, whole.end_byte].append((number, changed))
            return True
        if genre == "MatchArm":
            while node is not None and node.type != "match_arm":
                node = node.parent
            pattern = node and node.child_by_field_name("pattern")
            if pattern is None or not has_wildcard(node.parent):
                return False
            condition = pattern.child_by_field_name("condition")
            if condition is None:
                guard = b" if crate::mutant() != %d " % number
                self.insertions[pattern.end_byte].append((number, guard))
                return True
            start, end, text = condition.start_byte, condition.end_byte, b"false"
        elif genre != "MatchArmGuard":
            return False
        if self.has_let(start, end):
            return False
        self.alternatives[start, end].append((number, text))
        return True

    def write(self, active):
        """Writes the file with these mutants beside the original."""
        self.insertions = collections.defaultdict(list)
        self.alternatives = collections.defaultdict(list)
        self.apart = {m["number"] for m in self.mutants if m["number"] in active and not self.add(m)}
        for places in (self.insertions, self.alternatives):
            for place, found in places.items():
                places[place] = [one for one in found if one[0] not in self.apart]
        self.out, self.marks = bytearray(), []
        self.emit(0, len(self.bytes), frozenset())
        self.path.write_bytes(self.out)

    def mark(self, number, text):
        """Writes something on lines of its own, by which the compiler's errors are known."""
        self.out += b"\n"
        first = self.out.count(b"\n") + 1
        self.out += text
        self.marks.append((first, self.out.count(b"\n") + 1, number))
        self.out += b"\n"

    def emit(self, start, end, done):
        spans = [span for span in self.alternatives if start <= span[0] and span[1] <= end and span not in done]
        outer, reach = [], -1
        for span in sorted(spans, key=lambda span: (span[0], -span[1])):
            if span[0] >= reach:
                outer.append(span)
                reach = span[1]
        points = [(at, 0, at) for at in self.insertions if start <= at < end and at not in done]
        points = [one for one in points if not any(span[0] < one[0] < span[1] for span in outer)]
        points += [(span[0], 1, span) for span in outer]
        position = start
        for at, _, what in sorted(points, key=lambda point: point[:2]):
            self.out += self.bytes[position:at]
            position = at
            if isinstance(what, int):
                done |= {at}
                for number, text in self.insertions[at]:
                    self.mark(number, text)
                continue
            self.out += b"(match crate::mutant() {"
            for number, text in self.alternatives[what]:
                self.mark(number, b"%d => { %s }," % (number, text))
            self.out += b"_ => "
            self.emit(*what, done | {what})
            self.out += b"})"
            position = what[1]
        self.out += self.bytes[position:end]


def has_wildcard(match):
    """Whether an arm takes what the others leave: without one, no arm can be left out."""
    patterns = [arm.child_by_field_name("pattern") for arm in match.children if arm.type == "match_arm"]
    return any(pattern.text == b"_" for pattern in patterns)


def mutants_of(tree, package, files):
    options = [part for file in files for part in ("--file", file)]
    command = ["cargo", "mutants", "--list", "--json", "--package", package, *options]
    listed = json.loads(subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, check=True).stdout)
    for number, mutant in enumerate(listed, 1):
        mutant["number"] = number
    return listed


def build(tree, package, suites, sources, active):
    """Builds the unit tests and suites; takes out what does not compile. Gives the test programs by name, and what was
    taken out."""
    command = ["cargo", "test", "--no-run", "--lib", "--package", package, "--message-format=json"]
    command += [part for suite in suites for part in ("--test", suite)]
    unviable = set()
    for _ in range(ROUNDS):
        for source in sources.values():
            source.write(active)
        built = subprocess.run(command, cwd=tree, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith(b"{")]
        if built.returncode == 0:
            built = [message for message in messages if message.get("executable") and message["profile"]["test"]]
            kinds = {message["target"]["name"]: message["executable"] for message in built}
            unit = next(message["executable"] for message in built if "lib" in message["target"]["kind"])
            return {suite: Path(kinds[suite]) for suite in suites}, Path(unit), unviable
        errors = [message["message"] for message in messages if message["reason"] == "compiler-message"]
        errors = [error for error in errors if error["level"] == "error" and error["spans"]]
        wrong = {number for error in errors for number in wrong_mutants(sources, error)}
        if not wrong:
            rendered = "\n".join(error["rendered"] for error in errors)
            sys.exit(f"{rendered}\n{built.stderr.decode()}\nthe build fails, and no mutant is to blame")
        unviable |= wrong
        active -= wrong
    sys.exit(f"the build still fails after {ROUNDS} rounds")


def wrong_mutants(sources, error):
    for span in sorted(error["spans"], key=lambda span: not span["is_primary"]):
        source = sources.get(span["file_name"])
        for first, last, number in source.marks if source else []:
            if first <= span["line_start"] <= last:
                return [number]
    return []


class Step:
    """A test program with the tests of it that are run."""

    def __init__(self, program, folder, filters):
        self.program, self.folder, self.filters = program, folder, filters
        start = time.monotonic()
        if run(program, folder, 0, filters, 600) != "missed":
            sys.exit(f"the tests {' '.join(filters)} fail without a mutant")
        self.seconds = 10 + PATIENCE * (time.monotonic() - start)

    def outcome(self, number):
        return run(self.program, self.folder, number, self.filters, self.seconds)


def outcome_of(steps, number):
    """What the first step that notices a mutant says of it."""
    found = (step.outcome(number) for step in steps)
    return next((outcome for outcome in found if outcome != "missed"), "missed")


def run(program, folder, number, filters, seconds):
    """What a run of the tests says of a mutant; 0 is none of them."""
    environment = dict(os.environ, MUTANT_NUMBER=str(number))
    command = [program, "--quiet", *filters]
    try:
        ended = subprocess.run(
            command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return "timeout"
    return "missed" if ended.returncode == 0 else "caught"


def show(outcomes, mutants):
    by_file = collections.defaultdict(collections.Counter)
    for mutant in mutants:
        for name in (mutant["file"], "all"):
            by_file[name][outcomes[mutant["number"]]] += 1
    for name, counts in by_file.items():
        caught = counts["caught"] + counts["timeout"]
        tested = caught + counts["missed"]
        score = f"{100 * caught / tested:.1f} %" if tested else "none"
        kinds = ("caught", "timeout", "missed", "unviable", "not run")
        told = ", ".join(f"{counts[kind]} {kind}" for kind in kinds)
        print(f"{name}: {counts.total()} mutants, {told}; score {score}")


def main():
    tree, package, output, *rest = sys.argv[1:]
    groups = [[]]
    for part in rest:
        groups.append([]) if part == "--" else groups[-1].append(part)
    files, filters, *through = groups
    tree = Path(tree).resolve()
    folder = tree if package == "monitor-gateway" else tree / "crates" / package.removeprefix("monitor-")
    mutants = mutants_of(tree, package, files)
    grouped = collections.defaultdict(list)
    for mutant in mutants:
        grouped[mutant["file"]].append(mutant)
    sources = {file: Source(tree / file, own) for file, own in grouped.items()}
    with open(folder / "src/lib.rs", "a") as root:
        root.write(SWITCH)
    suites = sorted({suite for suite, *_ in through})
    programs, unit, unviable = build(tree, package, suites, sources, {mutant["number"] for mutant in mutants})
    unit = Path(shutil.copy2(unit, Path(output).with_suffix(".test")))
    apart = set().union(*(source.apart for source in sources.values()))
    steps = [Step(unit, folder, filters)] + [Step(programs[suite], folder, chosen) for suite, *chosen in through]
    outcomes = dict.fromkeys(unviable, "unviable") | dict.fromkeys(apart, "not run")
    tested = [mutant for mutant in mutants if mutant["number"] not in outcomes]
    # Some tests wait more than they work; those through the program have threads of their own.
    workers = os.cpu_count() if through else 2 * os.cpu_count()
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        ran = pool.map(lambda mutant: outcome_of(steps, mutant["number"]), tested)
        for mutant, outcome in zip(tested, ran):
            outcomes[mutant["number"]] = outcome
            if outcome == "missed":
                print("missed", mutant["name"], flush=True)
    show(outcomes, mutants)
    told = {mutant["name"]: outcomes[mutant["number"]] for mutant in mutants}
    Path(output).write_text(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
