"""Write docs/learners.md from the catalogue: `python docs/make_learners.py`. A test fails when it is out of date."""

import json
from pathlib import Path
from typing import Any

import weft
from weft.learners.catalogue import LEARNERS, SPECIAL_CASES
from weft.maths.kernels import KINDS, MOST_DEGREE, Kernel

HEAD = """\
# Learners and their parameters

Generated from `weft.catalogue()` by `docs/make_learners.py`; do not edit it by hand.

`weft.Model(name, **parameters)` builds a learner by its name; every learner has defaults for all its parameters. On
the command line, use `--learner NAME --set PARAMETER=VALUE`. A wrong name, parameter, type or range is refused with a
message that says what is allowed. `tasks=` and `features=` (names, or a number) declare tasks and features up front;
for all learners new ones may also appear during the stream, except tasks on a graph that names its tasks.

Parameters are named after the symbols of the papers. Choosing a norm and C for the shared-loss learners:
[shared-loss.md](shared-loss.md). Choosing rates, b and a graph for the mirror-descent learners:
[mirror-descent.md](mirror-descent.md). Kernel learners on a budget: [budget.md](budget.md). Learned attention and
learned relations: [smoothed.md](smoothed.md). Low-rank and collaborative learners: [low-rank.md](low-rank.md).
Learners that keep all rows and refit: [batch.md](batch.md). The default: [default.md](default.md). Terms are defined
in the [glossary](glossary.md).

{contents}
"""

FAMILIES = {
    "A model per task": ("perceptron", "pa"),
    "Shared loss": ("finite-horizon", "infinite-horizon", "implicit"),
    "Mirror descent: shared steps": ("mt-ogd", "mt-pnorm", "mt-eg", "mt-ftrl", "hedge-mt-ogd", "hedge-mt-eg"),
    "Kernel learners on a budget": ("mt-perceptron", "mtbprj", "mtbprj-2", "mtrbp", "mtforg"),
    "Smoothed: learned attention": ("osmtl-e", "osmtl-t"),
    "Relations between tasks, given or learned": ("foml", "omtrl-logdet", "omtrl-vonneumann", "omtrl-cov"),
    "Low rank and personal parts": ("romco-nucl", "romco-logd", "coml", "cw-col"),
    "Refitted during the stream": ("smtl-e", "smtl-t", "stl", "itl", "shamo", "mtfl", "trml"),
    "The default, and its core": ("adaptive", "auto"),
}

