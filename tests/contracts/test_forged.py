"""Forged model files: the checksum is right, the contents are not. They are refused, or the model works as any other.

`forging` changes valid files at random and watches every index, in plain mode; here is a part of it, and what attacks
have found before.
"""

import hashlib
import json
import math
import os
import resource
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

import weft
from contracts.settings import SETTINGS, Setting
from contracts.streams import make_events
from weft.learners.budget import active_set
from weft.learners.descent.positions import CliqueScalar
from weft.store.codec import FileError, decode, encode

STATES = 12 * len(SETTINGS)


def learned(name, kind="rounds", **parameters):
    setting = Setting(name, parameters)
    model = setting.model()
    model.learn(make_events(setting.target, kind, "named", seed=1).stream())
    return model


def refused(header, arrays, match):
    with pytest.raises(FileError, match=match):
        weft.Model.from_bytes(encode(header, arrays))


@pytest.mark.xdist_group("plain")
def test_forged_files_do_no_harm():
    folders = [str(Path(weft.__file__).parents[1]), str(Path(__file__).parents[1])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    command = [sys.executable, "-m", "forging", "--states", str(STATES)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["states"] == STATES
    assert found["refused"] > STATES // 4
    assert found["accepted"] > STATES // 10  # not everything is refused: what is not was used, and nothing happened


def test_columns_and_names_together_are_limited():
    """A slot of 2^32 or more would spill into the task's half of a pair's key: the next file could not be read."""
    header, arrays = decode(learned("implicit", norm="linf", C=0.7).to_bytes())
    assert header["features"]["names"]
    header["features"]["columns"] = 2**32
    refused(header, arrays, "columns and .* names are more than 4294967296")


# --- numbers that follow from parameters ---


@pytest.mark.parametrize("name", ["mt-ogd", "mt-ftrl"])
@pytest.mark.parametrize("scalar", [CliqueScalar.OWN, CliqueScalar.SHARED, CliqueScalar.B, CliqueScalar.ETA])
def test_a_scalar_that_contradicts_the_parameters(name, scalar):
    """With b = inf there is no own part, and no room was looked for: a step on it would write anywhere."""
    header, arrays = decode(learned(name, b=math.inf, eta=0.1).to_bytes())
    for value in (0.5, math.nan, -1.0):
        other = arrays["state.scalars"].copy()
        other[scalar] = value
        refused(header, {**arrays, "state.scalars": other}, "follow from the parameters")


@pytest.mark.parametrize("name", ["mt-ogd", "mt-ftrl", "mt-pnorm", "mt-eg", "hedge-mt-ogd", "hedge-mt-eg"])
def test_scalars_of_another_number_of_tasks(name):
    header, arrays = decode(learned(name).to_bytes())
    counts = arrays["state.counts"].copy()
    counts[..., 1] -= 1
    refused(header, {**arrays, "state.counts": counts}, "another number of tasks|follow from|counted different")


# --- counters and owners ---

BUDGET = [
    ("mtrbp", {"B": 4}),
    ("mtforg", {"B": 4}),
    ("mtbprj-2", {"B": 4}),
    ("mtbprj", {"B": 4}),
    ("mt-perceptron", {}),
]


@pytest.mark.parametrize(("name", "parameters"), BUDGET, ids=[name for name, _ in BUDGET])
def test_counters_and_owners_of_kept_rows(name, parameters):
    header, arrays = decode(learned(name, **parameters).to_bytes())
    tasks = len(header["tasks"]["names"])
    for value in (2.0**53, math.nan, math.inf, -1.0, 0.5, 0.0):  # at 2^53 one more is the same number
        other = arrays["state.scalars"].copy()
        other[active_set.EVENTS] = value
        refused(header, {**arrays, "state.scalars": other}, "count in numbers|enter one by one")
    for value in (0.0, 0.5, math.nan, 2.0**53, arrays["state.numbers"][1, active_set.ENTERED]):
        other = arrays["state.numbers"].copy()
        other[0, active_set.ENTERED] = value
        refused(header, {**arrays, "state.numbers": other}, "count in numbers|enter one by one")
    other = arrays["state.marks"].copy()
    other[0, active_set.OWNER] = tasks  # task N of N
    refused(header, {**arrays, "state.marks": other}, "a task that is not one of its")


def test_rows_that_overlap():
    """An index over them would be longer than all values."""
    header, arrays = decode(learned("mt-perceptron").to_bytes())
    marks, counts = arrays["state.marks"].copy(), arrays["state.counts"].copy()
    marks[:, active_set.BEGIN], marks[:, active_set.END] = 0, len(arrays["state.values"])
    counts[active_set.NONZEROS] = len(marks) * len(arrays["state.values"])
    refused(header, {**arrays, "state.marks": marks, "state.counts": counts}, "numbers from 0|count of non-zeros")


def test_rows_of_weights_that_two_tasks_share():
    header, arrays = decode(learned("mtbprj-2", B=4).to_bytes())
    places = arrays["state.places"].copy()
    places[places[:, active_set.ROW] > 0, active_set.ROW] = 1
    refused(header, {**arrays, "state.places": places}, "one by one")


# --- the tally ---

EVENTS, MISTAKES, LOSS, TRUE_POSITIVE, FALSE_POSITIVE, FALSE_NEGATIVE, ABSOLUTE, SQUARED = range(8)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        *(
            (column, value)
            for column in (EVENTS, MISTAKES, FALSE_NEGATIVE)
            for value in (math.nan, math.inf, -1.0, 0.5)
        ),
        *((column, value) for column in (LOSS, ABSOLUTE, SQUARED) for value in (math.nan, -1.0)),
        (EVENTS, 0.0),  # fewer than predictions
        (MISTAKES, 1000.0),
        (EVENTS, 2.0**53),
        (TRUE_POSITIVE, 1000.0),
        (FALSE_POSITIVE, 1000.0),
        (ABSOLUTE, 1.0),  # a classifier has no deviations
    ],
)
def test_a_tally_that_nothing_counted(column, value):
    header, arrays = decode(learned("pa").to_bytes())
    tally = arrays["tally"].copy()
    assert tally[0, EVENTS] > 0
    tally[0, column] = value
    refused(header, {**arrays, "tally": tally}, "the file's tally cannot be used")


