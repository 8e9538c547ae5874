"""What tools/release.sh makes beside the wheel: release_test.py BUILD

The list of embedded software is made of this build; where cyclonedx-python-lib is installed, it says whether the list is one.
"""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools" / "python" / "release"))

import make_sbom  # noqa: E402

BUILD = sys.argv[1]
SCRIPT = ROOT / "tools" / "python" / "release" / "make_sbom.py"
LICENCES = json.loads(make_sbom.LICENCES.read_text(encoding="utf-8"))


class Sbom(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.lists = []
            for name in ("first", "second"):
                output = pathlib.Path(folder, name)
                done = subprocess.run([sys.executable, SCRIPT, BUILD, "1.2.3", output], capture_output=True, text=True,
                                      env={**os.environ, "SOURCE_DATE_EPOCH": "86400"})
                if done.returncode:
                    raise AssertionError(done.stdout + done.stderr)
                cls.lists.append(output.read_text(encoding="utf-8"))
        cls.parts = {part["name"]: part for part in json.loads(cls.lists[0])["components"]}

    def test_it_lists_what_is_embedded_with_licence_and_version(self):
        for name in ("D3", "dygraphs", "Boost", "SQLite", "libstdc++"):
            with self.subTest(name):
                [licence] = self.parts[name]["licenses"]
                self.assertTrue(licence["expression"])
                self.assertRegex(self.parts[name]["version"], r"^\d")

    def test_versions_are_those_of_the_packages(self):
        done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", "libjs-d3"], capture_output=True, text=True, check=True)
        self.assertEqual(self.parts["D3"]["version"], done.stdout)

    def test_the_same_contents_make_the_same_list(self):
        self.assertEqual(*self.lists)
        self.assertIn('"timestamp": "1970-01-02T00:00:00Z"', self.lists[0])

    def test_interfaces_are_left_out_and_strangers_refused(self):
        self.assertEqual(make_sbom.components({"glibc": ("libc6-dev", "2.36")}, LICENCES, "deb"), [])
        with self.assertRaisesRegex(make_sbom.Unlisted, "libnew-dev 1.0 .source package new. goes into the wheel"):
            make_sbom.components({"new": ("libnew-dev", "1.0")}, LICENCES, "deb")

    def test_it_is_a_document_of_cyclonedx(self):
        if not importlib.util.find_spec("cyclonedx"):
            self.skipTest("no cyclonedx-python-lib")
        from cyclonedx.schema import SchemaVersion
        from cyclonedx.validation.json import JsonStrictValidator
        self.assertIsNone(JsonStrictValidator(SchemaVersion.V1_5).validate_str(self.lists[0]))


if __name__ == "__main__":
    if subprocess.run(["sh", "-c", "command -v dpkg-query && command -v ninja"], capture_output=True).returncode:
        print("skipped: asks dpkg and ninja")
        sys.exit(4)
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
