"""mypy, ruff and pytest over all Python of the project: lint_test.py VENV_FOLDER PACKAGE_FOLDER

They come from the package registry, once, into VENV_FOLDER; without a network the test is skipped.
"""
import os
import pathlib
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[3]
MODULE = "tools/python/module/highwater"
TOOLS = ("mypy", "pytest", "ruff")
SKIPPED = 4
#: Checked with the settings of pyproject.toml, which are strict, beside the module; that itself is checked in the
#: package of the build, with what is made there.
STRICT = ("tests/tools/python/module/scripts/typed.py",)
#: Checked by themselves: some name their modules alike.
PLAIN = ("tests/bench", "tests/data/edits", "tests/data/phases", "tests/faults", "tests/fuzz", "tests/tools/commands", "tests/tools/docs",
         "tests/tools/fleet", "tests/tools/html", "tests/tools/options", "tests/tools/python", "tools/docs/pictures",
         "tools/python/checks", "tools/python/engine",
         "tools/python/examples", "tools/python/frameworks", "tools/python/measure",
         "tools/python/module/learn_schemas.py", "tools/python/module/make_options.py",
         "tools/python/module/make_pages.py", "tools/python/module/make_results.py", "tools/python/mutation", "tools/python/release",
         "tools/python/recorder")


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


def checks(python, folder, package):
    yield [python, "-m", "ruff", "check", "--no-cache", "."]
    yield [python, "-m", "ruff", "check", "--no-cache", "--no-respect-gitignore", package]
    cache = f"--cache-dir={folder / 'mypy'}"
    yield [python, "-m", "mypy", cache, package / "highwater", *STRICT]
    for name in PLAIN:
        yield [python, "-m", "mypy", cache, "--config-file=", "--ignore-missing-imports", name]
    yield [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/tools/python/module/watch_test.py"]


def left_out():
    """Sources of Python that nothing above names."""
    sources = (path.relative_to(ROOT) for top in ("tests", "tools") for path in (ROOT / top).rglob("*.py"))
    named = {pathlib.PurePath(each) for each in (MODULE, *STRICT, *PLAIN)}
    return [source for source in sources if not named & {source, *source.parents}]


def main():
    folder, package = (pathlib.Path(each).resolve() for each in sys.argv[1:3])
    python = prepare(folder)
    if python is None:
        print("skipped: mypy, pytest and ruff cannot be installed without a package registry")
        return SKIPPED
    environment = {**os.environ, "PYTHONPATH": str(package), "MYPYPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    failed = [command for command in checks(python, folder, package)
              if subprocess.run(command, cwd=ROOT, env=environment).returncode != 0]
    for source in left_out():
        print(f"not checked: {source}; name its folder in PLAIN")
    for command in failed:
        print("failed:", *command[1:])
    return 1 if failed or left_out() else 0


if __name__ == "__main__":
    sys.exit(main())
