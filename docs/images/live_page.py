"""docs/images/live-page.png, live-page-lesson.png: the live page in Chromium, two methods pulled
the same way, and a lesson on its second page."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
PULLED = ("cloth", "--small", "--integrator", "realtime", "--integrator", "bdf1")
SOFTWARE = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
PATIENCE = 120_000.0  # [ms]


def pulled(page: Any) -> None:
    page.get_by_text("Reset", exact=True).click()
    time.sleep(3.0)
    page.mouse.move(560, 450)
    page.mouse.down()
    page.mouse.move(640, 420, steps=12)
    time.sleep(1.5)
    page.keyboard.press("Space")
    time.sleep(1.0)


def taught(page: Any) -> None:
    page.get_by_role("button", name="Next", exact=True).click(force=True)
    page.get_by_text("verlet stopped").first.wait_for(timeout=PATIENCE)
    time.sleep(3.0)


def photograph(
    chromium: str, name: str, arguments: tuple[str, ...], act: Callable[..., None]
) -> None:
    command = [sys.executable, "-m", "stiffly", "view", *arguments, "--no-open"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=list(SOFTWARE))
            page = browser.new_page(viewport={"width": 1400, "height": 800})
            page.goto(server.stdout.readline().split()[-1])
            page.locator(".mantine-Notification-closeButton").first.click(timeout=PATIENCE)
            act(page)
            page.screenshot(path=HERE / name)
            browser.close()
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    chromium = sys.argv[1] if len(sys.argv) > 1 else "/usr/bin/chromium"
    photograph(chromium, "live-page.png", PULLED, pulled)
    photograph(chromium, "live-page-lesson.png", ("--lesson", "verlet"), taught)
