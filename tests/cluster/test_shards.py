"""Learning in shards: independent learners are learned bit for bit as ever, and interruptions change nothing."""

import os
from contextlib import nullcontext

import numpy as np
import pytest

import weft
from cluster.events import write_events
from weft import cluster
from weft.cluster import run
from weft.cluster.folder import Folder
from weft.cluster.rule import Rule
from weft.cluster.worker import Setup, Worker
from weft.learners.adaptive.state import Stack


def versions(rule, events=400):
    """How many blocks so many events are."""
    sizes, count = rule.sizes(0), 0
    while events > 0:
        events, count = events - next(sizes), count + 1
    return count


def plainly(path, *learner, **parameters):
    """The model of one process without shards."""
    model = weft.Model(*learner, **parameters)
    for chunk in weft.streams.read_chunks(path, target=model.target):
        model.learn(chunk.stream)
    return model


@pytest.mark.parametrize(("name", "parameters"), [("pa", {"C": 0.5}), ("perceptron", {}), ("arow", {})])
@pytest.mark.parametrize(("shards", "exchange", "staleness"), [(1, 1000, 0), (4, 64, 0), (7, 33, 3)])
def test_independent_learners_are_learned_as_without_shards(tmp_path, name, parameters, shards, exchange, staleness):
    path = write_events(tmp_path / "events.jsonl")
    found = cluster.learn(path, name, shards=shards, exchange=exchange, staleness=staleness, **parameters)
    assert found.model().to_bytes() == plainly(path, name, **parameters).to_bytes()
    assert len(found.shards) == shards
    assert found.versions == versions(Rule(shards, exchange))
    assert sum(len(weft.load(shard).tasks) for shard in found.shards) == 23


@pytest.mark.parametrize("parameters", [{}, {"loss": "square"}, {"effort": "fast"}])
def test_one_shard_is_one_process(tmp_path, parameters):
    path = write_events(tmp_path / "events.jsonl", square="loss" in parameters)
    found = cluster.learn(path, "auto", shards=1, exchange=70, **parameters)
    assert found.model().to_bytes() == plainly(path, "auto", **parameters).to_bytes()


