"""Hostile input through the module and through the program: hostile_test.py PACKAGE_FOLDER HIGHWATER [SECONDS]

The first inputs of the fuzz targets (tests/fuzz/seeds.py), and changes of them, go through both: the module raises
what the program prints, or answers as it does, and the interpreter lives on. A crash ends this test by its signal.
"""
import gc
import json
import lzma
import pathlib
import pickle
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[4]
PACKAGE, HIGHWATER = (pathlib.Path(each).resolve() for each in sys.argv[1:3])
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 10.0
sys.path[:0] = [str(PACKAGE), str(ROOT / "tests" / "fuzz")]

import highwater as hw  # noqa: E402
import seeds  # noqa: E402

SAMPLE = str(ROOT / "traces/recorded/fake/gpt2-fp32-varlen-capacity2700.hwt.xz")
EXTREMES = (b"\xff" * 8, b"\0" * 8, b"\x7f" + b"\xff" * 7, b"\x80" + b"\0" * 7)


def changed(data, dice):
    """One to four edits: bits, bytes, cuts, repeats, extreme numbers."""
    data = bytearray(data)
    for _ in range(dice.randint(1, 4)):
        at, length = dice.randrange(len(data) + 1), dice.randint(1, 64)
        edit = dice.randrange(6)
        if edit == 0 and at < len(data):
            data[at] ^= 1 << dice.randrange(8)
        elif edit == 1:
            data[at:at + 1] = bytes([dice.randrange(256)])
        elif edit == 2:
            del data[at:at + length]
        elif edit == 3:
            data[at:at] = data[at:at + length]
        elif edit == 4:
            data[at:at + 8] = dice.choice(EXTREMES)
        else:
            data[at:at] = dice.randbytes(length)
    return bytes(data)


def recordings():
    """Whole files of each format."""
    yield pickle.dumps(seeds.snapshot(), protocol=4)
    yield json.dumps(seeds.snapshot()).encode()
    for path in sorted((ROOT / "tests/data/conformance").rglob("*.trace"))[:5]:
        yield path.read_bytes()[:20000]
    path = min((ROOT / "traces/recorded/fake").glob("*.hwt.xz"), key=lambda each: each.stat().st_size)
    yield path.read_bytes()
    yield lzma.decompress(path.read_bytes())
    yield lzma.decompress((ROOT / "tests/data/profiler/linear.trace.json.xz").read_bytes())[:40000]


def malicious():
    """What no mutation finds: code, bombs, cycles, depth."""
    cycle = []
    cycle.append(cycle)
    laughs = [1]
    for _ in range(30):
        laughs = [laughs] * 10
    frame = {"filename": "a" * 1000, "line": 1, "name": "f"}
    event = {"action": "alloc", "addr": 1 << 40, "size": 512, "stream": 0, "frames": [frame] * 100}
    yield b"\x80\x02cposix\nsystem\nX\x04\0\0\0true\x85R."
    yield b"(S'true'\nios\nsystem\n."
    yield b"\x80\x04" + b"]" * 100000 + b"a" * 99999 + b"."
    yield b"\x80\x04" + b")" + b"\x85" * 100000 + b"."
    yield b"\x80\x04" + b"(" * 1000000 + b"."
    yield b"\x80\x04\x8d" + b"\xff" * 7 + b"\x7fabc."
    yield b"\x80\x04\x8b\xff\xff\xff\x7f" + b"\0" * 100 + b"."
    yield b"I" + b"9" * 1000000 + b"\n."
    yield b"[" * 100000
    yield b'{"a":' * 100000
    yield pickle.dumps({"segments": cycle, "device_traces": cycle})
    yield pickle.dumps(laughs)
    yield pickle.dumps({"segments": [], "device_traces": [[event] * 1000] * 1000})


