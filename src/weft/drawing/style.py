"""The look of pictures and pages, light or dark as the system has it: colours are named here and nowhere else.

PICTURE  what a picture needs; within a picture that is a file of its own, or within a page
PAGE     what a page of text, tables and pictures needs, with PICTURE in it
"""

_LIGHT = """--ink: #24292f; --soft: #59636e; --page: #ffffff; --edge: #d1d9e0; --band: #f6f8fa; --link: #0969da;
  --line-0: #0969da; --line-1: #bc4c00; --line-2: #1a7f37; --line-3: #8250df; --line-4: #bf3989; --line-5: #6e7781;
  --good: #1a7f37; --bad: #b3261e; --open: #7a6000;"""
_DARK = """--ink: #d1d7e0; --soft: #9198a1; --page: #0d1117; --edge: #3d444d; --band: #151b23; --link: #58a6ff;
  --line-0: #58a6ff; --line-1: #f0883e; --line-2: #3fb950; --line-3: #bc8cff; --line-4: #f778ba; --line-5: #9198a1;
  --good: #3fb950; --bad: #ff7b72; --open: #d4a72c;"""
COLOURS = 6
"""Colours of lines, `--line-0` and so on; then they come again with other dashes."""

PICTURE = f"""
:root {{ {_LIGHT} }}
@media (prefers-color-scheme: dark) {{ :root {{ {_DARK} }} }}
svg text {{ font: 13px system-ui, sans-serif; fill: var(--soft); stroke: none; }}
svg .page {{ fill: var(--page); }} svg .title {{ font-weight: 600; fill: var(--ink); }}
svg .frame {{ stroke: var(--soft); fill: none; }} svg .grid {{ stroke: var(--edge); fill: none; }}
svg .line {{ fill: none; stroke-width: 2.2; stroke-linejoin: round; }} svg .name {{ font-weight: 600; }}
svg .error {{ fill: none; stroke-width: 1.2; }} svg .ink {{ stroke: var(--ink); }} svg circle {{ stroke: none; }}
svg .bar {{ fill: var(--soft); }} svg .far {{ fill: var(--line-1); }} svg text.far {{ font-weight: 600; }}
"""

PAGE = (
    PICTURE
    + """
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 80rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.7rem; line-height: 1.25; } h2 { font-size: 1.3rem; margin-top: 2.6rem;
  border-top: 1px solid var(--edge); padding-top: 1.2rem; } h3 { font-size: 1.05rem; margin: 1.6rem 0 .4rem; }
p, ul { max-width: 46rem; overflow-wrap: break-word; } a { color: var(--link); }
code { overflow-wrap: anywhere; } .headline { font-size: 1.2rem; max-width: 46rem; }
.note, .source, .where, .absent { color: var(--soft); font-size: .875rem; } .missing { color: var(--bad); }
.box { overflow-x: auto; border: 1px solid var(--edge); border-radius: 6px; margin: .5rem 0; }
table { border-collapse: collapse; font-size: .875rem; min-width: 100%; }
th, td { padding: .35rem .6rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--edge); }
thead th { background: var(--band); } tbody tr:last-child > * { border-bottom: 0; }
tbody th { font-weight: 600; white-space: nowrap; } tr.best > * { background: var(--band); }
.figures th:first-child { position: sticky; left: 0; background: var(--page); }
.figures thead th:first-child, .figures tr.best th:first-child { background: var(--band); }
@media (max-width: 40rem) { .figures tbody th { white-space: normal; min-width: 7rem; overflow-wrap: anywhere; } }
.figures td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.figures thead th:not(:first-child) { text-align: right; min-width: 5.5rem; }
.figures td:not(.number) { text-align: right; }
td a { white-space: nowrap; } .claims td { min-width: 12rem; } .claims td:has(.mark) { min-width: 0; }
.paper { color: var(--soft); font-size: .8rem; margin-left: .35rem; }
.mark { font-weight: 600; white-space: nowrap; } .mark.confirmed { color: var(--good); }
.mark.refuted { color: var(--bad); } .mark.untestable { color: var(--open); }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); gap: 1rem; }
figure { margin: .5rem 0; min-width: 0; max-width: 34rem; } figcaption { font-weight: 600; font-size: .95rem; }
figure > svg { width: 100%; height: auto; display: block; }
figure.wide { max-width: 60rem; overflow-x: auto; } figure.wide > svg { width: auto; max-width: none; }
.legend { list-style: none; padding: 0; margin: .3rem 0; display: flex; flex-wrap: wrap; gap: .2rem 1rem;
  font-size: .875rem; } .legend li { overflow-wrap: anywhere; }
.swatch { width: 24px; height: 12px; margin-right: .35rem; fill: none; }
"""
)
