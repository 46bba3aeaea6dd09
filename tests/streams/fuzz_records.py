"""Files of records, damaged at random, against Python's own readers and the careful encoder, line by line.

`python -m streams.fuzz_records LINES SEED` (with `tests` on the path) runs at length; a test runs some thousand.
Whatever bytes a file holds, a line is an event or is refused by its number; nothing else is raised; and what is read is
what the encoder makes of the line as `json` or `csv` reads it.
"""

import csv
import json
import random
import sys
import tempfile
from pathlib import Path

import weft
from weft.encoding.careful import Encoder
from weft.encoding.refused import Refused
from weft.kinds.cells import cell_value
from weft.labels import Classes
from weft.storage.batch import SMALLEST
from weft.streams import read_chunks

SCHEMA = weft.Schema(
    task="user", label="y", text=["body"], category=["city"], weight="w", numeric=["n"], ignore=["junk"]
)
HEADER = ["user", "y", "body", "city", "w", "n", "free", "junk"]
WORDS = ["free money", "", "ü größe", "a:b", 'q"x', "a,b", "\\", "null", "true", "1e5", "007", "10.0.0.127",
         "2020-01-01", "1.3.2026 ", " x "]  # fmt: skip
NUMBERS = ["1", "0.5", "-0", "1e400", "1e151", "01", ".5", "1.", "NaN", "Infinity", "1_0", "٣", "9" * 40, "9" * 2000]
BYTES = b" \":,{}[]\\u0e-+.9#\t\xff\x00|'"


def fitting(r, name):
    """A value such as the schema expects in most cases."""
    if r.random() < 0.04:
        return value(r)
    if name in ("w", "n"):
        return f"{r.uniform(0, 9):.{r.randint(0, 6)}f}"
    return json.dumps(r.choice(WORDS[:-3]), ensure_ascii=r.random() < 0.5) if name in ("body", "city") else value(r)


def value(r):
    kind = r.random()
    if kind < 0.5:
        return json.dumps(round(r.uniform(-9, 9), r.randint(0, 6)))
    if kind < 0.9:
        return json.dumps(r.choice(WORDS), ensure_ascii=r.random() < 0.5)
    others = [
        r.choice(NUMBERS),
        "null",
        "true",
        "[]",
        '["a", "b"]',
        "[1, 2]",
        '[1, "a"]',
        '{"a": 1}',
        '{"a": {"b": "c"}}',
    ]
    return r.choice([*others, '"\\ud83d\\ude00"', '"\\ud800"', '"\\u0061"', "[" * 30 + "]" * 30])


def json_line(r):
    fields = [("user", json.dumps(r.choice(["ann", "bob", 7, "7"])) if r.random() < 0.95 else value(r))]
    fields.append(("y", r.choice(["1", "0"]) if r.random() < 0.95 else value(r)))
    fields += [(name, fitting(r, name)) for name in r.sample(HEADER[2:], r.randint(0, 6))]
    fields += [(f"f{r.randint(0, 30)}", value(r)) for _ in range(r.randint(0, 3))]
    if r.random() < 0.03:
        fields.append(r.choice(fields))
    r.shuffle(fields)
    colon = r.choice([":", ": ", " :", "\t: "] if r.random() < 0.2 else [": "])
    return "{" + ", ".join(f'"{name}"{colon}{found}' for name, found in fields) + "}"


def csv_line(r):
    cells = [r.choice(["ann", "bob", "7"]), r.choice(["1", "0"])]
    for name in HEADER[2:]:
        number = f"{r.uniform(0, 9):.3f}"
        odd = r.random() < 0.05
        cells.append(r.choice([*WORDS, *NUMBERS]) if odd else number if name in ("w", "n") else r.choice(WORDS[:-3]))
    cells = [
        '"' + cell.replace('"', '""') + '"' if r.random() < 0.2 or '"' in cell or "," in cell else cell
        for cell in cells
    ]
    return ",".join(cells if r.random() < 0.97 else cells[:-1])


def mutated(r, line, keeps_quotes):
    """Some bytes are changed; in CSV no quote is left open, which would take the lines that follow with it."""
    text, others = bytearray(line.encode()), BYTES.replace(b'"', b"") if keeps_quotes else BYTES
    for _ in range(r.choice([0, 0, 0, 1, 1, 2])):
        at, how = r.randrange(len(text)), r.randint(0, 2)
        if how == 2:
            text.insert(at, r.choice(others))
        elif not keeps_quotes or text[at] != ord('"'):
            text[at : at + 1] = bytes([r.choice(others)]) if how == 0 else b""
    return line.encode() if keeps_quotes and is_open(bytes(text)) else bytes(text)


