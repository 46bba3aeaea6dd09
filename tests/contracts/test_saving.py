"""A model survives its file bit for bit; a damaged, foreign or invented file is refused with a sentence."""

import ast
import hashlib
import io
import json
import os
import pickle
import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest

import weft
from contracts.streams import VARIETIES, make_events
from weft.storage import arena, pairs
from weft.storage.state import COUNTED
from weft.store.codec import decode, encode
from weft.store.digests import FileError


def learned(setting, kind="rounds", form="named", seed=1, **more):
    model = setting.model(**more)
    model.learn(make_events(setting.target, kind, form, seed).stream())
    return model


@pytest.mark.parametrize(("kind", "form"), VARIETIES)
def test_saving_in_mid_stream_is_invisible(setting, kind, form, soon_hashed, tmp_path):
    events = make_events(setting.target, kind, form, seed=11)
    whole, model = setting.model(), setting.model()
    scores = whole.learn(events.stream())
    found = []
    for at, piece in enumerate(events.cut([0, 1, 9, 20, events.n_rounds])):
        path = tmp_path / f"{at}.weft"
        model.save(path)
        model = weft.load(path)
        assert model.to_bytes() == path.read_bytes()
        found.append(model.learn(piece.stream()))
    assert np.array_equal(np.concatenate(found), scores)
    assert model.to_bytes() == whole.to_bytes()
    assert model.tasks == whole.tasks
    assert model.features == whole.features
    assert model.learner == whole.learner


def in_plain_python(model):
    """The bytes of a model file, pair by pair from a sorted list; only what the header says of names is taken over."""
    state, plan, tasks, features = model.state, model.learner.plan, len(model.tasks), len(model.features)
    arrays = {}
    if plan.has_pairs:
        layout = state.pairs.layout
        if layout[pairs.HASHED]:
            every = list(zip(*(part.tolist() for part in arena.all_slots(state.pairs)), strict=True))
        else:
            strides = layout[pairs.TASK_STRIDE], layout[pairs.FEATURE_STRIDE]
            every = [(t, f, t * strides[0] + f * strides[1]) for t in range(tasks) for f in range(features)]
        numbers = {name: getattr(state, name) for name in plan.pair_arrays}
        held = sorted(row for row in every if any(np.any(array[row[2]] != 0) for array in numbers.values()))
        arrays["pairs"] = np.array([row[:2] for row in held], np.int64).reshape(-1, 2)
        for name, array in numbers.items():
            found = array[[row[2] for row in held]]
            arrays[name] = found[..., : plan.axes[name][-1]] if name in plan.padded else found
    sizes = {"task": tasks, "feature": features}
    sizes |= dict(zip(COUNTED, state.used.tolist(), strict=False)) if plan.has_counts else {}
    for name, axes in plan.axes.items():
        if name not in arrays:
            array = getattr(state, name)[tuple(slice(0, sizes.get(axis, axis)) for axis in axes)]
            if name not in plan.optional or np.any(array):
                arrays[name] = array
    arrays = {f"state.{name}": array for name, array in arrays.items()} | {"tally": model.tally.live[:tasks]}
    arrays["recent"] = model.tally.live_recent[:tasks]
    listed = [
        {"name": name, "type": array.dtype.newbyteorder("<").str, "shape": list(array.shape)}
        for name, array in arrays.items()
    ]
    head = json.dumps({**decode(model.to_bytes())[0], "arrays": listed}, ensure_ascii=False).encode()
    body = b"weft-model" + len(head).to_bytes(8, "little") + head + b"".join(a.tobytes() for a in arrays.values())
    return body + hashlib.blake2b(body, digest_size=32).digest()


@pytest.mark.parametrize(("kind", "form"), VARIETIES)
def test_a_file_holds_what_a_sorted_list_of_pairs_says(setting, kind, form, soon_hashed):
    model = setting.model()
    for piece in make_events(setting.target, kind, form, seed=13).cut([0, 2, 20]):
        model.learn(piece.stream())
        assert model.to_bytes() == in_plain_python(model)


def test_a_model_before_its_first_event(setting):
    for model in (setting.model(), setting.model(tasks=setting.some_tasks("ann", 3))):
        again = weft.Model.from_bytes(model.to_bytes())
        assert again.to_bytes() == model.to_bytes()
        stream = make_events(setting.target, "single", "named").stream()
        assert np.array_equal(again.learn(stream), model.learn(stream))


