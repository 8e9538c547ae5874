"""Completion scripts in the shells that read them, and the manual page in groff: shell_test.py HIGHWATER

A shell that is not installed is skipped.
"""
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HIGHWATER = ""

#: What bash has in COMPREPLY when Tab is pressed behind these words.
BASH = """
source "$SCRIPT"
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_highwater; printf '%s\\n' "${COMPREPLY[@]}"
"""
#: zsh's completion needs a terminal: _describe and _arguments are taken for what they are given.
ZSH = """
function compdef { }; function _describe { print -l -- "${commands[@]}" }; function _arguments { print -l -- "$@" }
source "$SCRIPT"
words=("$@"); CURRENT=$#words; _highwater
"""


def output(*words):
    return subprocess.run([HIGHWATER, *words], check=True, text=True, stdout=subprocess.PIPE).stdout


def commands():
    return set(re.findall(r"^  ([a-z]+)  +\S", output("--help").split("Version presets")[0], re.MULTILINE))


def options_of(command):
    return set(re.findall(r"^  (?:-[a-z] \[ )?(--[a-z0-9-]+)", output("help", command, "--help-all") if command == "simulate"
                          else output("help", command), re.MULTILINE))


def run_in(shell, program, *words):
    with tempfile.NamedTemporaryFile("w") as script:
        script.write(output("completion", shell))
        script.flush()
        run = subprocess.run([shell, "-c", program, shell, *words], env={"SCRIPT": script.name, "PATH": "/usr/bin:/bin"}, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if run.returncode or run.stderr:
        raise AssertionError(f"{shell}, {words}: {run.stderr}")
    return run.stdout.splitlines()


class Bash(unittest.TestCase):
    def offered(self, *words):
        return run_in("bash", BASH, *words)

    def test_commands(self):
        self.assertEqual(set(self.offered("highwater", "")), commands() | {"help"})
        self.assertEqual(self.offered("highwater", "conf"), ["conformance"])
        self.assertEqual(self.offered("highwater", "help", "chan"), ["chance"])

    def test_options_of_every_command(self):
        for command in ("simulate", "replay", "record"):
            with self.subTest(command):
                self.assertLessEqual(options_of(command), set(self.offered("highwater", command, "--")))

    def test_values(self):
        self.assertEqual(self.offered("highwater", "simulate", "--gpu", "h200"), ["h200"])
        self.assertIn("llama-3-8b", self.offered("highwater", "plan", "--model", "llama-3-"))
        self.assertEqual(self.offered("highwater", "replay", "--format", "m"), ["markdown"])
        self.assertEqual(self.offered("highwater", "replay", "--alloc-conf", ""), [""])  # nothing is known: bash offers files


class Others(unittest.TestCase):
    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh(self):
        named = {line.partition(":")[0] for line in run_in("zsh", ZSH, "highwater", "")}
        self.assertEqual(named, commands())
        told = run_in("zsh", ZSH, "highwater", "simulate", "--")
        self.assertEqual({line.partition("[")[0] for line in told if line.startswith("--")}, options_of("simulate"))
        self.assertTrue(any(line.startswith("--gpu[") and " h200 " in line for line in told))

    @unittest.skipUnless(shutil.which("fish"), "no fish")
    def test_fish(self):
        offered = run_in("fish", "source $SCRIPT; complete -C 'highwater simulate --gpu h20'; complete -C 'highwater conf'")
        self.assertEqual([line.split("\t")[0] for line in offered], ["h200", "conformance"])

    def test_unknown(self):
        run = subprocess.run([HIGHWATER, "completion", "tcsh"], text=True, stderr=subprocess.PIPE)
        self.assertEqual((run.returncode, run.stderr.count("bash, zsh or fish")), (2, 1))


class Manual(unittest.TestCase):
    @unittest.skipUnless(shutil.which("groff"), "no groff")
    def test_groff(self):
        run = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-rLL=200n"], input=output("manual"), text=True, check=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(run.stderr, "")
        page = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", run.stdout)
        lacks = [command for command in commands() if not re.search(rf"highwater {command}\b", page)]
        lacks += [option for option in options_of("replay") | options_of("simulate") if option not in page]
        self.assertEqual(lacks, [])


if __name__ == "__main__":
    HIGHWATER = sys.argv.pop()
    unittest.main()
