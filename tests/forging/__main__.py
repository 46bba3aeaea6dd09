"""`python -m forging --states 20000`: forged files of all settings, in plain mode with every index checked.

With `--compiled` kernels run compiled; to see their indices, set NUMBA_BOUNDSCHECK=1 and a WEFT_CACHE of its own.
"""

import argparse
import json
import resource
import sys

from forging import checked

MOST_BYTES = 3 << 30
"""Of memory: a file that asks for more gets none."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m forging", description=__doc__)
    parser.add_argument("--states", type=int, default=1000, help="forged files in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="settings whose name contains this")
    parser.add_argument("--compiled", action="store_true")
    options = parser.parse_args()
    if not options.compiled:
        checked.install()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    from forging.run import forge_all

    report = forge_all(options.states, options.seed, options.only)
    for failure in report.failures:
        print(failure, file=sys.stderr)
    found = {"states": report.states, "refused": report.refused, "accepted": report.accepted}
    print(json.dumps(found | {"failures": len(report.failures)}))
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
