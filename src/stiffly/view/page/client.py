"""What a browser gets: viser's page, with a script and a style that mend what it does wrong."""

from __future__ import annotations

import gzip
from functools import lru_cache
from typing import Any

# - viser listens passively to presses, and then forbids what browsers do on a press: an error in
#   the console whenever a body is pulled.
# - It holds back what a hand does for up to 50 ms, the longest leg of a pull (benchmarks/drag.py);
#   here until the next picture.
# - Words that are longer than their field stop in the middle of a letter.
SCRIPT = b"""<script>{
const listen = EventTarget.prototype.addEventListener, later = window.setTimeout;
EventTarget.prototype.addEventListener = function (kind, heard, how) {
  const passive = kind === "pointerdown" && how?.passive;
  return listen.call(this, kind, heard, passive ? { ...how, passive: false } : how);
};
window.setTimeout = (act, wait, ...rest) => later(act, wait === 50 ? 16 : wait, ...rest);
}</script>
<style>.mantine-Input-input { text-overflow: ellipsis; }</style>
"""
HEAD = b"<head>"


def mended(response: Any) -> None:
    """The script goes into an answer (of websockets) that is a page."""
    if not response.headers.get("Content-Type", "").startswith("text/html"):
        return
    packed = response.headers.get("Content-Encoding") == "gzip"
    response.body = _with_script(response.body, packed)
    del response.headers["Content-Length"]
    response.headers["Content-Length"] = str(len(response.body))


@lru_cache(2)
def _with_script(page: bytes, packed: bool) -> bytes:
    plain = gzip.decompress(page) if packed else page
    whole = plain.replace(HEAD, HEAD + SCRIPT, 1)
    return gzip.compress(whole) if packed else whole
