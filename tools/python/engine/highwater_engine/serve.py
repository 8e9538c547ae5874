"""A process that loads torch once and runs scripts in forks of itself, one for each line it reads.

A line is a JSON object: "number", which its answer has as well; "options", "changed" and "model" (job.py), "rank";
"environment": variables to set; "folder": an empty one for the script and its files; "limit": seconds. With "only_asks"
nothing is run.
The answer, also a line: "refused": why this plan cannot be carried out; or "status": the exit status (negative: a
signal), "reason": "timeout", or "device" when a fork cannot use the device because something that was loaded has
touched it, "log": the end of what the script printed. The status file of the recorder says the rest.
Answer 0 comes unasked: installed.releases(). torch is loaded at the first question.
"""
import ast
import ctypes
import importlib
import json
import os
import select
import signal
import sys
import time
import traceback
import types

from . import architectures, installed, job, launchers

_NO_DEVICE = 97  # exit status of a fork that cannot use the device
_PATIENCE = 0.002  # seconds between two looks at what runs
_PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what scripts and libraries print is no answer
    _tell(answers, 0, installed.releases())
    _serve(_Questions(), answers)


def _tell(answers, number, answer):
    answers.write(json.dumps({"number": number, **answer}) + "\n")
    answers.flush()


def _serve(questions, answers):
    """Several scripts may run at a time: how many is the business of who asks."""
    running = []
    try:
        while True:
            question = questions.next(_PATIENCE if running else None)
            if question is not None:
                begun = _begin(question)
                if isinstance(begun, _Run):
                    running.append(begun)
                else:
                    _tell(answers, question["number"], begun)
            for run in [run for run in running if run.has_ended()]:
                running.remove(run)
                _tell(answers, run.number, run.answer())
    except EOFError:  # nobody waits for an answer
        pass
    finally:
        for run in running:
            run.kill()


class _Questions:
    """What stands on the standard input, a line each."""

    def __init__(self):
        self._unread = b""

    def next(self, patience):
        """The next question, or None after `patience` seconds. @raises EOFError"""
        while b"\n" not in self._unread:
            if not select.select([0], [], [], patience)[0]:
                return None
            received = os.read(0, 1 << 16)
            if not received:
                raise EOFError
            self._unread += received
        line, self._unread = self._unread.split(b"\n", 1)
        return json.loads(line)


def _begin(request):
    """The answer, or the run that will give it."""
    try:
        _load_torch()
        made = job.from_request(request)
    except (job.Refused, architectures.UnknownModel) as refusal:
        return {"refused": str(refusal)}
    except Exception as error:  # a configuration that transformers' own code cannot take
        return {"refused": f"transformers does not take this model: {type(error).__name__}: {error}"}
    if request["only_asks"]:
        return {"status": 0}
    job.write(made, request["folder"])
    return _Run({**request, "environment": {**request["environment"], **job.variables(made, request["rank"])},
                 "accelerate_config": made.accelerate_config, "script": os.path.join(request["folder"], "train.py"),
                 "log": os.path.join(request["folder"], "log")})


def _load_torch():
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # torch.cuda.is_available() asks NVML, not the driver
    try:
        import torch  # noqa: F401
    except Exception as error:
        raise job.Refused(f"import torch fails: {type(error).__name__}: {error}") from error


class _Run:
    """A script in a fork of this process."""

    def __init__(self, request):
        _load_imports(request["script"])
        self.number = request["number"]
        self._log = request["log"]
        self._end = time.monotonic() + request["limit"]
        self._answer = None
        self._pid = os.fork()
        if self._pid == 0:
            _become(request)
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
        return {**self._answer, "log": _end_of(self._log)}

    def kill(self):
        os.killpg(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


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


if __name__ == "__main__":
    main()
