"""Python as a guest of the program: what it prints, how it ends, what it may import, what is kept of it, what it leaves.

Run with the program. Stand-ins play the Python of --engine torch: scripts that greet as highwater_engine does and
answer with a small recording. Real ones, of each release that is on the PATH, are asked what they import.
"""
import functools
import json
import os
import pathlib
import pickle
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

# Says how the loop is written: a plan that does not is asked for in each common way, as a run of its own.
SPELLED = ("--keep-logits", "false", "--zero-grad-at", "end", "--attention-mask", "none")
MODEL = ("simulate", "--model", "gpt2", "--batch", "1", "--seq", "16", "--steps", "1", *SPELLED, "--engine", "torch", "--format", "json")

# Module names that Python's own modules import when releases are looked up, requests are read or errors are shown.
NAMES = ("argparse", "ast", "base64", "calendar", "contextlib", "copy", "csv", "ctypes", "dataclasses", "datetime", "email",
         "enum", "functools", "hashlib", "importlib", "inspect", "json", "linecache", "logging", "pathlib", "pickle",
         "pkgutil", "random", "re", "runpy", "select", "shutil", "signal", "site", "sitecustomize", "socket", "string",
         "subprocess", "tempfile", "textwrap", "threading", "tokenize", "torch", "torchtitan", "traceback", "transformers",
         "types", "typing", "urllib", "usercustomize", "warnings", "zipfile", "highwater_engine", "highwater_record")

GUEST = '''#!{python}
import json, os, pickle, select, signal, sys, time

PEAK = {peak}

def tell(answer):
    os.write(0, json.dumps(answer).encode() + b"\\n")

def snapshot():
    entries = []
    for number in range(4):
        entries += [{{"action": "segment_alloc", "addr": (number + 1) << 30, "size": PEAK, "stream": 0}},
                    {{"action": "alloc", "addr": (number + 1) << 30, "size": PEAK, "stream": 0}}]
    return {{"segments": [], "device_traces": [entries]}}

def run(question):
    folder = question["folder"]
    path = os.path.join(folder, "record.pickle")
    with open(path, "wb") as file:
        pickle.dump(snapshot(), file)
    with open(os.path.join(folder, "status"), "a") as file:
        file.write(json.dumps({{"event": "loaded", "release": "2.15.0", "tested": True}}) + "\\n")
        file.write(json.dumps({{"event": "written", "output": path, "torch": "2.15.0", "ended": "exit", "entries": 8,
                               "trainable": 1000}}) + "\\n")
    return {{"status": 0, "reason": None, "log": "", "note": "a note"}}

def serve(run=run):
    tell({{"number": 0, "torch": "2.15.0+cu132", "transformers": "5.24.0", "installed": "{installed}"}})
    for line in open(0, closefd=False):
        question = json.loads(line)
        answer = {{"status": 0, "note": "a note"}} if question["only_asks"] else run(question)
        tell({{"number": question["number"], **answer}})

{main}
'''


