"""Compiled readers against careful ones, line by line, and numbers against Python's `float`.

`python -m streams.fuzz LINES NUMBERS` (with `tests` on the path) runs at length; the tests run some thousand of each.
Whatever a compiled reader accepts must be what the careful reader of the format reads; it may hand on any line.
"""

import random
import struct
import sys
from fractions import Fraction

import numpy as np

from weft.scan.numbers import HANDED, READ, read_lines
from weft.scan.padding import PADDING
from weft.streams import csv, jsonl, svmlight, vw
from weft.streams.blocks import Blocks
from weft.streams.events import encoded
from weft.streams.records import Rules
from weft.streams.scanners import CsvScanner, JsonScanner, SvmlightScanner, VwScanner

RULES = Rules("real", labels=False)
HEADER = b"a,task,b,y,c d,round\n"


class Bytes:
    """A source of bytes in memory."""

    name, is_file = "memory", True

    def __init__(self, data):
        self._data = data

    def readinto(self, room):
        count = min(len(room), len(self._data))
        room[:count], self._data = self._data[:count], self._data[count:]
        return count


# --- lines ---------------------------------------------------------------------------------------------------------


_NUMBERS = "0 -0 -0.0 1e5 1E+5 1. 01 .5 nan 1e400 1_0 true inf  +1 0x1 1e ٣ 1e151 -1e150 1e-151 5e-324 - ."
_NAMES = "a b1 eight_ch nine_char ü größe q\\\" \\u0061 # a:b  a|b 7 007 -0 'q a,b \u2028 \x1f \x7f a\\b"
ODD_NUMBERS, ODD_NAMES = _NUMBERS.split(" "), _NAMES.split(" ")


def number(r):
    if r.random() < 0.97:
        return f"{r.uniform(-9, 9):.{r.randint(0, 8)}f}"
    reals = [repr(r.gauss(0, 1)), f"{r.gauss(0, 1):e}", repr(r.random() * 10 ** r.randint(-300, 300))]
    return r.choice([*reals, *ODD_NUMBERS, str(r.randint(-99, 99)), str(r.getrandbits(90)), "9" * 30])


def name(r):
    if r.random() < 0.97:
        return f"w{r.randint(0, 400)}"
    return r.choice([*ODD_NAMES, f"a_rather_long_name_{r.randint(0, 50)}", "x y", "x" * 1200])


def blank(r):
    return r.choice(["", " "]) if r.random() < 0.99 else r.choice(["  ", "\t", "\r"])


def json_line(r, is_list, has_rounds):
    if is_list if r.random() < 0.95 else r.random() < 0.5:
        x = "[" + ",".join(blank(r) + number(r) for _ in range(3 if r.random() < 0.9 else r.randint(0, 6))) + "]"
    else:
        pairs = (f'{blank(r)}"{name(r)}"{blank(r)}:{blank(r)}{number(r)}' for _ in range(r.randint(0, 8)))
        x = "{" + ",".join(pairs) + blank(r) + "}"
    tasks = [f'"u{r.randint(0, 50)}"', str(r.randint(-5, 50))] * 8 + [
        '"7"',
        "007",
        '["a",1]',
        "1.5",
        "-0",
        '"ü"',
        "1e3",
        "null",
    ]
    fields = [f'"task":{blank(r)}{r.choice(tasks)}', f'"x":{blank(r)}{x}']
    if r.random() < 0.95:
        fields.append(f'"y":{blank(r)}{r.choice(["1", "-1", "null", number(r)])}')
    if has_rounds if r.random() < 0.97 else r.random() < 0.5:
        fields.append(f'"round":{blank(r)}{r.choice(["1", "2", chr(34) + "1" + chr(34)] * 5 + ["1.5", "-0", "null"])}')
    if r.random() < 0.03:
        fields.append(r.choice(['"z": 2', '"y": 1', '"task": 1', '"x": {}']))
    r.shuffle(fields)
    return "{" + blank(r) + ("," + blank(r)).join(fields) + "}" + blank(r)


def svm_line(r, *_):
    words = [
        r.choice(["1", "-1", "+1", number(r)]),
        "qid:" + r.choice(["7", "007", f"u{r.randint(0, 30)}", "ü", "a:b", "-3", ""]),
    ]
    last = 0
    for _ in range(r.randint(0, 8)):
        last = last + r.randint(1, 40) if r.random() < 0.97 else r.randint(0, 300)
        index = str(last) if r.random() < 0.98 else r.choice(["2147483648", "-1", "007", "x", "99999999999", "", "٣"])
        words.append(f"{index}:{number(r)}")
    between = r.choice([" "] * 9 + ["  ", "\t", "\u00a0"])
    return between.join(words) + r.choice([""] * 8 + ["  ", " # c", "\r", "#"])