def program(*words):
    """What the program prints, or its error without its name."""
    run = subprocess.run([HIGHWATER, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
    assert run.returncode in (0, 1, 2, 3), (words, run.returncode, run.stderr)
    if run.returncode < 2:
        return run.stdout.decode(errors="replace")
    lines = run.stderr.decode(errors="replace").strip().splitlines()
    return "\n".join(line.removeprefix("highwater: ") for line in lines)


def outcome(ask):
    """str(answer), or the error's text."""
    try:
        return str(ask())
    except hw.InputError as error:
        return str(error)


class Programs(unittest.TestCase):
    """The same words, whatever is wrong."""

    def setUp(self):
        self.dice = random.Random(20)
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, data):
        path = pathlib.Path(self.folder.name) / "input"
        path.write_bytes(data)
        return str(path)

    def test_recordings(self):
        sources = list(recordings())
        for number in range(120):
            path = self.file(changed(self.dice.choice(sources), self.dice))
            command = self.dice.choice(("replay", "info", "explain"))
            with self.subTest(number=number, command=command):
                self.assertEqual(outcome(getattr(hw.load(path), command)), program(command, path))

    def test_malicious_files(self):
        for number, data in enumerate(malicious()):
            path = self.file(data)
            with self.subTest(number=number):
                self.assertEqual(outcome(hw.load(path).replay), program("replay", path))
                held = hw.load(data)
                self.assertEqual(outcome(held.replay).replace(held.name, path), program("replay", path))

    def test_models(self):
        texts = [data for target, data in seeds.seeds(ROOT) if target == "config"]
        for number in range(60):
            path = self.file(changed(self.dice.choice(texts), self.dice)) + ".json"
            pathlib.Path(path[:-5]).rename(path)
            with self.subTest(number=number):
                self.assertEqual(outcome(lambda: hw.estimate(model=path)), program("estimate", "--model", path))

    def test_options(self):
        names = ("batch", "seq", "precision", "dp", "dp_kind", "tp", "gpu", "checkpoint", "dropout", "lora", "moe_load")
        for number in range(60):
            name, value = self.dice.choice(names), self.dice.choice(seeds.OPTIONS)
            option = "--" + name.replace("_", "-")
            words = [f"{option}={value}"] if value else [option, value]
            with self.subTest(name=name, value=value):
                self.assertEqual(outcome(lambda: hw.estimate(model="gpt2", **{name: value})),
                                 program("estimate", "--model", "gpt2", *words))


class Parts(unittest.TestCase):
    """A part is bytes that somebody has sent: merging it runs nothing."""

    def test_commands(self):
        version = program("--version").split()[1]
        with tempfile.TemporaryDirectory() as folder:
            ran = pathlib.Path(folder) / "ran"
            script = pathlib.Path(folder) / "program"
            script.write_text(f"#!/bin/sh\ntouch {ran}\n")
            script.chmod(0o755)
            for line in (["record", "--gpu", "t4", "--", str(script)], ["merge", "part"], ["schema", "replay"],
                         ["simulate", "--model", "gpt2", "--engine", "torch", "--python", str(script), "--format", "json"],
                         ["export", SAMPLE, "--to", "csv", "--output", str(ran)]):
                header = {"schema": "highwater.pieces/1", "version": version, "arguments": line, "inputs": "0" * 16,
                          "shard": 1, "shards": 1}
                record = struct.pack("<IIQII", 0xffffffff, 0, 0, 0, 0)
                end = struct.pack("<IIQII", 0xffffffff, 0, 0, zlib.crc32(record), 0)
                with self.subTest(line=line), self.assertRaises(hw.InputError):
                    hw.merge([hw.Part(json.dumps(header).encode() + b"\n" + end)])
                self.assertFalse(ran.exists())


class Interpreter(unittest.TestCase):
    def test_it_survives_a_python_that_talks_nonsense(self):
        with tempfile.TemporaryDirectory() as folder:
            for number, answer in enumerate(("Loading modules: cuda/12.4", '{"torch": "2.15.0"}', '{"number": "0"}', "[" * 1000)):
                with self.subTest(answer[:40]):
                    python = pathlib.Path(folder, f"python{number}")  # one that failed is not tried again
                    python.write_text(f"#!/bin/sh\necho '{answer}'\necho '{answer}' >&0\ncat > /dev/null\n")
                    python.chmod(0o755)
                    words = {"model": "gpt2", "engine": "torch", "python": str(python)}
                    said = outcome(lambda: hw.simulate(**words))
                    self.assertIn("not an answer", said)
                    self.assertEqual(said, program("simulate", *(part for key, value in words.items()
                                                                 for part in (f"--{key}", value))))

    def test_it_survives_changed_bytes(self):
        dice, sources, calls = random.Random(21), list(recordings()), 0
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            recording = hw.load(changed(dice.choice(sources), dice))
            outcome(dice.choice((recording.replay, recording.info, recording.explain)))
            calls += 1
        self.assertGreater(calls, 100)

    def test_no_memory_is_kept(self):
        """10,000 calls of nine kinds, three of them errors; the process is as large as after the first 1,000."""
        snapshot, data = seeds.snapshot(), pickle.dumps(seeds.snapshot())
        model = json.dumps({"model_type": "gpt2", "n_layer": 1, "n_embd": 64, "n_head": 2, "vocab_size": 128})
        questions = (lambda: hw.load(snapshot).replay(), lambda: hw.load(data).info(), lambda: hw.load(data).explain(),
                     lambda: hw.load(data).replay().devices[0].to_dict(), lambda: hw.load(data).diff(data).to_dict(),
                     lambda: hw.estimate(model=model, seq=64, formula="4n"), lambda: hw.load(b"nothing").replay(),
                     lambda: hw.load(data).replay(alloc_conf="x:y"), lambda: hw.simulate(model="gpt3"))

        def resident(calls):
            for number in range(calls):
                outcome(questions[number % len(questions)])
            gc.collect()
            return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

        before = resident(1000)
        self.assertLess(resident(9000) - before, 4 << 20)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
