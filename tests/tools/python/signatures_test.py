"""The check of interfaces for strong types: what it counts, what it lets pass, and this project within its limits."""

import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools" / "python" / "checks"))

import check_signatures  # noqa: E402


class Found(unittest.TestCase):
    def found(self, text, name="sim/replay.hpp"):
        with tempfile.TemporaryDirectory() as folder:
            header = pathlib.Path(folder) / name
            header.parent.mkdir(parents=True)
            header.write_text(text, encoding="utf-8")
            return check_signatures.findings(pathlib.Path(folder))

    def test_a_bool_parameter_with_its_line(self):
        self.assertEqual(self.found("\nvoid open(Bytes size, bool is_pinned = false);\n"),
                         (["sim/replay.hpp:2: open: bool is_pinned"], []))

    def test_two_raw_numbers_side_by_side(self):
        self.assertEqual(self.found("Dims sizes(std::int64_t rows,\n           int columns, Bytes more);"),
                         ([], ["sim/replay.hpp:1: sizes: std::int64_t rows, int columns, Bytes more"]))

    def test_types_apart_and_calls_pass(self):
        self.assertEqual(self.found("int f(int a, Bytes b, int c) { return g(a, c); }  // h(int a, int b), bool k"), ([], []))

    def test_values_and_operators_of_pytorch_pass(self):
        self.assertEqual(self.found("void put(bool value);\nTensor dropout(const Tensor& x, double p, bool training);"), ([], []))

    def test_the_fake_libraries_are_left_out(self):
        self.assertEqual(self.found("void f(bool a);", "tools/record/fakecuda/core/x.hpp"), ([], []))


class Limits(unittest.TestCase):
    def test_more_than_the_limit_and_less_are_said(self):
        more, less = check_signatures.problems({"a": (2, 1), "b": (0, 1)})
        self.assertIn("2 a, 1 are allowed: give the new one a type", more)
        self.assertIn("0 b, 1 are allowed: lower the limit", less)

    def test_this_project_is_within_them(self):
        bools, numbers = check_signatures.findings(ROOT)
        self.assertEqual((len(bools), len(numbers)), (check_signatures.MOST_BOOLS, check_signatures.MOST_NUMBERS))


if __name__ == "__main__":
    unittest.main()
