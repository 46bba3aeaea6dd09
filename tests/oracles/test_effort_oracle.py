"""The oracle of `auto` with further experts: closed forms of what each expert keeps, and laws of the whole."""

import math

import numpy as np
import pytest

from oracles.adaptive import BIAS, Auto, sigma
from oracles.adaptive_cases import stream
from oracles.effort import Effort, single
from oracles.experts import CLASSIFY, EXPERTS, LEVELS, SIZES, Filter

BOTH = pytest.mark.parametrize("loss", ["logistic", "square"])
ALL = tuple(EXPERTS)


def draw(kind, name, f):
    return 0.05 * math.sin(1.0 + 7.0 * f + sum(map(ord, f"{kind}{name}")))


def place(column, n):
    return (n * 7919) % n if n % 3 else (n * 31) % 400


def made(loss, experts=ALL, **options):
    return Effort(loss, experts, draw=draw, place=place, **options)


def learned(model, events):
    """Views before every event."""
    views = []
    for k, row, y in events:
        model.number(row)
        views.append(model.view(model.row(row), k))
        model.learn(row, y, k)
    return views


def errors_of(views, events, i, loss):
    """Errors of score i, recomputed."""
    found = []
    for view, (_, _, y) in zip(views, events, strict=True):
        if loss == "logistic":
            found.append(sigma(view.e[i]) - (y > 0))
        else:
            u = min(max((y - view.frame.mu) / view.frame.sd, -5.0), 5.0)
            found.append((view.c[i] - u) * view.frame.ready)
    return found


@BOTH
def test_without_experts_it_is_auto(loss):
    """Bit for bit, and the first prediction is the same with experts: they enter with weight 0."""
    plain, effort, full = Auto(loss), Effort(loss), made(loss)
    for at, (k, row, y) in enumerate(stream(1, 150, loss)):
        score = plain.learn(row, y, k)
        assert effort.learn(row, y, k) == score
        assert full.learn(row, y, k) == score or at > 0
    assert plain.V == effort.V
    assert full.V[:4] != plain.V


@BOTH
def test_experts_do_not_see_each_other(loss):
    """The scores of one alone are those it has among all, bit for bit; the order of names does not matter."""
    events = list(stream(2, 120, loss))
    together, backwards = learned(made(loss), events), learned(made(loss, ALL[::-1]), events)
    assert together[-1].e == backwards[-1].e
    names = [name for name in ALL if loss == "logistic" or name not in CLASSIFY]
    at = 4
    for name in names:
        alone = learned(made(loss, [name]), events)
        assert [view.e[4:] for view in alone] == [view.e[at : at + SIZES[name]] for view in together]
        assert any(x != 0.0 for x in alone[-1].e[4:])
        at += SIZES[name]
    assert at == len(together[0].e)


@BOTH
def test_the_guarantee_holds_with_all_experts(loss):
    model = made(loss)
    for k, row, y in stream(3, 200, loss):
        model.learn(row, -y if model.t % 50 > 25 else y, k)
        assert min(model.slack(k)) > -1e-9


@BOTH
def test_what_forget_remembers(loss):
    """A coordinate's sum is over its own updates, the last counting 1, the one before 0.95, and so on."""
    events = list(stream(4, 100, loss))
    model = made(loss, ["forget"])
    views = learned(model, events)
    errors, expert = errors_of(views, events, 4, loss), model.experts["forget"]
    for own in (True, False):
        table, sums = (expert.wF, expert.GF) if own else (expert.wF0, expert.GF0)
        histories = {}
        for view, (k, _, _), g in zip(views, events, errors, strict=True):
            for j, value in view.z.items():
                if g * value != 0.0:
                    histories.setdefault((k, j) if own else j, []).append(g * value)
        assert len(histories) > 10
        for key, hs in histories.items():
            total = sum(0.95 ** (len(hs) - 1 - at) * h * h for at, h in enumerate(hs))
            assert sums[key] == pytest.approx(total, rel=1e-12)
            w = 0.0
            for at, h in enumerate(hs):
                w -= expert.eta * h / math.sqrt(sum(0.95 ** (at - i) * hs[i] ** 2 for i in range(at + 1)) + 1e-8)
            assert table[key] == pytest.approx(w, rel=1e-9, abs=1e-12)


