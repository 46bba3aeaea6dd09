"""What tasks and rounds mean: names carry nothing, tasks may come late, rounds are scored, then learned."""

import numpy as np
import pytest

import weft
from contracts.settings import NAMES
from contracts.streams import VARIETIES, is_dormant, make_events
from weft.maths.losses import NAMES as NAMES_OF_LOSSES
from weft.tally.counts import COLUMNS, LOSS


def first_seen(events):
    return list(dict.fromkeys(events.tasks))


@pytest.mark.parametrize(("kind", "form"), VARIETIES)
def test_permuting_names_permutes_the_state(setting, kind, form, soon_hashed):
    events = make_events(setting.target, kind, form, seed=41)
    names = first_seen(events)
    declared = [names[i] for i in np.random.default_rng(1).permutation(len(names))]
    if setting.counts_tasks:
        declared += [name for name in NAMES if name not in declared]
    one, other = setting.declared(), setting.model(tasks=declared)
    same = setting.close if setting.sums_over_tasks else np.array_equal  # sums over tasks depend on their order
    assert same(one.learn(events.stream()), other.learn(events.stream()))
    order = [declared.index(name) for name in one.tasks]
    assert same(one.tally.live, other.tally.live[order])
    if setting.relates:
        assert same(one.relations(), other.relations()[np.ix_(order, order)])
    if setting.keeps_rows:
        assert_same_support(one.support(), other.support(), same)
    else:
        assert same(one.weights(), other.weights()[order])
    for name in names:
        tasks = [name] * len(events.rows)
        assert same(one.score(events.table(), tasks), other.score(events.table(), tasks))


def assert_same_support(found, expected, same):
    """Equal rows of equal tasks and ages, with coefficients that are the same."""
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one.task, one.row, one.age) == (other.task, other.row, other.age)
        assert same(one.coefficient, other.coefficient)
        if one.coefficients is not None:
            assert one.coefficients.keys() == other.coefficients.keys()
            names = list(one.coefficients)
            assert same([one.coefficients[name] for name in names], [other.coefficients[name] for name in names])


def test_renaming_tasks_changes_no_number(setting, soon_hashed):
    events = make_events(setting.target, "rounds", "dense", seed=42)
    renamed = {name: name if setting.named else f"task {at}" for at, name in enumerate(first_seen(events))}
    y = np.array(events.labels)
    one, other = setting.model(), setting.model()
    scores = one.learn(events.stream())
    tasks = [renamed[name] for name in events.tasks]
    assert np.array_equal(other.learn(weft.Stream(events.table(), y, tasks, events.rounds)), scores)
    assert np.array_equal(one.tally.live, other.tally.live)


@pytest.mark.parametrize(("kind", "form"), VARIETIES)
def test_a_new_task_was_there_dormant(setting, kind, form, soon_hashed):
    """A task that appears in mid-stream equals one that was declared; where tasks are counted, one that was dormant."""
    events = make_events(setting.target, kind, form, seed=43)
    names = setting.model().tasks if setting.named else first_seen(events)
    late, declared = setting.model(), setting.model(tasks=names)
    if setting.counts_tasks:
        nothing = np.zeros((len(names), 1))
        late.learn(weft.Stream(nothing, np.full(len(names), np.nan), names, [0] * len(names)))
        declared.learn(weft.Stream(nothing, np.full(len(names), np.nan), names, [0] * len(names)))
        assert late.to_bytes() == declared.to_bytes()
    assert np.array_equal(late.learn(events.stream()), declared.learn(events.stream()))
    assert late.to_bytes() == declared.to_bytes()


def test_dormant_rows_are_scored_and_nothing_else(setting, soon_hashed):
    """Without its dormant rows a stream leaves the same weights, scores and counts."""
    events = make_events(setting.target, "rounds", "dense", seed=44)
    active = [i for i in range(len(events.rows)) if not is_dormant(events, i)]
    assert len(active) < len(events.rows) - 10
    names = setting.some_tasks(*first_seen(events))
    full, thin = setting.model(tasks=names), setting.model(tasks=names)
    scores = full.learn(events.stream())
    X, y = events.table(), np.array(events.labels)
    tasks, rounds = [events.tasks[i] for i in active], np.array(events.rounds)[active]
    assert np.array_equal(thin.learn(weft.Stream(X[active], y[active], tasks, rounds)), scores[active])
    assert np.all(np.isfinite(scores))
    assert full.to_bytes() == thin.to_bytes()


def test_a_dormant_row_is_scored_like_any_other(setting, soon_hashed):
    events = make_events(setting.target, "rounds", "sparse", seed=45)
    model = setting.declared()
    for piece in events.cut(range(events.n_rounds + 1)):
        stream = piece.stream()
        if all(is_dormant(piece, i) for i in range(len(piece.rows))):
            before = model.to_bytes() if set(piece.tasks) <= set(model.tasks) else None
            model.learn(stream)
            assert before in (None, model.to_bytes())
        else:
            model.learn(stream)
    X = events.table()
    names = NAMES[:4] if setting.counts_tasks else [f"{i}" for i in range(4)]  # a newcomer would be counted
    quiet = weft.Stream(X[:4], [np.nan] * 4, names, rounds=[0, 0, 0, 0])
    expected, events_before = model.score(X[:4], names), model.tally.total["events"]
    assert np.array_equal(model.learn(quiet), expected)
    assert model.tally.total["events"] == events_before