NOTES = {
    "adaptive": "Own and shared parts of every weight, learned twice: by AdaGrad steps, and by coin betting, which "
    "has no rate. Two learned weights add the two scores. Rows are scaled as they arrive. The options are those of "
    "`auto`.",
    "auto": "The default of `weft.Model()`. `adaptive`, an own model of the task and a model pooled over all tasks, "
    "added up by four learned weights; on top, every task mixes {stack, own, pooled} so that its loss exceeds that of "
    "the best of them by at most a few nats. [How it works, its guarantee, its figures](default.md).",
    "perceptron": "Classifies. The tallied loss is the hinge loss, so that figures are comparable with those of other "
    "learners.",
    "pa": 'Classifies, or predicts numbers with `loss="epsilon-insensitive"`. The step is tau = l/n^2 (`pa`), min(C, '
    "l/n^2) (`pa-i`) or l/(n^2 + 1/(2C)) (`pa-ii`), with l the loss and n the length of the row; `pa` does not use C.",
    "finite-horizon": "`tau = argmax { tau.l : ||tau||* <= C }`. Without `C`: 1/(sqrt(T) R^2) if both `T` and `R` are "
    "given, else 1.",
    "infinite-horizon": "The same direction, `||tau||* = min(C, ||l|| / (R^2 rho^2))`. Without `C`: 1/(R^2 rho^2) at "
    "the first round with a non-zero row, with the length of that round's longest row if `R` is not given either; "
    "then kept.",
    "implicit": "`tau = argmax { sum_j 2 tau_j l_j - tau_j^2 n_j^2 : tau >= 0, ||tau||* <= C }`. Without `C`: "
    "1/(sqrt(T) R^2) if both `T` and `R` are given, else as `infinite-horizon`.",
    "mt-ogd": "`x_k -= eta_t A^-1_ki g` for every task k at an event of task i, then a projection. Defaults: adaptive "
    "steps with D = 1 and sigma = 0.3, b the number of tasks, no projection.",
    "mt-pnorm": "`theta_k -= eta_t A^{-1/2}_ki g`; models are mixed from the images of the theta_k under the p-norm's "
    "link. Defaults: p = 1.5, adaptive steps with D = 1 and sigma = 0.3, b the number of tasks.",
    "mt-eg": "`theta_k -= eta_t A^{-1/2}_ki g`; models are mixed from the softmax of the theta_k. Defaults: sigma = "
    "0.3, so that b = 10.1, and in round t the rate for T = t. At least two features are needed: declare them with "
    "`features=`.",
    "mt-ftrl": "`x = -eta_t A^-1 sum of g`, or mixed softmaxes of the sums. Defaults: Euclidean, rates of 1/sqrt(t), "
    "b the number of tasks. With a constant rate it is `mt-ogd` without projection, or with the entropy `mt-eg`.",
    "hedge-mt-ogd": "Every expert is an `mt-ogd` with every task in the ball of radius D, b = N (0 at variance 1), "
    "and adaptive steps, or with `T` and `L` the rates of theory; the experts' weights decrease as `exp(-eta_h "
    "losses)`.",
    "hedge-mt-eg": "Every expert is an `mt-eg` with b = (1 - variance)/variance. At least two features are needed: "
    "declare them with `features=`.",
    "mt-perceptron": "Classifies, like all of this family. On a mistake, y f(x) <= 0, the row is kept with b = y: "
    "`f_i(x) = sum_s b_s (A^-1)_{i,i_s} K'(x_s, x)`. Memory grows with every mistake.",
    "mtbprj": "On a mistake a row within `eta` of the span of the support rows is replaced by its projection; else it "
    "is kept. If there are B rows already, the one is evicted whose removal, projected on the others, changes the "
    "function least.",
    "mtbprj-2": "The same with distances between rows regardless of their tasks, and coefficients for every task and "
    "row.",
    "mtrbp": "On a mistake the row is kept with b = y; if there are B rows already it replaces a random one. The "
    "expected number of mistakes has a bound.",
    "mtforg": "On a mistake the row is kept with b = y; if there are B rows already, all coefficients shrink by the "
    "largest factor that the mistake bound allows, and the oldest row is evicted.",
    "osmtl-e": "`w_k += C sum_j eta_kj y_j x_j` over the present tasks j on whose examples k's model fails, eta = "
    "alpha I + (1 - alpha) P; then `p_kj` decreases as `exp(-kappa l_kj)`. Defaults: alpha and C of Corollary 2 in "
    "epochs of 2^m rounds, kappa = 1. P changes only in rounds of several tasks.",
    "osmtl-t": "The same step; then `p_kj` is `(lam - l_kj)_+`, without memory. Warns if attention could not change "
    "for a whole epoch.",
    "foml": "`w_j += C y A^-1_ji x` for every task j on a mistake of task i. Defaults: the complete graph, which is "
    "`mt-perceptron` with the linear kernel, at O(non-zeros) per event.",
    "omtrl-logdet": "`W += C y A^-1[:, i] x'`, then `A^-1 += rate W W'`, scaled to trace N.",
    "omtrl-vonneumann": "The same step, then `log A^-1 += rate W W'`.",
    "omtrl-cov": "The same step, then `A^-1 = cov(W) + 1e-3 I`, over the features that have occurred.",
    "romco-nucl": "Classifies, like all of this family. Models are u_i + v_i; with g the gradient of a round's hinge "
    "losses, the singular values of U - eta1 g shrink by eta1 lam1 and the columns of V - eta2 g by eta2 lam2, in "
    "every round with a loss. On streams with one task per round, divide both lambdas by the number of tasks.",
    "romco-logd": "The same, with singular values at the minimum of (s - h)^2 / 2 + rho log(1 + s^2), rho = eta1 "
    "lam1: large ones hardly change, small ones are divided by 1 + 2 rho, and none becomes 0.",
    "coml": "`u_k = m + min(C/(e1 + e2), l/|x|^2) y x`, m = (e1 u_k + e2 w)/(e1 + e2), where the margin is below 1; "
    "then w by PA-I. A step costs O(features).",
    "cw-col": "The same with Gaussians with a variance per feature: own and global model are mixed by their "
    "precisions, then both take a step of AROW.",
    "smtl-e": "Classifies and keeps all rows, like all of this family. Alternates `w_k = argmin sum_j eta_kj L_j(w) + "
    "reg/2 |w|^2` with eta = alpha I + (1 - alpha) P and L_j the mean hinge loss of task j, and `P_kj ~ exp(-(1 - "
    "alpha) L_j(w_k)/lam)`.",
    "smtl-t": "The same with `P_kj ~ max(0, lam - L_j(w_k))`; if that is 0 for all j, uniform over the least L_j.",
    "stl": "`argmin mean hinge loss of all rows + reg/2 |w|^2`, for all tasks.",
    "itl": "`argmin mean hinge loss of the task's rows + reg/2 |w|^2`, for every task.",
    "shamo": "Alternates: every hypothesis is fitted to the rows of the tasks that chose it, and every task chooses "
    "the one with the least mean hinge loss; the best of five random starts. `fit` refuses more hypotheses than tasks.",
    "mtfl": "`argmin sum over all rows of (w_i x - y)^2 + gamma |[W, sqrt(eps) I]|_*^2`, with |.|_* the sum of the "
    "singular values and labels -1 and +1 as numbers.",
    "trml": "`argmin sum over tasks of the mean loss + lam |W|_*`.",
}