def test_bayes_counts_by_hand():
    """The score of the last event, from all earlier ones; a feature that none of them had counts in the root only."""
    events = [*stream(5, 80, "logistic"), (1, {"f5": 1.0, "f6": 2.0, "f7": 0.5, "new": 3.0}, 1.0)]
    model = made("logistic", ["bayes"])
    views = learned(model, events)
    k, last, total = events[-1][0], views[-1].event, 0.0
    counted = [at for at, view in enumerate(views[:-1]) if view.event.sparse]  # others move nothing
    assert 10 < len(counted) < len(views) - 1
    assert all(views[at].e[4] == 0.0 for at in range(len(views) - 1) if at not in counted)
    before, views = [events[at] for at in counted], [*(views[at] for at in counted), views[-1]]
    assert "new" in last.sparse
    assert len(last.sparse) > 2
    for j in last.sparse:
        had = [(task, y) for (task, _, y), view in zip(before, views[:-1], strict=True) if j in view.event.sparse]
        part = []
        for c in (-1.0, 1.0):
            everyone = [task for task, _, y in before if y == c]
            prior = (sum(y == c for _, y in had) + 0.5) / (len(everyone) + 1)
            part.append((had.count((k, c)) + 2 * prior) / (everyone.count(k) + 2))
        total += math.log(part[1] / part[0]) if had else 0.0
    evidence = total / math.sqrt(len(last.sparse))
    a, b = 0.3, 0.0
    sums = [1.0, 1.0]
    for view, (_, _, y) in zip(views[:-1], before, strict=True):
        g, v = sigma(view.e[4]) - (y > 0), (view.e[4] - b) / a
        sums = [sums[0] + (g * v) ** 2, sums[1] + g * g]
        a, b = a - 0.2 * g * v / math.sqrt(sums[0]), b - 0.2 * g / math.sqrt(sums[1])
    assert views[-1].e[4] == pytest.approx(a * evidence + b, rel=1e-9)
    assert abs(evidence) > 0.005


def test_bayes_is_for_probabilities_and_bounded():
    assert "bayes" not in made("square").experts
    model = made("logistic", ["bayes"])
    rows = [{f"w{j}": 1.0 for j in range(300)}, {f"v{j}": 1.0 for j in range(300)}]
    for at in range(40):
        model.learn({**rows[at % 2], f"only{at}": 1.0}, 1.0 if at % 2 else -1.0, "a")
        model.learn({f"rare{at}": 1.0}, 1.0, "b")  # so that the words are not dense
    expert = model.experts["bayes"]
    event = model.view(model.row(rows[1]), "a").event
    assert len(event.sparse) == 300
    assert expert.evidence(event) == 10.0


@BOTH
def test_low_rank_descends_its_own_loss(loss):
    """Every number moves along the derivative of its score's loss, which is found by differences."""
    events = list(stream(6, 40, loss))
    model = made(loss, ["low_rank"], factors=3)
    learned(model, events[:-1])
    k, row, y = events[-1]
    expert, view = model.experts["low_rank"], model.view(model.row(row), k)
    event = view.event
    u = float(y > 0) if loss == "logistic" else (y - view.frame.mu) / view.frame.sd
    j = next(iter(event.z))
    keys = [(expert.P, expert.aP, (k, 1), 1e-3), (expert.Q, expert.aQ, (j, 2), 1e-3)]
    keys += [(expert.b, expert.a, key, 1e-8) for key in (("all",), ("task", k), ("of", j))]

    def value():
        (s,) = expert.scores(event)
        return math.log1p(math.exp(s)) - u * s if loss == "logistic" else (s - u) ** 2 / 2

    expected = []
    for table, sums, key, eps in keys:
        start = table[key]
        table[key] = start + 1e-5
        up = value()
        table[key] = start - 1e-5
        slope = (up - value()) / 2e-5
        table[key] = start
        expected.append(start - 0.2 * slope / math.sqrt(sums[key] + slope * slope + eps))
    model.learn(row, y, k)
    for (table, _, key, _), number in zip(keys, expected, strict=True):
        assert table[key] == pytest.approx(number, rel=1e-6, abs=1e-9)


