"""The examples of tools/python/examples and ways to end a script, run under the recorder with a real PyTorch.

examples_test.py LIBRARIES [--python PYTHON] [--only NAME,...]

LIBRARIES: folder with cuda12/ and cuda13/. Without a PyTorch for CUDA in PYTHON the test is skipped (exit status 4).
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
EXAMPLES = ROOT / "tools" / "python" / "examples"
SKIPPED = 4
LAUNCHER = ["-m", "torch.distributed.run", "--nproc-per-node", "8"]
DISTRIBUTED = {"HIGHWATER_RECORD_WORLD_SIZE": "8", "WORLD_SIZE": "8", "RANK": "0", "LOCAL_RANK": "0",
               "LOCAL_WORLD_SIZE": "8", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "FAKE_CUDA_DEVICES": "8"}
THREE_STEPS = {"HIGHWATER_RECORD_STEPS": "3"}
ALLOCATE = "import torch\nx = torch.zeros(4, device='cuda')\n"
# What the host put on the device, or what follows from it, is true; values computed in a backward pass, too.
VALUES = """
import torch
from torch.utils.checkpoint import checkpoint
positions = torch.arange(8, device='cuda').unsqueeze(0).expand(2, -1)
packed = (torch.diff(positions, prepend=positions[:, :1] - 1) != 1).cumsum(-1)
assert (packed[:, -1] == 0).all()
mask = torch.tensor([[1, 1, 1], [1, 1, 0]]).to('cuda')
assert not mask.all() and mask[:, :2].all() and mask.sum(-1).tolist() == [3, 2] and mask.bool().nonzero().shape == (5, 2)
unfinished = torch.ones(2, dtype=torch.long, device='cuda') & ~torch.full((2,), True, device='cuda')
assert unfinished.max() == 0
seed = torch.tensor(2**63 + 5, dtype=torch.uint64).to('cuda')  # more than a kernel in Python can return
assert seed.item() % 2**63 == 5
rows = torch.zeros(8, 4, device='cuda', requires_grad=True)
for reentrant in (True, False):
    checkpoint(lambda x: x[torch.arange(8, device='cuda') > 2] * 2, rows, use_reentrant=reentrant).sum().backward()
assert rows.grad.shape == (8, 4)
"""
ROUTED = """
import torch
chosen = torch.topk(torch.rand(8, 4, device='cuda').softmax(-1), 2).indices
assert torch.bincount(chosen.flatten(), minlength=4).tolist() == %s
assert torch.histc(chosen.flatten().int(), bins=4, min=0, max=3).tolist() == %s
assert all(len(set(pair)) == 2 for pair in chosen.tolist())
"""
GROUP = "import torch, torch.distributed as dist\ntorch.cuda.set_device(0)\ndist.init_process_group('nccl')\n"
# Every rank sends what this one sends, also where C++ asks, as DDP does for the number of parameters.
GATHERED = GROUP + """
sent = torch.tensor([5, 6], device='cuda')
received, whole = [torch.zeros_like(sent) for _ in range(8)], torch.zeros(16, dtype=sent.dtype, device='cuda')
dist.all_gather(received, sent)
dist.all_gather_into_tensor(whole, sent)
assert [one.tolist() for one in received] == [[5, 6]] * 8 and whole.tolist() == [5, 6] * 8
torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4, device='cuda'))
"""
# Long enough for NCCL's watchdog to ask twenty times whether another rank failed, and to act on a yes.
WATCHED = GROUP + "import time\ndist.all_reduce(torch.ones(4, device='cuda'))\ntime.sleep(4)\n"
IMPATIENT = {**DISTRIBUTED, "TORCH_NCCL_DUMP_ON_TIMEOUT": "1", "TORCH_NCCL_COORD_CHECK_MILSEC": "100",
             "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC": "1"}
SYMMETRIC = GROUP + """
import torch.distributed._symmetric_memory as memory
group = dist.group.WORLD.group_name
memory.enable_symm_mem_for_group(group)
here = memory._SymmetricMemory.empty_strided_p2p((64,), (1,), torch.float32, torch.device('cuda:0'), group)
assert memory._SymmetricMemory.rendezvous(here).get_buffer(5, (4, 4), torch.float32).shape == (4, 4)
rows, columns = torch.ones(4, 64, device='cuda'), torch.ones(64, 16, device='cuda')
assert torch.ops.symm_mem.fused_all_gather_matmul(rows, [columns], 0, group)[0].shape == (32, 64)
"""
CHECKPOINTS = GROUP + """
from torch.distributed import checkpoint
state = {'weight': torch.ones(8, 8, device='cuda'), 'bias': torch.ones(8, device='cuda')}
checkpoint.save(state, checkpoint_id='saved')
checkpoint.load(state, checkpoint_id='saved')
"""
# A stage learns from the one before what it gets, unless the script says so.
LAST_STAGE = GROUP + """
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
inputs = torch.empty(2, 64, device='cuda', requires_grad=True)
stage = PipelineStage(torch.nn.Linear(64, 64, device='cuda'), 7, 8, torch.device('cuda:0'), input_args=(inputs,))
schedule = Schedule1F1B(stage, 8, loss_fn=torch.nn.functional.mse_loss)
schedule.step(target=torch.zeros(16, 64, device='cuda'))
"""
TUNED = """
import torch
layers = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 64)).cuda()
compiled = torch.compile(layers, mode='max-autotune')
for _ in range(2):
    compiled(torch.ones(32, 64, device='cuda')).sum().backward()
    layers.zero_grad()
