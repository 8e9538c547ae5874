"""tools/python/measure as far as it goes without torch: cases, halves, selection, index, batches, the command line."""
import argparse
import contextlib
import importlib.util
import io
import itertools
import json
import lzma
import pathlib
import stat
import sys
import tempfile
import unittest
import unittest.mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tools" / "python"))

from measure import (batch, bundle, case_fields, command, halves, history, index, installations,  # noqa: E402
                     matrix, option_words, presets, release_table, releases, simulated_device)
from measure.covering import covering  # noqa: E402


def marker(phase, step=None, allocated=0, reserved=0, used=None, **more):
    stats = {f"{figure}_bytes.all.{which}": value for which in ("current", "peak")
             for figure, value in (("allocated", allocated), ("active", allocated), ("reserved", reserved))}
    return {"phase": phase, "step": step, "stats": stats, **({} if used is None else {"device_used": used}), **more}


def report_of(case_id, status="ok"):
    return {"case": {"id": case_id}, "status": status, "seconds": 1.0, "trace": {"entries": 3},
            "markers": [marker("start"), marker("step_end", 0, 100, 200, 700), marker("step_end", 1, 90, 300, 750)]}


class Cases(unittest.TestCase):
    def test_a_case_gets_every_field(self):
        case = case_fields.complete({"id": "x", "model": "gpt2", "batch": 4})
        self.assertEqual(case["batch"], 4)
        self.assertEqual(case["seq"], 128)
        self.assertEqual(case["dist"], {"kind": "none"})

    def test_a_field_that_does_not_exist_is_refused_by_name(self):
        with self.assertRaisesRegex(case_fields.CaseError, r"case x: unknown fields \['btach'\]"):
            case_fields.complete({"id": "x", "btach": 4})

    def test_lengths_of_every_micro_batch(self):
        case = case_fields.complete({"steps": 2, "grad_accum": 2})
        self.assertEqual(case_fields.sequence_lengths({**case, "seq": 7}), [7, 7, 7, 7])
        self.assertEqual(case_fields.sequence_lengths({**case, "seq": [1, 2, 3]}), [1, 2, 3, 1])
        drawn = case_fields.sequence_lengths({**case, "seq": {"seed": 3, "low": 64, "high": 512, "multiple": 8}})
        self.assertEqual(drawn, case_fields.sequence_lengths(
            {**case, "seq": {"seed": 3, "low": 64, "high": 512, "multiple": 8}}))
        self.assertTrue(all(length % 8 == 0 and 64 - 8 < length <= 512 for length in drawn))


class OptionWords(unittest.TestCase):
    def described(self, family="gpt2", **fields):
        return option_words.described(case_fields.complete({"id": "x", "model": "gpt2", **fields}), family)

    def test_fields_become_options_and_the_rest_stays(self):
        case = self.described(batch=4, impl="loop", rig={"event_lag": 20, "profile": "h100-80"}, tags=["part-a"])
        self.assertEqual((case["id"], case["tags"], case["rig"]["profile"]), ("x", ["part-a"], "h100-80"))
        options = case["options"]
        self.assertEqual((options["model"], options["batch"], options["optimizer-impl"]), ("gpt2", 4, "loop"))
        self.assertEqual((options["event-lag"], options["set-to-none"]), (20, True))
        self.assertNotIn("dropout", options)

    def test_a_kind_of_dist_brings_what_its_script_does(self):
        ddp = self.described(dist={"kind": "ddp", "world": 8}, no_sync=True)["options"]
        self.assertEqual((ddp["dp"], ddp["bucket-cap-mb"], ddp["no-sync"]), (8, 25, True))
        full = self.described(dist={"kind": "fsdp2", "world": 4, "reshard": False})["options"]
        self.assertEqual((full["dp-kind"], full["reshard"]), ("fsdp2", "never"))
        flat = self.described(dist={"kind": "fsdp1", "world": 4, "mp": "bf16", "strategy": "HYBRID_SHARD"})["options"]
        self.assertEqual((flat["reduce-dtype"], flat["strategy"]), ("fp32", "hybrid_shard"))
        tensor = self.described(dist={"kind": "tp", "world": 4}, param_groups=2)["options"]
        self.assertEqual((tensor["tp"], tensor["tp-kind"], tensor["param-groups"]), (4, "dtensor", 1))

    def test_some_fields_depend_on_others(self):
        self.assertEqual(self.described(sdpa_backend="math")["options"]["attention"], "sdpa-math")
        self.assertEqual(self.described(mode="eval")["options"]["optimizer"], "none")
        plain = self.described(family="plain", checkpoint="every2-reentrant")["options"]
        self.assertEqual((plain["model-code"], plain["loss"]), ("torchtitan", "flat"))
        self.assertEqual((plain["checkpoint"], plain["checkpoint-impl"]), ("every-2", "reentrant"))

    def test_drawn_lengths_are_written_out(self):
        case = self.described(seq={"seed": 3, "low": 64, "high": 512}, steps=2)
        self.assertEqual(len(case["options"]["seq"]), 2)

    def test_every_field_has_a_row(self):
        known = {key for row in option_words.facts()["keys"] for key in row["keys"]}
        missing = set(case_fields.DEFAULTS) - known - {"dist"}
        self.assertEqual(missing, set())