def test_the_whole_header_is_json(setting):
    header, arrays = decode(learned(setting).to_bytes())
    assert json.loads(json.dumps(header)) == header
    assert set(header) - {"blas"} == {"format", "learner", "tasks", "features"}
    assert ("blas" in header) == setting.traits.blas
    short = {name for name, array in arrays.items() if array.dtype == np.float32}
    expected = {"state.own"} if setting.name in ("adaptive", "auto") else set()
    assert short == expected | ({"state.factors"} if "factors" in setting.learner.plan.axes else set())
    assert all(array.dtype in (np.int64, np.float64) for name, array in arrays.items() if name not in short)


# --- damage -------------------------------------------------------------------------------------------------


def refused(data):
    with pytest.raises(FileError) as caught:
        weft.Model.from_bytes(data)
    assert len(str(caught.value)) > 15


def test_truncated_at_any_length(setting):
    data = learned(setting).to_bytes()
    for length in [*range(60), *range(60, len(data), 97), *range(len(data) - 40, len(data))]:
        refused(data[:length])
    refused(data + b"\0")


def test_any_byte_flipped(setting):
    data = learned(setting).to_bytes()
    rng = np.random.default_rng(0)
    for at in [*range(30), *rng.integers(len(data), size=60).tolist(), len(data) - 1]:
        flipped = bytearray(data)
        flipped[at] ^= 1 << rng.integers(8)
        refused(bytes(flipped))


def _zip():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("weights", b"\0" * 80)
    return buffer.getvalue()


def _npz():
    buffer = io.BytesIO()
    np.savez(buffer, weights=np.zeros(10))
    return buffer.getvalue()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"weft",
        b"weft-model",
        b"weft-model" + b"\xff" * 60,
        b"{}",
        "täglich".encode(),
        _zip(),
        _npz(),
        pickle.dumps({"weights": [0.0]}),
    ],
    ids=[
        "empty",
        "newline",
        "magic cut",
        "magic alone",
        "magic and noise",
        "json",
        "text",
        "zip",
        "npz",
        "pickle",
    ],
)
def test_foreign_files(data, tmp_path):
    path = tmp_path / "foreign.weft"
    path.write_bytes(data)
    with pytest.raises(FileError, match=r"foreign\.weft"):
        weft.load(path)


def test_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no model file .*none\.weft"):
        weft.load(tmp_path / "none.weft")


# --- invented files: the checksum is right, the contents are not --------------------------------------------


@pytest.mark.parametrize("number", [0, 2, 99, -1, "1", None, 1.5, [1], True])
def test_another_format(number):
    header, arrays = decode(weft.Model("perceptron").to_bytes())
    with pytest.raises(FileError, match=r"format .* version"):
        weft.Model.from_bytes(encode({**header, "format": number}, arrays))


def test_arrays_that_do_not_fit(setting):
    header, arrays = decode(learned(setting).to_bytes())
    for name, array in arrays.items():
        others = [
            np.concatenate([array, array[:1]]),
            array[:-1],
            array.reshape(-1, 1) if array.ndim == 1 else array.ravel(),
            np.clip(np.nan_to_num(array), -9, 9).astype(np.float64 if array.dtype == np.int64 else np.int64),
            array[:0],
        ]
        for other in others:
            if other.shape == array.shape and other.dtype == array.dtype:
                continue  # what is empty cannot be cut
            refused(encode(header, {**arrays, name: other}))
        refused(encode(header, {key: value for key, value in arrays.items() if key != name}))
        refused(encode(header, {("x" + key if key == name else key): value for key, value in arrays.items()}))
    refused(encode(header, {**arrays, "state.extra": np.zeros(3)}))
    refused(encode(header, {}))


def test_slots_out_of_range_and_pairs_twice(setting):
    """Integers in a state are slots, places and counts: none of them may lead outside."""
    header, arrays = decode(learned(setting).to_bytes())
    whole = [name for name, array in arrays.items() if array.dtype == np.int64 and array.size]
    assert bool(whole) == setting.traits.keeps_integers
    for name in whole:
        for bad in (-1, 10**6, np.iinfo(np.int64).max, np.iinfo(np.int64).min):
            for at in (0, -1):
                if name == "state.generator" and (at, bad) == (-1, 10**6):
                    continue  # half of a draw that waits to be used: any number of 32 bits
                other = arrays[name].copy()
                other.reshape(-1)[at] = bad
                refused(encode(header, {**arrays, name: other}))
    if len(arrays.get("state.pairs", ())):
        other = arrays["state.pairs"].copy()
        other[1] = other[0]
        refused(encode(header, {**arrays, "state.pairs": other}))


