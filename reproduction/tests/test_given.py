"""`weft reproduce default-2 --data PATH`: files of somebody's own."""

import importlib.util
import json

import numpy as np
import pytest

import weft
from weft_reproduction.default_2 import given


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(given.PLACE, "")  # so that it is as before when a test has ended
    monkeypatch.delenv(given.PLACE)


def write(path, count=80):
    rng = np.random.default_rng(0)
    rows = [
        {"user": f"u{i % 3}", "x": round(float(x), 3), "body": "free money now", "label": "spam" if x > 0 else "ham"}
        for i, x in enumerate(rng.normal(size=count))
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows


def test_a_folder(weft_command, tmp_path):
    folder = tmp_path / "own"
    folder.mkdir()
    rows = write(folder / "mail.jsonl")
    (folder / "numbers.csv").write_text("task,y,a\n" + "".join(f"t{i % 2},{i / 7},{i % 5}\n" for i in range(50)))
    (folder / "notes.md").write_text("hello\n")
    asked = ("reproduce", "default-2", "--data", folder, "--processes", 1, "--json")
    (found,) = json.loads(weft_command(*asked).stdout)
    table = found["tables"][0]
    forest = ["river forest"] if importlib.util.find_spec("river") else []
    assert table["columns"] == ["stream", "fast", "balanced", "best", *forest, "balanced, %", "best, %"]
    assert [row[0] for row in table["rows"]] == ["mail.jsonl", "numbers.csv"]
    model = weft.Model(effort="fast")
    stream = weft.Stream.from_records(rows, task="user", label="label", text=["body"])
    p = 1.0 / (1.0 + np.exp(-model.learn(stream)))
    right = np.array([row["label"] == "spam" for row in rows])
    assert table["rows"][0][1]["value"] == pytest.approx(-np.mean(np.log(np.where(right, p, 1.0 - p))), rel=1e-9)
    assert all(cell["value"] > 0.0 for row in table["rows"] for cell in row[1 : 4 + len(forest)])
    again = json.loads(weft_command(*asked, "--no-run").stdout)
    assert again[0]["finished"] == found["cells"] == 2 * (3 + len(forest))
    write(folder / "mail.jsonl", 70)
    assert json.loads(weft_command(*asked, "--no-run").stdout)[0]["finished"] == 3 + len(forest)


@pytest.mark.parametrize(
    ("names", "data", "words"),
    [
        (["today"], "mail.jsonl", "today runs on data of its own; leave --data out, or name default-2"),
        (["default-2"], "nowhere", "there is no file nowhere"),
        (["default-2"], "cache", "the folder cache has no file of events"),
    ],
)
def test_what_cannot_be_had(weft_command, tmp_path, names, data, words):
    write(tmp_path / "mail.jsonl")
    (tmp_path / "cache").mkdir()
    assert words in weft_command("reproduce", *names, "--data", data, code=2).stderr


def test_three_classes_are_a_failure_of_their_cells(weft_command, tmp_path):
    lines = [f'{{"user": "a", "x": {i}, "label": "{"abc"[i % 3]}"}}\n' for i in range(30)]
    (tmp_path / "three.jsonl").write_text("".join(lines))
    result = weft_command("reproduce", "default-2", "--data", "three.jsonl", "--processes", 1, code=1)
    assert "three.jsonl has 3 classes; the comparison takes two, or numbers" in result.stderr
