"""The same events in every format and compression give the same model, byte for byte, however they are cut."""

import bz2
import gzip
import json
import lzma

import numpy as np
import pytest

import weft
from weft.streams import read_chunks
from weft.streams.packing import PackWriter

TASKS, NAMES = ["ann", "bob", "user name", 7, "zoë"], [f"f{i}" for i in range(40)] + ["größe", "a b"]


def make_events(count=300, named=True, seed=0):
    """(task, row, label): rows of some features in a random order, zeros among them."""
    rng = np.random.default_rng(seed)
    names = [name for name in NAMES if " " not in name] if named else list(range(60))
    events = []
    for _ in range(count):
        chosen = rng.choice(len(names), rng.integers(0, 9), replace=False)
        chosen = chosen if named else np.sort(chosen)
        values = np.round(rng.standard_normal(len(chosen)), 3) * (rng.random(len(chosen)) > 0.1)
        row = {names[i]: float(v) + 0.0 for i, v in zip(chosen, values, strict=True)}
        events.append((TASKS[rng.integers(len(TASKS))], row, int(rng.choice([-1, 1]))))
    return events


def jsonl(path, events):
    path.write_text("".join(json.dumps({"task": t, "x": x, "y": y}, ensure_ascii=False) + "\n" for t, x, y in events))


def vw(path, events):
    lines = [f"{y} '{t} |x " + " ".join(f"{k}:{v!r}" for k, v in x.items()) + "\n" for t, x, y in events]
    path.write_text("".join(lines))


def svmlight(path, events):
    lines = [f"{y:+d} qid:{t} " + " ".join(f"{k}:{v!r}" for k, v in x.items()) + "\n" for t, x, y in events]
    path.write_text("".join(lines))


def columns(events):
    return sorted({name for _, row, _ in events for name in row}, key=NAMES.index)


def csv(path, events, separator=","):
    names = columns(events)
    rows = [[t, *(repr(x[n]) if n in x else "" for n in names), y] for t, x, y in events]
    path.write_text("".join(separator.join(map(str, row)) + "\n" for row in [["task", *names, "y"], *rows]))


def table(events):
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow reads Parquet and Arrow")
    found = {"task": [str(t) for t, _, _ in events]}
    found |= {name: [x.get(name) for _, x, _ in events] for name in columns(events)}
    return pyarrow.table({**found, "y": [y for _, _, y in events]})


def parquet(path, events):
    from pyarrow import parquet

    parquet.write_table(table(events), path, row_group_size=70)


def arrow(path, events):
    from pyarrow import ipc

    found = table(events)
    with ipc.new_file(path, found.schema) as file:
        file.write_table(found, max_chunksize=90)


def pack(path, source, **options):
    with path.open("wb") as file:
        writer = PackWriter(file)
        for chunk in read_chunks(source, target="real", labels=False, **options):
            writer.add(chunk)
        writer.finish()


def learned(path, learner="pa", **options):
    model = weft.Model(learner)
    for chunk in read_chunks(path, **options):
        model.learn(chunk.stream)
    return model.to_bytes()


def in_column_order(events):
    """Rows whose features are in the order of the table's columns, as a table has them."""
    names = columns(events)
    return [(str(t), {n: x[n] for n in names if n in x}, y) for t, x, y in events]


@pytest.mark.parametrize("chunk", [1, 7, 4096])
def test_named_features(tmp_path, chunk):
    events = [(t, x, y) for t, x, y in make_events() if t != "user name"]
    jsonl(tmp_path / "e.jsonl", events)
    expected = learned(tmp_path / "e.jsonl")
    vw(tmp_path / "e.vw", events)
    pack(tmp_path / "e.weftpack", tmp_path / "e.jsonl", chunk=11)
    for name in ("e.jsonl", "e.vw", "e.weftpack"):
        assert learned(tmp_path / name, chunk=chunk) == expected, name


@pytest.mark.parametrize("chunk", [1, 7, 4096])
def test_importance_weights_of_vowpal_wabbit_are_weights(tmp_path, chunk):
    events = [(t, x, y) for t, x, y in make_events() if t != "user name"]
    rng = np.random.default_rng(3)
    weight = np.where(rng.random(len(events)) < 0.5, 1.0, rng.choice([0.0, 0.5, 3.25], len(events)))
    vw(tmp_path / "plain.vw", events)
    lines = (tmp_path / "plain.vw").read_text().splitlines()
    given = [line.replace(" '", f" {w:g} '" if w != 1.0 else " '", 1) for line, w in zip(lines, weight, strict=True)]
    (tmp_path / "e.vw").write_text("".join(f"{line}\n" for line in given))
    expected, model = weft.Model("mt-ogd"), weft.Model("mt-ogd")
    for (task, x, y), w in zip(events, weight.tolist(), strict=True):
        expected.learn_one(x, y, task, weight=w)
    for part in read_chunks(tmp_path / "e.vw", chunk=chunk):
        model.learn(part.stream)
    assert model.to_bytes() == expected.to_bytes()
    with pytest.raises(ValueError, match="events without a schema are packed without weights"):
        pack(tmp_path / "e.weftpack", tmp_path / "e.vw", chunk=11)
    ones = [line.replace(" '", " 1 0 '", 1) for line in lines]
    (tmp_path / "ones.vw").write_text("".join(f"{line}\n" for line in ones))
    pack(tmp_path / "ones.weftpack", tmp_path / "ones.vw", chunk=11)
    assert all(part.events.weight is None for part in read_chunks(tmp_path / "ones.vw", chunk=chunk))