KERNEL = {
    "name": "one of " + ", ".join(f'"{name}"' for name in KINDS),
    "degree": f"an integer from 1 to {MOST_DEGREE}",
    "gamma": "a finite number > 0",
    "coef0": "a finite number >= 0",
    "normalize": "True or False",
}

TAIL = """\
## Names from the papers

These are special cases of other learners. Asking for one by name gives a message that says which.

{special}

## Norms

`"l1"`, `"l2"`, `"l1.5"`, `"linf"` (p-norms, p >= 1); `"3-max"`, `"2.5-max"` (sum of the r largest, r >= 1);
`"k(1,inf,2.5)"` (p1, p2 >= 1, alpha > 0); or an object of `weft.maths.norms`: `Lp(p)`, `RMax(r)`,
`Interpolation(p1, p2, alpha)`.

## Graphs

`"complete"`, `"none"` (both grow with new tasks); edges, `[("ann", "bob"), ("bob", "eve", 2.0)]`; cliques,
`[["ann", "bob"], ["eve"]]`; a pair (weight matrix, names); or a dict with `"edges"`, `"cliques"`, `"weights"`,
`"matrix"` or `"entries"`: [all forms](mirror-descent.md#graphs). In JSON, and so on the command line, a list of lists
is cliques, and edges need the dict.

## Kernel functions

A name, or a dict with these keys. With `normalize` K(x,z) is divided by sqrt(K(x,x) K(z,z)); for the budget learners
that is the default for `linear` and `poly`.

{kernels}

`linear` is x.z; `poly` is (gamma x.z + coef0)^degree; `gaussian` is exp(-gamma |x - z|^2).
"""


def default(value: Any) -> str:
    """A default as Python code, with double quotes."""
    text = json.dumps(value) if isinstance(value, str) else repr(value)
    return f"`{text}`"


def cell(text: str) -> str:
    """Text escaped for a table."""
    return text.replace("|", "\\|")


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(map(cell, line))} |" for line in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def page() -> str:
    """The whole file."""
    assert [name for names in FAMILIES.values() for name in names] == list(LEARNERS), "every learner needs a family"
    contents = [
        f"- {family}: " + ", ".join(f"[`{name}`](#{name})" for name in names) for family, names in FAMILIES.items()
    ]
    parts = [HEAD.format(contents="\n".join(contents))]
    for entry in weft.catalogue():
        rows = [(f"`{p.name}`", default(p.default), p.allowed, p.doc) for p in entry.parameters]
        parts.append(f"## `{entry.name}`\n\n{entry.summary} ({entry.paper})\n\n{NOTES[entry.name]}\n")
        parts.append(table(("parameter", "default", "must be", "meaning"), rows) + "\n")
    assert set(NOTES) == set(LEARNERS), "every learner needs a note"
    special = [(f"`{name}`", text) for names, text in SPECIAL_CASES.items() for name in names.split(", ")]
    kernels = [(f"`{key}`", default(value), KERNEL[key]) for key, value in Kernel().as_json().items()]
    parts.append(
        TAIL.format(special=table(("name", "is"), special), kernels=table(("key", "default", "must be"), kernels))
    )
    return "\n".join(parts)


if __name__ == "__main__":
    Path(__file__).with_name("learners.md").write_text(page(), encoding="utf-8")
