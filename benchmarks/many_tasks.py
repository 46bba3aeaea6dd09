"""10 tasks and 100,000 tasks: cost per event, and bytes of state per (task, feature) pair seen."""

import time
from collections.abc import Callable

import numpy as np
from scipy import sparse

import weft
from benchmarks.figures import Figure, alternately
from benchmarks.per_task_models import stream as dense_stream
from weft.storage.pairs import END, ROWS, USED, Pairs

EVENTS = 200_000


def run() -> list[Figure]:
    figures = []
    for name in ("pa", "perceptron", "mt-ogd"):
        for kind, make in (("50 dense features", _dense), ("20 of 2^18 features", _sparse)):
            passes = [_second_pass(name, make(tasks)) for tasks in (10, 100_000)]
            few, many = (seconds / EVENTS for seconds in alternately(*passes))
            figures.append(
                Figure(
                    f"{name}, {kind}: 100,000 tasks against 10",
                    f"{many * 1e6:.3f} us",
                    f"10 tasks {few * 1e6:.3f} us",
                    f"{few / many:.2f} of the rate",
                    ">= 0.5",
                    few / many >= 0.5,
                )
            )
    return [*figures, _memory("pa"), _memory("mt-ogd"), _million()]


def _dense(tasks: int) -> weft.Stream:
    return weft.Stream(*dense_stream(EVENTS, tasks))


def _sparse(tasks: int) -> weft.Stream:
    rng = np.random.default_rng(1)
    columns = np.sort(rng.integers(0, 1 << 18, (EVENTS, 20)) // 20 * 20 + np.arange(20), axis=1)
    X = sparse.csr_array(
        (rng.normal(size=20 * EVENTS), columns.ravel(), np.arange(0, 20 * EVENTS + 1, 20)),
        shape=(EVENTS, 1 << 19),
    )
    X.sum_duplicates()
    return weft.Stream(X, rng.choice([-1, 1], EVENTS), rng.integers(0, tasks, EVENTS))


def _second_pass(name: str, events: weft.Stream) -> Callable[[], object]:
    """A second pass: the tasks are known and their memory is allocated."""
    model = weft.Model(name)
    model.learn(events)
    return lambda: model.learn(events)


def _million() -> Figure:
    """A million tasks, ten million events in chunks made during the run; only learning is timed."""
    tasks, events, chunk, nonzeros, features = 1_000_000, 10_000_000, 500_000, 10, 1 << 16
    model, seconds = weft.Model("mt-ogd", b=10.0, eta=0.1), 0.0
    for seed in range(events // chunk):
        rng = np.random.default_rng(seed)
        part = features // nonzeros
        columns = rng.integers(0, part, (chunk, nonzeros)) + part * np.arange(nonzeros)
        bounds = np.arange(0, chunk * nonzeros + 1, nonzeros)
        X = sparse.csr_array((rng.normal(size=chunk * nonzeros), columns.ravel(), bounds), shape=(chunk, features))
        stream = weft.Stream(X, rng.choice([-1, 1], chunk), rng.integers(0, tasks, chunk))
        began = time.perf_counter()
        model.learn(stream)
        seconds += time.perf_counter() - began
    pairs, held = int(model.state.pairs.layout[USED]), _held(model.state.pairs)
    return Figure(
        f"mt-ogd, {len(model.tasks):,} tasks, 10 million events, 10 of 2^16 features",
        f"{seconds / events * 1e6:.2f} us",
        f"{pairs / 1e6:.0f} million pairs in {held / 2**30:.1f} GiB",
        f"{seconds:.0f} s",
        "finishes",
        True,
    )


def _held(pairs: Pairs) -> int:
    """Bytes of keys, regions and one number per pair that are in use."""
    return 8 * int(pairs.layout[END] + pairs.layout[ROWS]) + pairs.table.nbytes


def _memory(name: str) -> Figure:
    model = weft.Model(name)
    model.learn(_sparse(100_000))
    pairs, held = int(model.state.pairs.layout[USED]), _held(model.state.pairs)
    text = f"{held / 2**20:.0f} MiB for {pairs:,} pairs"
    table = len(model.tasks) * len(model.features) * 8 / 2**30
    return Figure(
        f"{name}, 100,000 tasks x 2^19 features: state",
        text,
        f"a table: {table:.0f} GiB",
        f"{held / pairs:.0f} B/pair",
        "",
        None,
    )
