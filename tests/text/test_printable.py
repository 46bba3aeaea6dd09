"""Text that reaches a terminal holds nothing that controls it, and JSON stays what it was."""

import json
import sys
import unicodedata

import pytest

from weft.text.printable import json_text, printable, printable_lines

HIDDEN = ("Cc", "Cf", "Zl", "Zp", "Cs")
EVIL = {
    "colour": "\x1b[31m",
    "clear": "\x1b[2J",
    "title": "\x1b]0;owned\x07",
    "link": "\x1b]8;;http://example.org\x1b\\",
    "c1": "\x9b31m",
    "delete": "\x7f",
    "return": "\rok",
    "backspace": "\b\b",
    "nul": "\0",
    "override": "\u202etxt.exe",
    "isolate": "\u2066x\u2069",
    "zero width": "a\u200bb",
    "joiner": "a\u200db",
    "mark": "\ufeff",
    "tag": "\U000e0041",
    "line": "a\u2028b",
    "surrogate": "\udcff",
}


@pytest.mark.parametrize("text", EVIL.values(), ids=EVIL)
def test_controls_become_escapes(text):
    shown = printable(f"ann{text}")
    assert shown.isascii()
    assert shown.isprintable()
    assert shown.startswith("ann")
    shown.encode()


def test_every_character_of_unicode():
    hidden = [
        chr(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp", "Cs")
    ]
    assert len(hidden) > 2000
    assert all(printable(mark).isascii() for mark in hidden)
    assert printable("".join(hidden)).isprintable()


@pytest.mark.parametrize(
    "name", ["ann", "Zoë", "日本語", "نمی\u200cخواهم", "👩\u200d🚀", "a b", "a\u00a0b", "tab-free", "\\x1b"]
)
def test_names_of_people_stay_as_they_are(name):
    assert printable(name) == name


def test_line_ends_of_messages_stay():
    assert printable_lines("one\ntwo\x1b") == "one\ntwo\\x1b"
    assert printable("one\ntwo") == "one\\x0atwo"


@pytest.mark.parametrize("text", EVIL.values(), ids=EVIL)
def test_json_reads_back_exactly(text):
    data = {text: [text, 1.5, "日本", {"a\nb": None}]}
    shown = json_text(json.dumps(data, ensure_ascii=False, indent=2))
    assert json.loads(shown) == data
    assert all(mark == "\n" or unicodedata.category(mark) not in HIDDEN for mark in shown)
