"""Learners on a budget on the command line: parameters, refusals, and what weft inspect shows of them."""

import json

import pytest

import weft

pytestmark = pytest.mark.xdist_group("budget")

BUDGETED = ("mtbprj", "mtbprj-2", "mtrbp", "mtforg")


def learn(weft_command, events, learner, *settings, model="m.weft"):
    """Learn, and return the model that was saved."""
    words = [word for setting in settings for word in ("--set", setting)]
    weft_command("learn", events, "--model", model, "--learner", learner, "--quiet", *words)
    return weft.load(model)


def inspect(weft_command, *words):
    return json.loads(weft_command("inspect", "m.weft", "--json", *words).stdout)


def test_parameters(weft_command, events):
    model = learn(weft_command, events, "mtbprj", "kernel=gaussian", "budget=16MB", "eta=0.1", "relative=true")
    assert (model.learner.kernel.name, model.learner.budget, model.learner.relative) == ("gaussian", 16_000_000, True)
    weft_command("learn", events, "--model", "m.weft", "--set", "budget=16000 kB", "--restart", "--quiet")
    kernel = 'kernel={"name": "poly", "degree": 3, "normalize": false}'
    model = learn(weft_command, events, "mtrbp", kernel, "B=5", "seed=3", "graph=none", model="r.weft")
    assert (model.learner.kernel.degree, model.learner.B, model.learner.seed) == (3, 5, 3)
    assert learn(weft_command, events, "mtforg", "R=2.5", "B=inf", model="f.weft").learner.R == 2.5
    error = weft_command("learn", events, "--model", "r.weft", "--set", "kernel=gaussian", code=2).stderr
    held = "poly(degree=3, gamma=1.0, coef0=1.0, normalize=False)"
    assert error.startswith(f"weft: r.weft was learned with kernel={held}, not gaussian(gamma=1.0); leave --set kernel")


REFUSED = {
    "B=0": "B=0 must be an integer >= 1 or inf",
    "B=1.5": "B=1.5 must be an integer >= 1 or inf",
    "kernel=rbf": "unknown kernel 'rbf'; choose one of linear, poly, gaussian",
    'kernel={"name": "poly", "degree": 0}': "degree=0 must be an integer from 1 to 100",
    'kernel={"name": "gaussian", "gamma": 0}': "gamma=0 must be > 0",
    'kernel={"name": "poly", "sigma": 1}': "unknown kernel parameter 'sigma'; allowed: [",
    "budget=lots": 'budget=\'lots\' must be a number of bytes >= 1 or a text such as "16MB" or "1.5 GiB" or None',
    "B=5 budget=1MB": "B=5 and budget=1000000 are both given; give one of them",
    'graph=[["ann","bob"]]': "does not name the task '[red]'; its tasks are 'ann', 'bob'",
    "graph=friends.csv": "there is no file friends.csv; a graph is a CSV or JSON file, complete, or none",
    "C=1": "has no parameter 'C'; it takes kernel, graph, B, budget",
}


@pytest.mark.parametrize("name", BUDGETED)
@pytest.mark.parametrize("settings", REFUSED)
def test_refusals(weft_command, events, settings, name):
    """One sentence, and no file."""
    parts = [settings] if "{" in settings else settings.split()
    words = [word for part in parts for word in ("--set", part)]
    error = weft_command("learn", events, "--model", "z.weft", "--learner", name, *words, code=2).stderr
    assert error.startswith("weft: ")
    assert REFUSED[settings] in error
    assert error.count("\n") == 1
    with pytest.raises(FileNotFoundError):
        weft.load("z.weft")


def test_compare(weft_command, events):
    words = ("--learner", 'mtbprj:B=5,kernel={"name": "poly", "degree": 2}', "--learner", "mtrbp:budget=1kB,graph=none")
    data = json.loads(weft_command("compare", events, *words, "--shuffles", "2", "--json").stdout)
    assert len(data["learners"]) == 2
    error = weft_command("compare", events, "--learner", "mtforg:B=0", code=2).stderr
    assert "mtforg: B=0 must be an integer >= 1 or inf" in error


# --------------------------------------------------------------------------------------------------------- weft inspect


@pytest.mark.parametrize("name", BUDGETED)
def test_inspect_a_budget_of_rows(weft_command, events, name):
    model = learn(weft_command, events, name, "kernel=gaussian", "B=5")
    found, facts = model.usage(), inspect(weft_command)
    assert facts["counts"]["support"] == 5
    assert facts["budget"] == {
        "rows": 5, "most_rows": 5, "bytes": found.bytes, "most_bytes": None, "oldest": model.support()[0].age,
        "mistakes": found.mistakes, "evictions": found.evictions, "damage": found.damage,
        "mean_damage": found.damage / found.evictions, "too_large": 0,
    }  # fmt: skip
    assert found.evictions > 5
    counts = dict(zip(model.tasks, found.kept.tolist(), strict=True))
    assert [(row["task"], row["rows"]) for row in facts["kept"]] == sorted(counts.items(), key=lambda item: -item[1])
    text = weft_command("inspect", "m.weft").stdout
    age = "1 event ago" if found.oldest == 1 else f"{found.oldest} events ago"
    assert f"5 of at most 5 rows, {found.bytes:,} bytes; the oldest came {age}" in text
    assert f"{found.mistakes} with y f(x) <= 0" in text
    assert f"{found.evictions} rows; damage {found.damage:.4f}, {found.mean_damage:.4f} each" in text
    assert "How tasks share the rows" in text
    assert "*" * 20 in text
    assert "too large" not in text


