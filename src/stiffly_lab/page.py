"""One static page over all results: `index.html`, and its table of verdicts as `verdicts.md`.

Everything is read from the folders that experiments have left (report.py); nothing is run.  The
page holds its pictures itself, so that it can be sent to somebody as one file.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from stiffly.errors import InputError
from stiffly.recording.provenance import write_atomic

from .registry import ANSWERS, EXPERIMENTS, PAPERS
from .report import FILES, NOT_REPRODUCED, PARTLY, REPRODUCED, UNTESTED, table

NOT_RUN = "not run yet"
CLASSES = {REPRODUCED: "good", PARTLY: "partly", NOT_REPRODUCED: "bad"}
STYLE = """\
body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#222}
h1,h2{line-height:1.2}section{border-top:1px solid #ccc;margin-top:3rem}img{max-width:100%}
table{border-collapse:collapse;margin:1rem 0;display:block;overflow-x:auto;font-size:.92rem}
td,th{border:1px solid #ddd;padding:.25rem .6rem;text-align:left;vertical-align:top}
th{background:#f4f4f4}.good{background:#dff2df}.partly{background:#fdf3d0}.bad{background:#f9dcd9}
.quiet{color:#666;font-size:.9rem}code{background:#f4f4f4;padding:0 .2rem}"""


class Row(NamedTuple):
    """One table or figure of a paper."""

    item: str
    experiment: str
    verdict: str
    measured: str
    command: str


def build(folder: Path) -> list[Path]:
    """Write the page into the folder that holds the results; the paths written."""
    results = read(folder)
    if not results:
        raise InputError(
            f"no results in {folder}: run experiments first, e.g. stiffly lab all --quick --out "
            f"{folder}"
        )
    rows = verdicts(results)
    paths = [folder / "index.html", folder / "verdicts.md"]
    write_atomic(paths[0], _html(folder, rows, results).encode())
    write_atomic(paths[1], _markdown(rows).encode())
    return paths


def read(folder: Path) -> dict[str, dict[str, Any]]:
    """Experiment -> its result.json, in the order of the registry; unknown folders are left out."""
    found = {}
    for name in EXPERIMENTS:
        path = folder / name / FILES[0]
        if not path.exists():
            continue
        try:
            found[name] = json.loads(path.read_text())
        except ValueError:
            raise InputError(f"{path} is damaged: run `stiffly lab {name}` again") from None
    return found


def verdicts(results: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """A row for every table and figure of the papers, run or not."""
    rows = []
    for item, name in ANSWERS.items():
        result = results.get(name)
        if result is None:
            rows.append(Row(item, name, NOT_RUN, "", f"stiffly lab {name}"))
            continue
        claims = [c for c in result["claims"] if c["item"] == item]
        measured = "; ".join(c["measured"] for c in claims)
        untested = [c["paper"].partition(":")[0] for c in claims if c["verdict"] == UNTESTED]
        if 0 < len(untested) < len(claims):
            measured += f"; not tested: {'; '.join(untested)}"
        rows.append(Row(item, name, overall(claims), measured, result["command"]))
    return rows


def overall(claims: Sequence[Mapping[str, str]]) -> str:
    """Of all claims of one item: reproduced where all are, and not where none is, not even partly;
    what was not tested keeps an item from being reproduced, and makes nothing of it true."""
    given = {c["verdict"] for c in claims}
    if given in ({REPRODUCED}, set(), {UNTESTED}):
        return REPRODUCED if REPRODUCED in given else UNTESTED
    return NOT_REPRODUCED if given <= {NOT_REPRODUCED, UNTESTED} else PARTLY


# ------------------------------------------------------------------ Markdown


def _markdown(rows: Sequence[Row]) -> str:
    lines = []
    for row in rows:
        link = f"[{row.experiment}]({row.experiment}/{FILES[2]})" if row.measured else "-"
        lines.append((row.item, link, f"**{row.verdict}**", row.measured, f"`{row.command}`"))
    head = "item | experiment | verdict | measured here | command"
    return f"# Verdicts\n\n{summary(rows)}\n\n{table(head, lines)}\n"


def summary(rows: Sequence[Row]) -> str:
    """How many of each verdict."""
    counts = {v: sum(row.verdict == v for row in rows) for v in (*CLASSES, UNTESTED, NOT_RUN)}
    said = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    return f"Of {len(rows)} tables, figures and theorems: {said}."


# ------------------------------------------------------------------ HTML


def _html(folder: Path, rows: Sequence[Row], results: Mapping[str, Mapping[str, Any]]) -> str:
    head = "Five papers on stiff elastic motion, measured again"
    papers = "".join(f"<li><b>{key}</b>: {escape(text)}</li>" for key, text in PAPERS.items())
    lines = "".join(_row(row) for row in rows)
    sections = "".join(_section(folder, name, result) for name, result in results.items())
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{head}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>'
        f"<h1>{head}</h1><p>{summary(rows)} Every row names the command that repeats it.</p>"
        "<table><tr><th>item</th><th>experiment</th><th>verdict</th><th>measured here</th>"
        "<th>command</th></tr>"
        f"{lines}</table><ul class=quiet>{papers}</ul>{sections}</body></html>\n"
    )


def _row(row: Row) -> str:
    kind = CLASSES.get(row.verdict, "quiet")
    name = escape(row.experiment)
    link = f'<a href="#{name}">{name}</a>' if row.measured else name
    return (
        f"<tr><td>{escape(row.item)}</td><td>{link}</td><td class={kind}>{row.verdict}</td>"
        f"<td>{escape(row.measured)}</td><td><code>{escape(row.command)}</code></td></tr>"
    )


def _section(folder: Path, name: str, result: Mapping[str, Any]) -> str:
    from markdown_it import MarkdownIt

    text = (folder / name / FILES[2]).read_text()
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    picture = base64.b64encode((folder / name / FILES[1]).read_bytes()).decode()
    body = body.replace(f'src="{FILES[1]}"', f'src="data:image/png;base64,{picture}"')
    machine, used = result["machine"], result["versions"]
    took = "" if result["seconds"] is None else f", {result['seconds']:.0f} s"
    where = f"{machine['platform']}, {machine['cores']} cores{took}; " + ", ".join(
        f"{package} {number}" for package, number in used.items()
    )
    return f'<section id="{escape(name)}">{body}<p class=quiet>{escape(where)}</p></section>'