def is_open(line):
    """Would `csv` read on in the next line?"""
    return len(list(csv.reader([line.decode(errors="replace") + "\n", "next\n"]))) == 1


# --- what the lines mean -------------------------------------------------------------------------------------------


def strict(pairs):
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("twice")
    return dict(pairs)


def by_python(line, is_csv):
    """The record of a line, or None if there is none."""
    try:
        text = line.decode()
        if is_csv:
            if text.count('"') % 2:
                return None
            [cells] = csv.reader([text])
            return None if len(cells) != len(HEADER) else dict(zip(HEADER, map(csv_cell, HEADER, cells), strict=True))
        record = json.loads(text, object_pairs_hook=strict)
        json.dumps(record, ensure_ascii=False).encode()
        return record if isinstance(record, dict) else None
    except (ValueError, RecursionError, csv.Error):
        return None


def csv_cell(name, cell):
    """What the schema says of a column: names, words and categories are text, in the others numbers are numbers."""
    text = cell.strip()
    if name == "user":
        return int(text) if text.isascii() and text.lstrip("-").isdigit() and str(int(text)) == text else text
    if name == "city" and text.lower() in ("true", "false"):
        return text.lower()
    return text if name in ("body", "city") else cell_value(cell, False)


def expected(lines, is_csv):
    """Line, task, label, weight and features of what can be used."""
    encoder, found = Encoder(SCHEMA), []
    for number, line in enumerate(lines, 1 + is_csv):
        record = by_python(line, is_csv) if line.strip() else None
        if record is not None:
            try:
                event = encoder.event(record)
            except Refused:
                continue
            if event.label in (0, 1) and not isinstance(event.label, bool):
                features = {name: value for name, value in event.features.items() if abs(value) >= SMALLEST}
                found.append((number, event.task, float(event.label), event.weight, features))
    return found


def read(path):
    """The same by the readers of files, and the lines that were refused."""
    found, refused = [], []
    for chunk in read_chunks(path, schema=SCHEMA, on_error="skip", chunk=64, classes=Classes(0, 1)):
        events, names = chunk.events, chunk.feature_names.names
        for at, number in enumerate(chunk.lines):
            begin, end = events.indptr[at], events.indptr[at + 1]
            row = zip(events.indices[begin:end].tolist(), events.values[begin:end].tolist(), strict=True)
            features = {names[code]: value for code, value in row if abs(value) >= SMALLEST}
            task = chunk.task_names.names[events.task[at]]
            found.append((number, task, float(chunk.labels[at]), float(events.weight[at]), features))
        refused += [fault.line for fault in chunk.skipped]
    return found, refused


def fuzz(count, seed=0, size=2000):
    """So many lines: (lines, events, what was read differently or neither read nor refused)."""
    r, done, events, wrong = random.Random(seed), 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        while done < count:
            for is_csv in (False, True):
                make = csv_line if is_csv else json_line
                lines = [mutated(r, make(r), is_csv) for _ in range(size)]
                path = Path(folder) / ("e.csv" if is_csv else "e.jsonl")
                head = ",".join(HEADER).encode() + b"\n" if is_csv else b""
                path.write_bytes(head + b"\n".join(lines) + b"\n")
                (found, refused), right = read(path), expected(lines, is_csv)
                wrong += compared(found, refused, right, lines, is_csv)
                done, events = done + size, events + len(found)
    return done, events, wrong


def compared(found, refused, right, lines, is_csv):
    mine, other = {event[0]: event for event in found}, {event[0]: event for event in right}
    wrong = [
        (lines[number - 1 - is_csv], mine.get(number), other.get(number))
        for number in sorted(mine.keys() | other.keys())
        if mine.get(number) != other.get(number)
    ]
    blank = {number for number, line in enumerate(lines, 1 + is_csv) if not line.strip()}
    lost = set(range(1 + is_csv, len(lines) + 1 + is_csv)) - mine.keys() - set(refused) - blank
    return wrong + [(lines[number - 1 - is_csv], "lost", None) for number in sorted(lost)]


if __name__ == "__main__":
    done, events, wrong = fuzz(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(f"{done:,} lines of records, {events:,} events, {len(wrong)} read differently")
    for case in wrong[:8]:
        print("   ", case)
