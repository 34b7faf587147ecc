"""The page that `run.view()` writes, in a browser that may ask nobody."""

import pytest

import stiffly
from stiffly import shapes


@pytest.mark.slow
def test_the_page_of_a_run_plays_turns_and_asks_for_nothing(chromium, tmp_path):
    scene = stiffly.Scene("flag", duration=0.2, step=0.01)
    scene.add(shapes.cloth(5, 5, spacing=0.1), pins=["left"], color="red")
    scene.floor(-1.0)
    path = scene.simulate().view(tmp_path / "flag.html", show=False)
    page = chromium.new_page(viewport={"width": 400, "height": 300})
    wrong, asked = [], []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_function("document.querySelector('#clock').textContent != 't = 0.000 s'")
    page.click("button")
    assert page.inner_text("button") == "play"
    page.locator("input").evaluate("e => { e.value = 500; e.oninput(); }")
    page.wait_for_function("document.querySelector('#clock').textContent == 't = 0.100 s'")
    assert reds(page) > 100  # the cloth is seen
    before = page.evaluate("turn")
    page.mouse.move(200, 100)
    page.mouse.down()
    page.mouse.move(260, 100)
    page.mouse.up()
    assert page.evaluate("turn") != before
    page.close()
    assert wrong == [] and asked == [path.as_uri()]


def reds(page):
    """Pixels in which red is what is most."""
    return page.evaluate(
        """() => { draw(); const w = canvas.width, h = canvas.height;
        const p = new Uint8Array(4 * w * h);
        gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, p);
        let n = 0; for (let i = 0; i < p.length; i += 4) n += p[i] > p[i + 2] + 60;
        return n; }"""
    )