"""
SPEECH = """
import torch
from transformers import WhisperConfig, WhisperForConditionalGeneration
sizes = {'encoder_attention_heads': 2, 'decoder_attention_heads': 2, 'encoder_ffn_dim': 64, 'decoder_ffn_dim': 64}
config = WhisperConfig(d_model=32, encoder_layers=1, decoder_layers=1, vocab_size=100, pad_token_id=2, bos_token_id=1,
                       eos_token_id=2, decoder_start_token_id=3, suppress_tokens=None, begin_suppress_tokens=None, **sizes)
model = WhisperForConditionalGeneration(config).cuda()
sound = torch.randn(2, 80, 3000).cuda()
model(input_features=sound, labels=torch.ones(2, 8, dtype=torch.long).cuda()).loss.backward()
assert model.generate(sound, max_new_tokens=8).shape == (2, 8)
"""

# Writes down which steps it has finished.
REPORTING = """
import torch
layer = torch.nn.Linear(4, 4, device='cuda')
optimizer = torch.optim.AdamW(layer.parameters())
for step in range(9):
    layer(torch.ones(4, 4, device='cuda')).sum().backward()
    optimizer.step()
    with open('report', 'a') as file:
        file.write(str(step))
"""

# name: (arguments of Python, environment, what the status says of the end)
RUNS = {
    "plain loop": ([str(EXAMPLES / "loop.py")], THREE_STEPS, {"ended": "steps", "steps": 3}),
    "Trainer": ([str(EXAMPLES / "trainer.py")], THREE_STEPS, {"ended": "steps", "steps": 3}),
    "DDP": (LAUNCHER + [str(EXAMPLES / "ddp.py")], THREE_STEPS, {"ended": "steps", "steps": 3}),
    "FSDP2": ([str(EXAMPLES / "fsdp2.py")], {**THREE_STEPS, **DISTRIBUTED}, {"ended": "steps", "steps": 3}),
    "its own report": (["-c", REPORTING], {"HIGHWATER_RECORD_STEPS": "2", "HIGHWATER_RECORD_FINISH_STEP": "1"},
                       {"ended": "steps", "steps": 2, "report": "01"}),
    "gathered": (["-c", GATHERED], DISTRIBUTED, {"ended": "exit", "error": None}),
    "watchdog": (["-c", WATCHED], IMPATIENT, {"ended": "exit", "error": None}),
    "symmetric memory": (["-c", SYMMETRIC], DISTRIBUTED, {"ended": "exit", "error": None}),
    "checkpoints": (["-c", CHECKPOINTS], DISTRIBUTED, {"ended": "exit", "error": None}),
    "last stage": (["-c", LAST_STAGE], {**DISTRIBUTED, "RANK": "7"}, {"ended": "exit", "error": None}),
    "Triton": ([str(pathlib.Path(__file__).with_name("triton_kernel.py"))], {}, {"ended": "exit", "error": None}),
    "max-autotune": (["-c", TUNED], {}, {"ended": "exit", "error": None}),
    "Whisper": (["-c", SPEECH], {}, {"ended": "exit", "error": None}),
    "exception": (["-c", ALLOCATE + "raise ValueError('why')"], {}, {"ended": "error", "error": "ValueError: why"}),
    "sys.exit": (["-c", ALLOCATE + "import sys; sys.exit(5)"], {}, {"ended": "exit", "error": None}),
    "os._exit": (["-c", ALLOCATE + "import os; os._exit(5)"], {}, {"ended": "exit", "error": None}),
    "out of memory": (["-c", ALLOCATE + "torch.empty(1 << 40, device='cuda')"], {}, {"ended": "oom"}),
    # Started in the background of a shell, Python ignores SIGINT: hence the handler.
    "Ctrl-C": (["-c", ALLOCATE + "import os, signal, time; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
                "os.kill(os.getpid(), signal.SIGINT); time.sleep(9)"], {}, {"ended": "interrupted"}),
    "SIGTERM": (["-c", ALLOCATE + "import os, signal, time; os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)"], {},
                {"ended": "terminated"}),
    "SIGHUP": (["-c", ALLOCATE + "import os, signal, time; os.kill(os.getpid(), signal.SIGHUP); time.sleep(9)"], {},
               {"ended": "terminated"}),
    "segmentation fault": (["-c", ALLOCATE + "import ctypes; ctypes.string_at(0)"], {}, {"ended": "crash"}),
    "its own history": (["-c", "import torch\nfrom torch.cuda import memory\nmemory._record_memory_history()\n"
                         "x = torch.zeros(4, device='cuda'); memory._record_memory_history(enabled=None)"], {},
                        {"ended": "exit", "entries": 2}),
    "values": (["-c", VALUES], {}, {"ended": "exit", "error": None, "values_read": 0}),
    "flex attention": (["-c", "import torch\nfrom torch.nn.attention.flex_attention import flex_attention\n"
                        "rows = torch.ones(1, 2, 128, 16, device='cuda')\nflex_attention(rows, rows, rows)"], {},
                       {"ended": "exit", "error": None}),
    "even routers": (["-c", ROUTED.replace("%s", "[4, 4, 4, 4]")], {}, {"ended": "exit", "error": None}),
    "a busy expert": (["-c", ROUTED.replace("%s", "[8, 3, 3, 2]")], {"HIGHWATER_RECORD_MOE_LOAD": "busiest:2"},
                      {"ended": "exit", "error": None}),
    "answers": (["-c", "import torch\nx = torch.rand(8, device='cuda')\n"
                 "assert x.sum().item() == 3 and bool(x[0] > 1) and len(torch.multinomial(x, 8).nonzero()) == 2"],
                {"HIGHWATER_RECORD_ANSWERS": "nonzero=0.25,item=3"}, {"ended": "exit", "error": None}),
    "floats of the host": (["-c", "import torch\nboxes = torch.tensor([[1., 2., 5., 9.], [3., 4., 4., 8.]]).cuda()\n"
                            "size = boxes[:, 2:] - boxes[:, :2]\nassert (size > 0).all() and (size[:, 0] > 2).nonzero().tolist() == [[0]]\n"
                            "assert torch.nn.Linear(2, 2).cuda().weight.sum().item() == 0\n"
                            "assert torch.rand(4096).cuda().sum().item() == 0"], {}, {"ended": "exit", "error": None}),
    "forked child": (["-c", ALLOCATE + "import os\nif os.fork() == 0: os._exit(0)\nos.wait()"], {},
                     {"ended": "exit", "entries": 2}),
}

NEEDED = {"Trainer": ("transformers", "accelerate"), "Whisper": ("transformers",), "Triton": ("triton",),
          "max-autotune": ("triton",)}


def run(arguments, name, folder):
    """The events of the status file."""
    python_arguments, settings, _ = RUNS[name]
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT / "tools/python/recorder"), "PYTHONDONTWRITEBYTECODE": "1",
        "HF_HUB_OFFLINE": "1", "HIGHWATER_RECORD_STATUS": str(folder / "status"),
        "HIGHWATER_RECORD_OUTPUT": str(folder / "run.pickle"),
        "HIGHWATER_RECORD_LIBRARIES": str(arguments.libraries.resolve()), **settings,
    }
    done = subprocess.run([arguments.python, *python_arguments], env=environment, cwd=folder, capture_output=True,
                          text=True, check=False)
    status = folder / "status"
    events = [json.loads(line) for line in status.read_text().splitlines()] if status.exists() else []
    return events, done.stderr


def problem(arguments, name):
    """What is wrong with a run, or None."""
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        events, errors = run(arguments, name, folder)
        written = [event for event in events if event["event"] == "written"]
        if len(written) != 1 or not (folder / "run.pickle").exists():
            return f"{len(written)} snapshots written\n{errors[-2000:]}"
        if (folder / "report").exists():
            written[0]["report"] = (folder / "report").read_text()
        return next((f"{fact} is {written[0][fact]!r}, not {value!r}\n{errors[-2000:]}"
                     for fact, value in RUNS[name][2].items() if written[0][fact] != value), None)


def importable(arguments, module):
    probe = f"import importlib.util as u, sys; sys.exit(u.find_spec('{module}') is None)"
    return subprocess.run([arguments.python, "-c", probe], check=False, capture_output=True).returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", type=pathlib.Path)
    parser.add_argument("--python", default=os.environ.get("HIGHWATER_TORCH_PYTHON") or sys.executable)
    parser.add_argument("--only", default=",".join(RUNS))
    arguments = parser.parse_args()
    if not importable(arguments, "torch"):
        print(f"skipped: {arguments.python} has no PyTorch; HIGHWATER_TORCH_PYTHON names one that has")
        return SKIPPED
    failed = 0
    for name in arguments.only.split(","):
        absent = [module for module in NEEDED.get(name, ()) if not importable(arguments, module)]
        if absent:
            print(f"{name}: skipped, {' and '.join(absent)} not installed")
            continue
        found = problem(arguments, name)
        failed += found is not None
        print(f"{name}: {found or 'ok'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
