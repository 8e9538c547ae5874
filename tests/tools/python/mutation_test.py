#!/usr/bin/env python3
"""The mutants of a source: which changes are made, and what is left alone."""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools/python/mutation"))
import mutants  # noqa: E402


def changes(source):
    """What becomes of the lines of a function with `source` as its body."""
    text = f"void f() {{\n{source}\n}}\n"
    return [mutant.after for mutant in mutants.mutants_of("f.cpp", text, 1)[0]]


class Mutants(unittest.TestCase):
    def test_a_comparison_moves_by_one_or_turns_around(self):
        self.assertEqual(changes("return a < b;"), ["return a <= b;", "return a >= b;"])
        self.assertEqual(changes("return a == b;"), ["return a != b;"])

    def test_the_brackets_of_a_template_are_no_comparison(self):
        self.assertEqual(changes("return std::max<int>(a, b);"), [])

    def test_a_constant_is_one_more_or_less(self):
        self.assertEqual(changes("return a + 4;"), ["return a + 5;", "return a + 3;"])
        self.assertEqual(changes("return a + 0;"), ["return a + 1;"])
        self.assertEqual(changes("return a + 0x1F;"), ["return a + 32;", "return a + 30;"])

    def test_floating_numbers_stay(self):
        self.assertEqual(changes("return a + 1e7;"), [])
        self.assertEqual(changes("return a + 0.5;"), [])

    def test_constants_of_compile_time_stay(self):
        self.assertEqual(changes("static constexpr int kSize = 4;"), [])
        self.assertEqual(changes("return std::array<int, 4>();"), [])

    def test_a_branch_is_always_or_never_taken_and_operands_are_left_out(self):
        self.assertEqual(set(changes("if (a && b) { return; }")),
                         {"if (true) { return; }", "if (false) { return; }",
                          "if (true && b) { return; }", "if (a && true) { return; }"})

    def test_a_loop_is_not_made_endless(self):
        self.assertEqual(changes("while (a) { return; }"), ["while (false) { return; }"])

    def test_a_statement_is_left_out_but_a_declaration_stays(self):
        self.assertEqual(changes("a.push(b);"), ["(removed)"])
        self.assertEqual(changes("const Bytes a = b;"), [])
        self.assertEqual(changes("Bytes& a = b;"), [])

    def test_the_mutated_source_has_the_lines_of_the_source(self):
        source = (ROOT / "allocator/free.cpp").read_text()
        found, text = mutants.mutants_of("allocator/free.cpp", source, 1)
        self.assertEqual(text.count("\n"), source.count("\n"))
        self.assertEqual([m.number for m in found], list(range(1, len(found) + 1)))
        self.assertEqual(len({m.key for m in found}), len(found))


if __name__ == "__main__":
    unittest.main()
