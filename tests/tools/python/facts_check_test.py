#!/usr/bin/env python3
"""The comparison of facts with releases of programs, on a made-up package and on facts that are broken.

facts_check_test.py [--installed]: with it, the facts of this tree are compared with the newest releases, which
the Python of HIGHWATER_FACTS_PYTHON has; without one the test is skipped (exit status 4).
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[3]
CHECKS = ROOT / "tools" / "python" / "checks"
FACTS = ROOT / "workloads" / "facts" / "programs"
sys.path.insert(0, str(CHECKS))
from facts_check.compare import compare  # noqa: E402
from facts_check.installed import CannotCollect, installed_parts  # noqa: E402
from facts_check.key_table import FactsFile, KeyTable, Name  # noqa: E402
from facts_check.releases import is_for, is_over  # noqa: E402

# Importing any of it fails, so that a check that does is noticed.
FAILS = "raise RuntimeError('imported')\n"
PACKAGE = {
    "made/__init__.py": "try:\n    from .base import Base\nexcept ImportError:\n    Base = None\n" + FAILS,
    "made/release.py": "MAJOR = 2\nMINOR = 1\nPATCH = 0\n",
    "made/constants.py": "SIZE = 'size'\nSIZE_DEFAULT = 4 * 2\nPART = 'part'\n",
    "made/base.py": """
from dataclasses import dataclass, field
from enum import Enum
class Kind(Enum):
    FAST = "fast"
@dataclass
class Base:
    steps: int = 10
    rate: float = field(default=5e-5, metadata={"help": "x"})
    kind: Kind = Kind.FAST
    kept: bool = True
    extra: dict = field(default_factory=dict)
    _private: int = 1
    hidden: int = field(init=False, default=2)
""",
    "made/config.py": """
from dataclasses import dataclass
from typing import Optional
from pydantic import BaseModel, Field
from . import Base
@dataclass
class Config(Base):
    steps: int = 20
    name: Optional[str] = None
class Inner(BaseModel):
    depth: int = Field(3, ge=0, alias="inner_depth")
class Outer(BaseModel):
    inner: "Inner | None" = Field(default=None)
    items: list[str] = Field(default_factory=list)
""",
    "made/launch.py": """
import argparse
from .group import ArgumentGroupFactory
def parser():
    from made.config import Config
    made = argparse.ArgumentParser()
    made.add_argument("script")
    made.add_argument("-q", "--be-quiet", action="store_true")
    made.add_argument("--count", type=int, default=3)
    left_out = ["extra", "kind", "rate"]
    ArgumentGroupFactory(Config, exclude=left_out).build_group(made)
""" + FAILS,
    "made/reads.py": """
from .constants import *
def sizes(mapping):
    if PART in mapping:
        return get_scalar_param(mapping[PART], "below", 1)
    return get_scalar_param(mapping, SIZE, SIZE_DEFAULT) + mapping.get("other", 5) + elsewhere.get("unrelated", 5)