def dense_stream(square, events=1500, tasks=12):
    """Labels that follow a product of two columns, which the grid alone can learn; the task shifts them a little."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(events, 6)) * [1.0, 1.0, 3.0, 0.1, 1.0, 1.0] + [0.0, 0.0, 5.0, 0.0, 1.0, -1.0]
    task = rng.integers(0, tasks, events)
    y = X[:, 0] * X[:, 1] + 0.3 * X[:, 4] + 0.2 * rng.normal(size=tasks)[task]
    return weft.Stream(X, y if square else np.where(y > 0.3, 1.0, -1.0), [f"t{k}" for k in task])


@pytest.mark.parametrize("loss", ["logistic", "square"])
def test_the_grid_is_learned_in_shards(loss):
    stream = dense_stream(loss == "square")
    whole = weft.Model(loss=loss)
    whole.learn(stream)
    assert cluster.learn(stream, "auto", shards=1, exchange=70, loss=loss).model().to_bytes() == whole.to_bytes()
    others = ["forget", "low_rank", "level"]
    kinds = {"grid": weft.Model(loss=loss, experts=[*others, "grid"]), "none": weft.Model(loss=loss, experts=others)}
    losses = {}
    for name, model in kinds.items():
        run = cluster.learn(stream, model, shards=3, exchange=100)
        shards = [weft.load(path).state for path in run.shards]
        for one in shards[1:]:
            assert np.array_equal(one.seat, shards[0].seat)
            assert np.array_equal(one.grid, shards[0].grid)
            assert np.array_equal(one.reservoir, shards[0].reservoir)
        losses[name] = run.model().tally.total["loss"]
    assert losses["grid"] < 0.95 * losses["none"]
    assert losses["grid"] < (1.5 if loss == "square" else 1.25) * whole.tally.total["loss"]  # 1.36: means move slowly


@pytest.mark.parametrize("staleness", [0, 2])
@pytest.mark.parametrize("name", ["auto", "adaptive", "pa"])
def test_a_run_that_was_interrupted_goes_on_as_if_nothing_had_been(tmp_path, name, staleness):
    path, rule = write_events(tmp_path / "events.jsonl"), {"shards": 3, "exchange": 41, "staleness": staleness}
    whole = cluster.learn(path, name, **rule).model().to_bytes()
    rng = np.random.default_rng(3)

    def stop(version):
        if rng.random() < 0.4:
            raise KeyboardInterrupt

    for _ in range(60):
        try:
            found = cluster.learn(path, name, **rule, folder=tmp_path / "run", save_every=100, on_version=stop)
            break
        except KeyboardInterrupt:
            pass
    assert found.model().to_bytes() == whole
    assert not cluster.learn(path, name, **rule, folder=tmp_path / "run", save_every=100).is_new


@pytest.mark.parametrize("staleness", [0, 1])
def test_a_worker_that_is_lost_is_replaced(tmp_path, staleness):
    path = write_events(tmp_path / "events.jsonl")
    rule = {"shards": 4, "exchange": 50, "staleness": staleness, "save_every": 150}
    rng, lost = np.random.default_rng(8), []

    class Forgetful(run.Local):
        """Loses its worker before or after a step, as an actor that is killed."""

        def reports(self, started):
            found = []
            for number in self._shards:
                for _ in range(2):
                    if rng.random() < 0.3:
                        self._worker = Worker(self._worker.setup)
                        lost.append(number)
                    report = self._worker.step(number, *started)
                found.append(report)
            return found

    def workers(setup: Setup):
        return nullcontext(Forgetful(setup))

    whole = cluster.learn(path, "auto", **rule)
    found = cluster.learn(path, "auto", **rule, workers=workers)
    assert len(lost) > 5
    assert found.model().to_bytes() == whole.model().to_bytes()


def test_a_damaged_checkpoint_is_replaced_by_the_one_before(tmp_path):
    path, rule = write_events(tmp_path / "events.jsonl"), {"shards": 2, "exchange": 40, "save_every": 80}
    whole = cluster.learn(path, "adaptive", **rule).model().to_bytes()

    def stop(version):
        if version.number == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cluster.learn(path, "adaptive", **rule, folder=tmp_path / "run", on_version=stop)
    shard = tmp_path / "run" / "shard-001"
    newest = max(int(name[:-5]) for name in os.listdir(shard) if name.endswith(".weft"))
    damaged = shard / f"{newest:08}.weft"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    assert cluster.learn(path, "adaptive", **rule, folder=tmp_path / "run").model().to_bytes() == whole


def test_a_file_that_grows_is_gone_on_with(tmp_path):
    path = tmp_path / "events.jsonl"
    write_events(path)
    lines = path.read_text().splitlines(keepends=True)
    rule = {"shards": 3, "exchange": 50, "folder": tmp_path / "run"}
    for end in (170, 200, 400):
        path.write_text("".join(lines[:end]))
        found = cluster.learn(path, "pa", **rule)
        assert found.events == end
        assert found.model().to_bytes() == plainly(path, "pa").to_bytes()


def test_a_model_that_was_learned_before_is_spread(tmp_path):
    path, later = write_events(tmp_path / "one.jsonl"), write_events(tmp_path / "two.jsonl", seed=6, tasks=30)
    for name in ("pa", "auto"):
        model = plainly(path, name)
        bytes_before = model.to_bytes()
        found = cluster.learn(later, model, shards=3, exchange=100)
        assert model.to_bytes() == bytes_before
        joined = found.model()
        assert joined.tally.total["events"] == 800
        assert joined.tasks[:23] == model.tasks
        if name == "pa":
            for chunk in weft.streams.read_chunks(later):
                model.learn(chunk.stream)
            assert joined.to_bytes() == model.to_bytes()


def test_statistics_of_all_shards_are_those_of_one_process(tmp_path):
    path = write_events(tmp_path / "events.jsonl", square=True)
    joined = cluster.learn(path, "auto", loss="square", shards=3, exchange=60).model().state
    alone = plainly(path, "auto", loss="square").state
    np.testing.assert_array_equal(joined.features[:12, 6], alone.features[:12, 6])
    np.testing.assert_allclose(joined.features[:12, 7], alone.features[:12, 7], rtol=1e-12)
    np.testing.assert_allclose(joined.sums[:12], alone.sums[:12], atol=1e-12)
    np.testing.assert_array_equal(joined.totals, alone.totals)
    np.testing.assert_allclose(joined.labels[[0, 1, 5, 6, 9]], alone.labels[[0, 1, 5, 6, 9]], rtol=1e-10)
    assert sorted(joined.dense[: joined.n_dense[0]]) == sorted(alone.dense[: alone.n_dense[0]])


@pytest.mark.parametrize(("shards", "staleness", "seed"), [(7, 10, 0), (4, 3, 1), (1, 10, 2)])
def test_stale_blocks_leave_shares_of_stacks_that_are_probabilities(shards, staleness, seed):
    """Repeated on top of each other they made shares negative, in files that nobody could load."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1500, 8)) * rng.choice([1e-3, 1.0, 50.0, 1e4], 8)
    task, y = rng.integers(0, 15, 1500), np.sign(X @ rng.normal(size=8) / np.abs(X).max() + 0.3 * rng.normal(size=1500))
    stream = weft.Stream(X, y, task, weight=rng.choice([0.1, 1.0, 30.0], 1500))
    lowest = []

    def noted(setup):
        return nullcontext(Noted(setup))

    class Noted(run.Local):
        def reports(self, started):
            found = super().reports(started)
            lowest.extend(report.arrays["stack"][:2, Stack.MIXTURE].min() for report in found if report.events)
            return found

    model = cluster.learn(stream, "auto", shards=shards, exchange=60, staleness=staleness, workers=noted).model()
    assert min(lowest) > 0.0
    assert np.isfinite(model.tally.total["loss"])
    assert model.tally.total["events"] == 1500