NOT_NAMES = [
    None,
    5,
    "abc",
    [],
    {},
    {"names": []},
    {"columns": 0},
    {"columns": -1, "names": []},
    {"columns": 1.0, "names": []},
    {"columns": True, "names": []},
    {"columns": 0, "names": [None]},
    {"columns": 0, "names": [1.5]},
    {"columns": 0, "names": [True]},
    {"columns": 0, "names": [[]]},
    {"columns": 0, "names": ["a", "a"]},
    {"columns": 0, "names": [[1, [None]]]},
    {"columns": 3, "names": [1]},
]


@pytest.mark.parametrize("names", NOT_NAMES, ids=repr)
@pytest.mark.parametrize("which", ["tasks", "features"])
def test_names_that_are_none(names, which):
    header, arrays = decode(weft.Model("perceptron").to_bytes())
    tasks = 8  # whatever the names, the tally is not what stops them
    for count in range(tasks):
        fitting = {**arrays, "tally": np.zeros((count if which == "tasks" else 0, arrays["tally"].shape[1]))}
        refused(encode({**header, which: names}, fitting))


@pytest.mark.parametrize(
    "learner",
    [
        None,
        "perceptron",
        [],
        {},
        {"name": "perceptron"},
        {"name": "nobody", "parameters": {}},
        {"name": None, "parameters": {}},
        {"name": ["pa"], "parameters": {}},
        {"name": "pa", "parameters": []},
        {"name": "pa", "parameters": {"D": 1}},
        {"name": "pa", "parameters": {"C": -1}},
        {"name": "pa", "parameters": {"C": "1"}},
        {"name": "implicit", "parameters": {"kernel": {"name": []}}},
        {"name": "implicit", "parameters": {"norm": [2]}},
        {"name": "pa", "parameters": {"C": 10**400}},
    ],
    ids=repr,
)
def test_learners_that_are_none(learner):
    header, arrays = decode(weft.Model("perceptron").to_bytes())
    refused(encode({**header, "learner": learner}, arrays))


def _described(listing, blocks=b""):
    """A file whose list of arrays is written by hand."""
    header, _ = decode(weft.Model("perceptron").to_bytes())
    head = json.dumps({**header, "arrays": listing}).encode()
    body = b"weft-model" + len(head).to_bytes(8, "little") + head + blocks
    return body + hashlib.blake2b(body, digest_size=32).digest()


@pytest.mark.parametrize(
    "listing",
    [
        None,
        {},
        "x",
        [None],
        [[]],
        [{}],
        [{"name": 1, "type": "<f8", "shape": [0]}],
        [{"name": "tally", "type": "<f2", "shape": [0]}],
        [{"name": "tally", "type": "|O", "shape": [0]}],
        [{"name": "tally", "type": [], "shape": [0]}],
        [{"name": "tally", "type": "<f8", "shape": 0}],
        [{"name": "tally", "type": "<f8", "shape": [-1]}],
        [{"name": "tally", "type": "<f8", "shape": [-1, -1]}],
        [{"name": "tally", "type": "<f8", "shape": [1.0]}],
        [{"name": "tally", "type": "<f8", "shape": [True]}],
        [{"name": "tally", "type": "<f8", "shape": [10**30]}],
        [{"name": "tally", "type": "<f8", "shape": [0, 10**30]}],
        [{"name": "tally", "type": "<f8", "shape": [0, 2**62, 2**62]}],
        [{"name": "tally", "type": "<f8", "shape": [0] * 40}],
        [{"name": "tally", "type": "<f8", "shape": [1]}],
        [{"name": "tally", "type": "<f8", "shape": [0, 8]}] * 2,
    ],
    ids=repr,
)
def test_lists_of_arrays_that_are_none(listing):
    refused(_described(listing))


@pytest.mark.parametrize("head", [b"", b"[]", b"5", b"{", b"\xff\xfe", b"[" * 100_000, b'{"arrays": 5}', b"9" * 5000])
def test_headers_that_are_none(head):
    body = b"weft-model" + len(head).to_bytes(8, "little") + head
    refused(body + hashlib.blake2b(body, digest_size=32).digest())
    body = b"weft-model" + (len(head) + 1).to_bytes(8, "little") + head
    refused(body + hashlib.blake2b(body, digest_size=32).digest())


@pytest.mark.parametrize("columns", [2**33, 2**62, 2**70])
def test_more_columns_than_keys_can_tell_apart(columns):
    model = weft.Model("perceptron")
    model.learn_one([1.0, 2.0], 1, "ann")
    header, arrays = decode(model.to_bytes())
    other = arrays["state.pairs"].copy()
    other[1, 1] = 2**32
    refused(encode({**header, "features": {"columns": columns, "names": []}}, {**arrays, "state.pairs": other}))


# --- names --------------------------------------------------------------------------------------------------

