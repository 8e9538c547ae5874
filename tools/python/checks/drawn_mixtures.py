"""Megatron-Core's mixtures drawn at random: recorded with Transformer Engine, beside what `highwater simulate` says.

Usage: drawn_mixtures.py --python PYTHON [--highwater BINARY] [--seed N] [--count N]

PYTHON has Transformer Engine and Megatron-Core (tools/python/frameworks/transformer_engine/install.py). Each draw is a model
(Mixtral, Qwen3, Qwen3-MoE, DeepSeek-V2 or V3, of random sizes), ranks, and options; frameworks/users/train_megatron.py trains it
for three steps under `highwater record`, rank 0 is compared. A line says the errors of requested, allocated and reserved peaks.
What is not simulated says so. The exit code is 1 where a reserved peak differs. One draw takes about 40 seconds.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "frameworks" / "users" / "train_megatron.py"
KINDS = ("requested_bytes", "allocated_bytes", "reserved_bytes")
FAMILIES = ("qwen3", "mixtral", "qwen3_moe", "deepseek_v2", "deepseek_v3")


@dataclass
class Draw:
    """One run: keys of the script, the model's configuration, options of the simulation."""

    family: str
    gpu: str
    ranks: int
    script: dict[str, object]
    model: dict[str, object]
    options: list[str] = field(default_factory=list)

    def add(self, keys: dict[str, object], *options: str) -> None:
        self.script |= keys
        self.options += options


def spread(draw: Draw, source: random.Random) -> tuple[int, int]:
    """Ranks and micro-batches; the sizes of tp and dp."""
    tp = source.choice([1, 1, 2]) if draw.ranks > 1 else 1
    dp = draw.ranks // tp
    micro_batches = source.choice([1, 1, 2, 3])
    draw.add({"micro_batches": micro_batches}, "--grad-accum", str(micro_batches), "--dp", str(dp))
    if tp > 1:
        draw.add({"tp": tp, "sp": 1}, "--tp", str(tp), "--sp")
    if source.random() < 0.3:
        draw.add({"sharded": 1}, "--dp-kind", "zero1")
    return tp, dp


def recompute(draw: Draw, source: random.Random) -> None:
    """Whole layers, or what this model's layers have of their parts."""
    if source.random() < 0.2:
        draw.add({"recompute": 1}, "--checkpoint", "full")
    elif source.random() < 0.6:
        s = draw.script
        parts = ["core_attn", "layernorm", "mlp"]
        parts += ["moe"] if "experts" in s else []
        parts += ["moe_act"] if s.get("grouped") else []
        parts += ["mla_up_proj"] if "mla" in s else []
        parts += ["shared_experts"] if s.get("shared") else []
        chosen = ",".join(source.sample(parts, source.randint(1, len(parts))))
        draw.add({"modules": chosen}, "--checkpoint", "selective-attention", "--recompute-modules", chosen)


def mix(draw: Draw, source: random.Random, tp: int, dp: int) -> None:
    """What all mixtures have."""
    experts, top_k = source.choice([4, 8, 16]), source.choice([1, 2, 4])
    draw.add({"experts": experts, "top_k": top_k, "expert_ffn": source.choice([256, 384, 768])})
    switches = [("permute", "--moe-permute-fusion", 0.8), ("grouped", "--moe-grouped-gemm", 0.8)]
    for key, option, likely in switches:
        is_on = source.random() < likely
        draw.add({key: int(is_on)}, option, str(is_on).lower())
    capacity = source.choice([0, 0, 1.0, 1.5])
    draw.add({"capacity": capacity}, "--moe-capacity-factor", str(capacity) if capacity else "none")
    balancing = source.choice(["none", "aux_loss", "seq_aux_loss"])
    draw.add({"router": balancing}, "--moe-balancing", balancing.replace("_", "-"))
    if source.random() < 0.4:
        draw.add({"router_dtype": "none"}, "--moe-router-fp32", "false")
    is_whole = tp > 1 and source.random() < 0.5  # an expert on each rank of tp
    ep = source.choice([each for each in (1, 2, 4) if (tp * dp % each == 0 and each % tp == 0 if is_whole else dp % each == 0)])
    draw.add({"ep": ep}, "--ep", str(ep))
    if is_whole:
        draw.add({"etp": 1}, "--etp", "1")