def test_a_round_is_scored_before_any_of_it_is_learned(setting, soon_hashed):
    events = make_events(setting.target, "rounds", "dense", seed=46)
    model = setting.declared()
    width, first = events.table().shape[1], NAMES[0] if setting.counts_tasks else "first"
    model.learn_one(np.zeros(width), None if setting.target == "point" else 1.0, first)  # all columns are known
    sizes = set()
    for piece in events.cut(range(events.n_rounds + 1)):
        expected = model.score(piece.table(), list(piece.tasks))
        assert np.array_equal(model.learn(piece.stream()), expected)
        sizes.add(len(piece.rows))
    assert len(sizes) > 2


def test_a_round_without_loss_changes_no_weights(setting, soon_hashed):
    """Conservative learners move only where they lose: labels that agree by a wide margin change nothing."""
    events = make_events(setting.target, "rounds", "dense", seed=47)
    model = setting.model()
    model.learn(events.stream())
    X, names = events.table(), list(model.tasks)
    epsilon = model.learner.tally_loss[1]
    before = model.support() if setting.keeps_rows else model.weights()
    for x in X[:20]:
        scores = model.score(np.repeat(x[None], len(names), 0), names)
        if setting.target == "binary":
            y, calm = np.where(scores >= 0, 1.0, -1.0), np.abs(scores) >= 1
        elif setting.target == "real":
            y, calm = scores, np.full(len(names), True)
        else:
            y, calm = np.zeros(len(names)), scores <= epsilon
        if setting.traits.mistake_driven:  # no margin: every correct sign will do
            calm = scores != 0
        if not setting.traits.conservative:  # it moves at every step
            calm = np.full(len(names), False)
        if np.any(calm):
            kept = [name for name, quiet in zip(names, calm, strict=True) if quiet]
            rows = np.repeat(x[None], len(kept), 0)
            model.learn(weft.Stream(rows, y[calm], kept, rounds=[0] * len(kept)))
    after = model.support() if setting.keeps_rows else model.weights()
    if setting.keeps_rows:
        assert [row._replace(age=0) for row in before] == [row._replace(age=0) for row in after]
    else:
        assert np.array_equal(before, after)
    # The learner does move where it loses, so the law is not empty.
    x = np.linspace(1.0, 10.0, X.shape[1])
    score = model.score([x], [names[0]])[0]
    for _ in range(max(1, setting.traits.refit_every)):
        model.learn_one(x, {"binary": -1.0 if score >= 0 else 1.0, "real": score + 5.0}.get(setting.target), names[0])
    moved = model.support() if setting.keeps_rows else model.weights()
    assert after != moved if setting.keeps_rows else not np.array_equal(after, moved)


# --- the tally ----------------------------------------------------------------------------------------------


def losses(model, scores, labels):
    epsilon = model.learner.tally_loss[1]
    loss = NAMES_OF_LOSSES[model.learner.tally_loss[0]]
    if loss == "logistic":
        return np.logaddexp(0.0, -np.nan_to_num(labels) * scores)
    if loss == "square":
        return (labels - scores) * (labels - scores)
    if loss == "absolute":
        return np.abs(labels - scores)
    if model.learner.target == "binary":
        return np.maximum(0.0, 1.0 - labels * scores)
    gap = scores if model.learner.target == "point" else np.abs(labels - scores)
    return np.maximum(0.0, gap - epsilon)


@pytest.mark.parametrize(("kind", "form"), VARIETIES)
def test_the_tally_counts_the_issued_scores(setting, kind, form, soon_hashed):
    events = make_events(setting.target, kind, form, seed=48)
    model = setting.model()
    scores = np.concatenate([model.learn(piece.stream()) for piece in events.cut([0, 5, 6, 20, events.n_rounds])])
    expected = np.zeros((len(model.tasks), len(COLUMNS)))
    labels = np.array(events.labels)
    found = losses(model, scores, labels)
    for i, (y, s) in enumerate(zip(labels, scores, strict=True)):
        if is_dormant(events, i):
            continue
        j = model.tasks.index(events.tasks[i])
        binary, plus, hit = setting.target == "binary", y > 0, (s >= 0) == (y > 0)
        expected[j] += [
            1,
            binary and not hit,
            found[i],
            binary and hit and plus,
            binary and not hit and not plus,
            binary and not hit and plus,
            0.0 if binary else abs(y - s),
            0.0 if binary else (y - s) * (y - s),
        ]
    assert np.array_equal(np.delete(model.tally.live, LOSS, 1), np.delete(expected, LOSS, 1))
    rounding = 1e-14 if NAMES_OF_LOSSES[model.learner.tally_loss[0]] == "logistic" else 0.0  # two ways to a logarithm
    assert np.allclose(model.tally.live[:, LOSS], expected[:, LOSS], rtol=rounding, atol=0.0)
    assert model.tally.counts.tolist() == expected[:, 0].tolist()
    assert model.tally.mistakes.tolist() == expected[:, 1].tolist()
    assert np.array_equal(model.tally.losses, expected[:, 2])
    assert model.tally.total["events"] == int(expected[:, 0].sum())


def test_single_events_are_tallied_alike(setting):
    events = make_events(setting.target, "single", "named", seed=49)
    bulk, single = setting.model(), setting.model()
    bulk.learn(events.stream())
    for x, y, task in zip(events.table(), events.labels, events.tasks, strict=True):
        single.learn_one(x, None if setting.target == "point" else y, task)
    assert np.array_equal(bulk.tally.live, single.tally.live)
