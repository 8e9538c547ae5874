"""A stranger's files through every command: hostile_files_test.py HIGHWATER SOURCE_FOLDER [unittest arguments]

Parts, journals, baselines, a cache folder and a tree of configurations, hostile on purpose, are given to every command of
the table, and the system's calls are watched (strace): no program is started, nothing is written but the outputs that the
command line names, and nothing is imported from the folder. Without strace, or where it may not watch, the test is skipped.
"""

import json
import os
import pickle
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile
import zlib
from pathlib import Path

HIGHWATER = ""
SOURCE = Path()
SKIPPED = 77

#: Calls by which files change, and programs start.
WATCHED = ("execve,execveat,fork,vfork,open,openat,openat2,creat,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,"
           "link,linkat,symlink,symlinkat,truncate,ftruncate,chmod,fchmodat,chown,fchownat,mknod,mknodat,connect,bind")
CHANGES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|^(connect|bind|creat|rename|unlink|mkdir|rmdir|link|symlink|truncate|chmod|fchmod|chown|fchown|mknod)")
ENDS_WELL = {0, 1, 2, 3}

MODULES = ("json", "csv", "email", "traceback", "typing", "zipfile", "torch", "transformers", "sitecustomize", "usercustomize",
           "highwater", "highwater_engine", "torchtitan")


def piece_record(job, number, content=b""):
    head = struct.pack("<IIQII", job, len(content), number, 0, 0)
    return struct.pack("<IIQII", job, len(content), number, zlib.crc32(head + content), 0) + content


def part(version, *arguments, **fields):
    header = {"schema": "highwater.pieces/1", "version": version, "arguments": arguments, "inputs": "0" * 16,
              "shard": 1, "shards": 1, **fields}
    return json.dumps(header).encode() + b"\n" + piece_record(0xffffffff, 0)


class Runs:
    """Called where a pickle is loaded by Python."""

    def __reduce__(self):
        return os.system, ("touch RAN",)


class Folder:
    """The stranger's files, and what each may be given as."""

    def __init__(self, path, version):
        self.path = path
        self.version = version
        self.victim = self.write("victim", "precious")
        self.program = self.write("program", "#!/bin/sh\ntouch RAN\n")
        self.program.chmod(0o755)
        for module in MODULES:
            self.write(f"{module}.py", 'open("RAN", "w").close()\n')
        self.write("model.py", 'open("RAN", "w").close()\ndef make(): pass\n')
        self.parts = [self.bytes(f"part-{i}", part(version, *words)) for i, words in enumerate(self.commands())]
        self.journal = self.bytes("journal", part(version, "record", "--", "./program").split(b"\n")[0] + b"\n")
        self.traces = list(self.make_traces())
        self.baselines = list(self.make_baselines())
        self.configurations = list(self.make_configurations())
        self.grid = self.json("grid.json", {"grid": {"model": ["gpt2"], "engine": ["torch"], "python": ["./program"]}})
        self.phases = [self.write(f"phases-{i}.toml", f'[programs.a]\n{source}\n[[phases]]\nrun = "a"\n') for i, source in
                       enumerate(('plan = "--model gpt2 --engine torch --python ./program"', 'plan = "--model model.py:make"',
                                  'plan = "--from launch.sh"', 'file = "system.pickle"', 'file = "../../../etc/shadow"'))]
        self.cache = self.path / "cache"
        self.make_cache()

    def write(self, name, text):
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def bytes(self, name, content):
        path = self.path / name
        path.write_bytes(content)
        return path

    def json(self, name, value):
        return self.write(name, json.dumps(value))

    @staticmethod
    def commands():
        yield "record", "--gpu", "t4", "--", "./program"
        yield "simulate", "--model", "gpt2", "--engine", "torch", "--python", "./program"
        yield "simulate", "--model", "model.py:make"
        yield "sweep", "--model", "gpt2", "--set", "python=./program", "--set", "engine=torch"
        yield "validate", "grid.json"
        yield "scan", ".", "--html", "victim"
        yield "scan", ".", "--journal", "victim"
        yield "merge", "part-0"
        yield "export", "reduce.pickle", "--to", "csv", "--output", "victim"

    def make_traces(self):
        event = {"action": "alloc", "addr": 1 << 40, "size": 512, "stream": 0,
                 "frames": [{"filename": "$(touch RAN)", "line": 1, "name": "<script>"}]}
        yield self.bytes("reduce.pickle", pickle.dumps({"segments": [], "device_traces": [[Runs()]]}))
        yield self.bytes("system.pickle", b"\x80\x02cposix\nsystem\nX\x09\0\0\0touch RAN\x85R.")
        yield self.bytes("names.pickle", pickle.dumps({"segments": [], "device_traces": [[event]]}))
        yield self.json("profiler.json", {"traceEvents": [{"name": "[memory]", "ph": "i", "args": {"Addr": "`touch RAN`"}}]})
        yield self.write("text.trace", "frame 1 12 $(touch RAN).py\t`touch RAN`\nstack 1 1\nstep 0\na 1 512 0 @1\nf 1\n")
        escaping = self.path / "escaping.zip"
        with zipfile.ZipFile(escaping, "w") as archive:
            archive.writestr("../../escaped.pickle", (self.path / "names.pickle").read_bytes())
            archive.writestr("/tmp/escaped.pickle", (self.path / "reduce.pickle").read_bytes())
        yield escaping

    def make_baselines(self):
        yield self.json("baseline.json", {"schema": "highwater.baseline/1", "python": "./program", "arguments": ["record"],
                                          "peak": {"reserved_bytes": "$(touch RAN)"}})
        yield self.bytes("baseline.pickle", pickle.dumps(Runs()))

    def make_configurations(self):
        yield self.write("object.yaml", 'model_name_or_path: !!python/object/apply:os.system ["touch RAN"]\nbf16: true\n')
        yield self.write("model.yaml", "model_name_or_path: model.py:make\nbf16: true\noutput_dir: victim\n")
        yield self.write("include.yaml", "base_model: gpt2\nbf16: true\ndeepspeed: ../../../etc/shadow\n_include: !include victim\n")
        yield self.write("config.toml", '[model]\nname = "llama3"\nflavor = "8B"\n[job]\ncustom_config_module = "model"\n')
        yield self.json("ds_config.json", {"train_batch_size": 8, "bf16": {"enabled": True}, "zero_optimization": {
            "stage": 3, "offload_param": {"device": "nvme", "nvme_path": "victim"}}})
        yield self.json("config.json", {"model_type": "llama", "auto_map": {"AutoModel": "model.Evil"}, "num_hidden_layers": 2})
        yield self.write("launch.sh", "#!/bin/bash\n. ./program\nX=$(touch RAN)\nY=`touch RAN`\neval ./program\n"
                                      "PYTHONSTARTUP=model.py ./program -m torch.distributed.run --nproc_per_node 2 run_clm.py "
                                      "--model_name_or_path gpt2 --bf16 > victim 2>&1 | tee victim\n")
        yield self.write("python.sh", "./program pretrain_gpt.py --python ./program --engine torch --num-layers 2 "
                                      "--hidden-size 64 --num-attention-heads 2 --seq-length 64 --micro-batch-size 1 "
                                      "--vocab-size 100\n")

    def make_cache(self):
        for entry in ("precious/weights", "00000000-0000-4000-8000-000000000000/record.pickle"):
            self.write(f"cache/{entry}", "precious")
        (self.cache / "link").symlink_to(self.path)

    def snapshot(self):
        return {path: path.read_bytes() for path in sorted(self.path.rglob("*"))
                if path.is_file() and path.name != "RAN" and "out" not in path.relative_to(self.path).parts[:1]}


