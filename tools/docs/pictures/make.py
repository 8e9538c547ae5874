#!/usr/bin/python3
"""Makes the pictures of the documents from HTML reports: memory_over_time.png,
tensors_over_time.png and segment_map.png; and frontier.png from the page of `plan --frontier`.

    tools/docs/pictures/make.py [HIGHWATER]     default: build/release/highwater

Needs chromium, chromium-driver and python3-selenium. The window, the scale and the reports are fixed,
so a picture changes only when the report does (or the browser's fonts).
"""
import base64
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select, WebDriverWait

os.environ["HIGHWATER_CONFIG"] = ""  # no defaults of whoever runs this

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
MAP_ROWS = 12

PLAN = ["--torch", "2.6", "--transformers", "5.12", "--framework", "torch", "--model", "llama-3.2-1b", "--batch", "2", "--seq", "2048", "--precision", "bf16", "--gpu", "rtx4090",
        "--steps", "3"]
FRONTIER = ["--frontier", "checkpoint", "--model", "llama-3-8b", "--dp", "8", "--dp-kind", "fsdp2",
            "--precision", "bf16", "--seq", "8192", "--gpu", "h100-80"]
OUT_OF_MEMORY = [str(ROOT / "traces/recorded/fake/gpt2-fp32-varlen-capacity2700.hwt.xz")]


def start_browser():
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--hide-scrollbars", "--window-size=1280,1000",
                     "--force-device-scale-factor=1"):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium")
    return webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)


def open_report(browser, highwater, arguments, folder):
    path = pathlib.Path(folder) / "report.html"
    subprocess.run([highwater, "report", *arguments, "--output", str(path)], check=True, stdout=subprocess.DEVNULL)
    browser.get(path.as_uri())
    WebDriverWait(browser, 30).until(lambda b: b.execute_script("return document.documentElement.dataset.ready"))
    browser.execute_script("""
        document.querySelector('[data-theme-choice=light]').click();
        document.getElementById('block-info').hidden = true;""")


def take(browser, name, first, last):
    """The part of the page from the top of `first` to the bottom of `last`."""
    clip = browser.execute_script("""
        const [top, bottom] = [arguments[0], arguments[1]].map((element) => element.getBoundingClientRect());
        const margin = 1;
        return {x: Math.min(top.left, bottom.left) - margin, y: top.top + scrollY - margin,
                width: Math.max(top.width, bottom.width) + 2 * margin,
                height: bottom.bottom - top.top + 2 * margin, scale: 1.25};""", first, last)
    picture = browser.execute_cdp_cmd("Page.captureScreenshot",
                                      {"format": "png", "captureBeyondViewport": True, "clip": clip})
    (HERE / name).write_bytes(base64.b64decode(picture["data"]))
    print(f"{name}: {(HERE / name).stat().st_size / 1000:.0f} kB")


def take_curve(browser):
    frame = browser.find_element(By.CSS_SELECTOR, "#over-time .chart-frame")
    take(browser, "memory_over_time.png", frame, frame)


def take_tensors(browser):
    browser.execute_script("document.getElementById('band-info').hidden = true")
    frame = browser.find_element(By.CSS_SELECTOR, "#tensors .chart-frame")
    take(browser, "tensors_over_time.png", frame, browser.find_element(By.ID, "bands-legend"))


def take_map(browser):
    Select(browser.find_element(By.ID, "map-order")).select_by_value("free")
    browser.execute_script("document.activeElement.blur()")
    rows = browser.find_elements(By.CSS_SELECTOR, "#rows > *")
    take(browser, "segment_map.png", browser.find_element(By.ID, "moment-text"), rows[MAP_ROWS - 1])


def take_frontier(browser, highwater, folder):
    path = pathlib.Path(folder) / "frontier.html"
    subprocess.run([highwater, "plan", *FRONTIER, "--html", str(path)], check=True, stdout=subprocess.DEVNULL)
    browser.get(path.as_uri())
    picture = browser.find_element(By.CSS_SELECTOR, "svg")
    take(browser, "frontier.png", picture, picture)


def main():
    highwater = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build/release/highwater")
    browser = start_browser()
    try:
        with tempfile.TemporaryDirectory() as folder:
            open_report(browser, highwater, PLAN, folder)
            take_curve(browser)
            take_tensors(browser)
            open_report(browser, highwater, OUT_OF_MEMORY, folder)
            take_map(browser)
            take_frontier(browser, highwater, folder)
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
