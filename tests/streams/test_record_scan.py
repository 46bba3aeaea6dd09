"""Compiled readers of records give what the careful encoder gives; at length: `streams.record_fuzz`."""

import csv
import io
import json
import random
import sys

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.feather
import pyarrow.parquet
import pytest

import weft
from streams import record_fuzz
from weft.kinds.words import words
from weft.scan.letters import CHARACTERS, UNSURE, letters
from weft.schema import Schema
from weft.streams import read_chunks
from weft.streams.packing import HEAD, Origin, PackWriter, beginning, digest_of
from weft.streams.record_lines import CsvRecords, JsonRecords
from weft.streams.record_names import MOST_FIELDS
from weft.streams.record_scanners import CsvRecordScanner, JsonRecordScanner
from weft.streams.records import InputError

pytestmark = pytest.mark.xdist_group("scan")
SCHEMA = Schema(task="user", label="label", text=["body"], category=["code"], id="k", weight="w")


def test_lines_are_read_as_the_careful_encoder_does():
    found = record_fuzz.fuzz(21_000, seed=1, size=250)
    assert len(found) == 2 * len(record_fuzz.SCHEMAS)
    for name, (lines, accepted, wrong) in found.items():
        assert wrong == [], name
        assert accepted > lines // 25, name  # otherwise nothing was compared


def test_letters_are_those_of_python():
    table = letters()
    assert len(table) == CHARACTERS == sys.maxunicode + 1
    for code, lower in enumerate(table.tolist()):
        if not 0xD800 <= code < 0xE000 and lower != UNSURE:
            assert words(chr(code)) == ([chr(lower)] if lower else []), hex(code)
    assert [chr(code) for code in np.flatnonzero(table == UNSURE)] == ["İ", "Σ"]


def test_letters_do_not_depend_on_their_neighbours():
    table, r = letters(), random.Random(1)
    sure = [chr(c) for c in np.flatnonzero(table != UNSURE).tolist() if not 0xD800 <= c < 0xE000]
    for _ in range(20_000):
        text = "".join(r.choice(sure) for _ in range(4))
        lower = "".join(chr(table[ord(letter)] or 32) for letter in text)
        assert words(text) == [word for word in lower.split(" ") if word], ascii(text)


@pytest.mark.parametrize("is_csv", [False, True])
def test_spaces_around_names_are_those_of_python(is_csv):
    spaces = [chr(c) for c in range(sys.maxunicode) if chr(c).isspace() and chr(c) not in "\r\n"]
    schema = Schema(task="user", label="label")
    rows = [{"user": s + "ann" + s, "label": s + "x", "country": s + "us" + s, "c2": s} for s in spaces]
    if is_csv:
        parser = CsvRecords(schema, ",")
        parser.parse([1], [b"user,label,country,c2\n"])
        scanner, lines = CsvRecordScanner(parser), [",".join(row.values()).encode() for row in rows]
    else:
        parser = JsonRecords(schema)
        scanner = JsonRecordScanner(parser)
        lines = [json.dumps(row, ensure_ascii=ascii).encode() for row in rows for ascii in (False, True)]
    assert record_fuzz.compare(parser, scanner, lines)[1] == []


def test_common_lines_are_not_handed_on():
    """What users write is read by compiled code: otherwise it would be right and slow."""
    record = {"user": "jürgen", "age": 31, "rate": -0.5, "ok": True, "no": None, "code": 17, "country": "São Tomé"}
    record |= {"body": 'Größe: "free" money\n\tПривет, 日本 😀!', "k": 7, "w": 2, "label": "spam", "empty": ""}
    lines = [json.dumps(record, ensure_ascii=ascii).encode() for ascii in (False, True)]
    parser = JsonRecords(SCHEMA)
    assert record_fuzz.compare(parser, JsonRecordScanner(parser), lines) == (2, [])
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([record, ["" if v is None else v for v in record.values()]])
    header, row = out.getvalue().split("\n", 1)
    rows = CsvRecords(SCHEMA, ",")
    rows.parse([1], [header.encode() + b"\n"])
    assert record_fuzz.compare(rows, CsvRecordScanner(rows), [row.rstrip("\n").encode()] * 2) == (2, [])


def test_fields_may_be_many_and_new_at_any_time():
    schema = Schema(task="user", label="y")
    lines = [json.dumps({"user": 1, "y": 1, f"f{i}": i, f"s{i % 2000}": "x"}).encode() for i in range(3000)]
    parser = JsonRecords(schema)
    accepted, wrong = record_fuzz.compare(parser, JsonRecordScanner(parser), lines)
    assert wrong == []
    assert accepted > 900  # then there are no more marks for fields of categories
    assert MOST_FIELDS > 3000


# --- one model, whatever the format ---------------------------------------------------------------------------------


def records(count, seed=3):
    r = random.Random(seed)
    texts = [
        "free money now",
        "Größe zählt nicht",
        "lunch today?",
        "Привет мир",
        "",
        "a b a b a",
        'say "hi", ok',
        "日本 x",
    ]
    return [
        {
            "user": r.choice(["ann", "bob", "cy"]),
            "age": round(r.gauss(30, 9), 2),
            "visits": r.choice([None, 1.0, 2.5, 0.0]),
            "member": r.random() < 0.5,
            "country": r.choice(["us", "de", "São Tomé", None]),
            "body": r.choice(texts),
            "w": r.choice([1.0, 2.0, 0.5]),
            "k": i,
            "label": r.choice(["spam", "ham"]),
        }
        for i in range(count)
    ]