""",
    "made/sub/__init__.py": FAILS,
    "made/sub/deep.py": "from ..base import Base\nclass Deep(Base):\n    steps: int = 30\n",
}
ROWS = {
    "config": {"classes": ["made.config:Config"], "no_flags": True},
    "outer": {"classes": ["made.config:Outer"], "under": "top."},
    "launch": {"options": ["made.launch"]},
    "reads": {"reads": {"made.reads": "mapping"}},
}


class PlainKeys(unittest.TestCase):
    """As workloads/sources/rules/plain_key.cpp makes them."""

    def test_renamed_before_sections(self):
        file = FactsFile("made", {"renamed": [{"key": "training.optimizer", "as": "optim"}, {"key": "fsdp.*", "as": "fsdp_*"}],
                                  "sections": ["training."]})
        keys = ["training.optimizer", "fsdp.cpu_offload", "training.seed", "Training.Optimizer", "other"]
        self.assertEqual([file.plain(key) for key in keys], ["optim", "fsdp_cpu_offload", "seed", "optim", "other"])


class MadePackage(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name, text in PACKAGE.items():
            path = self.folder / "package" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        (self.folder / "facts").mkdir()

    def parts(self, *names, **more):
        rows = [{"facts": "made", "package": "made", "import": "made", "release": "made.release", **ROWS[name], **more}
                for name in names]
        table = self.folder / "definitions.json"
        table.write_text(json.dumps({"rows": rows}), encoding="utf-8")
        return installed_parts(sys.executable, [str(self.folder / "package")], table)

    def definitions(self, *names, **more):
        return {each.key: each for part in self.parts(*names, **more) for each in part.definitions}

    def findings(self, parts, name="made", **facts):
        rows = [{"ignored": "x", "keys": facts.pop("keys")}]
        (self.folder / "facts" / f"{name}.json").write_text(json.dumps({"keys": rows, **facts}), encoding="utf-8")
        return [(each.what, each.key) for each in compare(self.folder / "facts", name, parts).findings]

    def test_fields_of_a_dataclass_and_of_its_bases_in_other_modules(self):
        found = self.definitions("config")
        self.assertEqual({key: each.default for key, each in found.items() if not key.startswith("no_")},
                         {"steps": "20", "rate": "5e-05", "kind": "fast", "kept": "true", "extra": "{}", "name": "none"})
        self.assertEqual([key for key in found if key.startswith("no_")], ["no_kept"])
        self.assertTrue(found["extra"].is_free)
        self.assertEqual(found["steps"].place, "made/config.py:8")

    def test_a_base_in_the_package_above(self):
        found = self.definitions("config", classes=["made.sub.deep:Deep"], no_flags=False)
        self.assertEqual([found["steps"].default, found["kept"].default], ["30", "true"])

    def test_nested_models_and_aliases(self):
        found = self.definitions("outer")
        self.assertEqual(found["top.inner.inner_depth"].default, "3")
        self.assertEqual([key for key, each in found.items() if each.is_asked], ["top.inner.inner_depth", "top.items"])
        self.assertFalse(found["top.inner.depth"].is_asked)

    def test_options_and_groups_of_options(self):
        found = self.definitions("launch")
        self.assertEqual({key: each.default for key, each in found.items()},
                         {"q": "false", "be-quiet": "false", "count": "3", "steps": "20", "name": "none",
                          "no_kept": "true", "disable_kept": "true"})

    def test_keys_that_code_reads(self):
        found = self.definitions("reads")
        self.assertEqual({key: each.default for key, each in found.items() if each.is_asked}, {"size": "8", "other": "5"})
        self.assertTrue(found["part"].is_free)
        self.assertNotIn("below", found)

    def test_a_release_of_another_row(self):
        self.assertEqual(self.parts("config", until="2.0"), [])
        self.assertEqual([part.release for part in self.parts("config", until="2.1")], ["2.1.0"])

    def test_what_is_not_there_is_a_finding(self):
        parts = self.parts("config", classes=["made.config:Gone", "made.nowhere:A"])
        found = compare_of(self, parts)
        self.assertEqual([each.key for each in found], ["", "", "steps"])
        self.assertEqual([each.detail for each in found[:2]],
                         ["made.config has no class Gone", "there is no module made.nowhere"])

    def test_new_and_gone_keys(self):
        parts = self.parts("config")
        known = ["steps", "rate", "kind", "kept", "extra", "name", "no_*"]
        self.assertEqual(self.findings(parts, keys=known), [])
        self.assertEqual(self.findings(parts, keys=known[1:]), [("new key", "steps")])
        self.assertEqual(self.findings(parts, keys=[*known, "old", "old_*", "extra.any"]),
                         [("gone key", "old"), ("gone key", "old_*")])
        self.assertEqual(self.findings(parts, keys=[*known, "old", "theirs"], until={"2.0": ["old"]},
                                       elsewhere={"a script": ["theirs"]}), [])

    def test_wrong_notes_on_releases(self):
        parts = self.parts("config")
        known = ["steps", "rate", "kind", "kept", "extra", "name", "no_*"]
        self.assertEqual(self.findings(parts, keys=known, until={"2.0": ["steps"]}), [("still there", "steps")])
        self.assertEqual(self.findings(parts, keys=known, until={"2.0": ["gone"]}), [("no such row", "gone")])
        self.assertEqual(self.findings(parts, keys=[*known, "next"], since={"2.2": ["next"]}), [])

    def test_defaults(self):
        parts = self.parts("config")
        known = ["steps", "rate", "kind", "kept", "extra", "name", "no_*"]

        def of(*rows, part="defaults"):
            return self.findings(parts, keys=known, **{part: list(rows)})

        self.assertEqual(of({"key": "steps", "value": "20"}, {"key": "rate", "value": "0.00005"}), [])
        self.assertEqual(of({"key": "steps", "value": "10"}), [("other default", "steps")])
        self.assertEqual(of({"key": "kind", "value": "slow"}, part="assumed"), [("other default", "kind")])
        self.assertEqual(of({"key": "steps", "value": "10", "until": "2.0"}, {"key": "steps", "value": "20", "since": "2"}), [])
        self.assertEqual(of({"key": "name", "value": "me", "declared": "none"}), [])

    def test_names_are_not_looked_for_without_all_packages(self):
        parts = self.parts("config") + self.parts("config", **{"import": "nowhere"})
        found = self.findings(parts, keys=["steps", "rate", "kind", "kept", "extra", "name", "no_*", "old"])
        self.assertEqual(found, [])

    def test_a_python_that_is_not_there(self):
        with self.assertRaisesRegex(CannotCollect, "does not start"):
            installed_parts(str(self.folder / "python"), [])


def compare_of(test, parts):
    (test.folder / "facts" / "made.json").write_text('{"keys": [{"ignored": "x", "keys": ["steps"]}]}', encoding="utf-8")
    return compare(test.folder / "facts", "made", parts).findings


class Tables(unittest.TestCase):
    """As tests/workloads/sources/rules/key_table_test.cpp has it."""

    def test_names_come_before_patterns_and_own_rows_before_included_ones(self):
        with tempfile.TemporaryDirectory() as folder:
            own = {"includes": ["part"], "keys": [{"ignored": "", "keys": ["log*", "Log_to_*", "log-to-file"]}]}
            part = {"keys": [{"ignored": "", "keys": ["log_to_disk", "moe_*"]}]}
            for name, data in (("own", own), ("part", part)):
                (pathlib.Path(folder) / f"{name}.json").write_text(json.dumps(data), encoding="utf-8")
            table = KeyTable(pathlib.Path(folder), "own")
        asked = {key: getattr(table.find(key), "text", None)
                 for key in ("LOG_TO_FILE", "log_to_tape", "logging", "log_to_disk", "moe_x", "lo")}
        self.assertEqual(asked, {"LOG_TO_FILE": "log-to-file", "log_to_tape": "Log_to_*", "logging": "log*",
                                 "log_to_disk": "log_to_disk", "moe_x": "moe_*", "lo": None})

    def test_parts_of_a_pattern_come_in_order(self):
        self.assertTrue(Name("a.*b*.c").matches("a.xbx.c"))
        self.assertFalse(Name("a.*b*.c").matches("a.xx.c"))
        self.assertFalse(Name("ab*ba").matches("aba"))
        self.assertFalse(Name("*bc*b*").matches("bc"))

    def test_releases(self):
        self.assertTrue(is_for({"since": "4.29", "until": "4.57"}, "4.57.6"))
        self.assertTrue(is_over({"until": "4.57"}, "5.0.0"))
        self.assertFalse(is_for({"since": "5"}, "4.57.6"))


def installed_python():
    return os.environ.get("HIGHWATER_FACTS_PYTHON", "")


class Installed(unittest.TestCase):
    def run_check(self, facts, *names):
        done = subprocess.run([sys.executable, "-B", str(CHECKS / "check_facts.py"), "--against", installed_python(),
                               "--facts", str(facts), *names], stdout=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stdout

    def test_the_facts_are_those_of_the_installed_releases(self):
        code, text = self.run_check(FACTS)
        self.assertEqual(code, 0, text)

    def test_a_row_that_is_broken_is_found(self):
        if not any(part.release for part in installed_parts(installed_python(), []) if part.facts == "trl"):
            self.skipTest("trl is not installed")
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(FACTS, folder, dirs_exist_ok=True)
            path = pathlib.Path(folder) / "trl.json"
            data = json.loads(path.read_text(encoding="utf-8"))
            for row in data["keys"]:
                row["keys"] = [key for key in row["keys"] if key != "packing"]
            next(row for row in data["defaults"] if row["key"] == "max_length")["value"] = "512"
            path.write_text(json.dumps(data), encoding="utf-8")
            code, text = self.run_check(folder, "trl")
        self.assertEqual(code, 1, text)
        lines = [line.split()[:4] for line in text.splitlines()]
        self.assertIn(["new", "key", "trl", "packing"], lines)
        self.assertIn(["other", "default", "trl", "max_length"], lines)


def main():
    if "--installed" in sys.argv:
        sys.argv.remove("--installed")
        python = installed_python()
        if not python or not any(part.release for part in installed_parts(python, [])):
            print("skipped: HIGHWATER_FACTS_PYTHON names no Python with transformers, trl, ... (workloads/facts/README.md)")
            sys.exit(4)
        unittest.main(defaultTest="Installed")
    unittest.main(defaultTest=["PlainKeys", "MadePackage", "Tables"])


if __name__ == "__main__":
    main()
