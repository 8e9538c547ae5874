"""Readers of configurations take time and memory in proportion to a file's size.

reader_scaling_test.py HIGHWATER [PATTERN...]

Each case is a text of N and of 10 N repetitions. What counts is the ratio of their processor time, each
less that of an empty run: 10 where work is linear, 100 where it is quadratic. Refusals count as answers.
"""

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

HIGHWATER = Path(sys.argv[1]).resolve()
PATTERNS = sys.argv[2:]

TIMES = 10
MOST_TIMES = 20  # of time; noise of a busy machine is far below
MOST_MEMORY = 20
LEAST_SECONDS = 0.03  # below, a small run says nothing about growth
LEAST_MEMORY = 8 << 20
PATIENCE = 60  # seconds of processor time
MOST_ADDRESSES = 8 << 30  # bytes; beyond it a reader would stop the machine

LAUNCH = "torchrun --nproc_per_node 8 train.py --model_name_or_path gpt2 --bf16 True"


def lines(pattern, before="", after=""):
    """The pattern N times, {i} its number."""
    return lambda n: before + "".join(pattern.replace("{i}", str(i)) for i in range(n)) + after


def nested(begin, middle, end, before="", after=""):
    return lambda n: before + begin * n + middle + end * n + after


def script(pattern):
    return lines(pattern, after=LAUNCH + "\n")


AXOLOTL = "base_model: gpt2\nmicro_batch_size: 2\nsequence_len: 1024\n"
TITAN = '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nseq_len = 2048\n'
DEEPSPEED = '"train_micro_batch_size_per_gpu": 2, "zero_optimization": {"stage": 3}'

