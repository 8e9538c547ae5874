"""Answers requests in the Python of a program: what its own parser makes of a file or a launch line.

    python serve.py PROGRAM < requests > answers

A request is a line of JSON, {"argv": [...], "files": {name: text}}; the answer is {"meaning": {field: value}} or
{"refused": why}. Each is read in a folder of its own that holds the files.
"""

import contextlib
import importlib
import io
import json
import os
import sys
import tempfile


def answer(resolve, request):
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said, \
            contextlib.redirect_stderr(said):
        for name, text in request["files"].items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        os.chdir(folder)
        try:
            return {"meaning": resolve(request)}
        except SystemExit:
            return {"refused": (said.getvalue().strip().split("\n") or [""])[-1]}
        except Exception as problem:  # whatever a parser raises is its refusal
            return {"refused": f"{type(problem).__name__}: {problem}"[:400]}
        finally:
            os.chdir("/")


def main():
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a program prints by itself
    resolve = importlib.import_module("of_" + sys.argv[1]).meaning
    for line in sys.stdin:
        print(json.dumps(answer(resolve, json.loads(line))), file=answers, flush=True)


if __name__ == "__main__":
    main()