class Folder(unittest.TestCase):
    program = ""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.temporary = self.folder / "tmp"
        self.work = self.folder / "work"
        for each in (self.temporary, self.work):
            each.mkdir()
        self.environment = {**os.environ, "TMPDIR": str(self.temporary), "HIGHWATER_CACHE": str(self.folder / "cache")}
        for name in ("PYTHONPATH", "PYTHONSAFEPATH"):
            self.environment.pop(name, None)

    def script(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)
        return str(path)

    def guest(self, main="serve()", peak=16 << 20, installed="everything", name="python"):
        return self.script(name, GUEST.format(python=sys.executable, main=textwrap.dedent(main), peak=peak,
                                              installed=installed))

    def start(self, *words, **more):
        process = subprocess.Popen([self.program, *words], cwd=self.work, env={**self.environment, **more}, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        """With its guests, which may ignore signals."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        process.stdout.close()
        process.stderr.close()

    def told(self, *words, **more):
        process = self.start(*words, **more)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def simulate(self, python, *words):
        code, out, err = self.told(*MODEL, *words, "--python", python)
        self.assertEqual(code, 0, err)
        return json.loads(out)

    def peak(self, python, *words):
        return self.simulate(python, *words)["peak"]["reserved_bytes"]

    def assert_refused(self, python, *parts):
        code, _, err = self.told(*MODEL, "--python", python)
        self.assertIn(code, (2, 3), err)
        self.assertEqual(len(err.splitlines()), 1, err)
        for part in parts:
            self.assertIn(part, err)


class Answers(Folder):
    def test_text_that_is_printed_is_not_taken_for_an_answer(self):
        guest = self.guest("print('torch 2.15', flush=True)\nprint('{\"number\": 0, \"torch\": \"1.0\"}', flush=True)\nserve()")
        wrapper = self.script("wrapper", f'#!/bin/sh\necho "Loading modules: cuda/12.4"\nprintf "{{}}"\nexec "{guest}" "$@"\n')
        self.assertEqual(self.simulate(wrapper)["torch"], "2.15")

    def test_endless_prints_neither_fill_a_disk_nor_stop_it(self):
        self.assertEqual(self.peak(self.guest("for _ in range(5000): print('x' * 1000)\nserve()")), 64 << 20)
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_a_python_that_refuses_has_the_last_word(self):
        self.assert_refused(self.guest("sys.exit('has no PyTorch')"), "has no PyTorch", "--python")
        self.assert_refused(self.guest("pass"), "ended without a word")

    def test_a_broken_answer_is_an_error(self):
        for line in ("no JSON", "[1]", '{"torch": "2.15.0"}', '{"number": "0"}', '{"number": -1}', '{"number": 7}', "[" * 5000):
            with self.subTest(line[:40]):
                self.assert_refused(self.guest(f"print('Segfault soon', flush=True)\nos.write(0, {line.encode()!r} + b'\\n')\n"
                                               "sys.stdin.read()"), "not an answer", "Segfault soon", "--python")

    def test_an_answer_about_a_run_is_looked_at(self):
        for answer in ({}, {"status": "0"}, {"status": None}, {"status": 0, "log": 1}, {"refused": "no such plan"}):
            with self.subTest(answer):
                self.assert_refused(self.guest(f"serve(lambda question: {answer!r})"))

    def test_status_lines_of_other_kinds_are_passed_over(self):
        lines = [{"event": "loaded"}, {"event": "loaded", "tested": 1}, {"event": "written", "not_modelled": {"f": "many"}}]
        self.assertEqual(self.peak(self.guest(f'''
            def with_lines(question):
                with open(os.path.join(question["folder"], "status"), "w") as file:
                    for line in {lines[:2]!r}:
                        file.write(json.dumps(line) + "\\n")
                return run(question)
            serve(with_lines)''')), 64 << 20)

    def test_a_line_without_an_end_is_an_error(self):
        self.assert_refused(self.guest("while True: os.write(0, b'x' * 65536)"), "16 MiB")

    def test_a_python_that_dies_between_is_an_error(self):
        self.assert_refused(self.guest("serve(lambda question: sys.exit('out of luck'))"), "Python ended", "out of luck")

    def test_an_answer_stands_without_its_other_spelling(self):
        others = [word for word in MODEL if word not in SPELLED]
        guest = self.guest('''
            runs = []
            def once(question):
                runs.append(question)
                return run(question) if len(runs) == 1 else sys.exit("out of luck")
            serve(once)''')
        code, out, err = self.told(*others, "--python", guest)
        self.assertEqual(code, 0, err)
        self.assertEqual(json.loads(out)["peak"]["reserved_bytes"], 64 << 20)

    def test_the_answer_of_a_job_is_taken_from_its_channel(self):
        job = {"program": "torchtitan", "model": {"class": "Llama3Model.Config", "config": {
            "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
            "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False}},
            "job": {"training": {"seq_len": 4096}}}
        guest = self.guest(f"print('Loading modules')\nos.write(0, json.dumps({job!r}).encode() + b'\\n')")
        code, out, err = self.told("simulate", "--print-options", "--from", "job.py:mine", "--python", guest)
        self.assertEqual(code, 0, err)
        self.assertIn("--model llama-3-8b", out)


class Cache(Folder):
    def cached(self):
        return sorted(path.parent for path in (self.folder / "cache").rglob("record.pickle"))

    def test_a_run_is_kept_for_nobody_else(self):
        os.umask(0)
        self.addCleanup(os.umask, 0o022)
        self.peak(self.guest())
        entry, = self.cached()
        self.assertEqual([stat.S_IMODE(each.stat().st_mode) for each in (entry.parent, entry)], [0o700, 0o700])
        self.assertEqual({stat.S_IMODE(each.stat().st_mode) for each in entry.iterdir()}, {0o600})
        self.assertEqual(self.peak(self.guest("serve(lambda question: sys.exit('asked again'))")), 64 << 20)

    def fill(self, *names):
        """With a model in each, as old and as large as they can be."""
        for name in names:
            folder = self.folder / "cache" / name
            folder.mkdir(parents=True)
            with open(folder / "model.safetensors", "wb") as weights:
                weights.truncate(2 << 30)
            os.utime(folder, (0, 0))

    def assert_added(self, before):
        """That nothing of what was there is gone, and the run is kept."""
        self.assertEqual(set(before) - set((self.folder / "cache").rglob("*")), set())
        self.assertEqual(len(self.cached()), 1)

    def test_folders_of_the_user_stay(self):
        self.fill("llama", "qwen", "mistral", "0f6a25ae-6a1c-5d9c-b5b6-2f8b9f3c5c10")
        before = list((self.folder / "cache").rglob("*"))
        self.peak(self.guest())
        self.assert_added(before)

    def test_what_the_cache_has_not_made_stays_in_its_folder(self):
        own = self.folder / "cache" / "highwater-runs"
        self.fill("llama", "highwater-runs/phi", "highwater-runs/0f6a25ae-6a1c-5d9c-b5b6-2f8b9f3c5c11")
        own.chmod(0o700)
        (own / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55")
        (own / "0f6a25ae-6a1c-5d9c-b5b6-2f8b9f3c5c12").symlink_to(self.folder / "cache" / "llama")
        (own / "0f6a25ae-6a1c-5d9c-b5b6-2f8b9f3c5c13").write_text("a file")
        before = list((self.folder / "cache").rglob("*"))
        self.peak(self.guest())
        self.assert_added(before)

    def test_runs_unused_for_longest_go_and_links_are_not_followed(self):
        self.peak(self.guest())
        old, = self.cached()
        (old.parent / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55")
        precious = self.folder / "precious"
        precious.mkdir()
        (precious / "record.pickle").write_text("mine")
        (precious / "highwater-run").write_text("highwater.run/1\n")
        link = old.parent / "0f6a25ae-6a1c-5d9c-b5b6-2f8b9f3c5c12"
        link.symlink_to(precious)
        with open(old / "record.pickle", "r+b") as recording:
            recording.truncate(3 << 30)
        os.utime(old, (0, 0))
        self.peak(self.guest(), "--grad-clip", "1")
        self.assertNotIn(old, self.cached())
        self.assertTrue(link.is_symlink())
        self.assertEqual((precious / "record.pickle").read_text(), "mine")

    def assert_made_anew(self):
        self.assertEqual(self.peak(self.guest(peak=32 << 20)), 128 << 20)

    def replaced(self):
        """Another recording, as good as the one that was kept."""
        entries = [{"action": action, "addr": 1 << 30, "size": 32 << 20, "stream": 0} for action in ("segment_alloc", "alloc")]
        return pickle.dumps({"segments": [], "device_traces": [entries]})

    def test_a_recording_that_was_replaced_is_not_believed(self):
        self.peak(self.guest())
        (self.cached()[0] / "record.pickle").write_bytes(self.replaced())
        self.assert_made_anew()
        self.assertEqual(self.peak(self.guest("serve(lambda question: sys.exit('asked again'))")), 128 << 20)

    def test_other_files_of_an_entry_are_summed_as_well(self):
        self.peak(self.guest())
        (self.cached()[0] / "note").write_text("another note")
        self.assert_made_anew()

    def test_an_entry_under_another_key_is_not_believed(self):
        self.peak(self.guest())
        first, = self.cached()
        self.peak(self.guest(), "--grad-clip", "1")
        second, = set(self.cached()) - {first}
        shutil.rmtree(first)
        shutil.copytree(second, first)
        self.assert_made_anew()

    def test_what_others_can_write_is_not_believed(self):
        for place in ("", "entry", "record.pickle", "highwater-run"):
            with self.subTest(place):
                shutil.rmtree(self.folder / "cache", ignore_errors=True)
                self.peak(self.guest())
                entry, = self.cached()
                path = {"": entry.parent, "entry": entry}.get(place, entry / place)
                path.chmod(0o777)
                self.assert_made_anew()

    def test_an_entry_of_links_is_not_believed(self):
        self.peak(self.guest())
        entry, = self.cached()
        (entry / "record.pickle").rename(self.folder / "elsewhere")
        (entry / "record.pickle").symlink_to(self.folder / "elsewhere")
        self.assert_made_anew()
        self.assertTrue((self.folder / "elsewhere").exists())

    @unittest.skipIf(os.geteuid() != 0, "only root can give a folder away")
    def test_a_folder_of_another_user_is_not_believed(self):
        self.peak(self.guest())
        os.chown(self.cached()[0].parent, 65534, 65534)
        self.assert_made_anew()

    def test_a_cache_that_is_a_file_keeps_nothing(self):
        (self.folder / "cache").mkdir()
        (self.folder / "cache" / "highwater-runs").write_text("a file")
        self.assertEqual(self.peak(self.guest()), 64 << 20)
        self.assertEqual((self.folder / "cache" / "highwater-runs").read_text(), "a file")


@functools.cache
def pythons():
    """One for each release that is on the PATH, by its own path: a shim of pyenv takes longer than Python."""
    found = {}
    for name in ("python3", *(f"python3.{minor}" for minor in range(9, 16))):
        asked = subprocess.run([name, "-c", "import sys; print(sys.version_info[:2], sys.executable, sep=';')"],
                               capture_output=True, text=True) if shutil.which(name) else None
        if asked and asked.returncode == 0:
            release, path = asked.stdout.strip().split(";")
            found.setdefault(release, path)
    return list(found.values())


HOSTILE = """
import os
os.close(os.open({marks!r} + "/" + __name__, os.O_WRONLY | os.O_CREAT))
"""


class WorkingFolder(Folder):
    """A torch that names its release and cannot be imported is enough to be asked."""

    def setUp(self):
        super().setUp()
        self.marks = self.folder / "marks"
        self.marks.mkdir()
        self.packages = self.folder / "packages"
        for name, version in (("torch", "2.15.0+cu132"), ("transformers", "5.24.0")):
            info = self.packages / f"{name}-{version}.dist-info"
            info.mkdir(parents=True)
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        (self.packages / "torch").mkdir()
        (self.packages / "torch" / "__init__.py").write_text("raise ImportError('this torch is a stand-in')")
        (self.packages / "torch" / "version.py").write_text("__version__ = '2.15.0+cu132'\ncuda = '13.2'\n")

    def fill(self, text, names=NAMES):
        for name in names:
            (self.work / f"{name}.py").write_text(text)

    def take_marks(self):
        names = {path.name for path in self.marks.iterdir()}
        for name in names:
            (self.marks / name).unlink()
        return names

    def assert_nothing_imported(self):
        self.assertEqual(self.take_marks(), set())

    def asked(self, python, **more):
        """What each start of Python that a command makes has to say."""
        torch = {"PYTHONPATH": str(self.packages), **more}
        _, _, engine = self.told(*MODEL, "--python", python, **torch)
        _, _, job = self.told("simulate", "--print-options", "--from", "job.py:mine", "--python", python, **torch)
        return engine, job

    def test_nothing_is_imported_from_the_working_folder(self):
        self.fill(HOSTILE.format(marks=str(self.marks)))
        for python in pythons():
            with self.subTest(python):
                engine, job = self.asked(python)
                self.assertIn("this torch is a stand-in", engine)
                self.assertIn("No module named 'torchtitan'", job)
                self.assert_nothing_imported()

    def test_empty_and_relative_words_of_pythonpath_are_the_working_folder(self):
        self.fill(HOSTILE.format(marks=str(self.marks)))
        for path in (f":{self.packages}", f"{self.packages}:", f".:{self.packages}", f"{self.packages}:./:"):
            with self.subTest(path):
                self.assertIn("this torch is a stand-in", self.asked(sys.executable, PYTHONPATH=path)[0])
                self.assert_nothing_imported()

    def test_harmless_names_break_nothing(self):
        self.fill("", ("traceback", "json", "csv", "email", "types", "select", "signal", "shutil"))
        for python in pythons():
            with self.subTest(python):
                engine, job = self.asked(python)
                self.assertIn("this torch is a stand-in", engine)
                self.assertIn("No module named 'torchtitan'", job)

    def test_the_installed_release_is_asked_without_the_folder(self):
        self.fill(HOSTILE.format(marks=str(self.marks)))
        binaries = self.folder / "bin"
        binaries.mkdir()
        for python in pythons():
            with self.subTest(python):
                wrapper = binaries / "python3"
                wrapper.write_text(f'#!/bin/sh\necho "Loading 1.2"\nPATH="{os.environ["PATH"]}"\nexec {python} "$@"\n')
                wrapper.chmod(0o755)
                code, out, err = self.told("simulate", "--model", "gpt2", "--seq", "16", "--steps", "1", "--torch", "auto",
                                           PATH=f"{binaries}:{os.environ['PATH']}", PYTHONPATH=str(self.packages))
                self.assertEqual(code, 0, err)
                self.assertIn("torch 2.15", out)
                self.assert_nothing_imported()

    def test_the_recorder_starts_without_the_folder(self):
        self.fill(HOSTILE.format(marks=str(self.marks)), [name for name in NAMES if name not in ("sitecustomize", "usercustomize")])
        for path in ("", ":", "."):
            for python in pythons():
                with self.subTest(python=python, path=path):
                    subprocess.run([python, "-c", "pass"], cwd=self.work, env={**self.environment, "PYTHONPATH": path})
                    by_python_itself = self.take_marks()
                    self.told("record", "--", python, "-c", "pass", PYTHONPATH=path)
                    self.assertLessEqual(self.take_marks(), by_python_itself)

    def test_the_folder_of_a_function_is_there_for_the_function_only(self):
        """torchtitan's own imports come from where it is installed."""
        manager = self.packages / "torchtitan" / "config"
        manager.mkdir(parents=True)
        (manager / "manager.py").write_text(textwrap.dedent("""
            import dataclasses
            class ConfigManager:
                def parse_args(self, words):
                    job, _ = self._load_config(words)
                    import wave
                    return job
                def _load_config(self, words):
                    return Job(), words
            @dataclasses.dataclass
            class Job:
                seq_len: int = 4096
            """))
        (self.work / "helper.py").write_text("from torchtitan.config.manager import Job\n")
        (self.work / "job.py").write_text("import helper\ndef mine():\n    return helper.Job()\n")
        self.fill(HOSTILE.format(marks=str(self.marks)), ("csv", "json", "wave"))
        code, _, err = self.told("simulate", "--print-options", "--from", "job.py:mine", "--python", sys.executable,
                                 PYTHONPATH=str(self.packages))
        self.assertIn(code, (0, 2, 3))
        self.assertNotIn("torchtitan:", err)
        self.assert_nothing_imported()

    def test_a_launch_script_runs_no_file_that_it_names(self):
        """torchtitan's launch lines name modules; a Python file among their words is somebody else's."""
        manager = self.packages / "torchtitan" / "config"
        manager.mkdir(parents=True)
        (manager / "manager.py").write_text("class ConfigManager:\n    def parse_args(self, words):\n        raise ValueError(words)\n")
        self.fill(HOSTILE.format(marks=str(self.marks)), ("evil",))
        (self.work / "launch.sh").write_text("torchrun -m torchtitan.train evil.py --module m --config c\n")
        _, _, err = self.told("simulate", "--from", "launch.sh", "--gpu", "h100-80", "--python", sys.executable,
                              PYTHONPATH=str(self.packages))
        self.assertIn("torchtitan: ['--module', 'm', '--config', 'c']", err)
        self.assert_nothing_imported()


class Signals(Folder):
    WAITS = '''
        def waiting(question):
            with open(os.path.join(question["folder"], "large"), "wb") as file:
                file.write(bytes(4 << 20))
            open(os.environ["READY"], "w").close()
            while True:  # and writes what it can, as a recorder at its end
                try:
                    open(os.path.join(question["folder"], str(time.monotonic_ns())), "w").close()
                except OSError:
                    pass
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        serve(waiting)'''

    def test_a_signal_leaves_nothing(self):
        for ends in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(ends):
                ready = self.folder / "ready"
                process = self.start(*MODEL, "--python", self.guest(self.WAITS, installed=""), READY=str(ready))
                while not ready.exists() and process.poll() is None:
                    time.sleep(0.01)
                self.assertEqual(len(list(self.temporary.iterdir())), 1)
                process.send_signal(ends)
                process.communicate(timeout=60)
                self.assertEqual(process.returncode, -ends)
                self.assertEqual(list(self.temporary.iterdir()), [])
                ready.unlink()

    def test_another_program_removes_what_a_kill_leaves(self):
        ready = self.folder / "ready"
        process = self.start(*MODEL, "--python", self.guest(self.WAITS, installed=""), READY=str(ready))
        while not ready.exists() and process.poll() is None:
            time.sleep(0.01)
        threads = pathlib.Path(f"/proc/{process.pid}/task").glob("*/children")
        guest = next(int(child) for thread in threads for child in thread.read_text().split())
        process.kill()
        process.communicate()
        os.kill(guest, signal.SIGKILL)
        self.assertEqual(self.peak(self.guest(installed="")), 64 << 20)
        self.assertEqual(list(self.temporary.iterdir()), [])


if __name__ == "__main__":
    Folder.program = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