def test_low_rank_starts_from_what_is_drawn():
    model = made("logistic", ["low_rank"], factors=2)
    model.learn({"x": 1.0, "y": 2.0}, 1.0, "a")
    view = model.view(model.row({"x": 3.0}), "b")
    expert = model.experts["low_rank"]
    biases = expert.b[("all",)] + sum(expert.b["of", j] * view.z[j] for j in ("x", "y") if j in view.z)
    h = [sum(expert.number("Q", j, f) * view.z[j] for j in ("x", "y") if j in view.z) for f in range(2)]
    assert view.e[4] == pytest.approx(biases + sum(draw("P", "b", f) * h[f] for f in range(2)), rel=1e-12)


def test_second_is_ridge_regression_of_the_task_and_of_all():
    """Squared loss: (sum x x^T / 0.3 + I / 10)^-1 sum x u / 0.3, for a task over the events since it has a matrix."""
    events = list(stream(7, 260, "square", tasks=2))
    model = made("square", ["second"])
    views = learned(model, events)
    expert, size = model.experts["second"], len(model.columns) + 1
    data = {"pooled": ([], []), 0: ([], []), 1: ([], [])}
    count = {0: 0, 1: 0}
    for view, (k, _, y) in zip(views, events, strict=True):
        x = [1.0, *(view.z.get(j, 0.0) for j in model.columns[: len(view.event.seats)])]
        x += [0.0] * (size - len(x))
        u = min(max((y - view.frame.mu) / view.frame.sd, -5.0), 5.0)
        assert max(map(abs, view.e)) < 8
        started = count[k] >= 2 * (len(view.event.seats) + 1) or data[k][0]
        assert (view.e[4] != 0.0) <= bool(started)
        for place in ["pooled", k] if started else ["pooled"]:
            if view.frame.ready:
                data[place][0].append(x)
                data[place][1].append(u)
        count[k] += 1
    for place, filter in (("pooled", expert.pooled), (0, expert.own[0]), (1, expert.own[1])):
        X, u = np.array(data[place][0]), np.array(data[place][1])
        assert len(X) > 100
        w = np.linalg.solve(X.T @ X / 0.3 + np.eye(size) / 10, X.T @ u / 0.3)
        np.testing.assert_allclose(filter.w, w, rtol=0, atol=1e-8)
    assert size > 5


def test_second_is_a_kalman_filter_of_log_odds():
    """In information form."""
    events = [(k, row, 1.0 if row.get("f0", 0.0) > -9 else -1.0) for k, row, _ in stream(8, 400, "logistic", tasks=1)]
    model = made("logistic", ["second"])
    A, w, least = np.eye(1) / 10, np.zeros(1), 1.0
    for k, row, y in events:
        view = model.view(model.row(row), k)
        x = np.array([1.0, *(view.z.get(j, 0.0) for j in view.event.seats)])
        grown = np.eye(len(x)) / 10
        grown[: len(A), : len(A)] = A
        A = grown
        w = np.append(w, np.zeros(len(x) - len(w)))
        assert view.e[5] == pytest.approx(w @ x, rel=1e-9, abs=1e-9)
        p = sigma(w @ x)
        least = min(least, p * (1 - p))
        A = A + max(p * (1 - p), 1e-4) * np.outer(x, x)
        w = w - np.linalg.solve(A, x) * (p - (y > 0))
        model.learn(row, y, k)
    assert least < 0.01