class Halves(unittest.TestCase):
    CASE = {"id": "x", "model": "gpt2", "batch": 2, "seq": 256}

    def test_the_rule_is_fixed(self):
        """Digests written down: a change of the rule would let tuned cases into the held-out half."""
        self.assertEqual(halves.canonical(self.CASE), '{"batch":2,"model":"gpt2","seq":256}')
        self.assertEqual(halves.half_of(self.CASE), halves.HELD_OUT)
        self.assertEqual(halves.half_of({**self.CASE, "batch": 3}), halves.TUNING)

    def test_the_device_and_labels_do_not_count(self):
        other = {**self.CASE, "id": "y", "note": "n", "tags": ["part-b"], "stacks": "python",
                 "rig": {"profile": "h100-80"}, "steps": 3}
        self.assertEqual(halves.canonical(other), halves.canonical(self.CASE))
        ddp = {**self.CASE, "dist": {"kind": "ddp", "world": 8}}
        self.assertEqual(halves.canonical({**ddp, "dist": {**ddp["dist"], "backend": "fake"}}), halves.canonical(ddp))
        self.assertNotEqual(halves.canonical(ddp), halves.canonical(self.CASE))

    def test_a_complete_case_is_in_the_half_of_the_short_one(self):
        self.assertEqual(halves.half_of(case_fields.complete(self.CASE)), halves.half_of(self.CASE))

    def test_probes_are_facts(self):
        self.assertEqual(halves.half_of({"id": "p", "probe": {"kind": "context"}}), halves.FACTS)


class Covering(unittest.TestCase):
    AXES = {"a": [0, 1, 2], "b": [0, 1], "c": [0, 1]}

    def test_every_pair_is_shown(self):
        rows = covering(self.AXES, itertools.combinations(self.AXES, 2))
        for first, second in itertools.combinations(self.AXES, 2):
            shown = {(row[first], row[second]) for row in rows}
            self.assertEqual(shown, set(itertools.product(self.AXES[first], self.AXES[second])))
        self.assertLess(len(rows), 12)

    def test_forbidden_rows_are_not_chosen(self):
        rows = covering(self.AXES, [("a", "b")], lambda row: row["a"] + row["b"] < 3)
        self.assertTrue(all(row["a"] + row["b"] < 3 for row in rows))
        self.assertEqual(len({(row["a"], row["b"]) for row in rows}), 5)


class Presets(unittest.TestCase):
    def test_changes_are_those_of_listed_models(self):
        self.assertLessEqual(set(presets._AS_RECORDED), set(presets.PRESETS))

    def test_recordings_have_the_sizes_of_the_list(self):
        count = 0
        for path in sorted((ROOT / "traces" / "recorded").glob("*/*.json.xz")):
            recorded = json.loads(lzma.decompress(path.read_bytes()))
            case = recorded.get("case", {})
            model = case.get("options", {}).get("model")
            if model not in presets.PRESETS:
                continue
            config = recorded["model"]["config"]
            for key, value in presets.settings_of({**case, "model": model}).items():
                with self.subTest(path.name, key=key):
                    self.assertEqual(config.get(key, value), value)
            count += 1
        self.assertGreater(count, 80)