class Watched:
    """One run under strace."""

    def __init__(self, folder, words):
        self.folder = folder
        self.out = folder.path / "out"
        log = folder.path.parent / f"{folder.path.name}.strace"
        # The leak sanitizer cannot work where another process traces, and an error of a sanitizer is none of the exit codes.
        environment = {**os.environ, "HIGHWATER_CACHE": str(folder.cache), "TMPDIR": str(self.out), "HOME": str(self.out),
                       "ASAN_OPTIONS": "detect_leaks=0:exitcode=99"}
        self.run = subprocess.run(
            ["strace", "-f", "--seccomp-bpf", "-qq", "-s", "300", "-o", str(log), "-e", f"trace={WATCHED}", HIGHWATER, *map(str, words)],
            cwd=folder.path, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            timeout=300)
        self.calls = [line.split(None, 1)[1] for line in log.read_text(errors="replace").splitlines()
                      if (" = -1 " not in line or " execve" in line) and " = ?" not in line]
        log.unlink()

    def starts(self):
        return [call for call in self.calls if call.startswith("execve")][1:]

    def changes(self):
        """But for outputs, the journal among them, devices and what belongs to the process."""
        return [call for call in self.calls if CHANGES.search(call) and not self._is_allowed(call)]

    def _is_allowed(self, call):
        names = re.findall(r'"([^"]*)"', call)
        places = [os.path.normpath(os.path.join(self.folder.path, name)) for name in names]
        return all(place.startswith((str(self.out), str(self.folder.journal), "/dev/", "/proc/self/")) for place in places)

    def imports(self):
        """Python files of the folder that were opened, whoever did it."""
        return [call for call in self.calls if call.startswith("open") and re.search(r'\.pyc?"', call)
                and str(self.folder.path) in os.path.join(self.folder.path, re.findall(r'"([^"]*)"', call)[0])]


