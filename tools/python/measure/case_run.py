"""One case in this process: runs it and writes X.json and X.pickle.xz, both or neither."""

import json
import lzma
import os
import pickle
import time
import traceback
from pathlib import Path

from . import environment, history, option_words, stand_ins
from .recorder import Recorder


def limit_memory(torch, mib):
    if mib:
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(min(1.0, mib * 2**20 / total))


def execute(run, program):
    """Runs the case until it ends, however it ends; the report receives status, error and seconds."""
    began = time.time()
    report, recorder = run.report, run.recorder
    try:
        program(run)
        report["status"] = "ok"
    except run.torch.OutOfMemoryError as error:
        report["status"], report["error"] = "oom", str(error)[:2000]
        recorder.mark("oom")
    except Exception:
        report["status"], report["error"] = "error", traceback.format_exc()[-6000:]
        recorder.mark("error")
    report["seconds"] = round(time.time() - began, 2)


def describe_history(report, recorder, snapshot):
    trace = max(snapshot["device_traces"], key=len, default=[])
    before = [marker for marker in recorder.markers if not marker.get("after_snapshot")]
    positions, report["peaks"], summary = history.analyse(trace, before, recorder.labels)
    for marker, position in zip(before, positions):
        marker["trace_index"] = position
    report["trace"] = {**summary, "until": len(trace)}
    report["allocator_settings"] = snapshot.get("allocator_settings")
    report["segments_at_snapshot"] = history.compact_segments(snapshot["segments"])


def write_atomically(path, write):
    """A file that exists is complete."""
    partial = path.with_name(f".{path.name}.partial")
    try:
        write(partial)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def write_snapshot(snapshot, path):
    history.share_frames(snapshot)

    def write(partial):
        with lzma.open(partial, "wb", preset=6) as file:
            pickle.dump(snapshot, file, protocol=4)

    write_atomically(path, write)


def write_report(report, path):
    text = json.dumps(report, separators=(",", ":"), default=str) + "\n"
    write_atomically(path, lambda partial: partial.write_text(text))


def make_run(case, options):
    """The start of the recording: after this every block is in the history."""
    from .training import Run
    torch = environment.import_torch()
    live = options.device == "cuda"
    used_before = environment.used_without_context() if live else None
    if live:
        environment.require_device(torch)
        torch.cuda.set_device(0)
        limit_memory(torch, case["memory_limit_mib"])
        if options.fake_device:
            stand_ins.patch_for_fake_device(case)
    else:
        stand_ins.patch_for_cpu(torch)
    torch.manual_seed(0)
    stacks = case["stacks"] or options.stacks
    report = {"case": case, "status": "running", **environment.versions(torch), "device": options.device,
              "fake_device": options.fake_device, "stacks": stacks,
              "alloc_conf_env": os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")}
    if live:
        report["gpu"] = {**environment.gpu_properties(torch), "nvml_used_before": used_before}
    recorder = Recorder(torch, live, stacks, options.reads_driver)
    recorder.mark("start")
    return Run(torch, case, options.device, options.tiny, options.fake_device, recorder, report)


def run_case(case, program, options):
    """case: complete. The report appears last, so a case with a report is finished. Returns the report."""
    run = make_run(case, options)
    execute(run, program)
    report, recorder, out = run.report, run.recorder, Path(options.out)
    snapshot = report.pop("_snapshot", None) or recorder.snapshot()
    recorder.stop()
    if recorder.live:
        report["gpu"]["mem_get_info_end"] = list(run.torch.cuda.mem_get_info())
        describe_history(report, recorder, snapshot)
        write_snapshot(snapshot, out / f"{case['id']}.pickle.xz")
    report["markers"] = recorder.markers
    if report["case"] is case:  # a program with fields of its own has described itself
        report["case"] = option_words.described(case, report.get("model", {}).get("family", ""))
    write_report(report, out / f"{case['id']}.json")
    return report
