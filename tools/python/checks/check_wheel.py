#!/usr/bin/env python3
"""Checks that a wheel starts wherever its name says: check_wheel.py WHEEL...

manylinux_2_28 promises a glibc of 2.28 or later and a libgcc_s of its time, and nothing else. So no program or
library in it may take a newer version of a symbol, or a library that is neither theirs nor in the wheel. The fake CUDA
libraries that `highwater record` unpacks are files inside the program; they are checked, too.

Where auditwheel is installed, `auditwheel show WHEEL` is the second opinion on all but these.
"""
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PLATFORM = re.compile(r"manylinux_(\d+)_(\d+)_\w+")
#: "U pthread_create@GLIBC_2.34", "w __cxa_finalize@GLIBC_2.2.5"
SYMBOL = re.compile(r"(\S+)@+(GLIBC|GCC|GLIBCXX|CXXABI)_([\d.]+)")
#: What every Linux of manylinux has (PEP 600).
EVERYWHERE = re.compile(r"lib(c|m|pthread|dl|rt|gcc_s)\.so\.\d+|ld-linux-[\w-]+\.so\.\d+")
#: Of GCC 8, whose libgcc_s the systems with glibc 2.28 have (libgcc/libgcc-std.ver.in of its sources).
NEWEST_GCC = (7, 0, 0)
ELF_OF_64_BITS = b"\x7fELF\x02\x01\x01"
PROGRAM_OR_LIBRARY = (2, 3)


def release(text):
    return tuple(int(part) for part in text.split("."))


def promised_glibc(wheel):
    """The oldest glibc that the platforms in `wheel`'s name allow, or None where they name none."""
    allowed = [(int(major), int(minor)) for major, minor in PLATFORM.findall(wheel.stem.rpartition("-")[2])]
    return min(allowed, default=None)


def length_of_elf(image):
    """The bytes of the file that `image` begins with: the table of sections stands at its end."""
    sections, = struct.unpack_from("<Q", image, 0x28)
    size, count = struct.unpack_from("<HH", image, 0x3A)
    return sections + size * count


def elf_files(content):
    """Every program and library in `content`, itself among them."""
    at = content.find(ELF_OF_64_BITS)
    while at >= 0:
        image = content[at:]
        if len(image) > 0x40 and struct.unpack_from("<H", image, 0x10)[0] in PROGRAM_OR_LIBRARY:
            length = length_of_elf(image)
            if 0x40 < length <= len(image):
                yield at, image[:length]
        at = content.find(ELF_OF_64_BITS, at + 1)


def binutils(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def dynamic_facts(file):
    """Of a library or program: the libraries that it needs, its own name, and what it takes: [(symbol, family, release)]."""
    dynamic = binutils("readelf", "-d", "-W", file)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    name = re.findall(r"\(SONAME\).*\[(.*)\]", dynamic)
    taken = SYMBOL.findall(binutils("nm", "-D", "--undefined-only", "--with-symbol-versions", file))
    return needed, name, sorted((symbol, family, release(number)) for symbol, family, number in taken)


def is_too_new(family, number, glibc):
    """Of C++'s own library all is too new: it is linked in."""
    newest = {"GLIBC": glibc, "GCC": NEWEST_GCC}.get(family)
    return newest is None or number > newest


def facts_of(content, folder):
    """Of each ELF file in `content`: where it begins, and its dynamic_facts."""
    file = Path(folder) / "file"
    for at, image in elf_files(content):
        file.write_bytes(image)
        yield at, dynamic_facts(file)


def all_facts(wheel):
    """[(place, dynamic facts)] of all that `wheel` has."""
    facts = []
    with zipfile.ZipFile(wheel) as archive, tempfile.TemporaryDirectory() as folder:
        for name in archive.namelist():
            for at, fact in facts_of(archive.read(name), folder):
                inside = f", at byte {at} of it{': ' + fact[1][0] if fact[1] else ''}" if at else ""
                facts.append((f"{name}{inside}", fact))
    return facts


def problems_of(wheel):
    glibc = promised_glibc(wheel)
    if glibc is None:
        return [f"{wheel.name}: its name promises no glibc; expected manylinux_X_Y_... at its end"]
    facts = all_facts(wheel)
    if not facts:
        return [f"{wheel.name}: has no program and no library for a machine of 64 bits; is it the right file?"]
    own = {name for _, (_, names, _) in facts for name in names}
    found = []
    for place, (needed, _, taken) in facts:
        for symbol, family, number in taken:
            if is_too_new(family, number, glibc):
                found.append(f"{wheel.name}: {place}: takes {symbol} of {family} {'.'.join(map(str, number))}; "
                             f"the name promises glibc {glibc[0]}.{glibc[1]}: tools/build/old_glibc.cpp")
        for library in needed:
            if not EVERYWHERE.fullmatch(library) and library not in own:
                found.append(f"{wheel.name}: {place}: needs {library}, which not every Linux has")
    return found


def main(words):
    if not words:
        print(__doc__.split("\n\n", 1)[0], file=sys.stderr)
        return 2
    problems = [problem for word in words for problem in problems_of(Path(word))]
    print("\n".join(problems) or f"{len(words)} checked: they start wherever their names say")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
