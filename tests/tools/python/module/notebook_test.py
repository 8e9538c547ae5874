"""The notebook, executed in an environment of its own: notebook_test.py VENV_FOLDER PACKAGE_FOLDER

Its requirements come from the package registry, once, into VENV_FOLDER; without a network it is skipped.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import venv

NOTEBOOK = pathlib.Path(__file__).resolve().parents[4] / "tools/python/module/notebook"
SKIPPED = 4
RUN = """
import sys, nbformat, nbclient
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
text = "".join(output.get("text", "") for output in outputs)
pictures = [output for output in outputs if "<iframe" in str(output.get("data", {}).get("text/html", ""))]
assert "OUT OF MEMORY" in text and "largest batch:" in text, text
assert len(pictures) >= 3, len(pictures)
"""


def prepare(folder):
    """The Python of an environment with what the notebook needs; None where it cannot be had."""
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        venv.create(folder, with_pip=True, clear=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r",
                   NOTEBOOK / "requirements.txt"]
        if subprocess.run(install, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0:
            return None
        subprocess.run([python, "-m", "ipykernel", "install", "--sys-prefix"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        (folder / "complete").touch()
    return python


def main():
    folder, package = (pathlib.Path(each).resolve() for each in sys.argv[1:3])
    python = prepare(folder)
    if python is None:
        print("skipped: the notebook's requirements cannot be installed without a package registry")
        return SKIPPED
    with tempfile.TemporaryDirectory() as empty:
        return subprocess.run([python, "-c", RUN, NOTEBOOK / "snapshot_to_verdict.ipynb"], cwd=empty,
                              env={**os.environ, "PYTHONPATH": str(package)}).returncode


if __name__ == "__main__":
    sys.exit(main())