def test_second_when_it_is_sure():
    """p (1 - p) counts as at least 1e-4: the gain is P x / (1e4 + x P x), however sure the filter was."""
    found = []
    for p in (1e-6, 1e-5):
        filter = Filter(binary=True)
        filter.grow(2)
        filter.learn(np.array([1.0, 0.5]), p - 1.0, 1.0)  # and wrong
        found.append(filter.w / (1.0 - p))
        np.testing.assert_allclose(filter.w, np.array([10.0, 5.0]) * (1.0 - p) * 1e4 / (1e4 + 12.5), rtol=1e-12)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_grid_learns_a_product():
    """Ranks are between 0 and 1 whatever the columns' units; hats of a pair add up to 1; XOR is learned."""
    rng = np.random.default_rng(9)
    model = made("logistic", ["grid"])
    losses = []
    for at in range(900):
        x = rng.normal(size=3)
        row = {"a": math.exp(9 * x[0]), "b": x[1] ** 3, "c": 5.0 + x[2]}
        view = model.view(model.row(row), at % 3)
        inputs = model.experts["grid"].inputs(view.event)
        if len(view.event.seats) == 3:
            assert sum(inputs.values()) == pytest.approx(3 / math.sqrt(3))
        y = math.copysign(1.0, x[0] * x[1])
        losses.append(math.log1p(math.exp(-y * view.e[4])))
        model.learn(row, y, at % 3)
    assert np.mean(losses[-200:]) < 0.45 < 0.6 < np.mean(losses[:100])


def test_ranks_in_a_reservoir():
    """The value's own place among those kept, equal ones counting half; the 257th goes where `place` says."""
    model = made("square", ["grid"])
    for at in range(300):
        model.learn({"a": 1.0 + at % 5, "b": 2.0 + at % 3}, float(at % 2), 0)
    expert = model.experts["grid"]
    kept = [1.0 + at % 5 for at in range(1, 257)]  # the column has its seat from the second event on
    for at in range(257, 300):
        if place("a", at) < 256:
            kept[place("a", at)] = 1.0 + at % 5
    assert expert.kept["a"] == kept
    event = model.view(model.row({"a": 3.0, "b": 2.0}), 0).event
    rank = (sum(x < 3.0 for x in kept) + (1 + kept.count(3.0)) / 2) / 257
    (left, one), (right, other) = expert.hats(event, "a")
    assert (one * left + other * right) / 4 == pytest.approx(rank)
    assert one + other == 1.0


@BOTH
def test_levels_are_means_and_follow(loss):
    events = [(0, {"x": float(1 + at % 3)}, y) for at, y in enumerate([1.0, -1.0, 1.0, 1.0, -1.0, 1.0, 1.0, 1.0])]
    model = made(loss, ["level"])
    views = learned(model, events)
    if loss == "logistic":
        u = [float(y > 0) for _, _, y in events]
        slow = sum(u) / 8  # 1/n is above 0.1 so far
        assert model.experts["level"].m[0, 2] == pytest.approx(slow)
        fast = u[0]
        for x in u[1:]:
            fast += 0.5 * (x - fast)
        assert model.experts["level"].m[0, 0] == pytest.approx(fast)
        s = model.view({}, 0).e[4:]
        assert s[2] == pytest.approx(math.log((slow * 8 + 0.5) / ((1 - slow) * 8 + 0.5)))
        assert s[0] == pytest.approx(math.log((fast * 2 + 0.5) / ((1 - fast) * 2 + 0.5)))
        assert model.view({}, "new").e[4:] == [0.0] * 3
    else:
        m = [0.0] * 3
        for at, (view, (_, _, y)) in enumerate(zip(views, events, strict=True)):
            if view.frame.ready:
                u = (y - view.frame.mu) / view.frame.sd
                m = [x + max(rate, 1 / (at + 1)) * (u - x) for x, rate in zip(m, LEVELS, strict=True)]
        assert model.view({}, 0).e[4:] == pytest.approx(m)


def with_gaps(seed, n, loss, share=0.2):
    rng = np.random.default_rng(seed)
    for k, row, y in stream(seed, n, loss):
        yield k, {j: math.nan if j in ("f0", "f1", "f2") and rng.random() < share else x for j, x in row.items()}, y


@BOTH
def test_missing_values_are_not_counted(loss):
    """Mean and variance of a dense column are those of the events where it is not missing."""
    model, seen, events = made(loss), {"f0": [], "f1": []}, list(with_gaps(10, 200, loss))
    for k, row, y in events:
        dense = list(model.dense_list)
        view = model.view(model.row(row), k)
        for j in seen:
            if j in row and math.isnan(row[j]) and j in dense:
                assert view.z[j] == 0.0
            else:
                x = row.get(j, 0.0)
                seen[j].append(0.0 if math.isnan(x) else x)
                if j in view.z and j in dense:
                    expected = (seen[j][-1] - np.mean(seen[j])) / np.std(seen[j])
                    size = view.z[j] / min(max(expected, -5.0), 5.0)
                    assert size > 0.0
        model.learn(row, y, k)
    for j, values in seen.items():
        assert model.t - model.miss[j] == len(values) < 190
        assert model.s1[j] == pytest.approx(sum(values))