class Lists(unittest.TestCase):
    def setUp(self):
        self.cases = [case for path in command.LISTS for case in json.loads(path.read_text())]

    def test_every_case_can_be_meant(self):
        for case in self.cases:
            case_fields.complete(case)
            if not case.get("probe"):
                self.assertIn(case["model"], presets.PRESETS)
        ids = [case["id"] for case in self.cases]
        self.assertEqual(len(ids), len(set(ids)))

    def test_no_run_is_there_twice(self):
        runs = [halves.canonical(case) for case in self.cases]
        self.assertEqual(len(runs), len(set(runs)))

    def test_the_order_is_that_of_the_parts(self):
        parts = [index.part_of(case) for case in self.cases]
        self.assertEqual(parts, sorted(parts, key=["first", "a", "b", "c", "d"].index))

    def test_the_list_is_what_its_script_writes(self):
        listed = [halves.canonical(case) for case in self.cases]
        for case in itertools.chain(matrix.probes(), matrix.small_and_medium(), matrix.of_jobs(),
                                    matrix.of_settings()):
            self.assertIn(halves.canonical(case), listed, case["id"])

    def test_both_halves_are_about_equal(self):
        held_out = sum(halves.half_of(case) == halves.HELD_OUT for case in self.cases)
        self.assertGreater(held_out, 0.35 * len(self.cases))
        self.assertLess(held_out, 0.6 * len(self.cases))


class History(unittest.TestCase):
    def test_markers_are_found_by_their_counters(self):
        trace = [{"action": "alloc", "addr": 1, "size": 100}, {"action": "alloc", "addr": 2, "size": 600},
                 {"action": "free_requested", "addr": 1, "size": 100},
                 {"action": "free_completed", "addr": 1, "size": 100}]

        def at(phase, step, *counts):
            return {"phase": phase, "step": step, "counts": dict(zip(("alloc", "free_requested", "free_completed"),
                                                                     counts))}

        markers = [at("start", None, 0, 0, 0), at("step_begin", 0, 1, 0, 0), at("step_end", 0, 2, 1, 1)]
        positions, peaks, summary = history.analyse(trace, markers, [(1, {1: "parameter"})])
        self.assertEqual(positions, [0, 1, 4])
        self.assertEqual(summary["markers_matched"], 3)
        at_peak = next(peak for peak in peaks if peak["step"] == 0)
        self.assertEqual(at_peak["allocated_rounded"], 512 + 1024)
        self.assertEqual(at_peak["by_label"], {"other": {"blocks": 1, "bytes": 1024},
                                               "parameter": {"blocks": 1, "bytes": 512}})


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def write_result(self, case_id, status="ok"):
        (self.folder / f"{case_id}.pickle.xz").write_bytes(b"history")
        (self.folder / f"{case_id}.json").write_text(json.dumps(report_of(case_id, status)))


class Indexes(Folder):
    def test_peaks_are_those_of_the_steps(self):
        self.assertEqual(index.peaks_of(report_of("x")),
                         {"allocated": 100, "active": 100, "reserved": 300, "outside": 500})

    def test_an_entry_survives(self):
        self.write_result("x")
        first = index.Index(self.folder)
        first.about = {"torch": "2.6.0"}
        first.put(index.entry_of({"id": "x", "model": "gpt2", "tags": ["part-b"]}, "ok", self.folder, report_of("x"), 2.5))
        second = index.Index(self.folder)
        self.assertEqual(second.about, {"torch": "2.6.0"})
        entry = second.entries["x"]
        self.assertEqual((entry["part"], entry["outcome"], entry["process_seconds"]), ("b", "ok", 2.5))
        self.assertEqual(entry["files"]["x.pickle.xz"], len(b"history"))
        self.assertTrue(second.is_done("x", retries_failed=True))

    def test_what_failed_is_run_again_only_when_asked(self):
        entries = index.Index(self.folder)
        entries.put(index.entry_of({"id": "x", "model": "gpt2"}, "died", self.folder, error="exit status 1"))
        self.assertTrue(entries.is_done("x", retries_failed=False))
        self.assertFalse(entries.is_done("x", retries_failed=True))

    def test_results_of_a_run_that_was_cut_short_are_adopted(self):
        self.write_result("x", "oom")
        entries = index.Index(self.folder)
        entries.adopt([{"id": "x", "model": "gpt2"}, {"id": "y", "model": "gpt2"}])
        self.assertEqual(entries.entries["x"]["outcome"], "oom")
        self.assertNotIn("y", entries.entries)


