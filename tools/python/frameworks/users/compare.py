"""What users' scripts need under DeepSpeed, Megatron-Core, Trainer and TRL, recorded and simulated from one line.

  compare.py --out FOLDER [--highwater PROGRAM] [--python PYTHON] [--only WORD]

Each row is a script of this folder under `highwater record`, and the line that a user would type to simulate it. What
was recorded stays in FOLDER and is not recorded again. Prints a Markdown table of the highest peaks of three steps.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
from dataclasses import dataclass

os.environ["HIGHWATER_CONFIG"] = ""  # no defaults of whoever runs this

HERE = pathlib.Path(__file__).resolve().parent
TORCHRUN = ["-m", "torch.distributed.run", "--nproc-per-node", "8"]
ACCELERATE = ["-m", "accelerate.commands.launch"]
LLAMA = "--model llama-3.2-1b --batch 2"
MEGATRON = "--framework megatron --transformer-impl local --wgrad-fusion false --rope-fusion false --vocab-divisor 1 --batch 2 --seq 1024"


@dataclass
class Row:
    name: str
    script: list       # what follows after the name of Python
    world: int
    gpu: str
    plan: str          # options of highwater simulate
    rank: int = 0


def deepspeed(model, stage, precision="bf16", offload=False):
    words = [f"{model} ZeRO-{stage} {precision}"] + (["optimizer on the host"] if offload else [])
    plan = (f"--framework deepspeed --model {model} --dp 8 --dp-kind zero{stage} --precision {precision} --batch 2 --seq 1024"
            + (" --offload optimizer" if offload else ""))
    script = TORCHRUN + ["train_deepspeed.py", model, str(stage), precision] + (["offload"] if offload else [])
    return Row(", ".join(words), script, 8, "a100-80", plan)


def megatron(name, settings, plan, world=8, rank=0):
    model = "llama" if "model=llama" in settings else "gpt"
    script = TORCHRUN[:-1] + [str(min(world, 8)), "train_megatron.py", *settings.split()]
    return Row(f"Megatron-Core, {name}", script, world, "h100-80", f"{MEGATRON} --model {HERE}/{model}.json {plan}", rank)


def hugging_face(name, script, plan, world=0):
    return Row(name, script, world, "h100-80", f"{LLAMA} {plan}")


ROWS = [
    *(deepspeed(model, stage, precision, offload)
      for model, precisions in (("gpt2", ("bf16", "fp16")), ("llama-3.2-1b", ("bf16",)))
      for stage in (1, 2, 3) for precision in precisions for offload in (False, True)
      if not (offload and precision == "fp16")),
    megatron("one GPU, unfused softmax", "", "--attention eager", world=1),
    megatron("tp 2, dp 4, unfused softmax", "tp=2", "--attention eager --tp 2 --dp 4"),
    megatron("tp 2, dp 4", "tp=2 flash=1", "--tp 2 --dp 4"),
    megatron("tp 2 with sequences, dp 4, distributed optimizer, unfused softmax", "tp=2 sp=1 sharded=1",
             "--attention eager --tp 2 --sp --dp 4 --dp-kind zero1"),
    megatron("tp 2 with sequences, dp 4, distributed optimizer", "tp=2 sp=1 sharded=1 flash=1",
             "--tp 2 --sp --dp 4 --dp-kind zero1"),
    *(megatron(f"pp 2, dp 4, distributed optimizer, 8 micro-batches, rank {rank}", "pp=2 sharded=1 flash=1 micro_batches=8",
               "--pp 2 --dp 4 --dp-kind zero1 --grad-accum 8", rank=rank) for rank in (0, 7)),
    *(megatron(f"Llama, tp 2 with sequences, pp 2, dp 2, distributed optimizer, 4 micro-batches, rank {rank}",
               "model=llama tp=2 sp=1 pp=2 sharded=1 flash=1 micro_batches=4",
               "--tp 2 --sp --pp 2 --dp 2 --dp-kind zero1 --grad-accum 4", rank=rank) for rank in (0, 7)),
    megatron("Llama, dp 8, distributed optimizer, full recomputation", "model=llama sharded=1 recompute=1 flash=1",
             "--dp 8 --dp-kind zero1 --checkpoint full"),
    megatron("Llama, pp 2 in 2 chunks, dp 4, 4 micro-batches", "model=llama pp=2 chunks=2 flash=1 micro_batches=4",
             "--pp 2 --dp 4 --pp-schedule interleaved --pp-chunks 2 --grad-accum 4"),
    megatron("dp 8, gradients reduced during the backward", "overlap=1 flash=1", "--dp 8 --overlap-grad-reduce"),
    hugging_face("Trainer, bf16=True", ["train_with_trainer.py", "float32", "bf16=true"],
                 "--seq 2048 --framework trainer --bf16"),
    hugging_face("Trainer, weights in bf16", ["train_with_trainer.py", "bfloat16"],
                 "--seq 2048 --framework trainer --precision bf16"),
    hugging_face("Trainer, bf16=True, checkpointing",
                 ["train_with_trainer.py", "float32", "bf16=true", "gradient_checkpointing=true"],
                 "--seq 2048 --framework trainer --bf16 --gradient-checkpointing"),
    hugging_face("Trainer, bf16=True, DDP",
                 ACCELERATE + ["--multi_gpu", "--num_processes", "8", "train_with_trainer.py", "float32", "bf16=true"],
                 "--seq 2048 --framework trainer --bf16 --dp 8", world=8),
    *(hugging_face(f"Trainer, bf16=True, FSDP{version}",
                   ACCELERATE + ["--config_file", f"fsdp{version}.yaml", "train_with_trainer.py", "float32", "bf16=true"],
                   f"--seq 2048 --framework trainer --bf16 --dp 8 --dp-kind fsdp{version}", world=8)
      for version in (2, 1)),
    hugging_face("SFTTrainer", ["train_with_trl.py"],
                 "--seq 1024 --framework trl-sft --precision bf16 --checkpoint none"),
    hugging_face("SFTTrainer, LoRA", ["train_with_trl.py", "lora"],
                 "--seq 1024 --framework trl-sft --precision bf16 --checkpoint none --lora 16 --lora-targets q_proj,v_proj"),
    hugging_face("SFTTrainer, LoRA, checkpointing", ["train_with_trl.py", "lora", "checkpointing"],
                 "--seq 1024 --framework trl-sft --precision bf16 --lora 16 --lora-targets q_proj,v_proj"),
]


def file_name(row):
    return "".join(letter if letter.isalnum() or letter in "-." else "_" for letter in row.name)


def report_of(arguments, words, **more):
    done = subprocess.run([arguments.highwater, *words, "--format", "json"], capture_output=True, text=True, check=False, **more)
    if not done.stdout:
        raise RuntimeError(done.stderr[-1500:])
    return json.loads(done.stdout)


def record(arguments, row, snapshot):
    ranks = ["--world", str(row.world), "--rank", str(row.rank)] if row.world > 1 else []
    command = [arguments.highwater, "record", "--gpu", row.gpu, *ranks, "--steps", "3", "--stacks", arguments.stacks,
               "--output", str(snapshot), "--", arguments.python, *row.script]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-1500:])


def recorded_peak(arguments, row):
    snapshot = arguments.out / f"{file_name(row)}.pickle"
    if not snapshot.exists():
        record(arguments, row, snapshot)
    devices = report_of(arguments, ["replay", str(snapshot)])["devices"]
    return max((device["peak"] for device in devices), key=lambda peak: peak["reserved_bytes"])


def simulated_peak(arguments, row):
    words = ["simulate", *row.plan.split(), "--gpu", row.gpu, "--rank", str(row.rank), "--steps", "3"]
    return report_of(arguments, words)["peak"]


def cells(recorded, simulated):
    for key in ("allocated_bytes", "reserved_bytes"):
        there, here = recorded[key], simulated[key]
        yield f"{there / 2**30:.3f} | {here / 2**30:.3f} | {100 * (here / there - 1):+.2f} %"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--highwater", default="highwater")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--stacks", default="none")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    arguments.out = arguments.out.resolve()
    print("| case | allocated (GiB): recorded | simulated | error | reserved: recorded | simulated | error |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for row in ROWS:
        if arguments.only not in row.name:
            continue
        try:
            figures = " | ".join(cells(recorded_peak(arguments, row), simulated_peak(arguments, row)))
        except RuntimeError as problem:
            figures = " | ".join(str(problem).split("\n")[-3:])
        print(f"| {row.name} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