def all_commands():
    help_text = subprocess.run([HIGHWATER, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.findall(r"^  ([a-z]+)  +\S", help_text.split("Version presets")[0], re.MULTILINE)


def lines_of(folder):
    """Command lines for each command: every file that it reads, in each way. `record` runs what the user says; it is
    given nothing."""
    out = folder.path / "out"
    plan = ("--gpu", "h100-80", "--engine", "model")
    traces = {"replay": (), "explain": (), "advise": (), "info": (), "report": ("--output", out / "page.html"),
              "export": ("--to", "csv", "--output", out / "csv"), "check": ("--max-reserved", "1GiB"),
              "sweep": ("--set", "capacity=1GiB"), "captures": ("--orders", "3"), "reduce": ("--keep", "oom", "--output", out / "small.trace"), "diff": (folder.traces[2],),
              "redact": (out / "redacted.pickle",), "convert": (out / "converted.hwt",),
              "fit": (folder.traces[2], "--output", out / "run.hwp"), "conformance": (), "validate": ()}
    lines = {name: [(name, file, *rest) for file in folder.traces] for name, rest in traces.items()}
    for name in ("simulate", "generate", "estimate", "plan", "solve", "chance", "explain", "advise", "sweep", "report", "export", "check"):
        rest = {"generate": ("--output", out / "plan.hwt"), "solve": ("--for", "batch"), "report": ("--output", out / "plan.html"),
                "export": ("--to", "csv", "--output", out / "plan"), "check": ("--max-reserved", "1GiB"),
                "chance": ("--lengths", "uniform:8..16", "--runs", "2", "--steps", "2"),
                "sweep": ("--set", "batch=1,2")}.get(name, ())
        lines.setdefault(name, []).extend((name, "--from", file, *plan, *rest) for file in folder.configurations)
    # As one types it: the engine is chosen, and none of these files may have Python chosen for it.
    lines["simulate"] += [("simulate", "--from", file, "--gpu", "h100-80") for file in folder.configurations]
    lines["models"] = [("models", file) for file in folder.configurations]
    lines["simulate"] += [("simulate", "--model", file, *plan) for file in (*folder.configurations, *folder.traces)]
    lines["chance"] += [("chance", "--model", "gpt2", "--lengths", file, *plan) for file in (folder.grid, *folder.baselines)]
    lines["check"] += [("check", folder.traces[2], "--baseline", file) for file in folder.baselines]
    lines["validate"] += [("validate", folder.grid), ("validate", "--recorded", "."), ("validate", "--reference", folder.grid)]
    lines["scan"] = [("scan", "."), ("scan", ".", "--html", out / "scan.html"), ("scan", ".", "--journal", folder.journal, "--resume")]
    lines["merge"] = [("merge", file) for file in (*folder.parts, folder.journal)]
    lines["phases"] = [("phases", file) for file in (*folder.phases, *folder.configurations)]
    lines |= {"schema": [("schema", "replay")], "gpus": [("gpus",)], "completion": [("completion", "bash")], "manual": [("manual",)]}
    lines["record"] = []
    return lines


class Strangers(unittest.TestCase):
    def setUp(self):
        root = Path(tempfile.mkdtemp(prefix="highwater-"))
        self.addCleanup(shutil.rmtree, root)
        (root / "job" / "out").mkdir(parents=True)
        version = subprocess.run([HIGHWATER, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[1]
        self.folder = Folder(root / "job", version)
        self.before = self.folder.snapshot()

    def check(self, words):
        watched = Watched(self.folder, words)
        with self.subTest(words=" ".join(map(str, words))):
            said = watched.run.stderr.decode(errors="replace")
            self.assertIn(watched.run.returncode, ENDS_WELL, said)
            self.assertEqual(watched.starts(), [])
            self.assertEqual(watched.changes(), [])
            self.assertEqual(watched.imports(), [])
            self.assertFalse((self.folder.path / "RAN").exists())
        (self.folder.path / "RAN").unlink(missing_ok=True)

    def test_every_command(self):
        lines = lines_of(self.folder)
        self.assertEqual(set(lines), set(all_commands()), "a command without a stranger's files: add its lines")
        for command, all_of_it in lines.items():
            for words in all_of_it:
                self.check(words)
        self.assertEqual(self.folder.snapshot(), self.before)

    def test_the_watch_sees_what_it_looks_for(self):
        """A run that does start a program and writes outside."""
        watched = Watched(self.folder, ("record", "--gpu", "t4", "--", "./program"))
        self.assertTrue(watched.starts())
        self.assertTrue(watched.changes())
        self.assertTrue((self.folder.path / "RAN").exists())
        (self.folder.path / "sitecustomize.py").unlink()
        watched = Watched(self.folder, ("record", "--gpu", "t4", "--", sys.executable, "-c", "import csv"))
        self.assertTrue(watched.imports())


def can_watch():
    if shutil.which("strace") is None:
        return False
    return subprocess.run(["strace", "-o", "/dev/null", "true"], stderr=subprocess.DEVNULL).returncode == 0


if __name__ == "__main__":
    HIGHWATER, SOURCE = os.path.realpath(sys.argv[1]), Path(sys.argv[2]).resolve()
    if not can_watch():
        print("skipped: no strace, or it may not watch here")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
