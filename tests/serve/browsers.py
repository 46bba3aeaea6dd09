"""A browser for tests: Debian's chromium by Playwright, which does not bring its own."""

import importlib.util
import os
import shutil
from contextlib import contextmanager


def why_not():
    """Why pages cannot be looked at here; "" if they can."""
    if importlib.util.find_spec("playwright") is None:
        return "Playwright is not installed"
    return "" if shutil.which("chromium") else "there is no chromium"


class Looked:
    """A page, with what went wrong in it."""

    def __init__(self, page):
        self.page = page
        self.errors = []
        self.places = set()
        page.on("console", lambda message: self._note(message))
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda request: self.places.add(request.url))

    def _note(self, message):
        if message.type in ("error", "warning") and "ERR_CONNECTION_REFUSED" not in message.text:
            self.errors.append(message.text)

    def expect(self, place, text):
        """Wait until a place on the page has a text; scripts of a test are not allowed in there."""
        from playwright.sync_api import expect

        expect(self.page.locator(place).first).to_have_text(text, timeout=30_000)

    def figure(self, name):
        """A figure on the page, as a number."""
        return float(self.page.locator(f"[data-figure={name}]").first.inner_text().split(" ")[0].replace(",", ""))


@contextmanager
def browser():
    """A browser for the length of a block."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        options = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
        found = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=options)
        try:
            yield found
        finally:
            found.close()


@contextmanager
def looked(found, **settings):
    """A page of a browser, with a context of its own."""
    context = found.new_context(**settings)
    try:
        yield Looked(context.new_page())
    finally:
        context.close()