def test_a_tally_of_numbers_has_no_mistakes():
    header, arrays = decode(learned("pa", loss="epsilon-insensitive").to_bytes())
    tally = arrays["tally"].copy()
    tally[0, [MISTAKES, FALSE_POSITIVE]] = 1.0
    refused(header, {**arrays, "tally": tally}, "another kind of labels")


# --- headers ---


def sealed(head, blocks=b""):
    body = b"weft-model" + len(head).to_bytes(8, "little") + head + blocks
    return body + hashlib.blake2b(body, digest_size=32).digest()


def with_header(change):
    data = learned("pa").to_bytes()
    length = int.from_bytes(data[10:18], "little")
    return sealed(change(data[18 : 18 + length].decode()).encode(), data[18 + length : -32])


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda head: head[:-1] + ', "format": 1}', "key twice"),
        (lambda head: head.replace('"C": 1.0', '"C": 1.0, "C": 2.0'), "key twice"),
        (lambda head: head.replace('"C": 1.0', '"C": NaN'), "NaN"),
        (lambda head: head.replace('"C": 1.0', '"C": Infinity'), "Infinity"),
        (lambda head: head.replace('"C": 1.0', '"C": 1' + "0" * 5000), "not JSON"),
        (lambda head: head.replace('"names": [', '"names": [1' + "0" * 2000 + ", ", 1), "bits"),
        (lambda head: head.replace('"names": [', '"names": [' + "[" * 40 + "1" + "]" * 40 + ", ", 1), "nested"),
        (lambda head: head.replace('"names": [', '"names": [' + "[" * 900 + "1" + "]" * 900 + ", ", 1), "name"),
        (lambda head: head.replace('"names": [', '"names": [' + "[" * 90000 + "1" + "]" * 90000 + ", ", 1), "not JSON"),
        (lambda head: head.replace('"columns": 0', f'"columns": {2**32 + 1}', 1), "columns"),
        (lambda head: head.replace('"columns": 0', '"columns": 4000000000', 1), r"tally|twice"),
    ],
)
def test_headers_that_nothing_wrote(change, match):
    assert weft.Model.from_bytes(with_header(lambda head: head)).name == "pa"
    with pytest.raises(FileError, match=match):
        weft.Model.from_bytes(with_header(change))


def test_columns_beyond_what_a_learner_has_tables_for():
    """The limit on tables holds for a file as it does for a stream."""
    model = weft.Model("coml", features=4)
    header, arrays = decode(model.to_bytes())
    header["features"]["columns"] = 2**31
    refused(header, arrays, "table|expected")


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss differs")
def test_columns_cost_nothing_until_they_are_used():
    """A file of a few hundred bytes may claim 2^31 columns: it is refused, or takes no memory to speak of."""
    for entry in weft.catalogue():
        model = weft.Model(entry.name, features=4)
        weft.Model.from_bytes(model.to_bytes())  # whatever has to be compiled is
        header, arrays = decode(model.to_bytes())
        header["features"]["columns"] = 2**31
        data = encode(header, arrays)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with suppress(FileError):
            weft.Model.from_bytes(data)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000, entry.name  # kilobytes


# --- bits ---


def test_every_flipped_bit_is_found():
    model = weft.Model("pa")
    for at in range(24):
        model.learn_one({f"f{at}": 1.0, "g": -1.0}, 1 if at % 3 else -1, f"t{at % 5}")
    data = model.to_bytes()
    assert 8 * len(data) > 7_224
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(FileError):
            weft.Model.from_bytes(bytes(flipped))