@pytest.mark.parametrize("chunk", [3, 4096])
def test_tables(tmp_path, chunk):
    events = [(t, x, y) for t, x, y in in_column_order(make_events(seed=1)) if t != "7"]
    jsonl(tmp_path / "e.jsonl", events)
    expected = learned(tmp_path / "e.jsonl")
    csv(tmp_path / "e.csv", events)
    csv(tmp_path / "e.tsv", events, "\t")
    csv(tmp_path / "semicolons.csv", events, ";")
    parquet(tmp_path / "e.parquet", events)
    arrow(tmp_path / "e.arrow", events)
    pack(tmp_path / "e.weftpack", tmp_path / "e.parquet")
    for name in ("e.csv", "e.tsv", "semicolons.csv", "e.parquet", "e.arrow", "e.weftpack"):
        assert learned(tmp_path / name, chunk=chunk) == expected, name


def test_numbered_features(tmp_path):
    events = [(t, x, y) for t, x, y in make_events(named=False, seed=2) if t != "user name"]
    svmlight(tmp_path / "e.svm", events)
    expected = learned(tmp_path / "e.svm")
    pack(tmp_path / "e.weftpack", tmp_path / "e.svm", chunk=13)
    width = 1 + max(k for _, x, _ in events for k in x)
    lists = [{"task": t, "x": [x.get(k, 0) for k in range(width)], "y": y} for t, x, y in events]
    (tmp_path / "e.jsonl").write_text("".join(json.dumps(event) + "\n" for event in lists))
    for name in ("e.svm", "e.weftpack", "e.jsonl"):
        for chunk in (1, 10, 4096):
            assert learned(tmp_path / name, chunk=chunk) == expected, name


@pytest.mark.parametrize("ending", ["gz", "zst", "bz2", "xz", "wrong-name"])
def test_compressions(tmp_path, ending):
    zstandard = pytest.importorskip("zstandard", reason="zstandard unpacks zstd")
    jsonl(tmp_path / "e.jsonl", make_events(2000))
    data = (tmp_path / "e.jsonl").read_bytes()
    half = len(data) // 2
    unpack = {
        "gz": lambda part: gzip.compress(part),
        "zst": lambda part: zstandard.compress(part),
        "bz2": bz2.compress,
        "xz": lzma.compress,
        "wrong-name": gzip.compress,
    }[ending]
    path = tmp_path / ("packed.jsonl" if ending == "wrong-name" else f"e.jsonl.{ending}")
    path.write_bytes(unpack(data[:half]) + unpack(data[half:]))  # two members, one after the other
    assert learned(path) == learned(tmp_path / "e.jsonl")
    path.write_bytes(unpack(data)[:-30])
    with pytest.raises(ValueError, match="file is damaged or truncated"):
        learned(path)


@pytest.mark.parametrize("name", ["e.jsonl", "e.csv", "e.weftpack", "e.parquet"])
def test_reading_goes_on_after_any_chunk(tmp_path, name):
    events = [(t, x, y) for t, x, y in in_column_order(make_events(60, seed=3)) if t != "7"]
    path = tmp_path / name
    writers = {"e.jsonl": jsonl, "e.csv": csv, "e.parquet": parquet}
    if name in writers:
        writers[name](path, events)
    else:
        jsonl(tmp_path / "e.jsonl", events)
        pack(path, tmp_path / "e.jsonl")
    expected = learned(path)
    chunks = list(read_chunks(path, chunk=9))
    for number, stop in enumerate(chunks):
        model = weft.Model("pa")
        for chunk in chunks[: number + 1]:
            model.learn(chunk.stream)
        model = weft.Model.from_bytes(model.to_bytes())
        for chunk in read_chunks(path, start=stop.position, chunk=5):
            model.learn(chunk.stream)
        assert model.to_bytes() == expected


def test_scores_do_not_depend_on_the_format(tmp_path):
    events = make_events(seed=4)
    jsonl(tmp_path / "e.jsonl", events)
    model = weft.Model("pa")
    model.learn(weft.Stream([x for _, x, _ in events], [y for _, _, y in events], [t for t, _, _ in events]))
    assert model.to_bytes() == learned(tmp_path / "e.jsonl")
    other = [("new", {"unseen": 1.0, **x}, y) for t, x, y in events]
    jsonl(tmp_path / "o.jsonl", other)
    (chunk,) = read_chunks(tmp_path / "o.jsonl")
    expected = model.score([x for _, x, _ in other], "new")
    assert np.array_equal(model.score(chunk.unlabelled), expected)
    assert np.array_equal(model.score(chunk.X, chunk.tasks), expected)


@pytest.mark.parametrize("chunk", [1, 4096])
def test_plain_mode_reads_the_same(tmp_path, monkeypatch, chunk):
    """There every line goes to the careful readers."""
    events = [(t, x, y) for t, x, y in make_events(80, seed=8) if t != "user name"]
    jsonl(tmp_path / "e.jsonl", events)
    vw(tmp_path / "e.vw", events)
    csv(
        tmp_path / "e.csv",
        [(t, x, y) if i else ('"two\nlines ""quoted"""', x, y) for i, (t, x, y) in enumerate(events)],
    )
    svmlight(tmp_path / "e.svm", [(t, x, y) for t, x, y in make_events(80, named=False, seed=8) if t != "user name"])
    paths = sorted(tmp_path.iterdir())
    expected = [learned(path) for path in paths]
    monkeypatch.setattr("weft.streams.scanners.PLAIN", True)
    assert [learned(path, chunk=chunk) for path in paths] == expected
