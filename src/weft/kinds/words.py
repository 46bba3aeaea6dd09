"""Words of a text: runs of Unicode letters and digits in lower case.

A letter or digit is what `str.isalnum` says. The text is converted to lower case first, so that a word holds nothing
but letters and digits.
"""

import re

_WORD = re.compile(r"[^\W_]+")
_ASCII = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}


def words(text: str) -> list[str]:
    """The words of a text, in order.

    >>> words("Free MONEY, 50% off_now: Größe!")
    ['free', 'money', '50', 'off', 'now', 'größe']
    """
    if text.isascii():  # the same, several times faster
        return text.translate(_ASCII).split()
    return _WORD.findall(text.lower())


def terms(text: str, ngrams: int) -> list[str]:
    """The words of a text, and all runs of two to `ngrams` words with a space between them.

    >>> terms("free money now", 2)
    ['free', 'money', 'now', 'free money', 'money now']
    """
    found = words(text)
    return found + [
        " ".join(found[at : at + size]) for size in range(2, ngrams + 1) for at in range(len(found) - size + 1)
    ]
