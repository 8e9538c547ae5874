#!/usr/bin/env python3
"""How a command scales over ranks: fleet_scaling.py HIGHWATER [options] -- COMMAND...

Runs COMMAND with --piece-times in one process and under mpirun on this machine. The first table has the model beside
each of these runs: rank 0 hands out the pieces, which took as long as they did in that run, as
tools/fleet/crew_leader.cpp does. The second tells from the run of one process how long more ranks would take.

  --ranks 2,3       measured under mpirun, of which rank 0 carries nothing out (default 2,3)
  --model 17,65     modelled (default 17,33,65,129,257,513,1025: rank 0 and 16 to 1024 more)
  --pieces N        modelled with so many pieces: the measured ones again and again (default: as many as there are)
  --repeat N        measures each so often, and takes the quickest (default 1)
  --processor-time  the second table with processor time in the place of the clock's: for a machine with other work,
                    whose ranks would have cores of their own

What is not in the model: the launcher's start, file systems that many ranks read at once, networks slower than memory,
and cores that share their memory's bandwidth with more others than here.
"""

import argparse
import collections
import dataclasses
import heapq
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

#: Those of crew_leader.cpp, crew.cpp, ordered_delivery.hpp and patience.hpp.
SECONDS_AT_ONCE = 0.1
MOST_AT_ONCE = 1024
ANSWER_EVERY = 0.05
WINDOW = 4096
LONGEST_PAUSE = 0.002


@dataclasses.dataclass(frozen=True)
class Costs:
    """What is spent beside the pieces, in seconds."""
    message: float   # rank 0, for each message that it receives, with what it then hands out
    delivery: float  # rank 0, for each result: kept, decoded, put in its place
    gap: float       # a rank, from its last answer to the next piece where rank 0 has nothing else to do
    around: float    # before the first piece and after the last: options, the list of files, the report


@dataclasses.dataclass(frozen=True)
class Measured:
    """A run: its --piece-times, and how long the whole process took."""
    processes: int
    pieces: tuple    # seconds of each, in their order
    wall: float
    work: float      # from the first piece handed out to the last result
    messages: int
    batches: int
    message_seconds: float
    delivery_seconds: float
    processor: float  # seconds that all processes used


@dataclasses.dataclass(frozen=True)
class Told:
    """What the model says of a run."""
    seconds: float
    batches: int
    leader: float    # seconds for which rank 0 is busy with messages and results
    idle: float      # of all ranks after their last piece, while others still work


