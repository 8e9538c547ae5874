"""`import highwater` in a subinterpreter is an ImportError, whether the main interpreter has it or not: PACKAGE_FOLDER"""
import subprocess
import sys
import unittest

SKIPPED = 4

ASKS = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters

def in_another(code):
    created = interpreters.create()
    failed = getattr(interpreters, "run_string")(created, code)  # says so from 3.13 on, raises before
    if failed is not None:
        raise RuntimeError(failed)

IMPORTS = '''
import sys
sys.path.insert(0, {package!r})
try:
    import highwater
except ImportError as error:
    assert "subinterpreter" in str(error), error
else:
    raise AssertionError("imported")
'''
{steps}
print("done")
"""


class Subinterpreters(unittest.TestCase):
    package = ""

    def done(self, steps):
        """A process of its own: what hangs is cut."""
        code = ASKS.format(package=self.package, steps=steps)
        run = subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {self.package!r})\n{code}"],
                             capture_output=True, text=True, timeout=60)
        self.assertEqual((run.returncode, run.stdout), (0, "done\n"), run.stderr)

    def test_it_comes_first(self):
        self.done("in_another(IMPORTS)")

    def test_the_main_interpreter_goes_on(self):
        self.done("in_another(IMPORTS); import highwater; highwater.models(); in_another(IMPORTS); highwater.models()")

    def test_the_main_interpreter_may_import_it_again(self):
        self.done("import highwater; highwater.models()\n"
                  "for name in [name for name in sys.modules if name.startswith('highwater')]: del sys.modules[name]\n"
                  "import highwater; highwater.models()")


def main():
    Subinterpreters.package = sys.argv.pop(1)
    try:
        import _interpreters  # noqa: F401
    except ImportError:
        try:
            import _xxsubinterpreters  # noqa: F401
        except ImportError:
            print("skipped: this Python has no subinterpreters")
            return SKIPPED
    return 0 if unittest.main(exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
