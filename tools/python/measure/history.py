"""A recorded history and its markers: their positions, what was alive at the peaks, a compact form."""


def aligned(size):
    """What "allocated" counts for a request, except for remainders that are not split off."""
    return max(512, (size + 511) // 512 * 512)


class MarkerPlaces:
    """Finds the position of each marker in the history by the counters it carries."""

    def __init__(self, markers):
        self.markers = markers
        self.order = sorted(range(len(markers)), key=lambda i: sum(markers[i]["counts"].values()))
        self.positions = [None] * len(markers)
        self.seen = {"alloc": 0, "free_requested": 0, "free_completed": 0}
        self.cursor = 0

    def count(self, action):
        if action in self.seen:
            self.seen[action] += 1

    def reached(self, position):
        """The markers (their indices) at this position."""
        while self.cursor < len(self.order) and self.markers[self.order[self.cursor]]["counts"] == self.seen:
            index = self.order[self.cursor]
            self.positions[index] = position
            self.cursor += 1
            yield index


class PeakSearch:
    """The highest sum of rounded sizes, before the steps ("setup") and within each."""

    def __init__(self):
        self.live = {}    # address -> block
        self.blocks = []  # [position of alloc, position of free, rounded size, label]
        self.allocated = 0
        self.best = {}    # "setup" or step -> (allocated, position)
        self.step = None

    def enter(self, marker):
        if marker["phase"] == "step_begin":
            self.step = marker["step"]
        elif marker["phase"] == "step_end":
            self.step = None

    def name(self, labels):
        for address, label in labels.items():
            block = self.live.get(address)
            if block is not None and block[3] is None:
                block[3] = label

    def see(self, position, entry):
        if entry["action"] == "alloc":
            block = [position, None, aligned(entry["size"]), None]
            self.live[entry["addr"]] = block
            self.blocks.append(block)
            self.allocated += block[2]
            key = "setup" if self.step is None else self.step
            if self.allocated > self.best.get(key, (0, 0))[0]:
                self.best[key] = (self.allocated, position)
        elif entry["action"] == "free_requested":
            block = self.live.pop(entry["addr"], None)
            if block is not None:
                block[1] = position
                self.allocated -= block[2]

    def peaks(self):
        return [{"step": key, "allocated_rounded": amount, "trace_index": at, "by_label": self._shares(at)}
                for key, (amount, at) in self.best.items()]

    def _shares(self, at):
        shares = {}
        for begin, end, size, label in self.blocks:
            if begin <= at and (end is None or end > at):
                share = shares.setdefault(label or "other", {"blocks": 0, "bytes": 0})
                share["blocks"] += 1
                share["bytes"] += size
        return dict(sorted(shares.items()))


def analyse(trace, markers, labels):
    """(positions of the markers in the trace, bytes at each step's peak by label, a summary)."""
    label_at = {}
    for index, found in labels:
        label_at.setdefault(index, {}).update(found)
    places, search, actions = MarkerPlaces(markers), PeakSearch(), {}

    def settle(position):
        for index in places.reached(position):
            search.name(label_at.get(index, {}))
            search.enter(markers[index])

    settle(0)
    for position, entry in enumerate(trace):
        action = entry["action"]
        actions[action] = actions.get(action, 0) + 1
        places.count(action)
        search.see(position, entry)
        settle(position + 1)
    matched = sum(position is not None for position in places.positions)
    return places.positions, search.peaks(), {"entries": len(trace), "actions": actions, "markers_matched": matched,
                                              "markers": len(markers)}


def compact_segments(segments):
    """One row per segment: [stream, pool, size, [block sizes; negative when free, requested size beside]]."""
    rows = []
    for segment in sorted(segments, key=lambda s: s["address"]):
        blocks = [[b["size"] if b["state"].startswith("active") else -b["size"], b.get("requested_size", 0)]
                  for b in segment["blocks"]]
        rows.append([segment["stream"], segment["segment_type"], segment["total_size"], blocks])
    return rows


def share_frames(snapshot):
    """Equal stacks become one object, which keeps the pickle small."""
    known = {}

    def shared(frames):
        return known.setdefault(tuple(map(id, frames)), frames)

    for trace in snapshot.get("device_traces", []):
        for entry in trace:
            if entry.get("frames"):
                entry["frames"] = shared(entry["frames"])
    for segment in snapshot["segments"]:
        for block in segment["blocks"]:
            if block.get("frames"):
                block["frames"] = shared(block["frames"])
