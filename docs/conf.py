"""The site: `make docs` builds it into build/site, where index.html opens without a server.

Pages are also read in the repository.  Links that lead out of docs/ (to source, tests, examples)
have no page here: their text stays.  Docstrings are plain text, and are shown as such.
"""

import json
import re
import shutil
from pathlib import Path

DOCS = Path(__file__).parent
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!\w+:|#)([^)\s#]+)(#[^)]*)?\)")

NOTEBOOK = re.compile(r"^<!-- (\S+\.ipynb) -->$", flags=re.M)

project = "stiffly"
author = "the stiffly maintainers"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
html_theme = "furo"
html_title = "stiffly"
html_static_path = ["site"]
html_css_files = ["style.css"]
html_extra_path = ["scene.schema.json"]
html_show_sphinx = False
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # in the docstring's own words
suppress_warnings = [
    "myst.header",
    "autodoc.import_object",
    "misc.highlighting_failure",
    "toc.not_included",
]


def without_links_out(app, docname, source):
    page = Path(app.env.doc2path(docname)).parent

    def kept(match):
        target = (page / match[2]).resolve()
        return match[0] if target.is_relative_to(DOCS) and target.is_file() else match[1]

    source[0] = LINK.sub(kept, source[0])


def with_notebooks(app, docname, source):
    """Comments that name a notebook become its cells, below headings one lower, and the file."""
    page = Path(app.env.doc2path(docname)).parent

    def shown(cell):
        text = "".join(cell["source"])
        code = cell["cell_type"] == "code"
        return f"```python\n{text}\n```" if code else re.sub("^#", "##", text, flags=re.M)

    def told(match):
        file = page / match[1]
        app.env.note_dependency(str(file))
        cells = map(shown, json.loads(file.read_text())["cells"])
        return "\n\n".join([*cells, f"{{download}}`{file.name} <{match[1]}>`"])

    source[0] = NOTEBOOK.sub(told, source[0])


def as_plain_text(app, what, name, thing, options, lines):
    lines[:] = ["::", "", *(f"   {line}" for line in lines), ""] if any(lines) else []


def copy_media(app, failure):
    """What pages show as HTML of their own: videos, and pictures in tables."""
    for folder in () if failure else ("images/films", "images/scenes"):
        shutil.copytree(DOCS / folder, Path(app.outdir) / folder, dirs_exist_ok=True)


def setup(app):
    app.connect("build-finished", copy_media)
    app.connect("source-read", without_links_out)
    app.connect("source-read", with_notebooks)
    app.connect("autodoc-process-docstring", as_plain_text)
