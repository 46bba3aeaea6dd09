"""Which of six topics is this text about? Multiclass by binary tasks that share one loss.

Every coding turns a label into a row of -1 and +1, one binary task per column. The norm says how many wrong columns
matter: one is too many for one-vs-rest and for the bits of a number; an error-correcting code tolerates some.
"""

import numpy as np
from scipy import sparse

from weft.reductions import Multiclass, code_distance

TOPICS = ["sport", "money", "health", "travel", "science", "art"]
WORDS, DOCUMENTS = 3000, 3000


def texts(seed: int = 2):
    """Bags of words: common words everywhere, and for every topic some that are more frequent."""
    rng = np.random.default_rng(seed)
    common = 1.0 / np.arange(1, WORDS + 1)
    weights = common * np.where(rng.random((len(TOPICS), WORDS)) < 0.06, 6.0, 1.0)
    topic = rng.integers(0, len(TOPICS), DOCUMENTS)
    rows = []
    for t in topic:
        words, counts = np.unique(rng.choice(WORDS, 60, p=weights[t] / weights[t].sum()), return_counts=True)
        values = np.log1p(counts)
        rows.append(sparse.csr_array((values / np.linalg.norm(values), (0 * words, words)), shape=(1, WORDS)))
    return sparse.vstack(rows, format="csr"), [TOPICS[t] for t in topic]


def main() -> None:
    X, y = texts()
    print(f"{X.shape[0]} texts, {X.nnz / X.shape[0]:.0f} different words each, {len(TOPICS)} topics\n")
    print("coding         tasks  distance  norm    error")
    for coding in ("one-vs-rest", "log2", "ecoc"):
        learner = Multiclass("implicit", coding=coding, labels=TOPICS, C=1.0)
        learner.learn(X, y)
        distance = "" if learner.code is None else code_distance(learner.code)
        tasks, norm = len(learner.model.tasks), learner.model.learner.norm
        print(f"{coding:<15}{tasks:>5}{distance:>10}  {norm:<7} {learner.error:.3f}")

    learner = Multiclass("implicit", labels=TOPICS, C=1.0)
    predicted = learner.learn(X, y)
    right = [guess == true for guess, true in zip(predicted[-1000:], y[-1000:], strict=True)]
    print(f"\none-vs-rest, the last 1,000 texts: {1 - np.mean(right):.3f} wrong")
    print(f"the last text is about {y[-1]}; predicted before it was learned: {predicted[-1]}")


if __name__ == "__main__":
    main()
