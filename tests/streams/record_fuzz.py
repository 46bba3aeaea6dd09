"""Compiled readers of records with a schema against the careful encoder, line by line.

`python -m streams.record_fuzz LINES [SEED]` (with `tests` on the path) runs at length; the tests run some thousand.
Whatever a compiled reader accepts must be what the careful encoder makes of it; it may hand on any line.
"""

import csv
import io
import json
import random
import struct
import sys

import numpy as np

from streams.fuzz import Bytes
from weft.encoding.careful import Encoder
from weft.schema import Schema
from weft.streams.blocks import Blocks
from weft.streams.record_lines import CsvRecords, JsonRecords
from weft.streams.record_scanners import CsvRecordScanner, JsonRecordScanner

WORDS = ["free", "Money", "50", "off_now", "größe", "ÄRGER", "Привет", "МИР", "日本", "x", "naïve", "straße", "𝔘nicode",
         "İstanbul", "ΣΑΣ",
         "e\u0301", "ﬁne", "٣", "it's", "don't", "a", "a", "the", "THE", "K", "😀", "\u00a0", "ǅ",
         "\u200d", "²", "word" * 8, "\ufeff", "x" * 1100]  # fmt: skip
BREAKS = [" ", " ", " ", " ", ", ", "-", "\t", "\n", '"', "\\", "/", "\x7f", "  ", "\u2028", "=", ":", "|", ";"]
STRINGS = ["us", "de", "São Tomé", " us ", "", "  ", "a=b", "a:b", "true", "False", "31", "-0", "1e5", "nan",
           "Inf", "-inf", "2026-03-01", "2026-03-01T10:00:00Z", "2026-w-01-01-01", "12345-67890", "new york",
           "日本", "\u00a0us",
           "us\u3000", "\u2028", "q\"q", "b\\b", "tab\tbed",
           "line\nbreak", "\x01", "x" * 999, "x" * 1001, "😀", "null", "3,5", ",5", "1,",
           "infinity", "TRUE", "007", "+7", "1.", ".5", "1_0", "٣"]  # fmt: skip
NUMBERS = [0, 1, -1, 31, 7.0, 0.5, -0.0, 1e5, 1e-3, 123456789012345678, 12345678901234567890123, 1e200, -1e151,
           5e-324, 10**18, 9007199254740993, 3.141592653589793]  # fmt: skip
FIELDS = ["user", "team", "label", "body", "title", "country", "age", "n", "flag", "w", "r", "k", "ts", "note", "ü",
          "a=b", "a:b", "geo.lat", "geo", "tags", "v", "", "v[0]", "extra"]  # fmt: skip
SCHEMAS = [
    Schema(task="user", label="label", text=["body", "title"]),
    Schema(task="user", label="label", text=["body"], category=["n", "country"], numeric=["age"], ignore=["ts"]),
    Schema(task=["user", "team"], label="label", text=["body"], ngrams=3, weight="w", id="k", time="ts"),
    Schema(task="user", label="label", round="r", features=["body", "age", "geo"], text=["body"], ngrams=2),
    Schema(task="team", weight="w", round="r", id="k", category=["age", "flag", "ü"], text=["title", "note"]),
    Schema(task=["user"], label="flag", text=["body"], hash_bits=8),
    Schema(task="geo.lat", label="label", numeric=["flag"], text=["ü", "a:b"], category=["a=b"]),
]


def text(r):
    return "".join(r.choice(WORDS) + r.choice(BREAKS) for _ in range(r.randint(0, 8)))


def plain_text(r):
    return " ".join(r.choice(["free", "money", "now", "Offer", "größe", "мир"]) for _ in range(r.randint(0, 6)))


