"""The HTML report in a real browser: report_test.py HIGHWATER SOURCE_FOLDER [unittest arguments]

Opens reports from file:// in headless Chromium and uses them as a person does, by mouse and by
keyboard. Exit code 4 (skipped) where Chromium, its driver or Selenium is missing.
"""

import json
import os
import shutil
import subprocess
import sys
import unittest
from xml.etree import ElementTree

from reports import HOSTILE, Reports

SKIPPED = 4
MEGABYTE = 1_000_000

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.ui import Select, WebDriverWait
except ImportError:
    print("skipped: python3-selenium is not installed")
    sys.exit(SKIPPED)

CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")

def start_browser():
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                     "--window-size=1280,1000", "--force-device-scale-factor=1"):
        options.add_argument(argument)
    options.binary_location = CHROMIUM
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(service=Service(DRIVER), options=options)
    # Elements take the focus even while another window of the machine has it.
    browser.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
    return browser


class ReportTest(unittest.TestCase):
    reports: Reports

    @classmethod
    def setUpClass(cls):
        cls.browser = start_browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()

    def load(self, path):
        self.browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        self.browser.set_window_size(1280, 1000)
        self.browser.get_log("browser")
        self.browser.get_log("performance")
        self.browser.get("file://" + path)

    def open(self, path):
        self.load(path)
        WebDriverWait(self.browser, 30).until(lambda browser: self.script(
            "return document.documentElement.dataset.ready") == "true")

    def tearDown(self):
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
        messages = [entry["message"] for entry in self.browser.get_log("browser")]
        self.assertEqual(messages, [], "the console is silent")

    def eventually(self, read, is_right):
        """What `read` gives once `is_right` holds of it: a loaded machine shows effects late."""
        WebDriverWait(self.browser, 10).until(lambda browser: is_right(read()))
        return read()

    def script(self, code, *arguments):
        return self.browser.execute_script(code, *arguments)

    def find(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def shown(self):
        return self.script("const {from, to} = document.getElementById('chart').dataset;"
                           "return [Number(from), Number(to)]")

    def cursor(self):
        return self.script("return Number(document.getElementById('chart').dataset.cursor)")

    def press(self, *keys):
        for key in keys:
            ActionChains(self.browser).send_keys(key).perform()

    def focus(self, selector):
        self.script("document.querySelector(arguments[0]).focus()", selector)

    def click(self, selector):
        """Of what may be outside of the window: the page scrolls smoothly, which a click does not wait for."""
        self.script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", self.find(selector))
        self.find(selector).click()

    def background(self):
        return self.script("return getComputedStyle(document.body).backgroundColor")

    # What is there

    def test_every_part_is_drawn(self):
        for path in (self.reports.plan(), self.reports.recording(), self.reports.plan_that_fails()):
            self.open(path)
            self.assertTrue(self.find("#verdict").text)
            self.assertGreaterEqual(len(self.all("#figures > div")), 3)
            self.assertEqual(len(self.all("#bars .bar")), 4)  # the run has default settings
            self.assertGreater(len(self.all("#legend tr")), 5)
            self.assertGreater(len(self.all(".pin")), 1)
            self.assertGreater(len(self.all("#rows .row .cell")), 1)
            self.assertGreaterEqual(len(self.all("#holders-table tbody tr")), 1)
            self.assertGreater(len(self.all("#flame-graph g.frame")), 1)
            self.assertGreater(len(self.all("#settings-table tbody tr")), 4)
            self.assertIn("trust: PyTorch", self.find("#trust").text)
            self.assertIn("Permission is hereby granted", self.find("#licence-dygraph").get_attribute("textContent"))

    def test_the_lines_have_ink(self):
        self.open(self.reports.plan())
        painted = self.script("""
            return [...document.querySelectorAll('#chart canvas')].map((canvas) => {
              const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
              let n = 0;
              for (let i = 3; i < data.length; i += 4) n += data[i] > 0;
              return n;
            })""")
        self.assertGreater(max(painted), 2000)

    def test_numbers_agree_with_replay(self):
        path = os.path.join(self.reports.source, "traces/recorded/fake/long-llama-1b-default.hwt.xz")
        text = subprocess.run([self.reports.highwater, "replay", path, "--format", "json"], check=True,
                              capture_output=True).stdout
        self.open(self.reports.recording())
        agrees = self.script("""
            const replay = JSON.parse(arguments[0]).devices[0];
            const data = JSON.parse(document.getElementById('report-data').textContent);
            const highest = (key) => {
              let value = 0;
              return Math.max(...data.curves[key].high.map((d) => value += d));
            };
            return ['requested', 'allocated', 'active', 'reserved'].map((key) =>
                [key, data.peaks[key] === replay.peak[key + '_bytes'], highest(key) === data.peaks[key]]);
            """, text.decode())
        for key, peak, curve in agrees:
            self.assertTrue(peak, key)
            self.assertTrue(curve, key)

    def test_out_of_memory_is_told(self):
        self.open(self.reports.plan_that_fails())
        self.assertTrue(self.find("#ooms").is_displayed())
        self.assertEqual(len(self.all(".mark-oom")), 1)
        self.assertIn("bad", self.find("#verdict").get_attribute("class"))
        self.assertIn("out of memory", Select(self.find("#moment")).first_selected_option.text)
        self.assertGreater(len(self.all("#why ul:not(.trials) li")), 1)
        self.assertGreater(len(self.all("#why .trials li.helps")), 0)
        self.open(self.reports.plan())
        self.assertFalse(self.find("#ooms").is_displayed())

    # Nothing leaves the page, nothing gets in

    def test_no_network(self):
        self.open(self.reports.plan())
        policy = self.find("meta[http-equiv=Content-Security-Policy]").get_attribute("content")
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("script-src 'unsafe-inline'", policy)
        asked = [json.loads(entry["message"])["message"] for entry in self.browser.get_log("performance")]
        urls = [message["params"]["request"]["url"] for message in asked
                if message["method"] == "Network.requestWillBeSent"]
        self.assertEqual([url for url in urls if not url.startswith(("file://", "data:"))], [])
        self.assertEqual(len([url for url in urls if url.startswith("file://")]), 1)
        with open(self.reports.plan(), encoding="utf-8") as file:
            page = file.read()
        self.assertNotRegex(page, r"<(script|img|iframe|link)[^>]+(src|href)=\"?(https?:)?//")

    def test_hostile_names_do_nothing(self):
        path = self.reports.hostile()
        with open(path, encoding="utf-8") as file:
            page = file.read()
        self.assertNotIn("<script>window.hacked", page)
        self.assertNotIn("\u2028", page.split('id="report-data">')[1])
        self.open(path)
        self.assertIsNone(self.script("return window.hacked || null"))
        self.assertEqual(len(self.all("body img:not(.dygraph-rangesel-zoomhandle)")), 0)
        text = self.find("#holders-table").text + self.find("#flame-graph").get_attribute("textContent")
        for name in (HOSTILE[0], HOSTILE[1], HOSTILE[6]):
            self.assertIn(name, text)
        self.focus("#bands")
        self.press(Keys.ARROW_RIGHT)
        self.assertIn(self.eventually(lambda: self.find("#band-stack li span").text, bool), HOSTILE)
        self.script("""
            const injected = document.createElement('script');
            injected.textContent = 'window.hacked = 5';
            document.body.append(injected);""")
        self.assertIsNone(self.script("return window.hacked || null"), "the policy blocks scripts")
        self.browser.get_log("browser")  # the refusal itself

    def test_size_is_bounded(self):
        path = self.reports.million()
        self.assertLess(os.path.getsize(path), 5 * MEGABYTE)
        self.open(path)
        self.assertGreater(len(self.all("#rows .row")), 1)
        for name in ("plan", "recording", "fails"):
            if name in self.reports.made:
                self.assertLess(os.path.getsize(self.reports.made[name]), 5 * MEGABYTE)

    # Using it

    def test_zoom_and_pan_by_keyboard(self):
        self.open(self.reports.recording())
        whole = self.shown()
        self.focus("#chart")
        self.press("+", "+")
        near = self.shown()
        self.assertAlmostEqual(near[1] - near[0], (whole[1] - whole[0]) / 4, delta=whole[1] * .01)
        self.press("[")
        ActionChains(self.browser).key_down(Keys.SHIFT).send_keys(Keys.ARROW_LEFT).key_up(Keys.SHIFT).perform()
        self.assertLess(self.shown()[0], near[0])
        self.press("-")
        self.assertGreater(self.shown()[1] - self.shown()[0], near[1] - near[0])
        self.press("0")
        self.assertEqual(self.shown(), whole)
        before = self.cursor()
        self.press(Keys.HOME)
        self.assertEqual(self.cursor(), 0)
        self.press(Keys.ARROW_RIGHT)
        self.assertGreater(self.cursor(), 0)
        self.assertNotEqual(self.cursor(), before)
        self.assertIn("reserved", self.find("#cursor-live").get_attribute("textContent"))

    def test_zoom_by_mouse(self):
        self.open(self.reports.recording())
        whole = self.shown()
        chart = self.find("#chart")
        self.script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", chart)
        ActionChains(self.browser).move_to_element_with_offset(chart, -100, -60).click_and_hold() \
            .move_by_offset(120, 0).move_by_offset(80, 0).release().perform()
        near = self.shown()
        self.assertLess(near[1] - near[0], (whole[1] - whole[0]) / 2)

        def shown_after_double_click():
            ActionChains(self.browser).double_click(chart).perform()
            return self.shown()

        # On a busy machine the two clicks can come too far apart to be one double click.
        self.eventually(shown_after_double_click, lambda shown: shown == whole)
        self.find("[data-chart=in]").click()
        self.assertLess(self.shown()[1] - self.shown()[0], whole[1] - whole[0])
        self.find("[data-chart=reset]").click()
        self.assertEqual(self.shown(), whole)

    def test_choosing_a_moment(self):
        self.open(self.reports.recording())
        chosen = Select(self.find("#moment"))
        texts = set()
        for i in range(len(chosen.options)):
            chosen.select_by_index(i)
            texts.add(self.find("#moment-text").text)
            self.assertEqual(self.find(".pin.chosen").get_attribute("data-moment"), str(i))
        self.assertEqual(len(texts), len(chosen.options))
        self.focus("#chart")
        self.press("[")
        self.assertEqual(self.find("#moment").get_attribute("value"), str(len(texts) - 2))
        self.focus(".pin[data-moment='0']")
        self.press(Keys.ENTER)
        self.assertEqual(self.find("#moment").get_attribute("value"), "0")
        self.script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", self.find("#chart"))
        self.find(".pin[data-moment='1']").click()
        self.assertEqual(self.find("#moment").get_attribute("value"), "1")

    def test_rows_add_up(self):
        self.open(self.reports.recording())
        wrong = self.script("""
            const data = JSON.parse(document.getElementById('report-data').textContent);
            return data.moments.filter(({usage, map}) => {
              const sum = (list, key) => list.reduce((total, part) => total + part[key], 0);
              const all = [...map.rows, ...map.rests];
              const cells = map.rows.every(({size, segments, cells}) =>
                  segments * cells.reduce((total, cell) => total + cell[1], 0) === size);
              return sum(all, 'size') !== usage.reserved || sum(all, 'active') !== usage.allocated || !cells;
            }).length""")
        self.assertEqual(wrong, 0)

    def test_segments_that_look_alike_share_a_row(self):
        self.open(self.reports.recording())
        segments = self.script("""
            const data = JSON.parse(document.getElementById('report-data').textContent);
            return data.moments[document.getElementById('moment').value].map.rows.map(({segments}) => segments)""")
        self.assertGreater(max(segments), 1)
        times = [span.text for span in self.all("#rows .times") if span.text]
        self.assertEqual(sorted(times), sorted(f"{n} \u00d7" for n in segments if n > 1))
        for row in self.all("#rows .row"):
            if row.find_element(By.CSS_SELECTOR, ".times").text:
                self.assertIn("segments alike", row.get_attribute("aria-label"))

    # Tensors over time

    def test_bands_add_up_to_the_curve(self):
        for path in (self.reports.plan(), self.reports.recording()):
            self.open(path)
            wrong = self.script("""
                const {bands, curves, operations} = JSON.parse(document.getElementById('report-data').textContent);
                let high = 0;
                const allocated = curves.allocated.high.map((d) => high += d);
                const highest = (column) => Math.max(...allocated.slice(
                    column * bands.operations_per_column / curves.operations_per_bucket,
                    (column + 1) * bands.operations_per_column / curves.operations_per_bucket));
                const sums = new Array(bands.moments.length).fill(0);
                let at = 0;
                const moments = bands.moments.map((passed) => at += passed);
                let begin = 0;
                for (const [size, , , , passed, life] of bands.blocks) {
                  begin += passed;
                  moments.forEach((moment, c) => {
                    sums[c] += begin <= moment && (life < 0 || moment < begin + life) ? size : 0;
                  });
                }
                for (const {changes} of bands.sums) {
                  let now = 0;
                  changes.forEach((change, c) => { sums[c] += now += change; });
                }
                return sums.filter((sum, column) => sum * bands.bytes_per_unit !== highest(column)).length""")
            self.assertEqual(wrong, 0)

    def ink_of_bands(self):
        return self.script("""
            const canvas = document.querySelector('#bands canvas');
            const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
            const colours = new Set();
            let n = 0;
            for (let i = 0; i < data.length; i += 4) {
              if (data[i + 3] > 100) { ++n; colours.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]); }
            }
            return [n / (canvas.width * canvas.height), colours.size]""")

    def test_bands_have_ink_in_every_view(self):
        self.open(self.reports.plan())
        choice = Select(self.find("#bands-view"))
        self.assertEqual([option.get_attribute("value") for option in choice.options], ["block", "category", "site"])
        for view in ("block", "category", "site"):
            choice.select_by_value(view)
            ink, colours = self.ink_of_bands()
            self.assertGreater(ink, .2, view)
            self.assertGreater(colours, 4, view)
        legend = self.find("#bands-legend").text
        self.open(self.reports.recording())
        self.assertEqual([option.get_attribute("value") for option in Select(self.find("#bands-view")).options],
                         ["block", "site"], "a recording knows no categories")
        self.assertGreater(self.ink_of_bands()[0], .2)
        self.assertTrue(legend)

    def test_a_band_shows_its_stack_by_mouse(self):
        self.open(self.reports.timed())
        bands = self.find("#bands")
        self.script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", bands)
        self.assertFalse(self.find("#band-stack").is_displayed())
        ActionChains(self.browser).move_to_element_with_offset(bands, 100, 100).perform()
        info = self.eventually(lambda: self.find("#band-info").text, lambda text: "allocated at operation" in text)
        self.assertIn("2.00 MiB, by train.py:7 step", info)
        ActionChains(self.browser).move_to_element_with_offset(bands, 100, 100).click().perform()
        self.assertTrue(self.find("#band-stack").is_displayed())
        self.assertIn("/home/user/train.py:7", self.find("#band-stack li").text)

    def test_bands_by_keyboard(self):
        self.open(self.reports.plan())
        self.focus("#bands")
        chosen = lambda: self.find("#bands").get_attribute("data-chosen")
        self.press(Keys.ARROW_RIGHT)
        first = self.eventually(chosen, bool)
        info = self.find("#band-info").text
        self.assertRegex(info, r"(MiB|KiB|GiB)")
        self.assertGreater(len(self.all("#band-stack li")), 0)
        self.press(Keys.ARROW_UP, Keys.ARROW_UP)
        self.assertNotEqual(chosen(), first)
        self.assertNotEqual(self.find("#band-info").text, info)
        self.press(Keys.ARROW_LEFT)
        self.assertLess(int(chosen().split()[0]), int(first.split()[0]))
        whole = self.shown()
        self.press("+")
        self.assertLess(self.shown()[1] - self.shown()[0], whole[1] - whole[0])
        self.press("0", Keys.ESCAPE)
        self.assertEqual(self.shown(), whole)
        self.assertIsNone(chosen())

    def test_a_million_entries_are_bounded(self):
        path = self.reports.million()
        self.open(path)
        opened = self.script("return performance.timing.domContentLoadedEventEnd - performance.timing.navigationStart")
        print(f"a report of a million entries: open after {opened / 1000:.1f} s")  # a figure of tools/docs/speed.md
        drawn, summed = self.script("""
            const {bands} = JSON.parse(document.getElementById('report-data').textContent);
            return [bands.blocks.length, bands.summed + bands.unseen]""")
        self.assertLessEqual(drawn, 5000)
        self.assertGreater(summed, 100000)
        self.assertIn(f"{self.script('return (arguments[0]).toLocaleString(`en`)', drawn)} block", self.find("#bands-about").text)

    # Axes, moments, links, pictures

    def test_time_as_axis(self):
        self.open(self.reports.timed())
        axis = Select(self.find("#axis"))
        self.assertEqual([option.text for option in axis.options], ["operations", "time"])
        labels = lambda: [label.text for label in self.all("#chart .dygraph-axis-label-x")]
        self.assertFalse(any(label.endswith(" s") for label in labels()))
        before = self.find(".pin[data-moment='1'] circle").get_attribute("cx")
        axis.select_by_value("time")
        self.eventually(labels, lambda texts: any(text.endswith(" s") for text in texts))
        # The snapshot pauses for seven of ten seconds in its middle, so that what follows moves right.
        self.assertNotEqual(self.find(".pin[data-moment='1'] circle").get_attribute("cx"), before)
        self.assertIn(" s", self.find("#cursor-heading").text)
        self.focus("#chart")
        whole = self.shown()
        self.press("+")
        self.assertLess(self.shown()[1] - self.shown()[0], whole[1] - whole[0])
        axis.select_by_value("operations")
        self.open(self.reports.plan())
        self.assertFalse(self.find("#axis-choice").is_displayed())

    def test_lines_on_one_another_are_hidden_at_first(self):
        self.open(self.reports.plan())
        boxes = {box.get_attribute("aria-label"): box for box in self.all("#legend input")}
        self.assertEqual({name: box.is_selected() for name, box in boxes.items()},
                         {"show reserved": True, "show active": False, "show allocated": True, "show requested": True})
        self.assertIn("lies on allocated", self.find("#legend").text)
        self.click("[aria-label='show active']")
        self.assertTrue(boxes["show active"].is_selected())

    def test_moments_have_names(self):
        self.open(self.reports.recording())
        names = [button.text for button in self.all("#moments button")]
        self.assertEqual(len(names), len(self.all(".pin")))
        self.assertTrue(any("peak reserved" in name for name in names))
        self.click("#moments button")
        self.assertEqual(self.find("#moment").get_attribute("value"), "0")
        self.assertEqual(self.all("#moments button")[0].get_attribute("aria-pressed"), "true")
        self.assertGreater(len(self.all(".pin text.name")), 0)

    def test_a_link_per_section(self):
        self.open(self.reports.plan())
        links = [link.get_attribute("href").split("#")[1] for link in self.all("main section a.anchor")
                 if link.is_displayed()]
        self.assertGreaterEqual(len(links), 7)
        self.browser.get("about:blank")
        self.open(self.reports.plan() + "#flame")
        self.eventually(lambda: self.script("return document.getElementById('flame').getBoundingClientRect().top"),
                        lambda top: top < 300)

    def test_pictures_are_saved(self):
        self.open(self.reports.plan())
        self.browser.execute_cdp_cmd("Browser.setDownloadBehavior",
                                     {"behavior": "allow", "downloadPath": self.reports.folder})
        names = ("bars", "memory-over-time", "tensors-over-time", "segment-map", "flame-graph")
        for name in names:
            for kind in ("svg", "png"):
                self.script("document.querySelector(arguments[0]).click()", f"[data-save='{name}.{kind}']")
                path = self.eventually(lambda: self.saved(f"-{name}.{kind}"), bool)
                with open(path, "rb") as file:
                    content = file.read()
                if kind == "png":
                    self.assertTrue(content.startswith(b"\x89PNG"), name)
                    self.assertGreater(len(content), 3000, name)
                else:
                    self.assertNotIn(b"var(--", content)
                    root = ElementTree.fromstring(content)
                    self.assertGreater(len(list(root.iter())), 10, name)
                    self.assertEqual([node for node in root.iter() if node.get("class") or node.get("onclick")], [])

    def saved(self, ending):
        """The file, once it is there: the browser keeps its name with an empty one until then."""
        paths = [os.path.join(self.reports.folder, name) for name in os.listdir(self.reports.folder)
                 if name.endswith(ending)]
        return next((path for path in paths if os.path.getsize(path) > 0), None)

    # Two runs

    def test_two_runs_in_one_page(self):
        path = self.reports.two()
        self.assertLess(os.path.getsize(path), 5 * MEGABYTE)
        self.open(path)
        self.assertIn("B reserves", self.find("#comparison-verdict").text)
        self.assertEqual(len(self.all("#comparison-chart path")) > 3, True)
        rows = [[cell.text for cell in row.find_elements(By.TAG_NAME, "td")]
                for row in self.all("#comparison-figures tbody tr")]
        self.assertEqual([row[0] for row in rows], ["reserved", "active", "allocated", "requested"])
        self.assertGreater(len(self.all("#comparison-sites tbody tr")), 1)
        first = self.find("#verdict").text
        legend = self.find("#legend").text
        self.click("[data-run='1']")
        self.assertNotEqual(self.find("#legend").text, legend)
        self.assertEqual(self.find("[data-run='1']").get_attribute("aria-pressed"), "true")
        self.click("[data-theme-choice=dark]")
        self.click("[data-run='0']")
        self.assertEqual(self.find("#verdict").text, first)
        self.assertEqual(self.find("#legend").text, legend)
        self.assertEqual(len(self.all("#bars .bar")), 4)

    def test_a_state_without_a_history(self):
        self.open(self.reports.state_only())
        self.assertFalse(self.find("#over-time").is_displayed())
        self.assertFalse(self.find("#tensors").is_displayed())
        self.open(self.reports.state_and_history())
        self.assertIn("same at their peaks", self.find("#comparison-verdict").text)
        self.assertGreater(len(self.all("#comparison-chart path")), 3)
        self.click("[data-run='1']")
        self.assertTrue(self.find("#tensors").is_displayed())

    def test_one_run_has_no_comparison(self):
        self.open(self.reports.plan())
        self.assertFalse(self.find("#comparison").is_displayed())

    def test_map_by_keyboard(self):
        self.open(self.reports.recording())
        self.focus("#rows .row")
        info = lambda: self.find("#block-info").text
        first = self.eventually(info, lambda text: "segment at 0x" in text)
        self.press(Keys.ARROW_RIGHT)
        self.eventually(info, lambda text: "block" in text and text != first)
        self.press(Keys.ARROW_DOWN)
        self.eventually(info, lambda text: text != first)

    def test_flame_by_keyboard(self):
        self.open(self.reports.plan())
        frames = len(self.all("#flame-graph g.frame"))
        self.focus("#flame-graph g.frame")
        self.press(Keys.ARROW_DOWN)
        self.assertRegex(self.find("#flame-info").text, r"% of all")
        self.press(Keys.ENTER)
        self.press(Keys.ESCAPE)
        self.assertEqual(len(self.all("#flame-graph g.frame")), frames)
        self.find("#flame-find").send_keys("zeros_like")
        self.assertRegex(self.find("#flame-info").text, r"^1 frame found, [\d.]+ [MG]iB, [\d.]+ % of all")
        Select(self.find("#flame-order")).select_by_value("callers")
        tops = [title.get_attribute("textContent") for title in self.all("#flame-graph g[aria-level='2'] title")]
        self.assertTrue(any(text.startswith("mm:") for text in tops), tops)
        Select(self.find("#flame-order")).select_by_value("program")
        Select(self.find("#flame-choice")).select_by_value("pinned")
        self.assertTrue(self.all("#flame-graph g.frame") or self.all("#flame-graph .empty"))

    def test_everything_can_be_reached_and_has_a_name(self):
        self.open(self.reports.plan())
        reached = set()
        self.script("document.activeElement.blur()")
        for _ in range(160):
            self.press(Keys.TAB)
            reached.add(self.script("""
                const it = document.activeElement;
                return it.id || it.dataset.chart || it.dataset.themeChoice || it.getAttribute('class') || it.tagName"""))
        for part in ("chart", "bands", "bands-view", "save", "anchor", "in", "dark", "moment", "map-order", "row", "flame-choice", "frame"):
            self.assertTrue(any(part in name for name in reached), f"{part} not in {sorted(reached)}")
        nameless = self.script("""
            return [...document.querySelectorAll('button, select, input, [tabindex="0"]')].filter((it) =>
                it.checkVisibility() && !(it.getAttribute('aria-label') || it.textContent.trim() || it.labels?.[0]?.textContent.trim()))
                .map((it) => it.outerHTML)""")
        self.assertEqual(nameless, [])

    def test_light_and_dark(self):
        self.open(self.reports.plan())
        light = self.background()
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "features": [{"name": "prefers-color-scheme", "value": "dark"}]})
        dark = self.eventually(self.background, lambda colour: colour != light)
        self.find("[data-theme-choice=light]").click()
        self.eventually(self.background, lambda colour: colour == light)
        self.find("[data-theme-choice=dark]").click()
        self.eventually(self.background, lambda colour: colour == dark)

    def test_narrow_windows_and_print(self):
        for path in (self.reports.plan(), self.reports.recording(), self.reports.state_only(), self.reports.two()):
            for width in (800, 420):
                self.open(path)
                self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                             {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False})
                self.eventually(lambda: self.script("return document.documentElement.scrollWidth"),
                                lambda wide: wide <= width)
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        self.assertFalse(self.find("nav.contents").is_displayed())
        self.assertTrue(self.find("#verdict").is_displayed())

    def test_ranks_as_heat_maps(self):
        """However many ranks there are: no number leaves its cell, no cell meets another, and all fits a window."""
        for count in (64, 1024, 5000):
            self.load(self.reports.ranks(count))
            maps = self.script("""
                return [...document.querySelectorAll('svg')].map((map) => {
                    const cells = [...map.querySelectorAll('g')].map((cell) => ({
                        cell: cell.querySelector('rect').getBoundingClientRect().toJSON(),
                        text: cell.querySelector('text')?.getBoundingClientRect().toJSON()}));
                    const overlap = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
                    return {cells: cells.length, labelled: cells.filter((each) => each.text).length,
                            left: cells.filter((each) => each.text && (each.text.left < each.cell.left + 1.5 ||
                                each.text.right > each.cell.right - 1.5 || each.text.top < each.cell.top ||
                                each.text.bottom > each.cell.bottom)).length,
                            met: cells.filter((each, i) => i > 0 && overlap(each.cell, cells[i - 1].cell)).length,
                            lines: [...map.querySelectorAll('text.line')].map((line) => line.textContent),
                            off: map.querySelectorAll('.off').length, unread: map.querySelectorAll('.unread').length};
                })""")
            self.assertEqual(len(maps), 3)
            self.assertEqual([each["off"] for each in maps], [1, 1, 0])
            for each in maps:
                with self.subTest(ranks=count):
                    self.assertEqual((each["cells"], each["left"], each["met"], each["unread"]), (count, 0, 0, 1))
                    self.assertEqual(each["labelled"], count if count <= 4096 else 0)
                    self.assertEqual(each["lines"][:2], [] if count <= 4096 else ["0", "256"])
            self.assertLessEqual(self.script("return document.documentElement.scrollWidth"), 1280)
            self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                         {"width": 420, "height": 1000, "deviceScaleFactor": 1, "mobile": False})
            self.eventually(lambda: self.script("return document.documentElement.scrollWidth"), lambda wide: wide <= 420)


if __name__ == "__main__":
    if CHROMIUM is None or DRIVER is None:
        print("skipped: chromium or chromium-driver is not installed")
        sys.exit(SKIPPED)
    ReportTest.reports = Reports(sys.argv[1], sys.argv[2])
    try:
        program = unittest.main(argv=sys.argv[:1] + sys.argv[3:], exit=False)
    finally:
        ReportTest.reports.remove()
    sys.exit(0 if program.result.wasSuccessful() else 1)
