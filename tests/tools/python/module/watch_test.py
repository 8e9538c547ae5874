"""hw.watch and its callbacks, with stand-ins for torch: what is switched, written and said."""
import pickle
import sys
import types

import pytest

SNAPSHOT = {
    "segments": [],
    "device_traces": [[{"action": "segment_alloc", "addr": 4096, "size": 2097152, "stream": 0},
                       {"action": "alloc", "addr": 4096, "size": 1000, "stream": 0},
                       {"action": "oom", "size": 4194304, "stream": 0, "device_free": 1000}]],
}


class Torch(types.ModuleType):
    """As much of torch as watch uses."""

    def __init__(self):
        super().__init__("torch")
        self.observers = []
        self.history = []
        self.cuda = types.SimpleNamespace(
            is_available=lambda: True,
            memory=types.SimpleNamespace(_record_memory_history=self.record, _dump_snapshot=self.dump))
        self._C = types.SimpleNamespace(
            _cuda_attach_out_of_memory_observer=self.observers.append,
            _cuda_isHistoryEnabled=lambda: bool(self.history) and self.history[-1] is not None)

    def record(self, enabled="all", max_entries=0):
        self.history.append(enabled)

    def dump(self, path):
        with open(path, "wb") as file:
            pickle.dump(SNAPSHOT, file)

    def run_out(self):
        for observer in self.observers:
            observer(0, 4194304, 2097152, 1000)


@pytest.fixture
def torch(monkeypatch):
    from highwater import _watch

    stand_in = Torch()
    monkeypatch.setitem(sys.modules, "torch", stand_in)
    monkeypatch.setattr(_watch, "_is_attached", False)
    return stand_in


def test_the_verdict_is_that_of_explain(torch, tmp_path, capsys):
    import highwater as hw

    with hw.watch(tmp_path / "oom.pickle") as watch:
        torch.run_out()
        torch.run_out()
    assert watch.files == [str(tmp_path / "oom.pickle"), str(tmp_path / "oom-2.pickle")]
    captured = capsys.readouterr()
    assert str(hw.load(watch.files[0]).explain()) in captured.err
    assert captured.out == ""


def test_history_is_left_as_it_was(torch, tmp_path):
    import highwater as hw

    with hw.watch(tmp_path / "oom.pickle"):
        assert torch.history == ["all"]
    assert torch.history == ["all", None]
    torch.record()
    with hw.watch(tmp_path / "oom.pickle"):
        pass
    assert torch.history == ["all", None, "all"]


def test_nothing_is_said_outside(torch, tmp_path, capsys):
    import highwater as hw

    with hw.watch(tmp_path / "oom.pickle"):
        pass
    torch.run_out()
    assert capsys.readouterr().err == ""


def test_a_failure_of_its_own_is_a_sentence(torch, tmp_path, capsys):
    import highwater as hw

    with hw.watch(tmp_path / "no" / "folder" / "oom.pickle"):
        torch.run_out()
    assert "could not be explained" in capsys.readouterr().err


def test_the_first_three_are_kept_and_the_others_counted(torch, tmp_path, capsys):
    import highwater as hw

    with hw.watch(tmp_path / "oom.pickle") as watch:
        for _ in range(40):
            torch.run_out()
    kept = [str(tmp_path / name) for name in ("oom.pickle", "oom-2.pickle", "oom-3.pickle")]
    assert watch.files == kept
    assert sorted(map(str, tmp_path.iterdir())) == sorted(kept)
    assert watch.failures == 40
    said = capsys.readouterr().err
    assert said.count("the snapshot is in") == 3
    assert said.count("out of memory again") == 1
    assert said.rstrip().endswith(f"out of memory 40 times; the snapshots of the first 3 are in {', '.join(kept)}")


def test_how_many_are_kept_can_be_said(torch, tmp_path, capsys):
    import highwater as hw

    with hw.watch(tmp_path / "oom.pickle", keep=0) as watch:
        torch.run_out()
    assert (watch.files, watch.failures, list(tmp_path.iterdir())) == ([], 1, [])
    assert "none is kept" in capsys.readouterr().err


def test_what_is_there_is_never_overwritten(torch, tmp_path, capsys):
    import highwater as hw

    (tmp_path / "oom.pickle").write_text("evidence of the last run")
    (tmp_path / "target").write_text("mine")
    (tmp_path / "oom-2.pickle").symlink_to(tmp_path / "target")
    (tmp_path / "oom-3.pickle").symlink_to(tmp_path / "nowhere")
    with hw.watch(tmp_path / "oom.pickle") as watch:
        torch.run_out()
        torch.run_out()
    assert watch.files == [str(tmp_path / "oom-4.pickle"), str(tmp_path / "oom-5.pickle")]
    assert (tmp_path / "oom.pickle").read_text() == "evidence of the last run"
    assert (tmp_path / "target").read_text() == "mine"
    assert not (tmp_path / "nowhere").exists()
    assert f"oom-4.pickle ({tmp_path / 'oom.pickle'} was there already)" in capsys.readouterr().err


def test_half_a_snapshot_is_removed(torch, tmp_path, capsys):
    import highwater as hw

    def full(path):
        with open(path, "wb") as file:
            file.write(b"half")
        raise OSError("No space left on device")

    torch.cuda.memory._dump_snapshot = full
    with hw.watch(tmp_path / "oom.pickle") as watch:
        torch.run_out()
    assert (watch.files, list(tmp_path.iterdir())) == ([], [])
    assert "could not be explained: No space left" in capsys.readouterr().err