def learned(stream_or_streams):
    model = weft.Model(schema=SCHEMA_ALL)
    for stream in stream_or_streams:
        model.learn(stream)
    return model.to_bytes()


SCHEMA_ALL = Schema(task="user", label="label", positive="spam", text=["body"], weight="w", id="k", ngrams=2)


def test_all_formats_of_the_same_records_give_the_same_model(tmp_path):
    rows = records(300)
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    expected = learned([weft.Stream.from_records(rows, SCHEMA_ALL)])
    frames = {
        "pandas": pandas.DataFrame(columns),
        "objects": pandas.DataFrame({name: pandas.Series(values, dtype=object) for name, values in columns.items()}),
        "categorical": pandas.DataFrame(columns).astype({"country": "category", "user": "category"}),
        "polars": polars.DataFrame(columns),
        "polars categorical": polars.DataFrame(columns).with_columns(
            polars.col("country", "label").cast(polars.Categorical)
        ),
        "pyarrow": pyarrow.table(columns),
        "dictionary": pyarrow.table(columns).set_column(
            4, "country", pyarrow.array(columns["country"]).dictionary_encode()
        ),
    }
    for name, frame in frames.items():
        assert learned([weft.Stream.from_frame(frame, SCHEMA_ALL)]) == expected, name
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    for name, separator in (("a.csv", ","), ("b.csv", ";"), ("a.tsv", "\t")):
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file, delimiter=separator).writerows([columns, *(row.values() for row in rows)])
    pyarrow.parquet.write_table(frames["pyarrow"], tmp_path / "a.parquet", row_group_size=70)
    pyarrow.feather.write_feather(frames["dictionary"], tmp_path / "a.arrow")
    with (tmp_path / "a.weftpack").open("wb") as file:
        writer = PackWriter(file, Origin(SCHEMA_ALL))
        for chunk in read_chunks(tmp_path / "a.jsonl", target="point", labels=False, schema=SCHEMA_ALL):
            writer.add(chunk)
        writer.finish()
    for path in sorted(tmp_path.iterdir()):
        for size in (7, 4096):
            assert learned(weft.read(path, SCHEMA_ALL, chunk=size)) == expected, path.name


@pytest.mark.parametrize("hash_bits", [None, 6])
def test_hashed_features_and_rounds(tmp_path, hash_bits):
    schema = Schema(task="user", label="label", text=["body"], hash_bits=hash_bits, round="r")
    rows = [row | {"user": f"u{i % 3}", "r": i // 3} for i, row in enumerate(records(90))]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    one, other = (weft.Model(schema=schema, classes=["ham", "spam"]) for _ in range(2))
    one.learn(weft.Stream.from_records(rows, schema))
    for stream in weft.read(path, schema, chunk=10):
        other.learn(stream)
    assert one.to_bytes() == other.to_bytes()


# --- packed records -------------------------------------------------------------------------------------------------


PACKED = Schema(task="user", label="label", text=["body"], id="k", weight="w")


@pytest.fixture
def mail(tmp_path):
    path = tmp_path / "mail.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in records(20)))
    return path


@pytest.fixture
def packed(mail, tmp_path):
    path = tmp_path / "mail.weftpack"
    with path.open("wb") as file:
        writer = PackWriter(file, Origin(PACKED, ("ham", "spam")))
        for chunk in read_chunks(mail, target="point", labels=False, schema=PACKED):
            writer.add(chunk)
        writer.finish()
    return path


def test_packed_records_keep_their_schema(packed):
    with pytest.raises(InputError, match="the packed records have another schema: text is body, where none was given"):
        list(weft.read(packed, task="user", label="label"))
    assert next(weft.read(packed)).schema == PACKED
    assert next(weft.read(packed)).ids == list(range(20))


def test_every_flipped_byte_and_every_cut_is_noticed(packed):
    data = packed.read_bytes()
    for at in range(0, len(data), 11):
        changed = bytearray(data)
        changed[at] ^= 1 << (at % 8)
        for forged in (bytes(changed), data[:at]):
            packed.write_bytes(forged)
            with pytest.raises(InputError):
                list(read_chunks(packed, "weftpack", target="point", labels=False))


def test_forged_blocks_with_a_right_digest_are_refused_or_are_records(packed):
    data, r, refused = packed.read_bytes(), random.Random(6), 0
    first, size = len(beginning(False, False, Origin(PACKED, ("ham", "spam")))), HEAD.size
    assert data.startswith(beginning(False, False, Origin(PACKED, ("ham", "spam"))))
    model = weft.Model("pa")
    for _ in range(400):
        block = bytearray(data[first:])
        for _ in range(r.randint(1, 3)):
            block[r.randrange(size - 16, len(block))] = r.choice([0, 1, 255, 127, r.randrange(256)])
        block[size - 16 : size] = digest_of(bytes(block[:size]), block[size:])
        packed.write_bytes(data[:first] + block)
        try:
            for chunk in read_chunks(packed, "weftpack", target="point", labels=False):
                model.score(chunk.unlabelled)
        except InputError:
            refused += 1
    assert 0 < refused < 400
