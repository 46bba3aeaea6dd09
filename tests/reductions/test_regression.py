"""Vector regression: the closed form of the l2 norm, unknown outputs, pieces, refusals."""

import numpy as np
import pytest
from scipy import sparse

from weft.reductions import VectorRegression, same_row


def made(n=80, d=5, k=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[rng.random(X.shape) < 0.2] = 0.0
    return X, X @ rng.normal(size=(d, k)) + 0.2 * rng.normal(size=(n, k))


def closed_form(X, Y, C, epsilon=0.0):
    """W += e x^T/|x|^2 if |e| <= C |x|^2, else C (e/|e|) x^T; |e| counts beyond epsilon, output by output."""
    W = np.zeros((Y.shape[1], X.shape[1]))
    predicted = np.zeros(Y.shape)
    short = 0
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        predicted[t] = W @ x
        gap = y - predicted[t]
        e = np.sign(gap) * np.maximum(np.abs(gap) - epsilon, 0.0)
        size, n2 = np.linalg.norm(e), x @ x
        if n2 > 0 and size > 0:
            short += size <= C * n2
            W += np.outer(e / n2 if size <= C * n2 else C * e / size, x)
    return predicted, W, short


@pytest.mark.parametrize(("C", "epsilon"), [(0.1, 0.0), (0.4, 0.0), (100.0, 0.0), (0.2, 0.3)])
def test_l2_is_the_closed_form(C, epsilon):
    X, Y = made()
    predicted, W, short = closed_form(X, Y, C, epsilon)
    learner = VectorRegression(C=C, epsilon=epsilon)
    np.testing.assert_allclose(learner.learn(X, Y), predicted, rtol=0, atol=1e-9)
    np.testing.assert_allclose(learner.model.weights(), W, rtol=0, atol=1e-9)
    np.testing.assert_allclose(learner.predict(X), X @ W.T, rtol=0, atol=1e-9)
    assert learner.error == pytest.approx(np.linalg.norm(Y - predicted, axis=1).mean(), abs=1e-9)
    assert short > 0  # both cases occur, but with the largest C
    assert (short < len(X)) == (C < 100)


def test_an_unknown_output_is_predicted_and_not_learned():
    X, Y = made(seed=1)
    gaps = Y.copy()
    gaps[:40, 1] = np.nan
    learner, two = VectorRegression(C=0.3), VectorRegression(C=0.3)
    predicted = learner.learn(X[:40], gaps[:40])
    assert np.array_equal(predicted[:, [0, 2]], two.learn(X[:40], Y[:40, [0, 2]]))
    assert np.all(predicted[:, 1] == 0.0)
    assert learner.error == two.error
    learner.learn(X[40:], Y[40:])
    assert learner.model.tally.counts.tolist() == [80, 40, 80]
    assert np.any(learner.model.weights()[1] != 0.0)


def test_pieces_and_calls_are_invisible(monkeypatch):
    X, Y = made(seed=2)
    whole = VectorRegression()
    predicted = whole.learn(X, Y)
    monkeypatch.setattr(same_row, "PIECE", 7)
    pieces, calls, ones = VectorRegression(), VectorRegression(), VectorRegression()
    assert np.array_equal(pieces.learn(X, Y), predicted)
    assert np.array_equal(np.concatenate([calls.learn(X[:33], Y[:33]), calls.learn(X[33:], Y[33:])]), predicted)
    assert np.array_equal([ones.learn_one(x, y) for x, y in zip(X, Y, strict=True)], predicted)
    for other in (pieces, calls, ones):
        assert other.model.to_bytes() == whole.model.to_bytes()
        assert other.error == whole.error
    assert np.array_equal(pieces.predict(X), whole.predict(X))
    assert np.array_equal(ones.predict_one(X[5]), whole.predict(X)[5])


def test_sparse_rows():
    X, Y = made(seed=3)
    dense, rows = VectorRegression(), VectorRegression()
    assert np.array_equal(rows.learn(sparse.csr_array(X), Y), dense.learn(X, Y))
    assert rows.model.to_bytes() == dense.model.to_bytes()


def test_other_learners_and_norms():
    X, Y = made(seed=4)
    alone = VectorRegression("pa", C=0.5)
    alone.learn(X, Y)
    for output in range(3):
        single = VectorRegression("pa", C=0.5)
        single.learn(X, Y[:, [output]])
        np.testing.assert_allclose(single.model.weights()[0], alone.model.weights()[output], atol=1e-12)
    assert VectorRegression(norm="linf").model.learner.norm == "linf"
    with pytest.raises(ValueError, match="no parameter 'norm'"):
        VectorRegression("pa", norm="linf")
    with pytest.raises(ValueError, match="not a learner that predicts numbers"):
        VectorRegression(loss="hinge")


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        ([[1.0, 2.0], [np.inf, 0.0]], "row 1: output 0 is inf"),
        ([[1.0, 2.0]], "Y has 1 entries, X has 2 rows"),
        ([[1.0], [2.0]], "Y has 1 columns, 2 outputs"),
        ([1.0, 2.0], "a column per output"),
        ([["a", "b"], ["c", "d"]], "give numbers"),
        ([[1.0], [2.0, 3.0]], "differ in length"),
    ],
)
def test_wrong_numbers_are_refused_and_leave_no_trace(Y, message):
    learner = VectorRegression()
    learner.learn([[1.0, 2.0]], [[1.0, 2.0]])
    before = learner.model.to_bytes()
    with pytest.raises(ValueError, match=message):
        learner.learn([[1.0, 0.0], [0.0, 1.0]], Y)
    assert learner.model.to_bytes() == before
    assert learner.events == 1


def test_nothing_can_be_predicted_before_the_number_of_outputs_is_known():
    with pytest.raises(ValueError, match="learn first"):
        VectorRegression().predict([[1.0]])


def test_saved_and_loaded_goes_on_as_if_nothing_had_happened(tmp_path):
    X, Y = made(seed=5)
    learner = VectorRegression()
    learner.learn(X[:40], Y[:40])
    learner.save(tmp_path / "some.weft")
    again = VectorRegression.load(tmp_path / "some.weft")
    assert np.array_equal(again.learn(X[40:], Y[40:]), learner.learn(X[40:], Y[40:]))
    assert (again.error, again.model.to_bytes()) == (learner.error, learner.model.to_bytes())