class StandIn:
    """A process that writes its result, or does not, after a number of looks."""

    def __init__(self, test, case, behaviour):
        self.test, self.case, self.behaviour, self.killed = test, case, behaviour, False

    def poll(self):
        if self.behaviour == "hangs" or self.test.now < self.ends:
            return None
        if self.behaviour == "ok":
            self.test.write_result(self.case["id"])
            return 0
        return 1

    def kill(self):
        self.killed = True


class Batches(Folder):
    """Time is a number here: pause() lets it pass."""

    def setUp(self):
        super().setUp()
        self.now, self.lines, self.started = 0.0, [], []

    def run_batch(self, behaviours, batch_seconds=1000, case_seconds=60, takes=10):
        def launch(case, work):
            process = StandIn(self, case, behaviours[case["id"]])
            process.ends = self.now + takes
            self.started.append(process)
            return process

        def pause(_):
            self.now += 1

        self.index = index.Index(self.folder)
        limits = batch.Limits(batch_seconds, case_seconds, 1)
        runner = batch.Batch(self.folder, self.index, limits, launch, self.lines.append, lambda: self.now, pause)
        return runner.run([{"id": name, "model": "gpt2"} for name in behaviours
                           if not self.index.is_done(name, False)])

    def test_all_are_run_and_indexed(self):
        left = self.run_batch({"x": "ok", "y": "dies", "z": "hangs"})
        self.assertEqual(left, [])
        outcomes = {name: entry["outcome"] for name, entry in self.index.entries.items()}
        self.assertEqual(outcomes, {"x": "ok", "y": "died", "z": "timeout"})
        self.assertTrue(self.started[2].killed)

    def test_no_case_is_begun_that_may_not_end_in_time(self):
        left = self.run_batch({"x": "ok", "y": "ok", "z": "ok"}, batch_seconds=35)
        self.assertEqual([case["id"] for case in left], ["z"])
        left = self.run_batch({"x": "ok", "y": "ok", "z": "ok"})
        self.assertEqual(left, [])
        self.assertEqual([process.case["id"] for process in self.started], ["x", "y", "z"])

    def test_a_case_cut_off_by_the_batch_leaves_nothing_and_is_begun_again(self):
        self.run_batch({"x": "hangs"}, batch_seconds=30)
        self.assertTrue(self.started[0].killed)
        self.assertEqual(self.index.entries, {})
        self.assertEqual(list(self.folder.glob("x*")) + list(self.folder.glob(".x*")), [])

    def test_a_half_written_file_is_removed(self):
        (self.folder / ".x.pickle.xz.partial").write_bytes(b"half")
        self.run_batch({"x": "hangs"}, batch_seconds=30)
        self.assertFalse((self.folder / ".x.pickle.xz.partial").exists())