def batch_size(left, ranks, done, seconds):
    """Leader::pieces_at_once()."""
    if done == 0 or seconds <= 0:
        return 1
    quick = int(min(SECONDS_AT_ONCE * done / seconds, MOST_AT_ONCE))
    return max(1, min(quick, left // (4 * ranks)))


def answers_of(batch, pieces):
    """How many messages with results a batch comes back in."""
    messages, waited = 0, 0.0
    for piece in batch:
        waited += pieces[piece]
        if waited >= ANSWER_EVERY:
            messages, waited = messages + 1, 0.0
    return messages + (1 if waited > 0 else 0)


def hand_out(pieces, workers, costs):
    """The pieces in order to `workers` ranks; all that rank 0 does is done one after another."""
    arrivals = [(0.0, worker) for worker in range(workers)]  # when a rank is ready, and has answered
    held = {worker: [] for worker in range(workers)}
    next_piece = done = batches = 0
    busy = free_at = seconds = 0.0
    waiting, finished, delivered, came = collections.deque(), [0.0] * workers, 0, [False] * len(pieces)
    while delivered < len(pieces):
        if arrivals:
            ready, worker = heapq.heappop(arrivals)
            batch = held[worker]
            service = costs.message * (1 + answers_of(batch, pieces)) + costs.delivery * len(batch)
            free_at = max(free_at, ready) + service
            busy += service
            done, seconds = done + len(batch), seconds + sum(pieces[piece] for piece in batch)
            finished[worker] = ready
            for piece in batch:
                came[piece] = True
            while delivered < len(pieces) and came[delivered]:
                delivered += 1
            held[worker] = []
            waiting.append(worker)
        while waiting and next_piece < min(len(pieces), delivered + WINDOW):
            worker = waiting.popleft()
            count = batch_size(len(pieces) - next_piece, workers + 1, done, seconds)
            end = min(next_piece + count, len(pieces), delivered + WINDOW)
            held[worker] = list(range(next_piece, end))
            next_piece, batches = end, batches + 1
            heapq.heappush(arrivals, (free_at + costs.gap + sum(pieces[piece] for piece in held[worker]), worker))
    idle = sum(max(finished) - each for each in finished)
    return Told(free_at + costs.around, batches, busy, idle)


def threads(pieces, cores, costs):
    """One process: each core takes the next piece when it is free."""
    free = [0.0] * cores
    for piece in pieces:
        heapq.heapreplace(free, free[0] + piece)
    return Told(max(free) + costs.around, 0, 0.0, sum(max(free) - each for each in free))


def costs_of(alone, crew):
    """From a process of one thread, and a job of one rank beside rank 0, which never waits for another."""
    results = max(1, len(crew.pieces))
    own = crew.message_seconds * (1 + crew.messages / max(1, crew.batches)) / max(1, crew.messages)
    gap = (crew.work - sum(crew.pieces)) / max(1, crew.batches) - own
    return Costs(message=crew.message_seconds / max(1, crew.messages), delivery=crew.delivery_seconds / results,
                 gap=max(0.0, gap), around=alone.wall - alone.work)


def on_own_cores(alone, costs):
    """The pieces and costs in processor time. A rank with a core of its own looks for messages every 2 ms at least."""
    share = min(1.0, alone.processor / alone.wall)
    return ([share * piece for piece in alone.pieces],
            Costs(share * costs.message, share * costs.delivery, min(costs.gap, 2 * LONGEST_PAUSE), share * costs.around))


def read_times(path, wall, processes, processor):
    pieces, work, messages, batches, message_seconds, delivery_seconds = {}, 0.0, 0, 0, 0.0, 0.0
    with open(path, encoding="utf-8") as file:
        for line in map(json.loads, file):
            if "piece" in line:
                pieces[line["list"], line["piece"]] = line["seconds"]
            else:
                work += line["seconds"]
                messages, batches = messages + line.get("messages", 0), batches + line.get("hand_outs", 0)
                message_seconds += line.get("message_seconds", 0)
                delivery_seconds += line.get("delivery_seconds", 0)
    return Measured(processes, tuple(pieces[key] for key in sorted(pieces)), wall, work, messages, batches,
                    message_seconds, delivery_seconds, processor)


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(program, command, ranks, launched):
    """One run of one thread (ranks 0), or under mpirun."""
    with tempfile.TemporaryDirectory() as folder:
        times = os.path.join(folder, "times")
        start = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", str(ranks)] if ranks else []
        first = min(os.sched_getaffinity(0))
        begin, used = time.monotonic(), processor_seconds()
        done = subprocess.run([*start, program, *command, "--piece-times", times], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True,
                              preexec_fn=None if ranks else lambda: os.sched_setaffinity(0, {first}))
        wall = time.monotonic() - begin
        if done.returncode not in (0, 1):
            sys.exit(f"{' '.join(command)}: {done.stderr}")
        return read_times(times, wall - launched, ranks or 1, processor_seconds() - used)


def launch_seconds(program, ranks):
    """What mpirun takes for a job that does nothing."""
    begin = time.monotonic()
    subprocess.run(["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", str(ranks), program, "--version"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - begin


def quickest(program, command, ranks, repeat):
    launched = min(launch_seconds(program, ranks) for _ in range(repeat)) if ranks else 0.0
    return min((run(program, command, ranks, launched) for _ in range(repeat)), key=lambda each: each.wall)


def bound(pieces, workers, told, costs):
    """What the time beyond the work itself goes to, most of all."""
    spent = told.seconds - sum(pieces) / workers
    shares = {"reading options and files, and the report": costs.around, "rank 0's messages": told.leader,
              "ranks waiting for the last pieces": told.idle / workers,
              "ranks waiting to be given pieces": told.batches * costs.gap / workers}
    if max(pieces) > told.seconds / 2:
        return "the longest piece"
    return max(shares, key=lambda name: shares[name]) if spent > 0.05 * told.seconds else "the work itself"


def row(*cells):
    print("| " + " | ".join(cells) + " |")


def measured_table(program, command, ranks, repeat):
    """Prints it, and returns the run of one process and the costs."""
    alone = quickest(program, command, 0, repeat)
    crews = {each: quickest(program, command, each, repeat) for each in ranks}
    costs = costs_of(alone, crews[min(crews)])
    row("processes", "carry pieces out", "measured s", "modelled s", "modelled / measured")
    row(*["---:"] * 5)
    show(1, 1, alone.wall, threads(alone.pieces, 1, costs).seconds)
    for each, crew in crews.items():
        show(each, each - 1, crew.wall, hand_out(crew.pieces, each - 1, costs).seconds)
    describe(alone.pieces, costs)
    return alone, costs


def describe(pieces, costs):
    print(f"\n{len(pieces)} pieces, {sum(pieces):.2f} s, the longest {1e3 * max(pieces):.1f} ms; rank 0: "
          f"{1e6 * costs.message:.1f} us for a message, {1e6 * costs.delivery:.1f} us for a result; "
          f"{1e3 * costs.gap:.2f} ms from an answer to the next piece; {1e3 * costs.around:.0f} ms before and after\n")


def show(processes, workers, measured, told):
    row(str(processes), str(workers), f"{measured:.2f}", f"{told:.2f}", f"{told / measured:.2f}")


def modelled_table(pieces, costs, ranks):
    alone = threads(pieces, 1, costs).seconds
    row("ranks", "carry pieces out", "modelled s", "speed-up", "efficiency", "bound by")
    row("---:", "---:", "---:", "---:", "---:", "---")
    for each in ranks:
        told = hand_out(pieces, each - 1, costs)
        row(str(each), str(each - 1), f"{told.seconds:.2f}", f"{alone / told.seconds:.0f}x",
            f"{100 * alone / told.seconds / (each - 1):.0f} %", bound(pieces, each - 1, told, costs))


def numbers(text):
    return [int(each) for each in text.split(",") if each]


def main():
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--ranks", type=numbers, default=[2, 3])
    parser.add_argument("--model", type=numbers, default=[17, 33, 65, 129, 257, 513, 1025])
    parser.add_argument("--pieces", type=int, default=0)
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--processor-time", action="store_true")
    given = parser.parse_args(sys.argv[1:split])
    command = sys.argv[split + 1:]
    if not command:
        parser.error("no COMMAND after --")
    alone, costs = measured_table(os.path.abspath(given.program), command, given.ranks, given.repeat)
    pieces = alone.pieces
    if given.processor_time:
        pieces, costs = on_own_cores(alone, costs)
        describe(pieces, costs)
    count = given.pieces or len(pieces)
    modelled_table([pieces[i % len(pieces)] for i in range(count)], costs, given.model)


if __name__ == "__main__":
    main()
