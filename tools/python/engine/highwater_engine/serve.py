"""A process that loads torch once and runs scripts in forks of itself, one for each line it reads.

Lines come and go through channel.py; what anything prints goes elsewhere.

A line is a JSON object: "number", which its answer has as well; "options", "changed" and "model" (job.py), "rank";
"environment": variables to set; "folder": an empty one for the script and its files; "limit": seconds. With "only_asks"
nothing is run.
The answer, also a line: "refused": why this plan cannot be carried out; or "status": the exit status (negative: a
signal), "reason": "timeout", or "device" when a fork cannot use the device because something that was loaded has
touched it, "log": the end of what the script printed. The status file of the recorder says the rest.
Answer 0 comes unasked: installed.releases(). torch is loaded at the first question.
"""
import ast
import contextlib
import ctypes
import importlib
import json
import os
import shutil
import signal
import sys
import time
import traceback
import types

from . import apart, asking, channel, installed, job, launchers

_NO_DEVICE = 97  # exit status of a fork that cannot use the device
_PATIENCE = 0.002  # seconds between two looks at what runs
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main():
    lines = channel.taken()
    lines.tell({"number": 0, **installed.releases()})
    _serve(lines)


def _serve(lines):
    """Several scripts may run at a time: how many is the business of who asks."""
    running = []
    try:
        while True:
            question = lines.next(_PATIENCE if running else None)
            if question is not None:
                begun = _begin(question)
                if isinstance(begun, _Run):
                    running.append(begun)
                else:
                    lines.tell({"number": question["number"], **begun})
            for run in [run for run in running if run.has_ended()]:
                running.remove(run)
                lines.tell({"number": run.number, **run.answer()})
    except (EOFError, ConnectionError, KeyboardInterrupt):  # nobody waits for an answer
        pass
    finally:
        for run in running:
            run.kill()


def _begin(request):
    """The answer, or the run that will give it."""
    try:
        job.require_plan(job.Plan(request["options"], request["changed"]))
    except job.Refused as refusal:
        return {"refused": str(refusal)}
    if apart.is_needed():
        with contextlib.suppress(job.Refused):
            _load_torch()
        jobs = apart.result(_jobs_of, request)
    else:
        jobs = _jobs_of(request)
    if isinstance(jobs, dict):
        return jobs
    if request["only_asks"]:
        likeliest = jobs[_likeliest(request, jobs)[0]]
        return {"status": 0, "note": likeliest.note, "assumed": likeliest.assumed}
    return _Run(request, jobs)


_ran: dict = {}  # model -> the way to train it that ended well


def _likeliest(request, jobs):
    """Places of the jobs to try: of the way that ended well before, or all. Another plan of the same model may have fewer."""
    known = [place for place, made in enumerate(jobs) if made.way == _ran.get(_model(request))]
    return known or list(range(len(jobs)))


def _model(request):
    return json.dumps([request["model"], request["options"].get("loss")])


def _jobs_of(request):
    """The jobs, or the answer that refuses them."""
    try:
        _load_torch()
        return job.from_request(request)
    except (job.Refused, asking.UnknownModel) as refusal:
        return {"refused": str(refusal)}
    except Exception as error:  # a configuration that transformers' own code cannot take
        return {"refused": f"transformers does not take this model: {type(error).__name__}: {error}"}


def _load_torch():
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # torch.cuda.is_available() asks NVML, not the driver
    try:
        import torch
    except Exception as error:
        raise job.Refused(f"import torch fails: {type(error).__name__}: {error}") from error
    apart.load_reporting(torch)


