"""A spam filter per user: events arrive one by one as dicts, users and words appear at any time.

Five users mostly agree on what is spam; eve wants the very offers that the others call spam. The model predicts
each message before it learns the label, so its tally shows how well it would have predicted.
"""

import random
import tempfile
from pathlib import Path

import weft

SPAM = ["free", "offer", "winner", "cash", "click", "prize"]
HAM = ["meeting", "invoice", "lunch", "report", "thanks", "train"]
USERS = ["ann", "bob", "cat", "dan", "eve"]


def messages(count: int, seed: int = 1):
    """Words, the user's label (+1 spam, -1 not), the user."""
    random.seed(seed)
    for _ in range(count):
        user, is_offer = random.choice(USERS), random.random() < 0.5
        usual, other = (SPAM, HAM) if is_offer else (HAM, SPAM)
        words = random.sample(usual, 3) + random.sample(other, 1)
        label = 1 if is_offer != (user == "eve") else -1
        yield {"(always)": 1.0, **dict.fromkeys(words, 1.0)}, label, user


def main() -> None:
    own = weft.Model("pa", C=0.1)  # a model per user
    one = weft.Model("pa", C=0.1, pooled=True)  # one model for all of them
    for words, label, user in messages(1000):
        own.learn_one(words, label, user)  # returns the score it issued before it saw the label
        one.learn_one(words, label, user)

    print("user   messages   error: own model   error: one for all")
    for user in USERS:
        mine, ours = own.tally[user], one.tally[user]
        print(f"{user:<7}{mine['events']:>8}{mine['error']:>18.1%}{ours['error']:>21.1%}")
    print(f"{'all':<7}{own.tally.total['events']:>8}{own.tally.total['error']:>18.1%}{one.tally.total['error']:>21.1%}")

    with tempfile.TemporaryDirectory() as folder:  # one file holds everything; the loaded model is bit-identical
        own.save(Path(folder) / "spam.weft")
        again = weft.load(Path(folder) / "spam.weft")
    message = {"(always)": 1.0, "free": 1.0, "prize": 1.0, "a word nobody has seen": 1.0}
    for user in ("ann", "eve", "a new user"):
        print(f"score of a free prize for {user}: {again.predict_one(message, user):+.2f}")


if __name__ == "__main__":
    main()
