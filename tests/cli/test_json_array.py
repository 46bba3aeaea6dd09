"""Records of JSON over several lines, and in an array: read as JSON lines are, by the lines of the file."""

import gzip
import io
import json
import random

import pytest

import weft
from weft.streams.json_array import JsonLines

RECORDS = [
    {"user": f"u{i % 3}", "age": i, "body": 'he said "[{1,2}]"\n, twice', "tags": ["a", "b"], "geo": {"lat": i / 7},
     "label": ["no", "yes"][i % 2]}
    for i in range(40)
]  # fmt: skip
SCHEMA = weft.Schema(task="user", label="label", text=["body"], positive="yes")
SHAPES = {
    "pretty": json.dumps(RECORDS, indent=2),
    "compact": json.dumps(RECORDS, separators=(",", ":")),
    "commas first": json.dumps(RECORDS, indent=1).replace("},\n {", "}\n ,{"),
    "a mark": "\ufeff" + json.dumps(RECORDS, indent=4).replace("\n", "\r\n"),
    "no array": "\n".join(json.dumps(record, indent=2) for record in RECORDS),
}


def learned(path):
    model = weft.Model(learner="pa", schema=SCHEMA)
    for stream in weft.read(path, SCHEMA, chunk=7):
        model.learn(stream)
    return model.to_bytes()


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return path


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_model_as_of_json_lines(weft_command, tmp_path, lines, shape):
    (tmp_path / "array.json").write_bytes(SHAPES[shape].encode())
    (tmp_path / "array.json.gz").write_bytes(gzip.compress(SHAPES[shape].encode()))
    assert learned(tmp_path / "array.json") == learned(tmp_path / "array.json.gz") == learned(lines)
    options = ("--task", "user", "--label", "label", "--text", "body", "--positive", "yes", "--learner", "pa",
               "--quiet")  # fmt: skip
    weft_command("learn", lines, "--model", "lines.weft", *options)
    weft_command("learn", "array.json", "--model", "array.weft", *options)
    weft_command("learn", "-", "--model", "piped.weft", *options, stdin=SHAPES[shape])
    found = {(tmp_path / f"{name}.weft").read_bytes() for name in ("lines", "array", "piped")}
    assert len(found) == 1


class Dribble(io.RawIOBase):
    """A few bytes at a time, wherever they end."""

    def __init__(self, content, rng):
        self.content, self.rng = content, rng

    def read1(self, size):
        count = self.rng.randint(1, 9)
        found, self.content = self.content[:count], self.content[count:]
        return found


def some_value(rng, depth=0):
    simple = ['a"b', "c\\d", "[{", "}]\n", "é,", '\\"', "", 1.5, None, True]
    if depth > 2 or rng.random() < 0.4:
        return rng.choice(simple)
    inner = [some_value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    return inner if rng.random() < 0.5 else {f"k{at}": value for at, value in enumerate(inner)}


@pytest.mark.parametrize("seed", range(200))
def test_every_record_is_on_the_line_where_it_begins(seed):
    rng = random.Random(seed)
    records = [{"x": some_value(rng), "i": i} for i in range(rng.randint(1, 4))]
    text = json.dumps(records, indent=rng.choice([0, 1, 3]), ensure_ascii=rng.random() < 0.5)
    found = io.BufferedReader(JsonLines(Dribble(text.encode(), rng), "a.json")).read().decode().split("\n")
    assert [json.loads(line) for line in found if line.strip()] == records
    begins, at, decoder = [], 0, json.JSONDecoder()
    for _ in records:
        at = text.index("{", at)
        begins.append(text.count("\n", 0, at))
        at = decoder.raw_decode(text, at)[1]
    assert [number for number, line in enumerate(found) if line.strip()] == begins


def test_a_fault_is_told_by_the_line_of_its_record(weft_command, tmp_path, lines):
    weft_command("learn", lines, "--model", "m.weft", "--text", "body", "--numeric", "age", "--quiet")
    text = json.dumps(
        [{**record, "age": "old" if record["age"] == 5 else record["age"]} for record in RECORDS], indent=2
    )
    (tmp_path / "bad.json").write_text(text)
    number = text.split("old")[0].rsplit("{\n", 1)[0].count("\n") + 1
    result = weft_command("predict", "bad.json", "--model", "m.weft", code=2)
    assert f'weft: bad.json, line {number}, field "age": "old" is not a number' in result.stderr
    assert len(result.stdout.splitlines()) == 6


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (json.dumps(RECORDS, indent=2)[:-1], "a.json: the array of records is not closed"),
        (json.dumps(RECORDS, indent=2)[:-20], "a.json: the array of records is not closed"),
        ("[]", "a.json: the stream is empty"),
        ("[1, 2]", "a.json, line 1: [1, 2] is not a record"),
        ('[{"user": "a", "label": 1}, 5]', "a.json, line 2: 5 is not a record"),
        ('{\n"user": "a", "label": 1}\n}}\n', "a.json, line 3: not JSON at column"),
    ],
    ids=["no bracket", "no end", "empty", "numbers", "a number", "two brackets"],
)
def test_what_is_no_array_of_records(weft_command, tmp_path, text, words):
    (tmp_path / "a.json").write_text(text)
    result = weft_command("learn", "a.json", "--model", "a.weft", "--task", "user", "--label", "label", code=2)
    assert words in result.stderr
    assert not (tmp_path / "a.weft").exists()