def as_qwen(draw: Draw, is_mixture: bool) -> None:
    s = draw.script
    draw.script["qk_norm"] = 1
    draw.model |= {"intermediate_size": s["ffn"], "num_key_value_heads": s["groups"],
                   "head_dim": int(str(s["hidden"])) // int(str(s["heads"]))}
    if is_mixture:
        draw.script["pre_softmax"] = int(s["top_k"] == 1)
        draw.model |= {"moe_intermediate_size": s["expert_ffn"], "num_experts": s["experts"], "num_experts_per_tok": s["top_k"],
                       "norm_topk_prob": s["top_k"] != 1}


def as_mixtral(draw: Draw) -> None:
    s = draw.script
    draw.script["pre_softmax"] = int(s["top_k"] == 1)
    draw.model |= {"intermediate_size": s["expert_ffn"], "num_key_value_heads": s["groups"], "num_local_experts": s["experts"],
                   "num_experts_per_tok": s["top_k"]}


def as_deepseek(draw: Draw, source: random.Random) -> None:
    s = draw.script
    shared, dense = source.choice([1, 2]), source.choice([0, 1])
    sizes = {"q_rank": source.choice([0, 128, 192]), "kv_rank": source.choice([64, 128]), "qk_dim": source.choice([32, 64, 128]),
             "rope_dim": source.choice([32, 64]), "v_dim": source.choice([64, 128])}
    groups, chosen = source.choice([(1, 1), (4, 2)]) if s["top_k"] in (2, 4) and s["experts"] != 4 else (1, 1)
    draw.script |= {"mla": 1, "shared": shared * int(str(s["expert_ffn"])), "dense": dense, "scaling": 2.5, **sizes}
    if groups > 1:
        draw.script |= {"router_groups": groups, "group_topk": chosen}
    draw.model |= {"intermediate_size": s["ffn"], "moe_intermediate_size": s["expert_ffn"], "num_key_value_heads": s["heads"],
                   "n_routed_experts": s["experts"], "n_shared_experts": shared, "num_experts_per_tok": s["top_k"],
                   "q_lora_rank": sizes["q_rank"] or None, "kv_lora_rank": sizes["kv_rank"], "qk_nope_head_dim": sizes["qk_dim"],
                   "qk_rope_head_dim": sizes["rope_dim"], "v_head_dim": sizes["v_dim"], "first_k_dense_replace": dense,
                   "n_group": groups, "topk_group": chosen}
    if draw.family == "deepseek_v3":
        draw.script |= {"score": "sigmoid", "expert_bias": 1}
    else:
        draw.script["pre_softmax"] = 1
        draw.model["topk_method"] = "group_limited_greedy" if groups > 1 else "greedy"


def drawn(source: random.Random) -> Draw:
    family = source.choice(FAMILIES)
    heads = source.choice([8, 16])
    script: dict[str, object] = {
        "te": 1, "model": "llama", "layers": source.choice([2, 3]), "hidden": source.choice([512, 768, 1024, 1536]), "heads": heads,
        "groups": source.choice([2, 4, heads]), "ffn": source.choice([1024, 1792, 2816]), "length": source.choice([256, 512, 1024]),
        "vocabulary": source.choice([1024, 4096])}
    model: dict[str, object] = {
        "model_type": family, "hidden_size": script["hidden"], "num_hidden_layers": script["layers"], "num_attention_heads": heads,
        "vocab_size": script["vocabulary"], "tie_word_embeddings": False}
    draw = Draw(family, source.choice(["h100-80", "h100-80", "b200"]), source.choice([1, 1, 2, 2, 4]), script, model)
    tp, dp = spread(draw, source)
    if family != "qwen3":
        mix(draw, source, tp, dp)
    if family.startswith("qwen3"):
        as_qwen(draw, is_mixture=family == "qwen3_moe")
    elif family == "mixtral":
        as_mixtral(draw)
    else:
        as_deepseek(draw, source)
    recompute(draw, source)
    return draw


def recorded(highwater: str, python: str, draw: Draw, folder: pathlib.Path) -> dict[str, int]:
    """Peaks of rank 0."""
    file = folder / "recording.hwt.xz"
    keys = [f"{key}={value}" for key, value in draw.script.items()]
    subprocess.run([highwater, "record", "--gpu", draw.gpu, "--output", str(file), "--", python, "-m", "torch.distributed.run",
                    "--nproc-per-node", str(draw.ranks), str(SCRIPT), *keys],
                   cwd=folder, capture_output=True, text=True, check=True)
    replay = subprocess.run([highwater, "replay", str(file), "--format", "json"], capture_output=True, text=True, check=True)
    peak: dict[str, int] = json.loads(replay.stdout)["devices"][0]["peak"]
    return peak


class Refused(Exception):
    """What the simulation says that it lacks."""


def simulated(highwater: str, draw: Draw) -> dict[str, int]:
    line = [highwater, "simulate", "--model", json.dumps(draw.model), "--framework", "megatron", "--te-cross-entropy", "--vocab-divisor",
            "1", "--batch", "2", "--seq", str(draw.script["length"]), "--steps", "3", "--gpu", draw.gpu, "--rank", "0", *draw.options,
            "--format", "json"]
    run = subprocess.run(line, capture_output=True, text=True, check=False)
    if run.returncode not in (0, 1):
        raise Refused(run.stderr.strip())
    peak: dict[str, int] = json.loads(run.stdout)["peak"]
    return peak


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--python", required=True)
    parser.add_argument("--highwater", default="build/release/highwater")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=12)
    arguments = parser.parse_args()
    source = random.Random(arguments.seed)
    different = 0
    for number in range(arguments.count):
        draw = drawn(source)
        with tempfile.TemporaryDirectory() as folder:
            try:
                truth = recorded(arguments.highwater, arguments.python, draw, pathlib.Path(folder))
            except subprocess.CalledProcessError as error:
                print(f"{number} {draw.family}: not recorded: {(error.stderr or error.stdout or '').strip()[-400:]}", flush=True)
                continue
        try:
            found = simulated(arguments.highwater, draw)
        except Refused as reason:
            print(f"{number} {draw.family} {draw.gpu}: refused: {reason}", flush=True)
            continue
        errors = " ".join(f"{100 * (found[kind] / truth[kind] - 1):+.4f} %" for kind in KINDS)
        is_equal = found["reserved_bytes"] == truth["reserved_bytes"]
        different += not is_equal
        print(f"{number} {draw.family} {draw.gpu} ranks {draw.ranks}: {errors}{'' if is_equal else ' RESERVED DIFFERS'}; "
              f"{' '.join(draw.options)}", flush=True)
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