# Name, ending of the file ("": the text itself is given to --from), text of N, the larger N.
CASES = [
    ("yaml: unknown keys", ".yaml", lines("unknown_key_{i}: {i}\n", AXOLOTL), 15000),
    ("yaml: keys of a section", ".yaml", lines("  key_{i}: {i}\n", AXOLOTL + "optim_args:\n"), 15000),
    ("yaml: keys of many sections", ".yaml", lines("s{i}:\n  a: 1\n  b: x\n", AXOLOTL), 9000),
    ("yaml: more keys than allowed", ".yaml", lines("k{i}: 1\n", AXOLOTL), 300000),
    ("yaml: the same key", ".yaml", lines("lora_r: {i}\n", AXOLOTL), 15000),
    ("yaml: a long key", ".yaml", lines("key_{i}_", AXOLOTL, ": 1\n"), 200000),
    ("yaml: a long key above others", ".yaml", lambda n: AXOLOTL + "k" * (n * 20) + ":\n" + "  a: 1\n  b: 2\n" * (n // 2), 15000),
    ("yaml: keys of 200 letters", ".yaml", lines("k" * 200 + "_{i}: 1\n", AXOLOTL), 15000),
    ("yaml: nested flow mappings", ".yaml", nested("{a: ", "1", "}", AXOLOTL + "x: "), 100000),
    ("yaml: nested flow lists", ".yaml", nested("[", "1", "]", AXOLOTL + "x: "), 100000),
    ("yaml: nested blocks", ".yaml", lambda n: AXOLOTL + "".join(" " * i + "a:\n" for i in range(n)), 2000),
    ("yaml: a list", ".yaml", lines("  - {i}\n", AXOLOTL + "x:\n"), 150000),
    ("yaml: a flow list", ".yaml", lines("{i}, ", AXOLOTL + "x: [", "1]\n"), 150000),
    ("yaml: more items than allowed", ".yaml", lines("1,", AXOLOTL + "x: [", "1]\n"), 1500000),
    ("yaml: a list of mappings", ".yaml", lines("  - path: {i}\n", AXOLOTL + "datasets:\n"), 15000),
    ("yaml: comments", ".yaml", lines("# a comment {i}\n", AXOLOTL), 200000),
    ("yaml: comments behind values", ".yaml", lines("k{i}: 1  # a comment\n", AXOLOTL), 15000),
    ("yaml: quotes", ".yaml", lines("k{i}: \"a 'quoted' value\"\n", AXOLOTL), 15000),
    ("yaml: a long quoted value", ".yaml", lines("word\\n {i} ", AXOLOTL + 'x: "', '"\n'), 200000),
    ("yaml: a block of text", ".yaml", lines("  line {i}\n", AXOLOTL + "x: |\n"), 200000),
    ("yaml: empty lines", ".yaml", lines("\n", AXOLOTL), 2000000),
    ("yaml: anchors and aliases", ".yaml", lines("k{i}: *a\n", AXOLOTL + "a: &a {b: 1, c: [1, 2]}\n"), 9000),
    ("yaml: anchors", ".yaml", lines("k{i}: &a{i} {b: {i}}\n", AXOLOTL), 15000),
    ("yaml: aliases of aliases", ".yaml", lines("a{i}: &a{i} [*b, *b]\n", AXOLOTL + "b: &b [1]\n"), 9000),
    ("yaml: merged keys", ".yaml", lines("k{i}: {<<: *a, c: 2}\n", AXOLOTL + "a: &a {b: 1}\n"), 9000),
    ("yaml: values that name others", ".yaml", lines("k{i}: ${base_model}/${sequence_len}\n", AXOLOTL), 15000),
    ("yaml: values that grow", ".yaml", lines("k{i}: \"" + "${x}" * 100 + "\"\n", AXOLOTL + "x: " + "y" * 3000 + "\n"), 9000),
    ("yaml: a value that names many", ".yaml", lines("${base_model}", AXOLOTL + 'x: "', '"\n'), 200000),
    ("toml: unknown keys", ".toml", lines("unknown_key_{i} = {i}\n", TITAN), 15000),
    ("toml: unknown sections", ".toml", lines("[s{i}]\na = 1\n", TITAN), 15000),
    ("toml: more keys than allowed", ".toml", lines("k{i} = 1\n", TITAN), 300000),
    ("toml: a long dotted key", ".toml", lines("a.", TITAN, "a = 1\n"), 1500000),
    ("toml: a long dotted header", ".toml", lines("a.", "[", "a]\nb = 1\n"), 1500000),
    ("toml: dotted keys", ".toml", lines("a.b.c.d.e{i} = 1\n", TITAN), 15000),
    ("toml: a long key", ".toml", lines("key_{i}_", TITAN, " = 1\n"), 200000),
    ("toml: nested lists", ".toml", nested("[", "1", "]", TITAN + "x = "), 1500000),
    ("toml: nested tables", ".toml", nested("{a = ", "1", "}", TITAN + "x = "), 500000),
    ("toml: a list", ".toml", lines("{i}, ", TITAN + "x = [", "1]\n"), 150000),
    ("toml: arrays of tables", ".toml", lines("[[x]]\na = {i}\n", TITAN), 15000),
    ("toml: comments", ".toml", lines("# a 'comment [{i}\n", TITAN), 200000),
    ("toml: quotes", ".toml", lines("\"a.b.{i}\" = 'x'\n", TITAN), 15000),
    ("toml: a long text", ".toml", lines("line {i} \"\"\n", TITAN + 'x = """', '"""\n'), 200000),
    ("json: unknown keys", ".json", lines('"unknown_{i}": {i}, ', "{", DEEPSPEED + "}"), 15000),
    ("json: keys of a section", ".json", lines('"unknown_{i}": {i}, ', "{" + DEEPSPEED + ', "flops_profiler": {', '"z": 1}}'), 15000),
    ("json: more keys than allowed", ".json", lines('"k{i}": 1, ', "{", DEEPSPEED + "}"), 200000),
    ("json: a long key", ".json", lines("key_{i}_", "{" + DEEPSPEED + ', "', '": 1}'), 80000),
    ("json: a key many times", ".json", lines('"bf16": {"enabled": true}, ', "{", DEEPSPEED + "}"), 15000),
    ("json: nested lists", ".json", nested("[", "1", "]", "{" + DEEPSPEED + ', "x": ', "}"), 1500000),
    ("json: nested objects", ".json", nested('{"a": ', "1", "}", "{" + DEEPSPEED + ', "x": ', "}"), 500000),
    ("json: a list", ".json", lines("{i}, ", "{" + DEEPSPEED + ', "x": [', "1]}"), 150000),
    ("json: comments", ".json", lines("// a comment {i}\n", "{" + DEEPSPEED + "\n", "}"), 150000),
    ("json: escapes", ".json", lines("\\u00e9", "{" + DEEPSPEED + ', "x": "', '"}'), 150000),
    ("sh: unknown options", ".sh", lines(" --unknown_option_{i} {i}", LAUNCH, "\n"), 15000),
    ("sh: unknown flags", ".sh", lines(" --unknown_option_{i}", LAUNCH, "\n"), 15000),
    ("sh: more options than allowed", ".sh", lines(" --k{i} 1", LAUNCH, "\n"), 300000),
    ("sh: options of the launcher", ".sh", lines(" --k{i} 1", "torchrun --nproc_per_node 8", " train.py --model_name_or_path gpt2\n"), 15000),
    ("sh: words", ".sh", lines(" word{i}", LAUNCH, "\n"), 15000),
    ("sh: values of one option", ".sh", lines(" word{i}", LAUNCH + " --tasks", "\n"), 300000),
    ("sh: assignments as words", ".sh", lines(" a.b{i}={i}", "tune run full_finetune_single_device --config x.yaml", "\n"), 15000),
    ("sh: files that are not there", ".sh", lines(" --file_{i} file_{i}.yaml", LAUNCH, "\n"), 15000),
    ("sh: one file many times", ".sh", lines(" --deepspeed ds.json", LAUNCH, "\n"), 15000),
    ("sh: a long option", ".sh", lines("key_{i}_", LAUNCH + " --", " 1\n"), 200000),
    ("sh: a long word", ".sh", lines("word_{i}_", LAUNCH + " ", "\n"), 200000),
    ("sh: continued lines", ".sh", lines(" \\\n  --option_{i} {i}", LAUNCH, "\n"), 15000),
    ("sh: continued empty lines", ".sh", lines(" \\\n", LAUNCH, "--bf16 True\n"), 500000),
    ("sh: blanks behind backslashes", ".sh", lines(" \\ \n  --option_{i} {i}", LAUNCH, "\n"), 15000),
    ("sh: comments between lines", ".sh", lines(" \\\n  # a comment\n  --option_{i} {i}", LAUNCH, "\n"), 15000),
    ("sh: comments", ".sh", script("# a comment {i}\n"), 200000),
    ("sh: blanks", ".sh", lines(" ", LAUNCH, "\n"), 3000000),
    ("sh: empty lines", ".sh", script("\n"), 3000000),
    ("sh: headers of Slurm", ".sh", script("#SBATCH --nodes={i}\n"), 100000),
    ("sh: commands", ".sh", script("echo this is line {i}\n"), 100000),
    ("sh: launch lines", ".sh", lines(LAUNCH + " --seed {i}\n"), 30000),
    ("sh: one line of launch lines", ".sh", lines(LAUNCH + " "), 1000),
    ("sh: variables", ".sh", script("VARIABLE_{i}={i}\n"), 15000),
    ("sh: more variables than allowed", ".sh", script("V{i}={i}\n"), 300000),
    ("sh: variables in a line", ".sh", lambda n: "".join(f"V{i}={i}\n" for i in range(n)) + LAUNCH + "".join(f" --option_{i} $V{i}" for i in range(n)) + "\n", 9000),
    ("sh: one variable set again", ".sh", script("A=x{i}\n"), 15000),
    ("sh: a variable that grows", ".sh", script("A+=x{i}\n"), 15000),
    ("sh: a variable that grows by itself", ".sh", script('A="$A x{i}"\n'), 15000),
    ("sh: a variable doubled", ".sh", lines("A=$A$A\n", "A=a\n", LAUNCH + " $A\n"), 300),
    ("sh: an array that grows", ".sh", script("A+=(x{i})\n"), 100000),
    ("sh: an array that grows by itself", ".sh", script('A=("${A[@]}" x{i})\n'), 15000),
    ("sh: a long array", ".sh", lines(" item_{i}", "A=(", ")\n" + LAUNCH + ' --tasks "${A[@]}"\n'), 80000),
    ("sh: items of a long array", ".sh", lambda n: "A=(" + "x " * n + ")\n" + "".join(f"B=${{A[{i}]}}\n" for i in range(n)) + LAUNCH + "\n", 15000),
    ("sh: an array in a line", ".sh", lambda n: "A=(" + "x " * n + ")\n" + LAUNCH + ' "${A[@]}"' * n + "\n", 3000),
    ("sh: defaults", ".sh", script("V{i}=${V{i}:-{i}}\n"), 15000),
    ("sh: nested defaults", ".sh", nested("${A:-", "x", "}", "A=", "\n" + LAUNCH + "\n"), 500000),
    ("sh: products", ".sh", script("P=$((2 * 3 * {i}))\n"), 15000),
    ("sh: commands inside", ".sh", script("echo $(date {i}) `hostname`\n"), 50000),
    ("sh: brackets that stay open", ".sh", lines(' "$(', LAUNCH), 300000),
    ("sh: braces that stay open", ".sh", lines(" ${A", LAUNCH), 300000),
    ("sh: quotes", ".sh", lines(" \"a 'b' $C\" 'd \"e\"'", LAUNCH, "\n"), 9000),
    ("sh: a long quote", ".sh", lines("word {i} ", LAUNCH + ' --text "', '"\n'), 200000),
    ("sh: a quote that stays open", ".sh", lines("word {i} ", LAUNCH + ' --text "', "\n"), 200000),
    ("sh: escapes", ".sh", lines("\\a\\ ", LAUNCH + " ", "\n"), 500000),
    ("sh: nested if", ".sh", nested('if [ "$1" = a ]; then\nB=1\n', LAUNCH + "\n", "fi\n"), 20000),
    ("sh: nested if that differ", ".sh", lambda n: "".join(f'if [ "$1" = {i} ]; then\nB=${i}\n' for i in range(n)) + LAUNCH + "\nfi" * n + "\n", 20000),
    ("sh: if beside if", ".sh", script('if [ "$1" = {i} ]; then A{i}=1; else A{i}=2; fi\n'), 7000),
    ("sh: elif", ".sh", lines('elif [ "$1" = {i} ]; then A={i}\n', 'if [ "$1" = x ]; then A=x\n', "fi\n" + LAUNCH + "\n"), 15000),
    ("sh: nested case", ".sh", nested("case $1 in a)\nB=1\n", LAUNCH + "\n", ";;\nesac\n"), 20000),
    ("sh: patterns of case", ".sh", lines("{i}) A={i} ;;\n", "case $1 in\n", "esac\n" + LAUNCH + "\n"), 15000),
    ("sh: loops", ".sh", script("for i in 1 2 3; do echo $i; done\n"), 50000),
    ("sh: nested loops", ".sh", nested("for i in 1 2; do\n", LAUNCH + "\n", "done\n"), 50000),
    ("sh: here documents", ".sh", script("cat << EOF\n text {i} 'open\nEOF\n"), 50000),
    ("sh: a long here document", ".sh", lines("line {i}\n", "cat << EOF\n", "EOF\n" + LAUNCH + "\n"), 200000),
    ("sh: here documents that stay open", ".sh", lines("cat << EOF{i}\n", LAUNCH + "\n"), 200000),
    ("sh: scripts inside", ".sh", script("export A{i}={i}\nbash -c 'echo {i}'\n"), 9000),
    ("sh: a long script inside", ".sh", lines("echo {i}\n", "bash -c '", LAUNCH + "'\n"), 100000),
    ("sh: redirections", ".sh", lines(" > file{i}", LAUNCH, "\n"), 200000),
    ("sh: pipes", ".sh", lines(" | cat", LAUNCH, "\n"), 300000),
    ("line: unknown options", "", lines(" --unknown_option_{i} {i}", LAUNCH), 3500),
    ("line: many launch lines", "", lines(LAUNCH + " "), 1400),
    ("line: newlines", "", lines("\n", LAUNCH + " "), 120000),
    ("line: a script's arguments", "", lines(" {i}", "bash train.sh"), 15000),
]


class Usage:
    def __init__(self, seconds, memory):
        self.seconds, self.memory = seconds, memory


def run(source, folder):
    """Processor time and memory of one reading; None if it takes too long."""
    child = subprocess.Popen(
        [HIGHWATER, "simulate", "--from", source, "--gpu", "h100-80", "--model", "gpt2", "--print-options"],
        cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    resource.prlimit(child.pid, resource.RLIMIT_CPU, (PATIENCE, PATIENCE))
    resource.prlimit(child.pid, resource.RLIMIT_AS, (MOST_ADDRESSES, MOST_ADDRESSES))
    message = child.stderr.read()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return None
    assert child.returncode in (0, 2, 3), f"exit {child.returncode}: {message.decode(errors='replace')[:300]}"
    return Usage(used.ru_utime + used.ru_stime, used.ru_maxrss << 10)


def source_of(ending, text, folder):
    if not ending:
        return text
    path = folder / f"source{ending}"
    path.write_text(text)
    return path


def growth(large, small, empty, least):
    return (large - empty) / max(small - empty, least)


def why_too_much(case, folder, empty):
    """Nothing if the case takes time and memory in proportion."""
    _, ending, text, most = case
    small = run(source_of(ending, text(most // TIMES), folder), folder)
    large = run(source_of(ending, text(most), folder), folder)
    if small is None or large is None:
        return f"more than {PATIENCE} s", ""
    time = growth(large.seconds, small.seconds, empty.seconds, LEAST_SECONDS)
    memory = growth(large.memory, small.memory, empty.memory, LEAST_MEMORY)
    figures = (f"{small.seconds:.2f} s -> {large.seconds:.2f} s ({time:.1f} times), "
               f"{small.memory >> 20} -> {large.memory >> 20} MiB ({memory:.1f} times)")
    return ("time" if time > MOST_TIMES else "memory" if memory > MOST_MEMORY else ""), figures


def main():
    folder = Path(tempfile.mkdtemp(prefix="highwater-scaling-"))
    (folder / "ds.json").write_text("{" + DEEPSPEED + "}")
    failures = 0
    try:
        empty = run(source_of(".sh", LAUNCH + "\n", folder), folder)
        for case in CASES:
            if PATTERNS and not any(pattern in case[0] for pattern in PATTERNS):
                continue
            for _ in range(2):  # one more try: another program may have had the machine
                why, figures = why_too_much(case, folder, empty)
                if not why:
                    break
            print(f"{'FAILED: ' + why if why else 'ok'}: {case[0]}: {figures}", flush=True)
            failures += bool(why)
    finally:
        shutil.rmtree(folder)
    print(f"{failures} of the readers take more than {MOST_TIMES} times as much for {TIMES} times the text")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