class CommandLine(Folder):
    def run_command(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = command.main(list(map(str, arguments)))
        return code, out.getvalue(), err.getvalue()

    def test_list_shows_parts_and_halves(self):
        code, out, _ = self.run_command("record", "--list", "--out", self.folder, "--only", "gpt2-fp32-sdpa,~probe-r")
        self.assertEqual(code, 0)
        rows = [line.split() for line in out.splitlines()]
        self.assertIn(["gpt2-fp32-sdpa", "first", "held-out"], rows)
        self.assertIn(["probe-rounding", "a", "facts"], rows)

    def test_nothing_that_matches_is_an_error(self):
        code, _, err = self.run_command("record", "--list", "--out", self.folder, "--only", "nosuch")
        self.assertEqual(code, 3)
        self.assertIn("--list shows all cases", err)

    def test_damaged_lists_are_refused(self):
        path = self.folder / "cases.json"
        for text, message in (("[", "is not JSON"), ("{}", "a list of objects"), ("[1]", "a list of objects"),
                              ('[{"id": "x", "bad": 1}]', "unknown fields"),
                              ('[{"id": "x", "model": "gpt2"}, {"id": "x", "model": "gpt2"}]', "two cases")):
            path.write_text(text)
            code, _, err = self.run_command("record", "--list", "--cases", path, "--out", self.folder)
            self.assertEqual(code, 3)
            self.assertIn(message, err)

    def test_a_folder_that_cannot_be_made_is_named(self):
        blocked = self.folder / "file"
        blocked.write_text("")
        code, _, err = self.run_command("record", "--device", "cpu", "--out", blocked / "out")
        self.assertEqual(code, 3)
        self.assertIn("choose another folder", err)

    @unittest.skipIf(importlib.util.find_spec("torch"), "torch is here")
    def test_without_torch_it_says_so(self):
        code, _, err = self.run_command("record", "--out", self.folder / "out")
        self.assertEqual(code, 3)
        self.assertIn("PyTorch cannot be imported", err)
        code, out, _ = self.run_command("record", "--dry-run", "--out", self.folder / "out", "--only", "gpt2-fp32-sdpa")
        self.assertEqual(code, 0)
        self.assertIn("would run (forked): gpt2-fp32-sdpa", out)
        self.assertIn("this machine cannot: PyTorch", out)


class Bundles(Folder):
    def setUp(self):
        super().setUp()
        self.program = self.folder / "highwater"
        self.program.write_text("#!/bin/sh\ncp \"$2\" \"$3\"\n")  # stands in for `highwater convert IN OUT`
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def test_a_folder_is_named_by_device_and_release(self):
        about = {"torch": "2.11.0+cu130", "gpu": {"name": "NVIDIA H100 80GB HBM3"}}
        self.assertEqual(bundle.folder_name(about), "h100-80gb-hbm3-2.11.0")
        with self.assertRaisesRegex(bundle.BundleError, "give --name"):
            bundle.folder_name({})

    def test_finished_cases_are_bundled_with_their_index(self):
        self.write_result("x")
        entries = index.Index(self.folder)
        entries.about = {"torch": "2.6.0", "gpu": {"name": "NVIDIA L4"}}
        entries.put(index.entry_of({"id": "x", "model": "gpt2"}, "ok", self.folder, report_of("x")))
        entries.put(index.entry_of({"id": "y", "model": "gpt2"}, "died", self.folder))
        with contextlib.redirect_stdout(io.StringIO()):
            code = command.main(["bundle", str(self.folder), str(self.folder / "to"), "--highwater", str(self.program)])
        self.assertEqual(code, 0)
        made = self.folder / "to" / "l4-2.6.0"
        self.assertEqual(sorted(path.name for path in made.iterdir()), ["index.json", "x.hwt.xz", "x.json.xz"])
        self.assertEqual(json.loads(lzma.decompress((made / "x.json.xz").read_bytes()))["case"]["id"], "x")
        document = json.loads((made / "index.json").read_text())
        self.assertEqual([(entry["id"], entry["outcome"]) for entry in document["cases"]], [("x", "ok"), ("y", "died")])
        with contextlib.redirect_stdout(io.StringIO()):
            command.main(["bundle", str(self.folder), str(self.folder / "to"), "--name", "plain", "--no-index",
                          "--highwater", str(self.program)])
        self.assertEqual(sorted(path.name for path in (self.folder / "to" / "plain").iterdir()),
                         ["x.hwt.xz", "x.json.xz"])

    def test_a_program_that_is_not_there_is_said(self):
        self.write_result("x")
        entries = index.Index(self.folder)
        entries.put(index.entry_of({"id": "x", "model": "gpt2"}, "ok", self.folder, report_of("x")))
        with contextlib.redirect_stderr(io.StringIO()) as err:
            code = command.main(["bundle", str(self.folder), str(self.folder / "to"), "--name", "n", "--highwater",
                                 str(self.folder / "nosuch")])
        self.assertEqual(code, 3)
        self.assertIn("build it and give --highwater", err.getvalue())


def validated(peaks=((100, 100),), requests_equal=True, only=0, **more):
    """A case of `highwater validate`: (recorded, simulated) of each step, the same for all figures."""
    figures = ("requested_bytes", "allocated_bytes", "active_bytes", "reserved_bytes")
    steps = [{"recorded": dict.fromkeys(figures, recorded),
              "simulated": None if simulated is None else dict.fromkeys(figures, simulated)}
             for recorded, simulated in peaks]
    return {"ends_alike": True, "steps": steps,
            "requests": {"equal": requests_equal, "only_recorded": only, "only_simulated": only}, **more}


class ReleaseTables(unittest.TestCase):
    def difference(self, entry=None, case=None, **more):
        return release_table.verdict(case or {"id": "x"}, entry or {"outcome": "ok"}, validated(**more)).text

    def test_exact_is_every_peak_and_the_order(self):
        self.assertEqual(self.difference(), "")
        self.assertEqual(self.difference(peaks=[(100, 100), (100, 101)]), "requested +1.00 %")
        self.assertEqual(self.difference(peaks=[(100, 100), (100, None)]), "requested +100.00 %")
        self.assertEqual(self.difference(requests_equal=False), "order or scratch")
        self.assertEqual(self.difference(ends_alike=False), "memory runs out elsewhere")

    def test_autocast_frees_in_any_order(self):
        amp = {"id": "x", "precision": "amp-bf16"}
        self.assertEqual(self.difference(case=amp, requests_equal=False), "")
        self.assertEqual(self.difference(case=amp, requests_equal=False, only=1), "order or scratch")

    def test_what_was_not_compared_says_why(self):
        failed = {"outcome": "error", "error": "Traceback\nValueError: no sdpa"}
        self.assertEqual(self.difference(entry=failed), "did not run: ValueError: no sdpa")
        left_out = release_table.verdict({"id": "x"}, {"outcome": "ok"}, {"id": "x", "reason": "a probe"})
        self.assertEqual(left_out.difference, "not simulated: a probe")

    def test_a_table_has_a_row_for_each_pytorch_and_the_differences(self):
        exact, off = release_table.Verdict(""), release_table.Verdict("", in_order=False)
        found = {releases.Pair("2.6", "5.12"): {"x": exact, "y": exact},
                 releases.Pair("2.15", "5.12"): {"x": exact, "y": off},
                 releases.Pair("2.15", "5.23"): {"x": exact, "y": off},
                 releases.Pair("2.6", "5.23"): "transformers 5.23.0 requires torch>=2.7"}
        self.assertEqual(release_table.table(found).splitlines(), [
            "| PyTorch | transformers 5.12 | transformers 5.23 |", "| --- | ---: | ---: |",
            "| 2.15 | 2, 1 of 2 | 2, 1 of 2 |", "| 2.6 | 2, 2 of 2 | excluded |", "",
            "| case | difference | PyTorch with transformers |", "| --- | --- | --- |",
            "| y | order or scratch | 2.15 with 5.12, 5.23 |", "",
            "2.6 with 5.23: transformers 5.23.0 requires torch>=2.7"])


class StandInInstallations:
    """Has 2.6 from the start; notes what is made and removed."""

    def __init__(self, log, missing=()):
        self.log, self.missing, self.downloads = log, missing, self

    def is_here(self, torch):
        return torch == "2.6"

    def begin(self, torch):
        self.log.append(f"download {torch}")

    def stop(self):
        self.log.append("stop")

    def python(self, torch):
        if torch in self.missing:
            raise installations.InstallError(f"no torch {torch}")
        return f"python-{torch}"

    def packages(self, torch, transformers):
        return None

    def remove(self, torch):
        self.log.append(f"remove {torch}")


class Releases(Folder):
    def options(self, **more):
        return argparse.Namespace(out=self.folder, torch="2.15,2.6", transformers="5.12", use=[], **more)

    def record_all(self, missing=()):
        """What happens, in order."""
        log, lines = [], []
        cases = [{"id": "x", "model": "gpt2"}]
        everything = [releases.Results(self.folder, pair, cases) for pair in releases.pairs_of(self.options())]
        with unittest.mock.patch.object(releases, "Installations", lambda *_: StandInInstallations(log, missing)), \
                unittest.mock.patch.object(releases, "record_pair",
                                           lambda options, results, *_: log.append(results.pair.name)):
            releases.record_all(self.options(), everything, lines.append)
        return log, lines

    def test_the_list_has_sixty_cases_of_every_kind(self):
        cases = json.loads(releases.CASES.read_text())
        self.assertEqual(len({case["id"] for case in cases}), 60)
        self.assertEqual(len({halves.canonical(case_fields.complete(case)) for case in cases}), 60)
        self.assertEqual({presets.family_of(case) for case in cases}, set(presets.HF_CLASSES) | {"plain"})
        self.assertEqual({case.get("dist", {}).get("kind", "none") for case in cases},
                         {"none", "ddp", "fsdp1", "fsdp2", "fsdp2+tp"})

    def test_pairs_are_in_the_order_of_the_releases(self):
        names = [pair.name for pair in releases.pairs_of(argparse.Namespace(torch="2.6,2.15", transformers=None))]
        self.assertEqual(names[0], "torch2.15-transformers5.24")
        self.assertEqual(names[-1], "torch2.6-transformers5.12")
        self.assertEqual(len(names), 2 * len(releases.TRANSFORMERS))

    def test_environments_that_exist_come_first_and_the_next_is_fetched_meanwhile(self):
        log, _ = self.record_all()
        self.assertEqual(log, ["download 2.15", "torch2.6-transformers5.12", "remove 2.6",
                               "torch2.15-transformers5.12", "remove 2.15", "stop"])

    def test_a_release_that_cannot_be_installed_is_told_and_the_others_go_on(self):
        log, lines = self.record_all(missing=["2.6"])
        self.assertIn("torch2.15-transformers5.12", log)
        self.assertIn("torch 2.6: not installed: no torch 2.6", lines)

    def test_what_is_recorded_is_not_recorded_again(self):
        for torch in ("2.6", "2.15"):
            folder = self.folder / f"torch{torch}-transformers5.12"
            folder.mkdir()
            index.Index(folder).put(index.entry_of({"id": "x", "model": "gpt2"}, "ok", folder))
        self.assertEqual(self.record_all(), (["stop"], []))

    def test_what_took_too_long_is_recorded_again(self):
        folder = self.folder / "torch2.6-transformers5.12"
        folder.mkdir()
        index.Index(folder).put(index.entry_of({"id": "x", "model": "gpt2"}, "timeout", folder))
        self.assertIn("torch2.6-transformers5.12", self.record_all()[0])

    def test_an_excluded_pair_is_complete(self):
        results = releases.Results(self.folder, releases.Pair("2.6", "5.12"), [{"id": "x"}])
        self.assertFalse(results.is_complete())
        results.describe({"torch": "2.6.0", "transformers": "5.12.1"}, "transformers 5.12.1 requires torch>=2.7")
        self.assertTrue(releases.Results(self.folder, results.pair, [{"id": "x"}]).is_complete())

    def test_a_profile_is_a_gpu_of_the_simulated_device(self):
        variables = simulated_device.case_variables({"profile": "b200", "event_lag": 20})
        self.assertIn("name=NVIDIA B200", variables["FAKE_CUDA_GPU"])
        self.assertEqual(variables["FAKE_CUDA_EVENT_LAG"], "20")
        self.assertNotIn("FAKE_CUDA_GPU", simulated_device.case_variables({"profile": "a100-80"}))
        self.assertTrue(command.needs_fresh({"rig": {"profile": "b200"}}, argparse.Namespace(fresh=False)))

    def test_versions_are_releases(self):
        self.assertEqual(installations.release("2.15.0+cu132"), "2.15")


if __name__ == "__main__":
    unittest.main()
