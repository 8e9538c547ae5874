"""torchtitan's own program for a model of the user's size: a registry with one configuration, and its data."""
import json

from .lines import indented, text
from .trainer import tokenizer_files

PROGRAM = """import sys
from torchtitan.train import main

sys.argv[1:] = ["--module", "registry", "--config", "run"]
main()
"""

SIZED = """import torchtitan.models.llama3 as llama3
from torchtitan.models.common import ComplexRoPE, Embedding, Linear, RMSNorm
{imports}

def sized(attn_backend, tp_gemm_backend="default"):
    return llama3.Llama3Model.Config(
        dim={dim}, vocab_size={vocabulary}, enable_weight_tying={tied},
        tok_embeddings=Embedding.Config(num_embeddings={vocabulary}, embedding_dim={dim}, param_init=llama3.{embedding}),
        norm=RMSNorm.Config(normalized_shape={dim}, param_init=llama3._NORM_INIT),
        lm_head=Linear.Config(in_features={dim}, out_features={vocabulary}, param_init=llama3._output_linear_init({dim})),
        layers=llama3._build_llama3_layers(
            fuse_qkv=True, n_layers={layers}, dim={dim}, n_heads={heads}, n_kv_heads={kv_heads}, hidden_dim={hidden},
            rope=ComplexRoPE.Config(dim={head_dim}, max_seq_len={positions}, theta={theta}, scaling="{scaling}"),
            attn_backend=attn_backend, tp_gemm_backend=tp_gemm_backend))


llama3.llama3_configs["sized"] = sized


def run():
    config = config_registry.llama3_debugmodel()
"""

CHECKPOINTS = {"none": "None", "full": "FullAC.Config()", "selective-op": "SelectiveAC.Config()"}
IMPLEMENTATIONS = {"fused": "fused", "foreach": "foreach", "default": "for-loop", "loop": "for-loop"}
WORDS = ("memory", "of", "a", "training", "run")


def settings(job):
    """What differs from the debug model's configuration: member -> Python."""
    return {"model_spec": f'llama3.model_registry("sized"{job["converters"]})', "hf_assets_path": '"."',
            "loss": job["loss"], "training.local_batch_size": job["batch"], "training.seq_len": job["seq"][0],
            "training.global_batch_size": job["global_batch"], "training.max_norm": job["clip"],
            "training.steps": job["steps"], "training.disable_cuda_graphs": True, "training.dtype": f'"{job["dtype"]}"',
            "parallelism.data_parallel_replicate_degree": job["replicas"],
            "parallelism.data_parallel_shard_degree": job["shards"],
            "parallelism.tensor_parallel_degree": job["tensor_ranks"],
            "parallelism.enable_sequence_parallel": job["splits_sequence"],
            "parallelism.context_parallel_degree": job["context_ranks"],
            "activation_checkpoint": CHECKPOINTS[job["checkpoint"]], "compile.enable": job["compile"],
            "optimizer.implementation": f'"{IMPLEMENTATIONS[job["implementation"]]}"',
            "dataloader.dataset_path": '"text"', "metrics.log_freq": 10, "checkpoint.enable": False, "validator.enable": False}


def registry(job):
    imports = text("from torchtitan.components.loss import ChunkedLossWrapper, CrossEntropyLoss",
                   "from torchtitan.components.quantization import Float8LinearConverter" if job["converters"] else "",
                   "from torchtitan.distributed.activation_checkpoint import FullAC, SelectiveAC",
                   "from torchtitan.models.llama3 import config_registry")
    lines = "\n".join(f"config.{member} = {value}" for member, value in settings(job).items())
    return SIZED.format(imports=imports, **job["sizes"]) + indented(lines) + "\n    return config\n"


def torchtitan_files(job):
    """Beside the program: the registry, a tokenizer of words, and documents for all data-parallel ranks."""
    line = json.dumps({"text": " ".join(WORDS * 100)}) + "\n"
    return {"registry.py": registry(job), "text/data.json": line * max(16, 4 * job["ranks"]), **tokenizer_files()}
