"""Build the site: `python docs/website [folder]`, by default into build/site. `--no-pictures` skips those of learners.

Pages of the repository become pages of the site; pages of learners, the API reference and examples are written from the
sources. Sphinx then checks every link and anchor: a warning is an error.
"""

import argparse
import shutil
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx_build

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(Path(__file__).parent))

from api_pages import write_api_pages  # noqa: E402
from contents import write_index  # noqa: E402
from copied import copy_pages  # noqa: E402
from learner_pages import write_learner_pages  # noqa: E402


def assemble(folder: Path, pictures: bool) -> None:
    """All sources of the site in one folder, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "_static").mkdir(parents=True)
    here = Path(__file__).parent
    shutil.copy(here / "conf.py", folder)
    for name in ("site.css", "favicon.svg"):
        shutil.copy(here / name, folder / "_static")
    copy_pages(ROOT, folder)
    learners = write_learner_pages(ROOT, folder, pictures)
    modules = write_api_pages(folder)
    write_index(folder, learners, modules)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--no-pictures", action="store_true", help="do not run every learner for a picture")
    options = parser.parse_args(arguments)
    sources = options.folder.with_name(options.folder.name + "-sources")
    assemble(sources, not options.no_pictures)
    code: int = sphinx_build(["-q", "-W", "--keep-going", "-b", "html", str(sources), str(options.folder)])
    if code == 0:
        print(f"the site: {options.folder / 'index.html'}")
    return code


if __name__ == "__main__":
    raise SystemExit(main())
