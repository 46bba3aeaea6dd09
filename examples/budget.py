"""Error and F-measure against the budget: four learners with and without a graph, on spam of three users.

The set is task A of the spam challenge of ECML/PKDD 2006 (7,500 mails), as `pkdd06a.npz` in the folder that WEFT_DATA
names: CSR arrays `data`, `indices`, `indptr`, `shape`; `y`; `task`. Rows of counts have length 1, the kernel is
(1 + <x, z>)^2, and the order is random. N0 is the number of rows that a Perceptron per task keeps without a budget.
"""

import os
from collections import defaultdict

import numpy as np
from scipy import sparse

import weft

SHARES, SEEDS = (0.025, 0.05, 0.1, 0.25, 0.5), range(5)
LEARNERS = {"mtrbp": {"seed": 0}, "mtforg": {"R": 2.0}, "mtbprj": {}, "mtbprj-2": {}}  # K'(x, x) = (1 + 1)^2 = R^2
KERNEL = {"name": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0, "normalize": False}


def mails() -> weft.Stream:
    if not os.environ.get("WEFT_DATA"):
        raise SystemExit("WEFT_DATA does not name the folder with pkdd06a.npz; set it and run this again")
    with np.load(os.path.join(os.environ["WEFT_DATA"], "pkdd06a.npz"), allow_pickle=False) as data:
        X = sparse.csr_array((data["data"].astype(float), data["indices"], data["indptr"]), shape=data["shape"])
        y, task = data["y"], data["task"]
    X.data /= np.repeat(np.sqrt(X.multiply(X).sum(axis=1)), np.diff(X.indptr))
    return weft.Stream(X, y, task)


def run(stream: weft.Stream, name: str, graph: str, **parameters: object) -> tuple[float, float, int]:
    """Error and F-measure of +1, over all users, of the scores issued before learning; and rows kept."""
    model = weft.Model(name, graph=graph, kernel=KERNEL, tasks=3, **parameters)
    model.learn(stream)
    return model.tally.total["error"], model.tally.total["f1"], model.usage().rows


def main() -> None:
    free, held, everything = defaultdict(list), defaultdict(list), mails()
    for seed in SEEDS:
        stream = everything.shuffled(seed)
        for graph in ("none", "complete"):
            free[graph].append(run(stream, "mt-perceptron", graph))
            budgets = [max(1, round(share * free["none"][-1][2])) for share in SHARES]
            for name, parameters in LEARNERS.items():
                held[name, graph].append([run(stream, name, graph, B=B, **parameters) for B in budgets])
    for at, what in ((0, "error"), (1, "F")):
        print(f"{what + ', %, at a budget of':<24}" + "".join(f"{100 * share:>7g} %" for share in SHARES))
        for (name, graph), runs in held.items():
            print(f"{name + ', ' + graph:<24}" + "".join(f"{100 * f:>9.1f}" for f in np.mean(runs, axis=0)[:, at]))
    for graph, runs in free.items():
        error, f1, rows = np.mean(runs, axis=0)
        print(f"without a budget, {graph:<9} error {100 * error:.1f}   F {100 * f1:.1f}   rows {rows:.1f}")
    spread = max(np.std(runs, axis=0, ddof=1)[:, :2].max() for runs in held.values())
    print(f"largest standard error of a mean: {100 * spread / len(SEEDS) ** 0.5:.1f}")


if __name__ == "__main__":
    main()