@BOTH
def test_missing_is_the_mean(loss):
    """A missing value and the mean of the present ones are scored alike, up to the mean's own weight."""
    model = made(loss)
    for k, row, y in with_gaps(11, 400, loss):
        model.learn(row, y, k)
    mean = model.s1["f0"] / (model.t - model.miss["f0"])
    for k, row, _ in stream(12, 20, loss):
        assert model.score({**row, "f0": math.nan}, k) == pytest.approx(model.score({**row, "f0": mean}, k), abs=1e-9)
        assert model.score({**row, "f9": math.nan}, k) == model.score({j: x for j, x in row.items() if j != "f9"}, k)


@BOTH
def test_without_gaps_nothing_changes(loss):
    """A gap in a column that is not dense is an absent value."""
    model, other = made(loss), made(loss)
    for k, row, y in stream(13, 120, loss):
        gaps = {f"f{j}": math.nan for j in range(4, 12) if f"f{j}" not in row}
        assert model.learn({**row, **gaps}, y, k) == other.learn(row, y, k)
    assert not any(other.miss.values())


@BOTH
def test_rounds_score_before_they_learn(loss):
    events = list(with_gaps(14, 60, loss))
    model, other = made(loss), made(loss)
    for at in range(0, 60, 3):
        tasks, rows, ys = zip(*events[at : at + 3], strict=True)
        issued = [other.score(row, k) for row, k in zip(rows, tasks, strict=True)]
        assert model.learn_round(rows, ys, tasks) == pytest.approx(issued, rel=1e-9, abs=1e-12)
        for k, row, y in events[at : at + 3]:
            other.learn(row, y, k)


@BOTH
def test_stored_in_32_bits(loss):
    """Numbers of a table that is named are all 32-bit numbers, biases apart; the others are not."""
    rounded, full = made(loss, stored=single("wF", "GF", "Q")), made(loss)
    for k, row, y in stream(15, 80, loss):
        rounded.learn(row, y, k)
        full.learn(row, y, k)
    forget, low = rounded.experts["forget"], rounded.experts["low_rank"]

    def short(table):
        return [float(np.float32(x)) == x for key, x in table.items() if key[-1] is not BIAS]

    assert all(short(forget.wF))
    assert all(short(forget.GF))
    assert all(short(low.Q))
    assert not all(short(low.P))
    assert not all(short(full.experts["forget"].wF))
    assert forget.wF[0, BIAS] != float(np.float32(forget.wF[0, BIAS]))
    assert forget.wF0["f0"] == pytest.approx(full.experts["forget"].wF0["f0"], rel=1e-4)


def campaign(times, **options):
    """A mail that is sent again and again, then with one word more: its largest weight, and betting's log-odds."""
    model, rng = made("logistic", (), **options), np.random.default_rng(0)
    for t in range(300):
        model.learn({f"{kind}{rng.integers(30)}": 1.0 for kind in "abc"}, -1.0, 0)
        if t % 3 == 0:
            model.learn({f"w{i}": 1.0 for i in rng.integers(20, size=6)}, 1.0, 0)
    mail = {f"w{i}": 1.0 for i in range(10)} | {f"n{i}": 1.0 for i in range(10)}
    for row in (mail, mail | {"late": 1.0}):
        for _ in range(times):
            model.learn(row, 1.0, 0)
    bets = [model.bet(model.th, model.G, model.L, model.R, (0, j)) for j in [*mail, "late"]]
    assert model.L[0, "late"] >= options.get("least", 0.0)
    return max(map(abs, bets)), model.view(model.row(mail), 0).e[1]


def test_a_floor_of_the_largest_gradient():
    """A feature that comes when the model is sure keeps a small weight; with a floor of 0 it is enormous."""
    assert campaign(300)[0] > 1e12
    assert campaign(300, least=2.0**-10)[0] < 10.0


