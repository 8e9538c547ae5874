"""Turns a folder of results into one of traces/recorded/: the compact forms and their index."""

import lzma
import re
import subprocess
from pathlib import Path

from .case_run import write_atomically
from .index import FINISHED, Index, files_of


class BundleError(Exception):
    """Results that cannot be bundled; the message explains why and what to do."""


def add_options(parser):
    parser.add_argument("results", help="folder written by record")
    parser.add_argument("root", help="traces/recorded of the repository; the folder <gpu>-<torch> is created in it")
    parser.add_argument("--highwater", required=True, metavar="FILE",
                        help="the program, for `convert`: X.pickle.xz to X.hwt.xz")
    parser.add_argument("--name", help="name of the folder, instead of <gpu>-<torch>")
    parser.add_argument("--no-index", action="store_true",
                        help="write no index.json: of a simulated device, whose cases are in neither half")


def slug(text):
    """Of a device's name: NVIDIA H100 80GB HBM3 -> h100-80gb-hbm3."""
    words = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return words.removeprefix("nvidia-") or "gpu"


def folder_name(about):
    """@raises BundleError for an index without the device"""
    try:
        release = about["torch"].split("+")[0]
        return f"{slug(about['gpu']['name'])}-{release}"
    except KeyError as missing:
        raise BundleError(f"index.json does not name the device ({missing}): record at least one batch with "
                          "--device cuda, or give --name") from None


def convert(program, source, target):
    partial = target.with_name(f".partial-{target.name}")  # the extension determines the format
    try:
        done = subprocess.run([program, "convert", str(source), str(partial)], capture_output=True, text=True)
    except OSError as error:
        raise BundleError(f"{program} cannot be run: {error.strerror}; build it and give --highwater") from None
    if done.returncode != 0:
        partial.unlink(missing_ok=True)
        raise BundleError(f"{source.name}: {done.stderr.strip()}")
    partial.rename(target)


def compress(source, target):
    text = source.read_bytes()
    write_atomically(target, lambda partial: partial.write_bytes(lzma.compress(text, preset=9)))


def bundle_case(case_id, results, folder, program):
    """The description comes last: a case that has one is complete."""
    history, description = folder / f"{case_id}.hwt.xz", folder / f"{case_id}.json.xz"
    if not description.exists():
        convert(program, results / f"{case_id}.pickle.xz", history)
        compress(results / f"{case_id}.json", description)


def run(options):
    """@raises BundleError"""
    results = Path(options.results)
    index = Index(results)
    if not index.entries:
        raise BundleError(f"{results} has no index.json with cases: run record first")
    folder = Path(options.root) / (options.name or folder_name(index.about))
    folder.mkdir(parents=True, exist_ok=True)
    target = Index(folder)
    target.about = index.about
    for entry in index.entries.values():
        if entry["outcome"] in FINISHED:
            bundle_case(entry["id"], results, folder, options.highwater)
        target.entries[entry["id"]] = {**entry, "files": files_of(folder, entry["id"])}
    if not options.no_index:
        target.write()
    sizes = [size for entry in target.entries.values() for size in entry["files"].values()]
    print(f"{folder}: {len(target.entries)} cases, {sum(sizes) / 2**20:.1f} MiB in {len(sizes)} files")
    return 0