def test_inspect_a_budget_of_bytes(weft_command):
    lines = [{"task": "ann", "x": {"a": 1.0}, "y": 1}, {"task": "bob", "x": {"b": 1.0, "c": 2.0}, "y": -1}]
    lines += [{"task": "ann", "x": {f"w{i}": 1.0 for i in range(30)}, "y": 1}] * 2
    weft_command(
        "learn", "-", "--model", "m.weft", "--learner", "mtrbp", "--set", "budget=100", "--quiet",
        stdin="\n".join(map(json.dumps, lines)),
    )  # fmt: skip
    facts = inspect(weft_command)["budget"]
    assert (facts["rows"], facts["most_rows"], facts["bytes"], facts["most_bytes"]) == (1, None, 88, 100)
    assert (facts["evictions"], facts["too_large"], facts["mistakes"]) == (1, 2, 4)
    assert facts["damage"] == pytest.approx((2 / 3) ** 0.5)  # sqrt((A^-1)_ii) of two tasks
    text = weft_command("inspect", "m.weft").stdout
    assert "1 row, 88 of at most 100 bytes; the oldest came 2 events ago" in text
    assert "2 rows that the whole budget could not hold" in text
    assert "1 row; damage 0.8165, 0.8165 each" in text


def test_inspect_without_a_budget(weft_command, events):
    rows = len(learn(weft_command, events, "mt-perceptron", "kernel=gaussian").support())
    text = weft_command("inspect", "m.weft").stdout
    assert f"keeps        {rows} rows, " in text
    assert "evicted" not in text
    learn(weft_command, events, "mtbprj", "B=50", model="roomy.weft")
    assert "evicted      nothing yet" in weft_command("inspect", "roomy.weft").stdout
    weft.Model("mtbprj", tasks=["ann", "bob"]).save("empty.weft")
    text = weft_command("inspect", "empty.weft").stdout
    assert "0 of at most 200 rows, 0 bytes\n" in "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    assert "How tasks share" not in text
    assert "It has no rows in the budget." in weft_command("inspect", "empty.weft", "--task", "bob").stdout
    weft.Model("pa").save("pa.weft")
    data = json.loads(weft_command("inspect", "pa.weft", "--json").stdout)
    assert data["budget"] is data["kept"] is None


def test_many_tasks_share_a_budget(weft_command):
    """The ten largest, and the rest in a line, unless all are asked for."""
    model = weft.Model("mt-perceptron", graph="none", kernel="gaussian")
    for task in range(14):
        for event in range(20 if task == 3 else 1 if task < 12 else 0):
            model.learn_one({"x": 30.0 * event}, 1, f"t{task:02}")
    model.learn_one({"x": 0.0}, 1, "t03")
    model.save("m.weft")
    assert [row["rows"] for row in inspect(weft_command)["kept"]] == [20] + [1] * 11
    text = weft_command("inspect", "m.weft").stdout
    shared = text.split("How tasks share the rows")[1]
    assert shared.index("t03") < shared.index("t00") < shared.index("t01")
    assert " t03               20   64.5%   ********************" in shared
    assert " t00                1    3.2%   *" in shared
    assert " 2 other tasks      2    6.5%   --all-tasks lists them" in shared
    assert "t11" not in shared
    everyone = weft_command("inspect", "m.weft", "--all-tasks").stdout.split("How tasks share the rows")[1]
    assert "t11" in everyone
    assert "other tasks" not in everyone


@pytest.mark.parametrize("name", BUDGETED)
def test_the_rows_of_a_task(weft_command, events, name):
    model = learn(weft_command, events, name, "kernel=gaussian", "B=6")
    support = model.support()
    if name == "mtbprj-2":
        expected = [(row.age, row.coefficients["bob"]) for row in support if row.coefficients["bob"]]
    else:
        expected = [(row.age, row.coefficient) for row in support if row.task == "bob"]
    found = inspect(weft_command, "--task", "bob")["task"]["rows"]
    assert found["count"] == len(expected) > 1
    assert {(row["age"], row["coefficient"]) for row in found["heaviest"]} == set(expected)
    sizes = [abs(row["coefficient"]) for row in found["heaviest"]]
    assert sizes == sorted(sizes, reverse=True)
    by_age = {row.age: row for row in support}
    for row in found["heaviest"]:
        held = by_age[row["age"]].row
        assert row["nonzeros"] == len(held)
        assert {item["feature"]: item["value"] for item in row["features"]} == held
        assert row.get("task", "bob") == by_age[row["age"]].task
    text = weft_command("inspect", "m.weft", "--task", "bob", "--top", "1").stdout
    assert f"{found['heaviest'][0]['coefficient']:+.4f}" in text
    assert f"{len(expected) - 1} more" in text
    assert ("brought by" in text) == (name == "mtbprj-2")
    assert "no weights to show" not in text


def test_long_rows_and_rows_of_zeros(weft_command):
    model = weft.Model("mtbprj", kernel="gaussian")
    model.learn_one({f"w{i}": float(i) for i in range(1, 8)}, 1, "ann")
    model.learn_one({}, -1, "ann")
    model.save("m.weft")
    text = weft_command("inspect", "m.weft", "--task", "ann").stdout
    assert "w7 7, w6 6, w5 5, w4 4, w3 3 and 2 more" in text
    assert "none: a row of zeros" in text
