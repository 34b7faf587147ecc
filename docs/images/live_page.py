"""docs/images/live-page.png: the live page in Chromium, two methods pulled the same way."""

import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).with_name("live-page.png")
METHODS = ("realtime", "bdf1")
SOFTWARE = ("--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")


def photograph(url: str, chromium: str) -> None:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=list(SOFTWARE))
        page = browser.new_page(viewport={"width": 1400, "height": 800})
        page.goto(url)
        page.locator(".mantine-Notification-closeButton").first.click(timeout=60_000)
        page.get_by_text("Reset", exact=True).click()
        time.sleep(3.0)
        page.mouse.move(560, 450)
        page.mouse.down()
        page.mouse.move(640, 420, steps=12)
        time.sleep(1.5)
        page.keyboard.press("Space")
        time.sleep(1.0)
        page.screenshot(path=PICTURE)
        browser.close()


if __name__ == "__main__":
    chosen = [option for name in METHODS for option in ("--integrator", name)]
    command = [sys.executable, "-m", "stiffly", "view", "cloth", "--small", *chosen]
    server = subprocess.Popen([*command, "--no-open"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        photograph(server.stdout.readline().split()[-1], *(sys.argv[1:] or ["/usr/bin/chromium"]))
    finally:
        server.terminate()
        server.wait()