class _Run:
    """The scripts of a plan in forks of this process, one after another until one ends well."""

    def __init__(self, request, jobs):
        self.number = request["number"]
        self._request, self._jobs = request, jobs
        self._left = _likeliest(request, jobs)
        self._answers = []
        self._begin_next()

    def _begin_next(self):
        self._tried = self._left.pop(0)
        self._attempt = _Attempt(self._jobs[self._tried], self._request)

    def has_ended(self):
        if not self._attempt.has_ended():
            return False
        self._answers.append(self._attempt.answer())
        if self._answers[-1]["status"] == 0:
            _ran[_model(self._request)] = self._jobs[self._tried].way
        elif self._left and self._answers[-1]["reason"] is None:
            self._begin_next()
            return False
        return True

    def answer(self):
        """Of what ended well, else of the likeliest."""
        return self._answers[-1] if self._answers[-1]["status"] == 0 else self._answers[0]

    def kill(self):
        self._attempt.kill()


class _Attempt:
    """A script in a fork of this process."""

    def __init__(self, made, request):
        folder = request["folder"]
        _empty(folder)
        job.write(made, folder)
        kept = os.environ.get("HIGHWATER_SCRIPT_FOLDER")  # where a reader wants the script and its files
        if kept:
            os.makedirs(kept, exist_ok=True)
            job.write(made, kept)
        run = {**request, "environment": {**request["environment"], **job.variables(made, request["rank"])},
               "accelerate_config": made.accelerate_config, "script": os.path.join(folder, "train.py"),
               "log": os.path.join(folder, "log")}
        if not apart.is_needed():
            _load_imports(run["script"])
        self._told = {"note": made.note, "assumed": made.assumed}
        self._log = run["log"]
        self._end = time.monotonic() + run["limit"]
        self._answer = None
        self._pid = os.fork()
        if self._pid == 0:
            _become(run)
        os.setpgid(self._pid, self._pid)  # as the fork does: whoever is first

    def has_ended(self):
        ended, status = os.waitpid(self._pid, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            self._answer = {"status": code, "reason": "device" if code == _NO_DEVICE else None}
        elif time.monotonic() > self._end:
            self.kill()
            self._answer = {"status": -signal.SIGKILL, "reason": "timeout"}
        return self._answer is not None

    def answer(self):
        return {**self._answer, "log": _end_of(self._log), **self._told}

    def kill(self):
        os.killpg(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def _empty(folder):
    """What a script that failed has left."""
    for entry in os.scandir(folder):
        if entry.is_dir():
            shutil.rmtree(entry.path)
        else:
            os.unlink(entry.path)


def _end_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()[-2000:]
    except OSError:
        return ""


def _load_imports(path):
    """Imports what the script imports first, so that the next script finds it loaded."""
    with open(path, encoding="utf-8") as file:
        body = ast.parse(file.read()).body
    for statement in body:
        names = []
        if isinstance(statement, ast.Import):
            names = [(alias.name, None) for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and statement.level == 0:
            names = [(statement.module, alias.name) for alias in statement.names]
        for module, name in names:
            try:
                getattr(importlib.import_module(module), name or "__name__", None)
            except Exception:  # the script meets it again, and its message is the one to show
                return


def _become(run):
    """The fork: runs the script and does not return."""
    code = 1
    try:
        os.setpgid(0, 0)
        channel.leave()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        log = os.open(run["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.chdir(run["folder"])
        code = _execute(run)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    except BaseException as error:
        sys.last_value = error  # where the recorder looks for what ended the script
        traceback.print_exc()
    finally:
        _write_recording()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _execute(run):
    import torch
    if torch.cuda._is_in_bad_fork():
        return _NO_DEVICE
    os.environ.update(run["environment"])
    if run["accelerate_config"]:
        os.environ.update(launchers.accelerate_variables(run["accelerate_config"]))
    import highwater_record
    highwater_record.adopt(os.environ)
    sys.argv = [run["script"]]
    sys.path.insert(0, run["folder"])
    with open(run["script"], encoding="utf-8") as file:
        code = compile(file.read(), run["script"], "exec")
    main = sys.modules["__main__"] = types.ModuleType("__main__")  # what it holds lives until the process ends
    main.__file__ = run["script"]
    exec(code, vars(main))
    return 0


def _write_recording():
    """The end of a process without its exit handlers: those of the parent's modules belong to the parent."""
    from highwater_record import recorder
    if recorder._crashing is not None:
        recorder._crashing.write("exit")
