"""Outputs of the real program: outputs_test.py HIGHWATER SOURCE_FOLDER [unittest arguments]

An output never costs an input, never replaces a link or a device, never mixes with another, and what
cannot be written is an error with the system's words (exit code 3).
"""

import filecmp
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HIGHWATER = ""
SAMPLE = Path()

USAGE, BAD_INPUT = 2, 3


def run(*arguments, **options):
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, **options}
    return subprocess.run([HIGHWATER, *map(str, arguments)], text=True, timeout=120, **options)


def shell(command, **options):
    """The rest of a line after the program, as bash reads it."""
    return subprocess.run(["bash", "-c", f'exec "{HIGHWATER}" {command}'], text=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


class Outputs(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="highwater-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.snapshot = self.folder / "snap.pickle"
        made = run("export", SAMPLE, "--to", "snapshot", "--output", self.snapshot)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.original = self.folder.parent / f"{self.folder.name}-original"
        shutil.copy(self.snapshot, self.original)
        self.addCleanup(self.original.unlink)

    def assert_untouched(self):
        self.assertTrue(filecmp.cmp(self.snapshot, self.original, shallow=False))

    def parts(self):
        return [path.name for path in self.folder.iterdir() if path.name.endswith(".part")]

    def test_output_that_is_the_input(self):
        symbolic, hard = self.folder / "symbolic", self.folder / "hard"
        symbolic.symlink_to(self.snapshot)
        os.link(self.snapshot, hard)
        for output in (self.snapshot, symbolic, hard):
            for arguments in (("report", self.snapshot, "--output", output),
                              ("export", self.snapshot, "--to", "csv", "--output", output),
                              ("export", output, "--to", "csv", "--output", self.snapshot)):
                with self.subTest(arguments=arguments):
                    result = run(*arguments)
                    self.assertEqual(result.returncode, USAGE)
                    self.assertIn("choose another name for the output", result.stderr)
                    self.assert_untouched()
        self.assertEqual(self.parts(), [])

    def test_redacted_onto_itself(self):
        result = run("redact", self.snapshot, self.snapshot)
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("is the input itself", result.stderr)
        self.assert_untouched()

    def test_standard_input_as_output(self):
        with open(self.snapshot) as source:
            result = run("export", "-", "--to", "csv", "--output", self.snapshot, stdin=source)
        self.assertEqual(result.returncode, USAGE)
        self.assert_untouched()

    def test_model_description_as_output(self):
        config = self.folder / "config.json"
        config.write_text('{"model_type": "gpt2"}')
        result = run("report", "--model", config, "--output", config)
        self.assertEqual(result.returncode, USAGE)
        self.assertEqual(config.read_text(), '{"model_type": "gpt2"}')

    def csv(self):
        result = run("export", self.snapshot, "--to", "csv", "--output", "-")
        self.assertEqual(result.returncode, 0)
        return result.stdout

    def test_links_are_followed(self):
        (self.folder / "elsewhere").mkdir()
        real = self.folder / "elsewhere" / "real.csv"
        for content in ("old", None):  # an existing file, and a name where none is yet
            link = self.folder / "link.csv"
            real.write_text(content) if content else real.unlink()
            link.unlink(missing_ok=True)
            link.symlink_to("elsewhere/real.csv")
            self.assertEqual(run("export", self.snapshot, "--output", link).returncode, 0)
            self.assertTrue(link.is_symlink())
            self.assertEqual(real.read_text(), self.csv())

    def test_circle_of_links(self):
        (self.folder / "a").symlink_to("b")
        (self.folder / "b").symlink_to("a")
        result = run("export", self.snapshot, "--to", "csv", "--output", self.folder / "a")
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("Too many levels of symbolic links", result.stderr)

    def test_descriptors_are_written_not_replaced(self):
        link = self.folder / "link"
        link.symlink_to("/proc/self/fd/1")
        for output in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", link):
            with self.subTest(output=output):
                into = self.folder / "into"
                with open(into, "w") as file:
                    result = run("export", self.snapshot, "--to", "csv", "--output", output, stdout=file)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(into.read_text(), self.csv())
        self.assertTrue(link.is_symlink())

    def test_further_descriptors(self):
        result = shell(f"export {self.snapshot} --to csv --output /dev/fd/5 5> {self.folder}/five")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual((self.folder / "five").read_text(), self.csv())
        result = shell(f"export {self.snapshot} --to csv --output /dev/fd/99")
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("Bad file descriptor", result.stderr)

    def in_another_process(self, path):
        """The name of `path` among the descriptors of another process."""
        with open(path, "r+") as file:
            other = subprocess.Popen(["sleep", "600"], pass_fds=[file.fileno()])
            self.addCleanup(other.wait)
            self.addCleanup(other.kill)
            return f"/proc/{other.pid}/fd/{file.fileno()}"

    def test_file_behind_a_descriptor_of_another_process(self):
        old = self.folder / "old.csv"
        old.write_text("x" * 10_000_000)
        result = run("export", self.snapshot, "--to", "csv", "--output", self.in_another_process(old))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(old.read_text(), self.csv())
        result = run("export", self.snapshot, "--to", "csv", "--output", self.in_another_process(self.snapshot))
        self.assertEqual(result.returncode, USAGE)
        self.assert_untouched()

    def test_appended_to_the_input(self):
        for arguments in (("info", self.snapshot), ("replay", self.snapshot)):
            with self.subTest(arguments=arguments), open(self.snapshot, "ab") as output:
                result = run(*arguments, stdout=output)
                self.assertEqual(result.returncode, USAGE)
                self.assertIn("standard output goes to this file", result.stderr)
                self.assert_untouched()

    def test_recording_onto_a_descriptor(self):
        for output in ("-", "/dev/stdout", "/dev/null"):
            with self.subTest(output=output), open(self.folder / "into", "w") as file:
                result = run("record", "--output", output, "--", "true", stdout=file)
                self.assertEqual(result.returncode, USAGE)
                self.assertIn("not a regular file", result.stderr)

    def test_fifo(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        copy = self.folder / "copy"
        with open(copy, "w") as file, subprocess.Popen(["cat", str(fifo)], stdout=file):
            self.assertEqual(run("export", self.snapshot, "--to", "csv", "--output", fifo).returncode, 0)
        self.assertEqual(copy.read_text(), self.csv())
        self.assertTrue(fifo.is_fifo())

    def test_closed_descriptors_stay_out_of_files(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed=closed):
                output = self.folder / "o.csv"
                result = shell(f"export {self.snapshot} --to csv --output {output} {closed}")
                self.assertEqual(result.returncode, 0)
                self.assertEqual(output.read_text(), self.csv())

    def test_full_disk(self):
        for arguments in (("replay", self.snapshot), ("--help",), ("simulate", "--help-all"),
                          ("replay", self.snapshot, "--max-reserved", "1"),
                          ("export", self.snapshot, "--to", "csv", "--output", "-"),
                          ("report", self.snapshot, "--output", "/dev/stdout")):
            with self.subTest(arguments=arguments), open("/dev/full", "w") as full:
                result = run(*arguments, stdout=full)
                self.assertEqual(result.returncode, BAD_INPUT)
                self.assertIn("standard output: cannot be written: No space left on device", result.stderr)
                self.assertNotIn("--max-reserved", result.stderr)  # the reasons come after the report

    def limited(self, most, *arguments, **options):
        """With files of at most so many bytes, as batch systems set it (ulimit -f)."""
        return run(*arguments, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)), **options)

    def test_limit_on_the_size_of_files(self):
        ranks = self.folder / "ranks"
        ranks.mkdir()
        shutil.copy(self.snapshot, ranks)
        before = sorted(path.name for path in self.folder.iterdir())
        output = self.folder / "o"
        for arguments in (("export", self.snapshot, "--to", "csv", "--output", output),
                          ("export", self.snapshot, "--to", "snapshot", "--output", output),
                          ("report", self.snapshot, "--output", output),
                          ("convert", self.snapshot, self.folder / "o.trace"),
                          ("generate", "--model", "gpt2", "--seq", "16", "--output", self.folder / "o.hwt"),
                          ("scan", ranks, "--html", output), ("scan", ranks, "--sqlite", output),
                          ("sweep", self.snapshot, "--set", "expandable_segments=False,True", "--shard", "1/1",
                           "--output", output)):
            with self.subTest(arguments=arguments):
                result = self.limited(2048, *arguments)
                self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
                self.assertIn("cannot be written: File too large; raise the limit", result.stderr)
                self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)

    def test_limit_on_the_size_of_standard_output_and_journals(self):
        with open(self.folder / "into", "w") as file:
            result = self.limited(100, "replay", self.snapshot, stdout=file)
        self.assertEqual(result.returncode, BAD_INPUT)
        self.assertIn("standard output: cannot be written: File too large", result.stderr)
        sweep = ("sweep", self.snapshot, "--set", "expandable_segments=False,True", "--journal", self.folder / "j")
        result = self.limited(2048, *sweep)
        self.assertEqual(result.returncode, BAD_INPUT)
        self.assertIn("cannot be written: File too large", result.stderr)
        self.assertEqual(run(*sweep, "--resume").returncode, 0)  # what was kept is of use

    def test_children_have_the_signal_s_default(self):
        shown = self.folder / "shown"
        shown.write_text("#!/bin/sh\ngrep SigIgn /proc/self/status\n")
        result = run("record", "--output", self.folder / "o.pickle", "--", "sh", shown)
        ignored = int(next(line for line in result.stdout.splitlines() if "SigIgn" in line).split()[1], 16)
        self.assertEqual(ignored >> (signal.SIGXFSZ - 1) & 1, 0)

    def test_closed_pipe(self):
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "w") as pipe:
            result = run("replay", self.snapshot, stdout=pipe)
        self.assertEqual(result.returncode, BAD_INPUT)
        self.assertIn("Broken pipe; the program that reads it has ended", result.stderr)

    def test_longest_name(self):
        output = self.folder / ("x" * 251 + ".csv")
        self.assertEqual(run("export", self.snapshot, "--output", output).returncode, 0)
        self.assertEqual(output.read_text(), self.csv())

    def test_mode_follows_the_umask(self):
        for mask in (0o022, 0o077):
            output = self.folder / f"{mask}.csv"
            result = shell(f"export {self.snapshot} --output {output}", preexec_fn=lambda: os.umask(mask))
            self.assertEqual(result.returncode, 0)
            self.assertEqual(output.stat().st_mode & 0o777, 0o666 & ~mask)

    def long_write(self):
        """A process that writes for seconds, once its temporary file is there."""
        process = subprocess.Popen(
            [HIGHWATER, "generate", "--model", "gpt2-xl", "--steps", "60", "--output", str(self.folder / "o.trace.xz")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while not self.parts() and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        return process

    def test_signals_leave_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(signal=number):
                process = self.long_write()
                self.assertEqual(len(self.parts()), 1)
                process.send_signal(number)
                self.assertEqual(process.wait(timeout=60), -number)
                self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["snap.pickle"])

    @staticmethod
    def handles(process, number, seconds=60):
        """Waits until the process has a handler for the signal."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            status = Path(f"/proc/{process.pid}/status").read_text()
            caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
            if int(caught.split()[1], 16) >> (number - 1) & 1:
                return True
            time.sleep(0.005)
        return False

    def test_ignored_signal_stays_ignored(self):
        ignore = lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
        process = subprocess.Popen([HIGHWATER, "replay", "-"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, preexec_fn=ignore)
        self.assertTrue(self.handles(process, signal.SIGTERM))  # its handlers are there, so that it would have one
        process.send_signal(signal.SIGHUP)
        process.communicate(self.snapshot.read_bytes(), timeout=60)
        self.assertEqual(process.returncode, 0)

    def test_writers_with_one_process_number(self):
        if subprocess.run(["unshare", "-pf", "true"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no process namespaces here")
        expected = self.csv()
        for _ in range(4):
            writers = [subprocess.Popen(["unshare", "-pf", HIGHWATER, "export", str(self.snapshot), "--output",
                                         str(self.folder / "o.csv")], stdout=subprocess.DEVNULL) for _ in range(2)]
            self.assertEqual([writer.wait(timeout=60) for writer in writers], [0, 0])
            self.assertEqual((self.folder / "o.csv").read_text(), expected)
            self.assertEqual(self.parts(), [])


if __name__ == "__main__":
    HIGHWATER = sys.argv[1]
    SAMPLE = Path(sys.argv[2]) / "traces/recorded/fake/gpt2-fp32-ckpt.hwt.xz"
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
