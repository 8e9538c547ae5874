#!/usr/bin/env python3
"""The C++ compiler for an extension that never computes anything: what install.py names as CXX.

  EXTENSION_HEADER=/path/extensions.h EXTENSION_PRECOMPILED=/folder compiler.py ARGUMENTS OF c++

Compiles without optimization, whatever the arguments say, and reads the header that all sources include from a
precompiled copy in the folder. Linking is left as it is.
"""

import fcntl
import os
import subprocess
import sys

PLAIN = ["-O0", "-g0"]  # behind the arguments, whose -O3 comes last in them


def header_flags(arguments):
    """The arguments without what names one source and its outputs."""
    flags = []
    rest = iter(arguments)
    for argument in rest:
        if argument in ("-MF", "-o"):
            next(rest)
        elif argument not in ("-c", "-MMD") and not argument.endswith(".cpp"):
            flags.append(argument)
    return flags


def precompile(folder, arguments):
    """Makes FOLDER/all.h and all.h.gch, once; others that ask meanwhile wait."""
    header = os.path.join(folder, "all.h")
    with open(os.path.join(folder, "lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(header + ".gch"):
            with open(header, "w", encoding="utf-8") as text:
                text.write(f'#include "{os.environ["EXTENSION_HEADER"]}"\n')
            made = header + ".new"
            subprocess.run(["c++", *header_flags(arguments), *PLAIN, "-x", "c++-header", header, "-o", made], check=True)
            os.rename(made, header + ".gch")
    return header


def main():
    arguments = sys.argv[1:]
    if "-c" not in arguments or not any(argument.endswith(".cpp") for argument in arguments):
        os.execvp("c++", ["c++", *arguments])
    header = precompile(os.environ["EXTENSION_PRECOMPILED"], arguments)
    os.execvp("c++", ["c++", "-include", header, *arguments, *PLAIN])


if __name__ == "__main__":
    main()
