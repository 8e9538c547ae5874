"""Installed releases of PyTorch and transformers: one environment at a time, made by pip and removed again.

PyTorch is installed without NVIDIA's libraries, which the simulated device replaces; transformers lies in a folder of
its own in front of it, so that one PyTorch serves all of its releases.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import venv

REPLACED = ("nvidia-", "cuda-")  # requirements of PyTorch's wheels that are not installed

_VERSIONS = """
import importlib.metadata as m, json
def version(name):
    try:
        return m.version(name)
    except m.PackageNotFoundError:
        return None
print(json.dumps({name: version(name) for name in ("torch", "transformers")}))
"""

# What a package requires on this machine; "extra" names one of its optional parts.
_REQUIREMENTS = """
import importlib.metadata as m, json, sys
try:
    from packaging.requirements import Requirement
except ImportError:
    from pip._vendor.packaging.requirements import Requirement
package, extra = sys.argv[1:]
found = map(Requirement, m.requires(package) or ())
print(json.dumps([[r.name, str(r.specifier)] for r in found
                  if r.marker is None or r.marker.evaluate({"extra": extra})]))
"""

_ALLOWS = """
import sys
try:
    from packaging.specifiers import SpecifierSet
except ImportError:
    from pip._vendor.packaging.specifiers import SpecifierSet
print(SpecifierSet(sys.argv[1]).contains(sys.argv[2], prereleases=True))
"""


class InstallError(Exception):
    """pip could not install a release; the message is its own."""


def release(version):
    """"2.15.0+cu132" -> "2.15"."""
    return ".".join(re.split(r"[.+]", version)[:2])


def ask(python, script, *arguments, packages=None):
    """What a script prints in another Python."""
    variables = {**os.environ, "PYTHONPATH": str(packages or "")}
    done = subprocess.run([str(python), "-c", script, *arguments], env=variables, capture_output=True, text=True)
    if done.returncode != 0:
        raise InstallError(f"{python}: {done.stderr.strip()[-300:]}")
    return done.stdout


def versions(python, packages=None):
    """{"torch": version or None, "transformers": ...}; nothing is imported."""
    return json.loads(ask(python, _VERSIONS, packages=packages))


def requirements(python, package, extra="", packages=None):
    """[[name, specifier], ...]"""
    return json.loads(ask(python, _REQUIREMENTS, package, extra, packages=packages))


def contradiction(python, packages=None):
    """Why the two installed packages do not go together by transformers' own requirements; None if they do."""
    found = versions(python, packages)
    for name, specifier in requirements(python, "transformers", "torch", packages):
        if name == "torch" and ask(python, _ALLOWS, specifier, found["torch"], packages=packages).strip() != "True":
            return f"transformers {found['transformers']} requires torch{specifier}"
    return None


def pip(python, *arguments):
    """@raises InstallError"""
    done = subprocess.run([str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments],
                          capture_output=True, text=True)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or [done.stderr.strip()]
        raise InstallError(lines[-1].removeprefix("ERROR: ")[-300:])


class Downloads:
    """Wheels of PyTorch, one of them in the background while something else runs."""

    def __init__(self, folder):
        self.folder, self.running = folder, {}

    def wheel(self, torch):
        return next(iter(self.folder.glob(f"torch-{torch}.*.whl")), None)

    def begin(self, torch):
        if torch not in self.running and not self.wheel(torch):
            self.folder.mkdir(parents=True, exist_ok=True)
            self.running[torch] = subprocess.Popen(
                [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "download", "--no-deps",
                 "--dest", str(self.folder), f"torch=={torch}.*"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                text=True)

    def finish(self, torch):
        """The wheel. @raises InstallError"""
        self.begin(torch)
        process = self.running.pop(torch, None)
        if process and process.wait() != 0:
            raise InstallError(f"torch {torch}: {process.stderr.read().strip()[-300:]}")
        return self.wheel(torch)

    def stop(self):
        """pip continues no download, but keeps what is complete in its cache."""
        for process in self.running.values():
            process.kill()
            process.wait()


class Installations:
    """given: Pythons that are used where they have the release, and are never changed."""

    def __init__(self, folder, given=()):
        self.folder = folder
        self.downloads = Downloads(folder / "wheels")
        self.given = {release(versions(python)["torch"]): python for python in given}

    def _environment(self, torch):
        return self.folder / f"torch-{torch}"

    def _complete(self, torch):
        return self._environment(torch) / "complete"

    def is_here(self, torch):
        return torch in self.given or self._complete(torch).exists()

    def python(self, torch):
        """The Python with this release, which is installed if it is not there. @raises InstallError"""
        if torch in self.given:
            return self.given[torch]
        python = self._environment(torch) / "bin" / "python"
        if not self._complete(torch).exists():
            self.remove_all()
            self._install(torch, python)
            self._complete(torch).touch()
        return python

    def _install(self, torch, python):
        wheel = self.downloads.finish(torch)
        venv.create(self._environment(torch), with_pip=True)
        pip(python, "install", "--no-deps", str(wheel))
        wheel.unlink()
        needed = [name + specifier for name, specifier in requirements(python, "torch")
                  if not name.startswith(REPLACED)]
        pip(python, "install", *needed)

    def packages(self, torch, transformers):
        """The folder with this release for the Python with that PyTorch; None where it is installed there.

        @raises InstallError
        """
        python = self.python(torch)
        installed = versions(python)["transformers"]
        if installed and release(installed) == transformers:
            return None
        folder = self.folder / f"transformers-{transformers}"
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            pip(python, "install", "--target", str(folder), f"transformers=={transformers}.*")
            (folder / "complete").touch()
        return folder

    def remove(self, torch):
        shutil.rmtree(self._environment(torch), ignore_errors=True)

    def remove_all(self):
        """Every environment of PyTorch that was made here."""
        for path in self.folder.glob("torch-*"):
            shutil.rmtree(path)
