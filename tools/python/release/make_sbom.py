#!/usr/bin/env python3
"""Lists the software inside the wheel: make_sbom.py BUILD VERSION OUTPUT

BUILD is the build folder of a wheel (build/wheel). Which files went into the program and the module is asked of ninja,
headers included, and whose they are of dpkg and of Python's packages; licences.json, beside this file, says under which
licence each is. A package that it lacks is an error, so that nothing is linked in unlisted. What it leaves out is no part of the
wheel: headers that describe an interface, above all.

The list is a CycloneDX 1.5 document. SOURCE_DATE_EPOCH is its time, and it is the same whenever its contents are.
"""
import datetime
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import uuid
from pathlib import Path

LICENCES = Path(__file__).with_name("licences.json")
TARGETS = ("highwater", "highwater_native")
FIELDS = "${binary:Package}\t${Version}\t${source:Package}\n"


class Unlisted(Exception):
    """A package that licences.json does not have."""


def output_of(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def files_read(build):
    """Every file outside of the project that compiler, linker and embedding read for the wheel."""
    inputs = output_of("ninja", "-C", build, "-t", "inputs", *TARGETS).splitlines()
    objects = [name for name in inputs if name.endswith(".o")]
    headers = [line.strip() for line in output_of("ninja", "-C", build, "-t", "deps", *objects).splitlines() if line.startswith("    ")]
    return {os.path.realpath(Path(build, name)) for name in (*inputs, *headers) if Path(build, name).is_file()}


def linked_by_the_compiler():
    """The archive that -static-libstdc++ links in, which no command line names."""
    return os.path.realpath(output_of("c++", "-print-file-name=libstdc++.a").strip())


def debian_packages(files):
    """{package: version} by source package, of the packages that `files` belong to; files of none are left out."""
    done = subprocess.run(["dpkg", "-S", *files], capture_output=True, text=True)
    names = sorted({name for line in done.stdout.splitlines() for name in line.split(": ")[0].split(", ")})
    rows = [line.split("\t") for line in output_of("dpkg-query", "-W", "-f", FIELDS, *names).splitlines()] if names else []
    return {source: (name.split(":")[0], version) for name, version, source in rows}


def python_packages(files):
    """The same of packages of pip: those with a header among `files`."""
    found = {}
    for file in files:
        folders = re.fullmatch(r"(.*/(?:site|dist)-packages)/([^/]+)/.*\.(?:h|hpp)", file)
        if folders and folders[2] not in found:
            [owner] = importlib.metadata.distributions(name=folders[2], path=[folders[1]])
            found[folders[2]] = (folders[2], owner.version)
    return found


def component(row, package, version, kind):
    purl = f"pkg:pypi/{package}@{version}" if kind == "pypi" else f"pkg:deb/debian/{package}@{version}"
    return {"type": "library", "bom-ref": purl, "name": row["name"], "version": version, "purl": purl,
            "licenses": [{"expression": row["licence"]}],
            "externalReferences": [{"type": "website", "url": row["url"]}]}


def components(packages, licences, kind):
    """Those of `packages` that become part of the wheel. @throws Unlisted"""
    parts = []
    for source, (package, version) in sorted(packages.items()):
        row = next((each for each in licences["embedded"] if re.fullmatch(each["source"], source)), None)
        if row:
            parts.append(component(row, package, version, kind))
        elif not any(re.fullmatch(pattern, source) for pattern in licences["left_out"]):
            raise Unlisted(f"{package} {version} (source package {source}) goes into the wheel; "
                           f"give it a row with its licence in {LICENCES.name}")
    return parts


def document(version, parts, epoch):
    own = f"pkg:pypi/highwater-gpu@{version}"
    contents = json.dumps(parts, sort_keys=True)
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, own + contents)}",
            "metadata": {"timestamp": datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
                         "component": {"type": "application", "bom-ref": own, "name": "highwater-gpu", "version": version, "purl": own}},
            "components": parts,
            "dependencies": [{"ref": own, "dependsOn": [part["bom-ref"] for part in parts]}]}


def main(words):
    if len(words) != 3:
        print(__doc__.split("\n\n", 1)[0], file=sys.stderr)
        return 2
    build, version, output = words
    licences = json.loads(LICENCES.read_text(encoding="utf-8"))
    files = sorted(files_read(build) | {linked_by_the_compiler()})
    try:
        parts = (components(debian_packages(files), licences, "deb") + components(python_packages(files), licences, "pypi"))
    except Unlisted as problem:
        print(f"make_sbom.py: {problem}", file=sys.stderr)
        return 1
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
    Path(output).write_text(json.dumps(document(version, parts, epoch), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{output}: {', '.join(part['name'] + ' ' + part['version'] for part in parts)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
