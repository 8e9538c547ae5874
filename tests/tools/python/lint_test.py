"""mypy, ruff and pytest over all Python of the project: lint_test.py VENV_FOLDER PACKAGE_FOLDER

They come from the package registry, once, into VENV_FOLDER; without a network the test is skipped.
"""
import os
import pathlib
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOOLS = ("mypy", "pytest", "ruff")
SKIPPED = 4
#: Folders that are checked by themselves: some name their modules alike.
PLAIN = ("checks", "engine", "examples", "frameworks", "measure", "mutation", "recorder")


def prepare(folder):
    """The Python of an environment with the tools; None where they cannot be had."""
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        venv.create(folder, with_pip=True, clear=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *TOOLS]
        if subprocess.run(install, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            return None
        (folder / "complete").touch()
    return python


def checks(python, folder):
    yield [python, "-m", "ruff", "check", "--no-cache", "."]
    cache = f"--cache-dir={folder / 'mypy'}"
    yield [python, "-m", "mypy", cache]
    for name in PLAIN:
        yield [python, "-m", "mypy", cache, "--config-file=", "--ignore-missing-imports", f"tools/python/{name}"]
    yield [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/tools/python/module/watch_test.py"]


def main():
    folder, package = (pathlib.Path(each).resolve() for each in sys.argv[1:3])
    python = prepare(folder)
    if python is None:
        print("skipped: mypy, pytest and ruff cannot be installed without a package registry")
        return SKIPPED
    environment = {**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    failed = [command for command in checks(python, folder)
              if subprocess.run(command, cwd=ROOT, env=environment).returncode != 0]
    for command in failed:
        print("failed:", *command[1:])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