def test_betting_rests_when_it_is_right_beyond_doubt():
    """Log-odds are cut at 14 where they become probabilities: without rest the same gradient would come for ever."""
    weight, log_odds = campaign(300, rests=True, least=2.0**-20)
    assert weight < 20.0
    assert 10.0 < log_odds < 16.0


def test_betting_does_not_rest_when_it_is_wrong():
    model = made("logistic", (), rests=True)
    model.th[0, BIAS], model.L[0, BIAS], model.R[0, BIAS], model.G[0, BIAS] = 1.0, 0.1, 20.0, 1.0
    assert model.view({}, 0).e[1] > 14.0
    model.learn({}, 1.0, 0)
    assert model.th[0, BIAS] == 1.0
    model.learn({}, -1.0, 0)
    assert model.th[0, BIAS] == pytest.approx(0.0, abs=1e-5)


def test_fading_is_recursive_least_squares_that_forgets():
    """The weights minimise a discounted sum, as long as the matrix may grow: checked by solving for them anew."""
    model, rng = made("logistic", ["fading"]), np.random.default_rng(8)
    events = [(0, {name: float(x) for name, x in zip("abc", rng.normal(size=3), strict=True)}, 1.0) for _ in range(300)]
    events = [
        (k, row, 1.0 if row["a"] > row["b"] * (1 if t < 150 else -1) else -1.0) for t, (k, row, _) in enumerate(events)
    ]
    views = learned(model, events)
    expert = model.experts["fading"]
    A, b, w = np.eye(4) / 10.0, np.zeros(4), np.zeros(4)
    for view, (_, _, y) in zip(views, events, strict=True):
        if not expert.is_seen(view.event) or len(view.event.seats) < 3:
            assert view.e[4] == 0.0
            continue
        x = expert.x(view.event)
        assert view.e[4] == pytest.approx(float(w @ x), rel=1e-6, abs=1e-9)
        p = sigma(view.e[4])
        r = max(p * (1.0 - p), 1e-4)
        A, b = A + r * np.outer(x, x), b + (r * view.e[4] + (y > 0) - p) * x
        w = np.linalg.solve(A, b)
        if np.trace(np.linalg.inv(A)) <= 0.995 * 10.0 * 4:
            A, b = 0.995 * A, 0.995 * b
    late = [view.e[4] * y > 0 for view, (_, _, y) in zip(views, events, strict=True)][-50:]
    assert np.mean(late) > 0.85  # it has followed the change


def test_unknown_experts_are_refused():
    with pytest.raises(ValueError, match="no expert has the name 'forgot'"):
        Effort(experts=["forgot"])


@BOTH
@pytest.mark.parametrize("kind", ["a world that changes", "experts of noise"])
def test_neither_stack_is_missed(loss, kind):
    """At every event the stacks' mixture has lost no more than its bound says, against either of them."""
    rng, model, losses, bound = np.random.default_rng(4), made(loss), np.zeros(3), 0.0
    for t in range(400):
        row, k = {j: float(rng.normal()) for j in range(4)}, t % 3
        slope = 1.0 if kind == "experts of noise" or t // 100 % 2 else -1.0
        y = slope * row[0] + (2.0 if kind == "experts of noise" else 0.3) * rng.normal()
        y = (1.0 if y > 0.0 else -1.0) if loss == "logistic" else y
        model.number(row)
        view = model.view(model.row(row), k)
        ready, both, (low, high) = view.frame.ready, [*view.both, view.s], (model.ulo, model.uhi)
        model.learn(row, y, k)
        if loss == "logistic":
            losses += [-math.log(sigma(s) if y > 0.0 else 1.0 - sigma(s)) for s in both]
            bound += math.log(1.0 / (1.0 - 0.25 / (t + 2.0)))
            most = math.log(2.0) + bound
        elif ready:
            losses += [(min(max(s, low), high) - model.u) ** 2 / 2 for s in both]
            most = math.log(2.0) / model.rate() + model.gap_of
        if t > 2:
            assert losses[2] <= losses[:2].min() + most + 1e-9
    assert losses[2] > 0.0