def vw_line(r, *_):
    label = r.choice(["1 ", "-1 ", f"{number(r)} "] * 4 + ["", "1 1.0 ", "1 2 ", "1"])
    head = label + r.choice(["'ann", "'7 ", "'ann "] * 4 + ["'ü ", "", "bob", "'"])
    spaces = []
    for _ in range(r.randint(0, 3)):
        space = r.choice(["", "x", "t", "other", "a^b"] * 4 + ["x:2", "ü", "task"])
        words = [name(r) + (f":{number(r)}" if r.random() < 0.7 else "") for _ in range(r.randint(0, 5))]
        if space in ("t", "task") and r.random() < 0.9:
            words = [r.choice(["ann", "7", "007", "bob"])]
        spaces.append(f"|{space} " + r.choice([" ", " ", "  "]).join(words))
    return head + " ".join(spaces) + r.choice(["", "", " ", "\r"])


def csv_line(r, *_):
    def cell(text):
        if r.random() < 0.05:
            return '"' + text.replace('"', '""') + '"'
        return text if r.random() < 0.97 else r.choice([" ", "  "]) + text + " "

    task = r.choice(["ann", "bob", "7", "007", "a b"] * 4 + ["ü", "", " ", 'q"x', "a\nb"])
    cells = [number(r), task, number(r), r.choice(["1", "-1", "", number(r)]), number(r), r.choice(["1", "2", "a", ""])]
    cells = [cell("" if r.random() < 0.1 else text) for text in cells]
    if r.random() < 0.02:
        cells.append("1")
    return ",".join(cells) + r.choice([""] * 9 + ["\r"])


BYTES = b" \":,{}[]\\x0e-+.9#\t\xff\x00|'\r"


def mutated(r, line, keeps_breaks):
    text = bytearray(line.encode(errors="surrogatepass"))
    for _ in range(r.choice([0, 0, 0, 0, 0, 1, 1, 2])):
        if text:
            at, how = r.randrange(len(text)), r.randint(0, 2)
            if how == 0:
                text[at] = r.choice(BYTES + bytes([r.randrange(256)]))
            elif how == 1:
                del text[at]
            else:
                text.insert(at, r.choice(b' ":,{}[]1e-.|'))
    return bytes(text) if keeps_breaks else bytes(text).replace(b"\n", b"")


# --- the comparison ------------------------------------------------------------------------------------------------


def forms():
    """(name, how lines are made, a careful reader and its scanner) of every format and form."""
    yield "svmlight", svm_line, (), lambda: _with(svmlight.Parser(RULES), lambda p: SvmlightScanner())
    yield "vw", vw_line, (), lambda: _with(vw.Parser(RULES, "t"), VwScanner)
    for is_list in (False, True):
        for has_rounds in (False, True):
            first = b'{"task": 1, "x": %b, "y": 1%b}\n' % (
                b"[1, 2, 3]" if is_list else b"{}",
                b', "round": 9' if has_rounds else b"",
            )
            yield (
                f"jsonl {is_list} {has_rounds}",
                json_line,
                (is_list, has_rounds),
                (lambda first=first: _with(jsonl.Parser(RULES), JsonScanner, first)),
            )
    yield "csv", csv_line, (), lambda: _with(csv.Parser(RULES), CsvScanner, HEADER)


def _with(parser, scanner, first=None):
    if first is not None:
        parser.parse([1], [first])
        assert parser.is_ready
    return parser, scanner(parser)


def meaning(events, at, tasks, features):
    """An event in words: what a model would see of it."""
    begin, end = events.indptr[at], events.indptr[at + 1]
    names = (
        events.indices[begin:end].tolist()
        if features is None
        else [features.names[c] for c in events.indices[begin:end]]
    )
    values = [struct.pack("d", v) for v in events.values[begin:end]]
    label = "missing" if np.isnan(events.label[at]) else struct.pack("d", events.label[at])
    number = None if events.rounds is None else events.rounds[at]
    width = int(events.width[at]) if features is None else None
    return tasks.names[events.task[at]], list(zip(names, values, strict=True)), label, number, width


