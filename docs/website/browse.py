"""Look at every page of the built site in a browser: `python docs/website/browse.py [folder]`, after `make docs`.

Chromium opens every page at 1280 and 400 pixels, light and dark. Told are errors of the console, requests that fail or
leave the site, pages wider than the screen, links that lead nowhere, and a search that finds nothing.
"""

import argparse
import contextlib
import functools
import http.server
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin, urlsplit

ROOT = Path(__file__).resolve().parents[2]
WIDTHS, SCHEMES = (1280, 400), ("light", "dark")
SEARCHED = {"Perceptron": "learners/perceptron", "policy": "how-to-tenants", "WEFT_DATA": "command-line"}
"""Words, and a page that the search must find for each."""


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The folder at a local address: the search of a site does not work from files."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/"
        finally:
            server.shutdown()
            thread.join()


def pages_of(folder: Path) -> list[str]:
    """Every page, by its path."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.html") if "_static" not in path.parts)


def found_wrong(folder: Path, pages: list[str], pictures: Path | None = None) -> list[str]:
    """What is wrong with these pages, a sentence each."""
    from playwright.sync_api import sync_playwright

    wrong: list[str] = []
    with served(folder) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        targets: dict[str, set[str]] = {}
        links: dict[str, str] = {}
        for width in WIDTHS:
            for scheme in SCHEMES:
                page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
                _listen(page, address, f"{width} {scheme}", wrong)
                for name in pages:
                    page.goto(address + name)
                    _measure(page, f"{name} at {width} {scheme}", width, wrong)
                    if pictures is not None:
                        place = pictures / f"{name.replace('/', '_')}-{width}-{scheme}.png"
                        page.screenshot(path=place, full_page=False)
                    if (width, scheme) == (WIDTHS[0], SCHEMES[0]):
                        targets[name] = set(page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)"))
                        for link in page.evaluate("[...document.querySelectorAll('a[href]')].map(e => e.href)"):
                            links.setdefault(link, name)
                page.close()
        wrong += _broken(folder, address, links, targets)
        wrong += _unfound(browser, address)
        browser.close()
    return wrong


def _listen(page: Any, address: str, where: str, wrong: list[str]) -> None:
    """Note errors of the console and requests that fail or go elsewhere."""

    def told(message: Any) -> None:
        if message.type in ("error", "warning"):
            wrong.append(f"{page.url} at {where}: console: {message.text}")

    def asked(request: Any) -> None:
        if not request.url.startswith((address, "data:", "blob:")):
            wrong.append(f"{page.url} at {where}: asks for {request.url}")

    page.on("console", told)
    page.on("pageerror", lambda error: wrong.append(f"{page.url} at {where}: {error}"))
    page.on("request", asked)
    page.on("response", lambda got: got.status < 400 or wrong.append(f"{page.url} at {where}: {got.status} {got.url}"))


def _measure(page: Any, where: str, width: int, wrong: list[str]) -> None:
    """A page is as wide as the screen, what is wider scrolls within it, and its pictures are there."""
    wide = page.evaluate("document.documentElement.scrollWidth")
    if wide > width:
        wrong.append(f"{where}: {wide} pixels wide")
    for source in page.evaluate(
        "[...document.images].filter(i => !i.naturalWidth && i.loading != 'lazy').map(i => i.src)"
    ):
        wrong.append(f"{where}: no picture {source}")


def _broken(folder: Path, address: str, links: dict[str, str], targets: dict[str, set[str]]) -> Iterator[str]:
    """Links within the site whose page or anchor is not there."""
    for link, name in sorted(links.items()):
        plain, anchor = urldefrag(urljoin(address + name, link))
        if not plain.startswith(address):
            if urlsplit(plain).scheme not in ("https", "mailto"):
                yield f"{name}: a link to {link}"
            continue
        path = unquote(urlsplit(plain).path).lstrip("/") or "index.html"
        if not (folder / path).is_file():
            yield f"{name}: a link to {path}, which is not there"
        elif anchor and path in targets and unquote(anchor) not in targets[path]:
            yield f"{name}: a link to {path}#{anchor}; there is no such heading"


def _unfound(browser: Any, address: str) -> Iterator[str]:
    """Words that the search of the site does not find where they are."""
    page = browser.new_page()
    for word, place in SEARCHED.items():
        page.goto(f"{address}search.html?q={word}")
        try:
            page.wait_for_selector(f"#search-results a[href*='{place}']", timeout=10_000)
        except Exception:
            yield f"the search for {word} does not find {place}"
    page.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--pictures", type=Path, help="a folder for a picture of every page")
    options = parser.parse_args()
    if options.pictures is not None:
        options.pictures.mkdir(parents=True, exist_ok=True)
    pages = pages_of(options.folder)
    wrong = found_wrong(options.folder, pages, options.pictures)
    print(
        "\n".join(wrong) or f"{len(pages)} pages, {', '.join(map(str, WIDTHS))} pixels, light and dark: nothing wrong"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
