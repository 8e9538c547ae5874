"""Opens memory snapshots in PyTorch's own viewer, in headless Chromium, and takes pictures.

    view_snapshot.py --viewer MemoryViz.js --d3 d3.js --output DIR SNAPSHOT...

MemoryViz.js is torch/utils/viz/MemoryViz.js of the PyTorch sources (Debian's source package pytorch
has it, its binary packages do not); d3.js is version 5 (/usr/share/nodejs/d3/dist/d3.js of Debian's
node-d3). Needs chromium, chromium-driver and python3-selenium. Nothing is fetched from a network:
the viewer's imports are turned to the local d3. Exits with 1 when the page reports an error or draws
nothing.
"""
import argparse
import base64
import functools
import http.server
import json
import pathlib
import re
import sys
import tempfile
import threading
import time

from selenium import webdriver

FEWEST_SHAPES = 6  # a segment or two with their blocks; an empty page has none
VIEWS = ["Active Memory Timeline", "Allocator State History"]
PAGE = """<!DOCTYPE html><meta charset="utf-8"><body><script src="d3.js"></script>
<script type="module">
import {{add_local_files}} from "./viewer.js";
add_local_files({files}, {view});
</script>"""


def local_imports(source):
    """`import {zoom} from "https://..."` -> `const {zoom} = window.d3;`"""
    source = re.sub(r'import \* as d3 from "https://[^"]*";', "const d3 = window.d3;", source)
    return re.sub(r'import (\{[^}]*\}) from "https://[^"]*";', r"const \1 = window.d3;", source)


def serve(folder):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def open_browser():
    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--window-size=1600,1200", "--disable-gpu"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options)


def look_at(browser, url, picture):
    """What the page shows; its errors."""
    browser.get(url)
    shapes = 0
    for _ in range(60):
        time.sleep(0.5)
        shapes = browser.execute_script("return document.querySelectorAll('svg *').length")
        if shapes >= FEWEST_SHAPES:
            break
    time.sleep(1)
    browser.save_screenshot(str(picture))
    errors = [e["message"] for e in browser.get_log("browser")
              if e["level"] == "SEVERE" and "favicon" not in e["message"]]
    return {"shapes": shapes, "errors": errors}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--viewer", type=pathlib.Path, required=True)
    parser.add_argument("--d3", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("snapshots", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "viewer.js").write_text(local_imports(options.viewer.read_text()))
        (root / "d3.js").write_bytes(options.d3.read_bytes())
        server = serve(folder)
        browser = open_browser()
        try:
            for snapshot in options.snapshots:
                data = base64.b64encode(snapshot.read_bytes()).decode()
                for view in VIEWS:
                    files = json.dumps([{"name": snapshot.name, "base64": data}])
                    page = PAGE.format(files=files, view=json.dumps(view))
                    (root / "index.html").write_text(page)
                    picture = options.output / f"{snapshot.stem}-{view.split()[0].lower()}.png"
                    url = f"http://127.0.0.1:{server.server_port}/index.html"
                    seen = look_at(browser, url, picture)
                    failed |= bool(seen["errors"]) or seen["shapes"] < FEWEST_SHAPES
                    print(json.dumps({"snapshot": snapshot.name, "view": view, **seen}))
        finally:
            browser.quit()
            server.shutdown()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