def compare(form, lines):
    """Read lines with both: (lines accepted by compiled code, those that were read differently)."""
    parser, scanner = form()
    blocks = Blocks(Bytes(b"".join(lines)))
    accepted, wrong = 0, []
    while not (blocks.is_last and blocks.begin == blocks.end):
        blocks.fill()
        scanned = scanner.scan(blocks, 0)
        ends = [0, *blocks.line_ends().tolist()]
        for at, line in enumerate(scanned.events.line.tolist()):
            text = blocks.content(ends[line], ends[line + 1])
            block = parser.parse([1], [text])
            accepted += 1
            mine = meaning(scanned.events, at, scanner.tasks, scanner.features)
            if block.faults or not block.lines:
                wrong.append((text, mine, block.faults))
                continue
            other = encoded(block, scanner.tasks, scanner.features, parser.has_rounds)
            if mine != meaning(other, 0, scanner.tasks, scanner.features):
                wrong.append((text, mine, meaning(other, 0, scanner.tasks, scanner.features)))
        blocks.use(scanned.bytes, scanned.lines)
    return accepted, wrong


def fuzz_lines(count, seed=0, size=500):
    """So many lines, in turn of every form: (name, lines, accepted, read differently)."""
    r = random.Random(seed)
    found = {}
    while sum(lines for lines, _, _ in found.values()) < count:
        for form_name, make, options, form in forms():
            lines = [mutated(r, make(r, *options), make is csv_line) + b"\n" for _ in range(size)]
            accepted, wrong = compare(form, lines)
            before = found.get(form_name, (0, 0, []))
            found[form_name] = before[0] + size, before[1] + accepted, before[2] + wrong
    return found


# --- numbers -------------------------------------------------------------------------------------------------------


def any_double(r):
    return struct.unpack("d", struct.pack("Q", r.getrandbits(64)))[0]


def halfway(r):
    """A number just between two doubles, to 17 to 19 digits or in full."""
    bits = (r.randint(1000, 1090) << 52) | r.getrandbits(52)
    low, high = (struct.unpack("d", struct.pack("Q", bits + i))[0] for i in (0, 1))
    middle = (Fraction(low) + Fraction(high)) / 2
    return str(middle.numerator) if middle.denominator == 1 else f"{float(middle):.{r.randint(16, 18)}g}"


def numbers(r, count):
    kinds = [
        lambda: repr(any_double(r)),
        lambda: repr(r.random()),
        lambda: repr(r.gauss(0, 1) * 10 ** r.randint(-30, 30)),
        lambda: f"{r.getrandbits(63)}e{r.randint(-340, 310)}",
        lambda: f"{r.getrandbits(r.randint(1, 64))}e{r.randint(-40, 40)}",
        lambda: f"{r.randint(0, 10 ** r.randint(1, 19) - 1)}.{r.randint(0, 9999)}",
        lambda: f"{r.uniform(-100, 100):.{r.randint(0, 19)}f}",
        lambda: "0" * r.randint(0, 22) + str(r.getrandbits(40)) + "." + "0" * r.randint(0, 22) + str(r.getrandbits(30)),
        lambda: halfway(r),
    ]
    return [kinds[i % len(kinds)]() for i in range(count)]


def fuzz_numbers(count, seed=0, size=100_000):
    """(numbers compared, handed to Python, wrong)."""
    r = random.Random(seed)
    done = handed = 0
    wrong = []
    while done < count:
        texts = numbers(r, min(size, count - done))
        data = np.frombuffer(("\n".join(texts) + "\n").encode() + PADDING, np.uint8).copy()
        values, statuses = np.zeros(len(texts)), np.zeros(len(texts), np.int64)
        read_lines(data, len(texts), False, values, statuses)
        expected = np.array(list(map(float, texts)))
        is_read = statuses == READ
        handed += int(np.sum(statuses == HANDED))
        bad = is_read & (values.view(np.int64) != expected.view(np.int64))
        words = [text.lstrip("+-") for text in texts]
        bad |= (statuses != READ) & (statuses != HANDED) & np.array([word not in ("nan", "inf") for word in words])
        wrong += [texts[i] for i in np.flatnonzero(bad)]
        done += len(texts)
    return done, handed, wrong


if __name__ == "__main__":
    lines, digits = int(sys.argv[1]), int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    for form_name, (seen, accepted, wrong) in fuzz_lines(lines, seed).items():
        print(
            f"{form_name:20} {seen:9,} lines, {accepted:9,} read by compiled code, {len(wrong)} read differently",
            flush=True,
        )
        for case in wrong[:5]:
            print("   ", case)
    done, handed, wrong = fuzz_numbers(digits, seed)
    print(f"{done:,} numbers, {handed:,} handed to Python, {len(wrong)} unlike float(): {wrong[:5]}")
