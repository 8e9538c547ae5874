"""What the build makes of schemas, help and docstrings is whole: made_files_test.py PACKAGE_FOLDER HIGHWATER PAGES_FOLDER"""
import ast
import dataclasses
import importlib
import inspect
import json
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[4]
PACKAGE, HIGHWATER, PAGES = (pathlib.Path(each).resolve() for each in sys.argv[1:4])
sys.path[:0] = [str(PACKAGE), str(ROOT / "tools" / "python" / "module"), str(ROOT / "tests" / "tools" / "docs")]

import highwater as hw  # noqa: E402
import links_test  # noqa: E402
import make_options  # noqa: E402
from highwater import results  # noqa: E402

#: Commands that end with an exit code; the module has no function for them.
NO_CLASS = {"check", "conformance"}
#: Native, and so without a docstring in Python: the index tells of it.
NO_PAGE = {"show_progress"}


def output(*words):
    return subprocess.run([HIGHWATER, *words], check=True, text=True, stdout=subprocess.PIPE).stdout


def commands_with_class():
    return set(output("schema").split()) - NO_CLASS


class Results(unittest.TestCase):
    def test_each_schema_has_a_class_with_its_keys(self):
        commands = commands_with_class()
        self.assertGreater(len(commands), 10)
        for command in commands:
            with self.subTest(command):
                schema = json.loads(output("schema", command))
                made = getattr(results, command.capitalize())
                renamed = getattr(made, "_renamed", {})
                fields = dataclasses.fields(made)
                self.assertEqual({field.name for field in fields}, {renamed.get(key, key) for key in schema["properties"]})
                required = {field.name for field in fields if field.default is dataclasses.MISSING}
                self.assertEqual(required, {renamed.get(key, key) for key in schema["required"]})

    def test_nothing_is_left_of_what_has_gone(self):
        made = {path.stem for path in pathlib.Path(results.__file__).parent.glob("*.py")}
        self.assertEqual(made - {"__init__", "shared"}, commands_with_class())


def keyword_classes():
    """{class: its keywords, with those of its bases}"""
    found = {}
    for node in ast.parse((PACKAGE / "highwater" / "_keywords.pyi").read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef):
            own = {field.target.id for field in node.body if isinstance(field, ast.AnnAssign)}
            found[node.name] = own.union(*(found.get(ast.unparse(base), set()) for base in node.bases))
    return found


def used_classes():
    """What the functions name as the type of their keywords."""
    sources = (path.read_text(encoding="utf-8") for path in (PACKAGE / "highwater").glob("*.py"))
    return {name for text in sources for name in re.findall(r"Unpack\[(\w+)\]", text)}


def options_in_help(command):
    return set(re.findall(r"^  (?:-\w \[ )?--([a-z0-9-]+)", make_options.help_of(HIGHWATER, command), re.MULTILINE))


class Keywords(unittest.TestCase):
    def test_each_function_has_its_class(self):
        bases = set(make_options.SHARED)
        self.assertEqual(used_classes(), set(keyword_classes()) - bases)

    def test_each_option_of_the_help_is_a_keyword(self):
        classes = keyword_classes()
        for command, name in {**make_options.OF_PLAN, **make_options.OF_JOB}.items():
            with self.subTest(command):
                options = options_in_help(command) - make_options.HIDDEN
                self.assertEqual(classes[f"{name}Options"], {make_options.keyword_of(option) for option in options})

    def test_switches(self):
        names = importlib.import_module("highwater._option_names")
        self.assertIn("find-batch", names.SWITCHES)
        self.assertNotIn("batch", names.SWITCHES)


def documented_methods(value):
    return [name for name, method in vars(value).items()
            if not name.startswith("_") and inspect.isfunction(method) and inspect.getdoc(method)]


class Pages(unittest.TestCase):
    def test_each_public_function_has_one(self):
        wanted = set(hw.__all__) - NO_PAGE
        for name in hw.__all__:
            value = getattr(hw, name)
            wanted |= {f"{name}.{method}" for method in documented_methods(value)} if inspect.isclass(value) else set()
        self.assertEqual(wanted - {path.stem for path in PAGES.glob("*.md")}, set())

    def test_the_index_reaches_all_and_links_lead_somewhere(self):
        for page in PAGES.glob("*.md"):
            for link, target, anchor in links_test.local_links(page):
                with self.subTest(page=page.name, link=link):
                    self.assertTrue(target.exists())
                    self.assertTrue(not anchor or anchor in links_test.anchors(target))
        indexed = {target for _, target, _ in links_test.local_links(PAGES / "README.md")}
        self.assertEqual(set(PAGES.glob("*.md")) - indexed, {PAGES / "README.md"})

    def test_the_kept_index_names_each_function(self):
        text = (ROOT / "tools" / "docs" / "python.md").read_text(encoding="utf-8")
        self.assertEqual([name for name in hw.__all__ if not re.search(rf"\b{name}\b", text)], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