NAMES = [
    "ann",
    "",
    "ünï",
    "日本",
    "a\0b",
    "\ud800",
    "\ud83d\ude00",
    "😀",
    0,
    7,
    -3,
    2**63,
    -(2**80),
    ("a",),
    ("a", 1),
    (1, 2),
    ("a", ("b", (3, ""))),
    ((("x",),),),
    ("1",),
    "1",
    1,
]


def test_names_survive(tmp_path):
    model = weft.Model("perceptron")
    model.learn(weft.Stream([{name: 1.0} for name in NAMES], [1] * len(NAMES), NAMES))
    assert model.tasks == NAMES
    assert model.features == NAMES
    model.save(tmp_path / "names.weft")
    again = weft.load(tmp_path / "names.weft")
    assert again.tasks == NAMES
    assert list(map(type, again.tasks)) == list(map(type, NAMES))
    assert again.features == NAMES
    assert again.to_bytes() == model.to_bytes()
    assert np.array_equal(again.score([{name: 1.0} for name in NAMES], NAMES), np.ones(len(NAMES)))


BAD_NAMES = [
    1.5,
    1.0,
    True,
    None,
    b"ann",
    frozenset("a"),
    (),
    ("a", 1.0),
    ("a", (True,)),
    ("a", None),
    np.float64(1),
    np.bool_(True),
]


@pytest.mark.parametrize("name", BAD_NAMES, ids=repr)
@pytest.mark.parametrize("seen", [False, True], ids=["fresh", "equal name known"])
def test_other_names_are_refused(name, seen):
    """Also where the refused name equals a known one: 1 == 1.0 == True."""
    model = weft.Model("perceptron")
    if seen:
        known = [1, "a", ("a", 1), ("a", (1,))]
        model.learn(weft.Stream([{name: 1.0} for name in known], [1] * 4, known))
    before = model.to_bytes()
    attempts = {
        "tasks of a stream": lambda: model.learn(weft.Stream([{"a": 1.0}] * 2, [1, 1], ["a", name])),
        "features of a stream": lambda: model.learn(weft.Stream([{"a": 1.0}, {name: 1.0}], [1, 1], ["a", "a"])),
        "both in one": lambda: model.learn(weft.Stream([{1: 1.0}, {name: 1.0}], [1, 1], ["a", "a"])),
        "task of an event": lambda: model.learn_one({"a": 1.0}, 1, name),
        "feature of an event": lambda: model.learn_one({name: 1.0}, 1, "a"),
        "task to predict": lambda: model.predict_one({"a": 1.0}, name),
        "feature to predict": lambda: model.predict_one({name: 1.0}, "a"),
        "tasks to score": lambda: model.score([{"a": 1.0}], [name]),
        "declared": lambda: weft.Model("perceptron", tasks=["a", name]),
    }
    for what, attempt in attempts.items():
        with pytest.raises(ValueError, match=r"string|task is missing"):
            print(what, attempt())
        assert model.to_bytes() == before, what


# --- files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("failing", ["replace", "fsync", "fchmod"])
def test_a_failure_leaves_the_old_file(failing, tmp_path, monkeypatch):
    path = tmp_path / "model.weft"
    old = weft.Model("perceptron")
    old.save(path)
    new = weft.Model("perceptron", tasks=["ann"])

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, failing, fail)
    with pytest.raises(OSError, match="no space left"):
        new.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["model.weft"]
    assert path.read_bytes() == old.to_bytes()


def test_a_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"folder .*nowhere does not exist"):
        weft.Model("perceptron").save(tmp_path / "nowhere" / "model.weft")
    assert list(tmp_path.iterdir()) == []


def test_the_mode_is_kept(tmp_path):
    path = tmp_path / "model.weft"
    model = weft.Model("perceptron")
    model.save(path)
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    path.chmod(0o640)
    model.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_paths_of_every_kind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = weft.Model("perceptron", tasks=2)
    for path in ("here.weft", tmp_path / "there.weft", str(tmp_path / "ü .weft")):
        model.save(path)
        assert weft.load(path).to_bytes() == model.to_bytes()


def test_nothing_in_weft_unpickles():
    """But machine code, which Numba pickles: `tests/cache` shows that nothing of another user's is read."""
    machine_code = Path(weft.__file__).parent / "cache" / "kernels.py"
    for path in set(Path(weft.__file__).parent.rglob("*.py")) - {machine_code}:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module or ""]
            else:
                names = []
            assert not {name.split(".")[0] for name in names} & {
                "pickle",
                "marshal",
                "shelve",
                "dill",
                "joblib",
            }, path
            if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
                assert isinstance(node.value, ast.Constant), path
                assert node.value.value is False, path
