"""Task graphs as users write them: forms, JSON, refusals."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from weft.graphs.reading import Graph, parse

W = [[0.0, 1.0, 0.0], [1.0, 0.0, 2.5], [0.0, 2.5, 0.0]]
A = [[2.0, -0.5, 0.3], [-0.5, 1.5, 0.0], [0.3, 0.0, 1.0]]
FORMS = {
    "complete": "complete",
    "none": "none",
    "edges": [("ann", "bob"), ("bob", 7, 2.5)],
    "tuple names": [(("a", 1), ("a", 2)), (("a", ("b", 2)), ("a", 1), 3)],
    "integers": [(0, 1), (2, 1), (1, 3, 2)],
    "cliques": [["ann", "bob", ("x", 1)], [7]],
    "weights": (W, ["ann", "bob", "eve"]),
    "array": (np.array(W), np.array(["ann", "bob", "eve"])),
    "sparse": (sparse.csr_array(W), ("ann", "bob", "eve")),
    "edges dict": {"edges": [["ann", "bob"], ["bob", ["x", 1], 2.5]], "tasks": ["zoe", "bob", "ann", ["x", 1]]},
    "edges without tasks": {"edges": [["ann", "bob"], ["bob", "eve"]]},
    "no edges": {"edges": [], "tasks": ["ann", "bob"]},
    "cliques dict": {"cliques": [["ann", ["x", 1]], ["bob"]]},
    "weights dict": {"weights": W, "tasks": ["ann", "bob", "eve"]},
    "matrix dict": {"matrix": A, "tasks": ["ann", "bob", "eve"]},
    "sparse matrix": {"matrix": sparse.coo_array(A), "tasks": ["ann", "bob", ["x", 1]]},
    "entries": {"entries": [["b", "b", 2.0], ["b", "a", -1.0], ["a", "a", 3.0]], "tasks": ["a", "b"]},
}


@pytest.mark.parametrize("form", FORMS)
def test_json_gives_the_same_graph(form):
    graph = parse(FORMS[form])
    again = parse(json.loads(json.dumps(graph.as_json())))
    assert again == graph
    assert hash(again) == hash(graph)
    assert parse(graph) is graph
    assert isinstance(graph.as_json(), str if graph.grows else dict)
    if graph.kind in ("edges", "matrix"):
        np.testing.assert_array_equal(again.matrix.toarray(), graph.matrix.toarray())


def test_names_and_growth():
    assert parse("complete") == Graph("complete")
    assert (parse("none").grows, parse("none").names) == (True, ())
    graph = parse(FORMS["edges"])
    assert (graph.grows, graph.names) == (False, ("ann", "bob", 7))
    np.testing.assert_array_equal(graph.matrix.toarray(), W)
    assert parse(FORMS["edges dict"]).names == ("zoe", "bob", "ann", ("x", 1))
    assert parse(FORMS["tuple names"]).names == (("a", 1), ("a", 2), ("a", ("b", 2)))
    assert parse(FORMS["cliques"]).names == ("ann", "bob", ("x", 1), 7)
    assert parse(FORMS["cliques"]).labels.tolist() == [0, 0, 0, 1]


def test_forms_of_one_graph_are_equal():
    graphs = [parse(FORMS[form]) for form in ("weights", "array", "sparse", "weights dict")]
    graphs.append(parse([("ann", "bob"), ("eve", "bob", 2.5)]))
    edges = [["bob", "eve", 2.5], ["bob", "ann"], ["ann", "eve", 0.0]]
    graphs.append(parse({"edges": edges, "tasks": ["ann", "bob", "eve"]}))
    graphs[-2] = parse({"edges": graphs[-2].as_json()["edges"], "tasks": ["ann", "bob", "eve"]})
    assert set(graphs) == {graphs[0]}
    assert parse([["a", "b"], ["c"]]) != parse([["a"], ["b", "c"]])
    assert parse({"matrix": np.eye(2), "tasks": [0, 1]}) != parse({"edges": [], "tasks": [0, 1]})


def test_nothing_of_the_caller_is_kept():
    weights = np.array(W)
    graph = parse((weights, ["ann", "bob", "eve"]))
    weights[:] = 9.0
    np.testing.assert_array_equal(graph.matrix.toarray(), W)


REFUSED = {
    "unknown word": ("clique", '"complete", "none"'),
    "nothing": (None, "NoneType None is not a graph"),
    "empty list": ([], "is not a graph"),
    "a number": (3, "is not a graph"),
    "tuple of edges": ((("a", "b"), ("b", "c")), "is not a graph"),
    "names only": (["a", "b"], "'a' in a list of edges or cliques"),
    "mixed": ([("a", "b"), ["c", "d"]], r"\['c', 'd'\] in a list of edges or cliques"),
    "self loop": ([("a", "b"), ("c", "c")], r"\('c', 'c'\) joins a task to itself"),
    "twice": ([("a", "b"), ("b", "a", 2.0)], r"\('b', 'a', 2.0\) is there twice"),
    "negative weight": ([("a", "b", -1.0)], "weight -1.0; weights are finite and >= 0"),
    "nan weight": ([("a", "b", float("nan"))], "weight nan"),
    "infinite weight": ([("a", "b", float("inf"))], "weight inf"),
    "weight of words": ([("a", "b", "c")], "weight 'c', not a number"),
    "weight True": ([("a", "b", True)], "weight True, not a number"),
    "short edge": ([("a", "b"), ("c",)], r"\('c',\) is not an edge"),
    "long edge": ([("a", "b", 1.0, 2.0)], "is not an edge"),
    "float name": ([("a", 1.5)], r"task 1.5 is a float"),
    "bool name": ([["a", True]], r"task True is a bool"),
    "list name": ([["a", ["b", "c"]]], r"is a list"),
    "empty clique": ([["a"], []], "clique 1 is empty"),
    "clique twice": ([["a", "b"], ["b"]], "'b' is named twice in the cliques"),
    "no cliques": ({"cliques": []}, "there are no cliques"),
    "clique of letters": ({"cliques": ["abc"]}, "'abc' is not a clique"),
    "asymmetric": (([[0, 1], [2, 0]], ["a", "b"]), "must be symmetric, but the entry of 'a' and 'b' is 1.0 and .* 2.0"),
    "asymmetric sparse": ((sparse.csr_array([[0, 1], [0, 0]]), "ab"), "task"),
    "diagonal": (([[0, 1], [1, 3]], ["a", "b"]), "the diagonal must be 0.*'b' and 'b' is 3.0"),
    "negative": (([[0, -1], [-1, 0]], ["a", "b"]), "weights must be >= 0, but the entry of 'a' and 'b' is -1.0"),
    "nan": (([[0, np.nan], [np.nan, 0]], ["a", "b"]), "must be finite, but the entry of 'a' and 'b' is nan"),
    "not square": (([[0, 1, 2], [1, 0, 2]], ["a", "b"]), "not 2 x 3"),
    "flat": ((np.zeros(3), ["a"]), r"shape \(3,\)"),
    "cube": ((np.zeros((2, 2, 2)), ["a", "b"]), r"shape \(2, 2, 2\)"),
    "ragged": (([[0, 1], [1]], ["a", "b"]), "square matrix of numbers"),
    "words": (([["x", "y"], ["y", "x"]], ["a", "b"]), "square matrix of numbers"),
    "empty matrix": ((np.zeros((0, 0)), []), "at least one row"),
    "fewer names": ((W, ["a", "b"]), "has 3 rows, but there are 2 task names"),
    "a name twice": ((W, ["a", "b", "a"]), "'a' is named twice in the tasks"),
    "not definite": ({"matrix": [[1, 2], [2, 1]], "tasks": ["a", "b"]}, "not positive definite.*-1.*task 'a'"),
    "singular": ({"matrix": [[1, 1], [1, 1]], "tasks": ["a", "b"]}, "not positive definite"),
    "negative task": ({"matrix": np.diag([1.0, 0.0, 1.0]), "tasks": list("abc")}, "not positive definite.*task 'b'"),
    "asymmetric A": ({"matrix": [[1, 0.5], [0, 1]], "tasks": ["a", "b"]}, "A must be symmetric"),
    "no tasks": ({"weights": W}, "'weights' of a graph needs \"tasks\""),
    "matrix without tasks": ({"matrix": A}, 'needs "tasks"'),
    "edge outside": ({"edges": [["a", "z"]], "tasks": ["a", "b"]}, "names 'z', which is not among the tasks 'a', 'b'"),
    "empty edges": ({"edges": []}, "has no tasks"),
    "edges not a list": ({"edges": "ab"}, "'edges' of a graph must be a list, not str"),
    "edge not a list": ({"edges": ["ab"]}, "'ab' is not an edge"),
    "tasks twice": ({"edges": [], "tasks": ["a", "a"]}, "'a' is named twice"),
    "tasks not a list": ({"edges": [], "tasks": "abc"}, "must be a list of names, not 'abc'"),
    "two forms": ({"edges": [], "cliques": []}, "exactly one of"),
    "no form": ({"tasks": ["a"]}, "exactly one of"),
    "unknown key": ({"edges": [["a", "b"]], "weight": 2}, "unknown key 'weight'.*'tasks'"),
    "tasks of cliques": ({"cliques": [["a"]], "tasks": ["a"]}, "unknown key 'tasks'"),
    "entry twice": ({"entries": [["a", "a", 1.0], ["a", "a", 2.0]], "tasks": ["a"]}, "is there twice"),
    "entry outside": ({"entries": [["a", "z", 1.0]], "tasks": ["a"]}, "not among the tasks"),
    "entry without number": ({"entries": [["a", "a"]], "tasks": ["a"]}, "not an entry of a matrix"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(case):
    value, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        parse(value)


def test_the_order_of_tasks():
    graph = parse([("ann", "bob"), ("bob", "eve")])
    assert graph.order(["eve", "ann", "bob"]).tolist() == [2, 0, 1]
    with pytest.raises(ValueError, match="does not name the task 'joe'; its tasks are 'ann', 'bob', 'eve'"):
        graph.order(["ann", "joe", "bob"])
    with pytest.raises(ValueError, match="the task 'eve' of the graph is missing"):
        graph.order(["ann", "bob"])
    with pytest.raises(ValueError, match="'ann' is named twice"):
        graph.order(["ann", "bob", "ann"])
    with pytest.raises(ValueError, match="not a number of tasks"):
        graph.order(3)


@given(
    size=st.integers(2, 8),
    pairs=st.dictionaries(st.tuples(st.integers(0, 7), st.integers(0, 7)), st.floats(1e-9, 1e9), min_size=1),
)
@settings(deadline=None, max_examples=60)
def test_edges_are_weights(size, pairs):
    """Any edges: the same graph as their weight matrix, and as its own JSON."""
    pairs = {(i, j): w for (i, j), w in pairs.items() if i < j < size}
    names = [("task", i) for i in range(size)]
    weights = np.zeros((size, size))
    for (i, j), w in pairs.items():
        weights[i, j] = weights[j, i] = w
    edges = [[["task", j], ["task", i], w] for (i, j), w in pairs.items()]
    graph = parse({"edges": edges, "tasks": [list(name) for name in names]})
    assert graph == parse((weights, names)) == parse(json.loads(json.dumps(graph.as_json())))
    np.testing.assert_array_equal(graph.matrix.toarray(), weights)


def test_more_tasks_are_tied_to_nobody():
    edges = parse([("ann", "bob", 2.0)]).with_tasks(["eve", "bob", 7])
    assert edges == parse({"edges": [["ann", "bob", 2.0]], "tasks": ["ann", "bob", "eve", 7]})
    cliques = parse([["ann", "bob"], ["joe"]]).with_tasks(["eve", "joe", 7])
    assert cliques == parse([["ann", "bob"], ["joe"], ["eve"], [7]])
    assert parse(cliques.as_json()) == cliques
    for graph in (edges, cliques, parse("none"), parse({"matrix": [[2.0]], "tasks": ["ann"]})):
        assert graph.with_tasks(["ann"] if graph.names else ["ann", "bob"]) is graph
    with pytest.raises(ValueError, match="the matrix has no row for the task 'bob'"):
        parse({"matrix": [[2.0]], "tasks": ["ann"]}).with_tasks(["ann", "bob"])