def value(r, depth=0):
    """Any value that JSON can hold."""
    kind = r.random()
    if kind < 0.25:
        return r.choice(STRINGS)
    if kind < 0.45:
        return text(r)
    if kind < 0.65:
        return r.choice(NUMBERS)
    if kind < 0.75:
        return r.choice([True, False])
    if kind < 0.82 or depth > 1:
        return None
    if kind < 0.88:
        return [value(r, 2) for _ in range(r.randint(0, 3))]
    if kind < 0.94:
        return {r.choice(FIELDS): value(r, depth + 1) for _ in range(r.randint(0, 3))}
    return round(r.uniform(-99, 99), r.randint(0, 6))


USUAL = {
    "user": lambda r: r.choice(["ann", "bob", "jürgen", 7]),
    "team": lambda r: r.choice(["red", 3, "7"]),
    "label": lambda r: r.choice(["ham", "spam", 0, 1, True, False, None]),
    "body": plain_text,
    "title": plain_text,
    "country": lambda r: r.choice(["us", "de", "São Tomé"]),
    "age": lambda r: round(r.uniform(0, 99), 1),
    "w": lambda r: r.choice([0, 1, 2.5, None]),
    "r": lambda r: r.choice([1, 2, "x"]),
    "k": lambda r: r.choice([17, "a1", None, "ü", 10**17]),
    "flag": lambda r: r.choice([True, False]),
    "ts": lambda r: r.choice(["noon"] * 9 + ["2026-03-01T10:00:00Z"]),
    "geo.lat": lambda r: r.choice(["x", 5]),
}


def record(r, odd):
    """A record whose values are mostly what a user would have; more of them are odd, the larger `odd` is."""
    names = [name for name in USUAL if r.random() < 0.8]
    names += [r.choice(FIELDS) for _ in range(r.randint(0, 2)) if r.random() < 3 * odd]
    r.shuffle(names)
    return {name: value(r) if name not in USUAL or r.random() < odd else USUAL[name](r) for name in names}


def json_line(r, schema):
    odd = r.choice([0.0, 0.0, 0.05, 0.3])
    line = json.dumps(record(r, odd), ensure_ascii=r.random() < 0.5, separators=r.choice([(", ", ": "), (",", ":")]))
    data = line.encode("utf-8", "surrogatepass")
    return mutated(r, data) if r.random() < 0.1 else data


def csv_header(r, schema):
    needed = {*schema.roles, *(schema.features or ())}
    names = [name for name in FIELDS if name in needed or (name and r.random() < 0.5 and name[1:2] not in ("=", ":"))]
    r.shuffle(names)
    return names


def csv_line(r, names, separator):
    odd = r.choice([0.0, 0.0, 0.05, 0.3])
    found = {name: USUAL.get(name, lambda r: "")(r) if r.random() >= odd else value(r, 9) for name in names}
    out = io.StringIO()
    quoting = r.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
    csv.writer(out, delimiter=separator, quoting=quoting, lineterminator="").writerow(
        ["" if cell is None else str(cell) for cell in found.values()]
    )
    data = out.getvalue().replace("\r", " ").encode("utf-8", "surrogatepass")
    return mutated(r, data) if r.random() < 0.1 else data


def mutated(r, data):
    """A few bytes changed, removed or added; a line stays a line."""
    data = bytearray(data)
    for _ in range(r.randint(1, 3)):
        at = r.randrange(len(data) + 1)
        if r.random() < 0.5 and at < len(data):
            data[at] = r.choice([r.randrange(256), *b'"\\{}[],:0-eEtu '])
        elif r.random() < 0.5:
            del data[at : at + r.randint(1, 3)]
        else:
            data[at:at] = r.choice(
                [b'"', b"\\u00e9", b"\\ud83d\\ude00", b"\\ud83d", b"\xc3\xbc", b"\xff", b",", b"null"]
            )
    return bytes(byte for byte in data if byte not in b"\r\n")


