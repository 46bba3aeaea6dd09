"""`implicit` with the L-infinity norm, 100 labels on one sparse row of 80 in 47,000: Vowpal Wabbit with 100 labels."""

import numpy as np
from scipy import sparse

import weft
from benchmarks import vw
from benchmarks.figures import Figure, best, ratio

LABELS, FEATURES, NONZEROS, EVENTS = 100, 47_000, 80, 5_000


def documents(seed: int = 0):
    rng = np.random.default_rng(seed)
    popularity = 1.0 / np.arange(1, FEATURES + 1) ** 0.7
    popularity /= popularity.sum()
    columns = [np.unique(rng.choice(FEATURES, 2 * NONZEROS, p=popularity))[:NONZEROS] for _ in range(EVENTS)]
    indptr = np.concatenate([[0], np.cumsum([len(c) for c in columns])])
    values = np.log2(1 + rng.integers(1, 5, indptr[-1]))
    X = sparse.csr_array((values, np.concatenate(columns), indptr), shape=(EVENTS, FEATURES))
    truth = rng.normal(size=(FEATURES, LABELS))
    Y = np.where(X @ truth > 1.5 * np.std(X @ truth), 1, -1)
    return X, Y


def run() -> list[Figure]:
    X, Y = documents()
    names = list(range(LABELS))
    events = weft.Stream.shared(X, Y, names)

    def learn(norm: str) -> float:
        weft.Model("implicit", norm=norm, C=1e-3).learn(events)
        return best(lambda: weft.Model("implicit", norm=norm, C=1e-3).learn(events)) / EVENTS

    lines = [_line(X, Y, i) for i in range(EVENTS)]
    multilabel = vw.seconds([line for line, _ in lines], f"-b 24 --multilabel_oaa {LABELS}") / EVENTS
    one = vw.seconds([line for _, line in lines], f"-b 24 --oaa {LABELS}") / EVENTS
    return [
        ratio("implicit linf, 100 labels, 80 of 47,000 features", learn("linf"), "vw --multilabel_oaa", multilabel, 5),
        ratio("  against Vowpal Wabbit with one label a row", learn("linf"), "vw --oaa", one, 5),
        ratio("implicit 3-max, the same", learn("3-max"), "vw --multilabel_oaa", multilabel),
        ratio("implicit l2, the same", learn("l2"), "vw --multilabel_oaa", multilabel),
    ]


def _line(X: sparse.csr_array, Y: np.ndarray, i: int) -> tuple[str, str]:
    """The document for --multilabel_oaa (all labels) and for --oaa (the first of them)."""
    row = slice(X.indptr[i], X.indptr[i + 1])
    words = " ".join(f"{j}:{v:.4f}" for j, v in zip(X.indices[row], X.data[row], strict=True))
    on = np.flatnonzero(Y[i] > 0)
    return f"{','.join(map(str, on))} | {words}", f"{(on[0] if len(on) else 0) + 1} | {words}"