def test_what_cannot_be_learned_in_shards_says_why(tmp_path):
    path = write_events(tmp_path / "events.jsonl", 20)
    for name, parameters, words in [
        ("auto", {"effort": "best"}, "matrices over columns"),
        ("auto", {"half_life": 100.0}, "half_life counts the events of all tasks"),
    ]:
        with pytest.raises(ValueError, match=words):
            cluster.learn(path, name, shards=2, **parameters)
    model = plainly(path, "auto")
    model.set_policy(model.tasks[0], gives=False)
    with pytest.raises(ValueError, match="remove the policies"):
        cluster.learn(path, model, shards=2)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"shards": 0}, "shards=0"),
        ({"shards": 257}, "from 1 to 256"),
        ({"exchange": 0}, "exchange=0"),
        ({"staleness": -1}, "staleness=-1"),
        ({"partitioned": True}, "1 files are a partition for as many shards, not for 2"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(tmp_path, given, words):
    path = write_events(tmp_path / "events.jsonl", 20)
    with pytest.raises(ValueError, match=words):
        cluster.learn(path, "pa", **({"shards": 2} | given))
    with pytest.raises(FileNotFoundError, match="shards read files"):
        cluster.learn(tmp_path / "none", "pa", shards=2)


def test_a_folder_holds_one_run(tmp_path):
    path, other = write_events(tmp_path / "events.jsonl", 50), write_events(tmp_path / "other.jsonl", 50)
    kept = {"folder": tmp_path / "run", "shards": 2, "exchange": 20}
    cluster.learn(path, "pa", **kept)
    for given, words in [
        ({"exchange": 30}, "another rule"),
        ({"C": 2.0}, "another learner"),
        ({"options": {"format": "jsonl"}}, "others"),
    ]:
        with pytest.raises(ValueError, match=words):
            cluster.learn(path, "pa", **(kept | given))
    with pytest.raises(ValueError, match="over other files"):
        cluster.learn(other, "pa", **kept)
    assert cluster.learn([path, other], "pa", **kept).events == 100
    assert Folder(tmp_path / "run").last_version() == 8