def seen(scanner, events, at, schema):
    """An event that compiled code has read, in words."""
    begin, end = events.indptr[at], events.indptr[at + 1]
    codes = events.indices[begin:end].tolist()
    names = [scanner.features.names[code] for code in codes]
    values = [struct.pack("d", number) for number in events.values[begin:end]]
    is_class = events.classes is not None and events.classes[at] >= 0
    label = scanner.labels.names[events.classes[at]] if is_class else events.label[at].item()
    return (
        repr(scanner.tasks.names[events.task[at]]),
        list(zip(names, values, strict=True)),
        {name for name, code in zip(names, codes, strict=True) if code in scanner.features.fields},
        "missing" if label != label else repr(label),
        1.0 if events.weight is None else events.weight[at].item(),
        repr(None if events.rounds is None else events.rounds[at]),
        repr(None if events.ids is None else events.ids[at]),
    )


def expected(block):
    """The only event of a careful reader, in words."""
    label = block.labels[0]
    return (
        repr(block.tasks[0]),
        [(name, struct.pack("d", number)) for name, number in block.rows[0].items()],
        set(block.fields),
        "missing" if label is None else repr(label),
        block.weights[0] if block.weights else 1.0,
        repr(block.rounds[0] if block.rounds else None),
        repr(block.ids[0] if block.ids else None),
    )


def compare(parser, scanner, lines):
    """Read lines with both: (records accepted by compiled code, those that were read differently)."""
    blocks = Blocks(Bytes(b"".join(line + b"\n" for line in lines)))
    accepted, wrong = 0, []
    while not (blocks.is_last and blocks.begin == blocks.end):
        blocks.fill()
        scanned = scanner.scan(blocks, 0)
        ends = [0, *blocks.line_ends().tolist()]
        joints = scanned.joints
        for at, line in enumerate(scanned.events.line.tolist()):
            last = line + 1
            while last in joints:
                last += 1
            content = blocks.content(ends[line], ends[last])
            block = parser.parse([1], [content])
            accepted += 1
            mine = seen(scanner, scanned.events, at, parser.schema)
            other = block.faults if block.faults or not block.lines else expected(block)
            if mine != other:
                wrong.append((content, mine, other))
        blocks.use(scanned.bytes, scanned.lines)
        if not scanned.bytes:
            break
    names = scanner.features.names
    if len(set(names)) != len(names) or len(set(map(repr, scanner.tasks.names))) != len(scanner.tasks.names):
        wrong.append(("a name has two codes",))
    return accepted, wrong


def forms(r):
    """(name, parser, scanner, a function that makes lines), of every schema and format."""
    for at, schema in enumerate(SCHEMAS):
        lines = JsonRecords(schema)
        yield f"jsonl {at}", lines, JsonRecordScanner(lines), lambda schema=schema: json_line(r, schema)
        for separator in (",", ";", "\t"):
            names = csv_header(r, schema)
            rows = CsvRecords(schema, separator)
            out = io.StringIO()
            csv.writer(out, delimiter=separator, lineterminator="\n").writerow(names)
            assert not rows.parse([1], [out.getvalue().encode()]).faults
            make = lambda names=names, separator=separator: csv_line(r, names, separator)  # noqa: E731
            yield f"csv {at}", rows, CsvRecordScanner(rows), make


def fuzz(count, seed=0, size=500):
    """So many lines, in turn of every form: (name: lines, accepted, read differently)."""
    r = random.Random(seed)
    found = {}
    while sum(lines for lines, _, _ in found.values()) < count:
        for name, parser, scanner, make in forms(r):
            lines = [make() for _ in range(size)]
            accepted, wrong = compare(parser, scanner, lines)
            before = found.get(name, (0, 0, []))
            found[name] = before[0] + size, before[1] + accepted, before[2] + wrong
    return found


if __name__ == "__main__":
    np.seterr(all="raise")
    Encoder(SCHEMAS[0])
    for form_name, (lines, accepted, wrong) in fuzz(int(sys.argv[1]), int(sys.argv[2]) if sys.argv[2:] else 0).items():
        print(
            f"{form_name:10} {lines:9,} lines, {accepted:9,} read by compiled code, {len(wrong)} differently",
            flush=True,
        )
        for case in wrong[:3]:
            print("   ", *case, sep="\n      ")
