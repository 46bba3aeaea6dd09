"""Write `examples/mail.csv`: mail of 30 people, as an application might log it.

Most people agree on what is spam; three are merchants, whose business the others report. A few have most of the mail, 3
labels in 100 are wrong, and a third of the mails mention a word of the other kind.
"""

import csv
import io
import random
from pathlib import Path

PEOPLE = """
    ann bob cleo dan eve finn gus hana ivo jana kim leo mia noor olga paul quin rosa sven tara udo vera will xenia yara
    zoe abel bea carl dora
"""
MERCHANTS = ("eve", "ivo", "tara")
OFFERS = "free offer prize cash winner discount click bonus deal cheap limited casino loan gift sale"
DAILY = "meeting invoice lunch report train agenda minutes review draft question schedule travel budget notes call"
BOTH = "today please new your for the re this week order account payment delivery update team"
MAILS = 1200


def text() -> str:
    """The file."""
    draw, file = random.Random(11), io.StringIO()
    people, offers, daily, both = (words.split() for words in (PEOPLE, OFFERS, DAILY, BOTH))
    draw.shuffle(people)
    shares = [1.0 / (1.0 + at) ** 0.5 for at in range(len(people))]
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(["user", "subject", "label"])
    for _ in range(MAILS):
        [user] = draw.choices(people, shares)
        is_offer = draw.random() < 0.45
        main, other = (offers, daily) if is_offer else (daily, offers)
        words = draw.sample(main, 2) + draw.sample(both, 3) + draw.sample(other, int(draw.random() < 0.35))
        draw.shuffle(words)
        is_spam = (is_offer != (user in MERCHANTS)) != (draw.random() < 0.03)
        rows.writerow([user, " ".join(words), "spam" if is_spam else "ham"])
    return file.getvalue()


if __name__ == "__main__":
    Path(__file__).parents[1].joinpath("examples", "mail.csv").write_text(text(), encoding="utf-8")
