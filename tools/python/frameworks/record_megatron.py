#!/usr/bin/env python3
"""Records Megatron-Core's GPTModel with its DDP and optimizers on the fake device.

  record_megatron.py record --cases cases.json --out DIR [options of tools/python/measure record]

Output has the format of measure's (X.json, X.pickle.xz), whose recorder does the work. A case:
  id, layers, hidden, heads, kv_heads, ffn, vocab, seq, batch, grad_accum, steps
  style       gpt (learned positions, LayerNorm, biases, gelu) | llama (rope, RMSNorm, swiglu)
  dropout, tied, tp, dp, sp, dist_opt, overlap, fp32_grads, bucket_size, recompute (none|selective|full),
  attention   unfused (fused softmax) | flash; wgrad_fusion: weight gradients go straight into main_grad
  grad_clip   0: none
"""

import contextlib
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from measure.command import record_main  # noqa: E402
from measure.process_group import start_group  # noqa: E402

DEFAULTS = {"layers": 2, "hidden": 256, "heads": 8, "kv_heads": None, "ffn": None, "vocab": 1000, "seq": 128,
            "batch": 2, "grad_accum": 1, "steps": 3, "style": "gpt", "dropout": 0.0, "tied": True, "tp": 1, "dp": 2,
            "sp": False, "dist_opt": False, "overlap": False, "param_overlap": False, "fp32_grads": True,
            "bucket_size": None,
            "recompute": "none", "grad_clip": 1.0, "precision": "bf16", "adam": "fused",
            "attention": "unfused", "wgrad_fusion": True, "stacks": None, "experts": 0, "topk": 2, "capacity": None,
            "ep": 1, "shared": 0, "dist": {"kind": "megatron"}, "memory_limit_mib": None}


def model_of(case):
    """The decoder as transformers would describe it."""
    ffn = case["ffn"] or 4 * case["hidden"]
    if case["style"] == "gpt":
        return {"model_type": "gpt2", "vocab_size": case["vocab"], "n_positions": case["seq"], "n_embd": case["hidden"],
                "n_layer": case["layers"], "n_head": case["heads"], "n_inner": ffn, "resid_pdrop": case["dropout"],
                "embd_pdrop": case["dropout"], "attn_pdrop": case["dropout"], "tie_word_embeddings": case["tied"]}
    mixture = {"num_experts_per_tok": case["topk"], "num_local_experts": case["experts"]} if case["experts"] else {}
    return {"model_type": "mixtral" if mixture else "llama", "vocab_size": case["vocab"], "hidden_size": case["hidden"],
            "intermediate_size": ffn, "num_hidden_layers": case["layers"], "num_attention_heads": case["heads"],
            "num_key_value_heads": case["kv_heads"] or case["heads"], "tie_word_embeddings": case["tied"],
            "attention_dropout": case["dropout"], **mixture}


def options_of(case, family):
    """The case in Highwater's words."""
    options = {"model": f"megatron-{family}", "framework": "megatron", "model-code": "megatron",
               "transformer-impl": "local", "batch": case["batch"],
               "seq": case["seq"], "steps": case["steps"], "grad-accum": case["grad_accum"], "precision": case["precision"],
               "attention": {"unfused": "eager", "flash": "sdpa-flash"}[case["attention"]], "checkpoint": case["recompute"],
               "dropout": case["dropout"], "optimizer": "adamw", "grad-clip": case["grad_clip"] or "none",
               "zero-grad-at": "start", "dp": case["dp"], "dp-kind": "zero1" if case["dist_opt"] else "ddp", "tp": case["tp"],
               "sp": case["sp"], "overlap-grad-reduce": case["overlap"], "overlap-param-gather": case["param_overlap"],
               "fp32-grads": case["fp32_grads"], "wgrad-fusion": case["wgrad_fusion"], "ddp-bucket-size": case["bucket_size"],
               "ep": case["ep"], "moe-capacity-factor": case["capacity"]}
    return {option: value for option, value in options.items() if value is not None}


def describe(case, report):
    config = model_of(case)
    family = config["model_type"]
    report["model"] = {"family": family, "source": "megatron", "config": config}
    kept = {field: case[field] for field in ("id", "stacks", "memory_limit_mib")}
    report["case"] = {**kept, "options": options_of(case, family)}


def patch_rank0(torch):
    """Collectives on objects behave as if all ranks held the same."""
    dist = torch.distributed

    def all_gather_object(gathered, value, group=None):
        gathered[:] = [value] * len(gathered)

    dist.all_gather_object = all_gather_object
    dist.barrier = lambda *args, **kwargs: None
    new_group = dist.new_group

    def cuda_group(*args, backend=None, **kwargs):
        return new_group(*args, backend=None if backend == "gloo" else backend, **kwargs)

    dist.new_group = cuda_group


def patch_norm(torch):
    """torch's norms under sequence parallelism: what the fused ones do, marking their parameters."""
    from megatron.core.transformer import torch_norm
    new = torch_norm.WrappedTorchNorm.__new__

    def make(cls, config, hidden_size, **kwargs):
        was, config.sequence_parallel = config.sequence_parallel, False
        norm = new(cls, config, hidden_size, **kwargs)
        config.sequence_parallel = was
        for parameter in norm.parameters():
            parameter.sequence_parallel = was
        return norm

    torch_norm.WrappedTorchNorm.__new__ = make


def install_kernels(torch):
    """Stand-ins for the fused kernels of apex, Transformer Engine and torch.compile: their blocks, no values.

    softmax: one result, its gradient in place of the incoming one (scaled_upper_triang_masked_softmax.h).
    bias-gelu, swiglu: one result, one gradient. bias-dropout-add: one result, a mask of a byte per element.
    rope: one result each way. RMSNorm: result and fp32 reciprocal deviations. wgrad: adds into main_grad.
    """
    import types
    function = torch.autograd.Function
    softmax = types.ModuleType("scaled_upper_triang_masked_softmax_cuda")
    softmax.forward = lambda inputs, scale: torch.empty_like(inputs)
    softmax.backward = lambda grads, results, scale: grads
    sys.modules[softmax.__name__] = softmax
    blocks = types.ModuleType("scaled_masked_softmax_cuda")
    blocks.get_batch_per_block = lambda sq, sk, b, heads: 8 if sk <= 128 else 4
    sys.modules[blocks.__name__] = blocks
    wgrad = types.ModuleType("fused_weight_gradient_mlp_cuda")
    wgrad.wgrad_gemm_accum_fp32 = wgrad.wgrad_gemm_accum_fp16 = lambda inputs, grads, main_grad: None
    sys.modules[wgrad.__name__] = wgrad

    from megatron.core.fusions import fused_bias_dropout, fused_bias_gelu, fused_bias_swiglu
    fused_bias_gelu.bias_gelu = lambda bias, y: torch.empty_like(y)
    fused_bias_gelu.bias_gelu_back = lambda g, bias, y: torch.empty_like(y)
    fused_bias_swiglu.swiglu = lambda y: y.new_empty((*y.shape[:-1], y.shape[-1] // 2))
    fused_bias_swiglu.swiglu_back = lambda g, y: torch.empty_like(y)
    fused_bias_swiglu.weighted_swiglu = lambda y, w: y.new_empty((*y.shape[:-1], y.shape[-1] // 2))
    fused_bias_swiglu.weighted_swiglu_back = lambda g, y, w: (torch.empty_like(y), torch.empty_like(w))

    workspace = []

    def gemm(a, b, dtype, layout="TN", bias=None, grad=False):
        if not workspace:
            workspace.append(torch.empty(4194304, dtype=torch.uint8, device="cuda"))
        m = a.shape[0] if layout[0] == "T" else a.shape[1]
        n = b.shape[0] if layout[1] == "N" else b.shape[1]
        return [torch.empty((n, m), dtype=dtype, device="cuda")]

    from megatron.core.transformer.moe import moe_utils
    moe_utils.te_general_gemm = gemm

    class BiasDropoutAdd(function):
        @staticmethod
        def forward(ctx, x, bias, residual, prob):
            ctx.save_for_backward(torch.empty_like(x, dtype=torch.bool) if prob > 0 else None)
            ctx.bias = bias is not None
            return torch.empty_like(x)

        @staticmethod
        def backward(ctx, grad):
            mask, = ctx.saved_tensors
            grad_x = grad if mask is None else torch.empty_like(grad)
            return grad_x, grad_x.sum((0, 1)) if ctx.bias else None, grad, None

    fused_bias_dropout.bias_dropout_add_fused_train = \
        lambda x_bias, residual, prob: BiasDropoutAdd.apply(*x_bias, residual, prob)

    class Rope(function):
        @staticmethod
        def forward(ctx, t, freqs):
            ctx.save_for_backward(freqs)
            return t.new_empty(t.shape)

        @staticmethod
        def backward(ctx, grad):
            return grad.new_empty(grad.shape), None

    from megatron.core.models.common.embeddings import rope_utils
    rope_utils.fused_apply_rotary_pos_emb = lambda t, freqs, interleaved=False: Rope.apply(t, freqs)

    class RmsNormFunction(function):
        @staticmethod
        def forward(ctx, x, weight):
            out = torch.empty_like(x)
            ctx.save_for_backward(x, weight, x.new_empty((x.numel() // x.shape[-1],), dtype=torch.float32))
            return out

        @staticmethod
        def backward(ctx, grad):
            x, weight, _ = ctx.saved_tensors
            return torch.empty_like(x), torch.empty_like(weight)

    class RmsNorm(torch.nn.Module):
        def __init__(self, normalized_shape, eps):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(normalized_shape))

        def forward(self, x):
            return RmsNormFunction.apply(x, self.weight)

    torch.nn.RMSNorm = RmsNorm


def multi_tensor_kernels(torch):
    """apex's multi_tensor_l2norm: 320 partial sums and a result; multi_tensor_scale works in place."""
    from megatron.core.optimizer import clip_grads, optimizer

    def l2norm(chunk, overflow, lists, per_tensor, *args):
        partial = torch.zeros(320, device="cuda")
        result = torch.empty(1, device="cuda")
        del partial
        return result, None

    clip_grads.l2_norm_impl = l2norm
    clip_grads.multi_tensor_scale_impl = optimizer.multi_tensor_scale_impl = lambda *args: None


def flash_attention(torch):
    """Core attention through the flash kernel: views in, a copy to [s, b, h] out (TE: FlashAttention.forward)."""
    from megatron.core.transformer import dot_product_attention

    def forward(self, query, key, value, attention_mask, attn_mask_type=None, **kwargs):
        q, k, v = (x.permute(1, 2, 0, 3) for x in (query, key, value))
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
            out = torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=True, enable_gqa=q.size(1) != k.size(1),
                dropout_p=self.config.attention_dropout if self.training else 0.0)
        out = out.permute(2, 0, 1, 3).contiguous()
        return out.view(out.size(0), out.size(1), -1)

    dot_product_attention.DotProductAttention.forward = forward


def make_fused_adam(torch):
    """The memory of apex's and Transformer Engine's FusedAdam: two moments, no temporaries."""
    class Adam(torch.optim.Optimizer):
        def __init__(self, params, lr=1e-3, weight_decay=0.0, betas=(0.9, 0.999), eps=1e-8, **unused):
            super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "betas": betas, "eps": eps})

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    state = self.state[p]
                    if not state:
                        state["exp_avg"] = torch.zeros_like(p)
                        state["exp_avg_sq"] = torch.zeros_like(p)

    return Adam


def config_of(torch, case):
    from megatron.core.transformer.transformer_config import TransformerConfig
    gpt = case["style"] == "gpt"
    recompute = {"none": {}, "selective": {"recompute_granularity": "selective"},
                 "full": {"recompute_granularity": "full", "recompute_method": "uniform",
                          "recompute_num_layers": 1}}[case["recompute"]]
    half = {"bf16": {"bf16": True, "params_dtype": torch.bfloat16, "pipeline_dtype": torch.bfloat16},
            "fp16": {"fp16": True, "params_dtype": torch.float16, "pipeline_dtype": torch.float16},
            "fp32": {}}[case["precision"]]
    moe = {} if not case["experts"] else dict(
        num_moe_experts=case["experts"], moe_router_topk=case["topk"], moe_ffn_hidden_size=case["ffn"], moe_router_dtype="fp32",
        expert_model_parallel_size=case["ep"], moe_token_dispatcher_type="alltoall", moe_router_load_balancing_type="none",
        moe_expert_capacity_factor=case["capacity"], moe_pad_expert_input_to_capacity=case["capacity"] is not None,
        moe_shared_expert_intermediate_size=case["shared"] or None)
    half.update(moe)
    return TransformerConfig(
        num_layers=case["layers"], hidden_size=case["hidden"], num_attention_heads=case["heads"],
        num_query_groups=case["kv_heads"], ffn_hidden_size=case["ffn"] or 4 * case["hidden"],
        hidden_dropout=case["dropout"], attention_dropout=case["dropout"],
        normalization="LayerNorm" if gpt else "RMSNorm", add_bias_linear=gpt, gated_linear_unit=not gpt,
        activation_func=torch.nn.functional.gelu if gpt else torch.nn.functional.silu,
        bias_activation_fusion=True, bias_dropout_fusion=True, masked_softmax_fusion=True,
        attention_softmax_in_fp32=False, apply_rope_fusion=not gpt, tensor_model_parallel_size=case["tp"],
        sequence_parallel=case["sp"], gradient_accumulation_fusion=case["wgrad_fusion"], persist_layer_norm=False, **half,
        **recompute)


def padded(vocab, tp):
    multiple = 128 * tp
    return -(-vocab // multiple) * multiple


def build_model(torch, case):
    from megatron.core.models.gpt import GPTModel
    from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
    from megatron.core.transformer.module import Float16Module
    gpt = case["style"] == "gpt"
    config = config_of(torch, case)
    spec = get_gpt_layer_local_spec(num_experts=case["experts"] or None, moe_grouped_gemm=False, normalization=None if gpt else "RMSNorm")
    model = GPTModel(config, spec, vocab_size=padded(case["vocab"], case["tp"]), max_sequence_length=case["seq"],
                     share_embeddings_and_output_weights=case["tied"],
                     position_embedding_type="learned_absolute" if gpt else "rope")
    model.cuda()  # megatron/training/training.py: get_model
    return config, (Float16Module(config, model) if case["precision"] != "fp32" else model)


def wrap(torch, case, config, model):
    from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig
    ddp = DistributedDataParallelConfig(
        grad_reduce_in_fp32=case["fp32_grads"], overlap_grad_reduce=case["overlap"],
        overlap_param_gather=case["param_overlap"], use_distributed_optimizer=case["dist_opt"],
        bucket_size=case["bucket_size"])
    if ddp.bucket_size is None:  # megatron/training/training.py: get_model
        ddp.bucket_size = max(40000000, 1000000 * case["dp"])
    if not case["overlap"]:
        ddp.bucket_size = None
    return DistributedDataParallel(config, ddp, model, disable_bucketing=False)


def make_optimizer(case, chunk):
    from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
    config = OptimizerConfig(optimizer="adam", lr=1e-4, weight_decay=0.1, bf16=case["precision"] == "bf16",
                             fp16=case["precision"] == "fp16", use_distributed_optimizer=case["dist_opt"],
                             overlap_param_gather=case["param_overlap"], clip_grad=case["grad_clip"],
                             initial_loss_scale=2.0**10, log_num_zeros_in_grad=False)
    import torch
    if case["precision"] != "fp32":
        config.params_dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[case["precision"]]
    return get_megatron_optimizer(config, [chunk], use_gloo_process_groups=False)


def forward_step(torch, chunk, tokens, labels):
    """pretrain_gpt.py: forward_step and loss_func; the fused kernels need no attention mask."""
    positions = torch.zeros(tokens.shape, dtype=torch.long).to("cuda")
    loss_mask = torch.ones(tokens.shape).to("cuda")
    losses = chunk(tokens, positions, None, labels=labels)
    return torch.sum(losses.view(-1) * loss_mask.view(-1))


def train(torch, case, rec, report):
    from megatron.core import parallel_state, tensor_parallel
    from megatron.core.distributed import finalize_model_grads
    start_group(torch, "nccl", case["dp"] * case["tp"])
    patch_rank0(torch)
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=case["tp"], expert_model_parallel_size=case["ep"], create_gloo_process_groups=False)
    tensor_parallel.model_parallel_cuda_manual_seed(1)
    rec.mark("group")
    config, model = build_model(torch, case)
    rec.mark("model")
    chunk = wrap(torch, case, config, model)
    rec.mark("wrap")
    report["parameters"] = [[n, list(p.shape), str(p.dtype).removeprefix("torch."), list(p.shape)]
                            for n, p in chunk.named_parameters()]
    optimizer = make_optimizer(case, chunk)
    config.grad_scale_func = optimizer.scale_loss
    if case["overlap"]:
        config.no_sync_func = chunk.no_sync
    rec.mark("optimizer")
    chunk.train()
    update = optimizer.step_with_ready_grads

    def clipped_update():
        rec.mark("clip", step)
        return update()

    if case["grad_clip"]:
        optimizer.step_with_ready_grads = clipped_update
    shape = (case["batch"], case["seq"])
    for step in range(case["steps"]):
        rec.reset_peaks()
        rec.mark("step_begin", step)
        chunk.zero_grad_buffer()  # megatron/training/training.py: train_step
        optimizer.zero_grad()
        rec.mark("zero_grad", step)
        for micro in range(case["grad_accum"]):
            tokens = torch.zeros(shape, dtype=torch.long).to("cuda")
            labels = torch.zeros(shape, dtype=torch.long).to("cuda")
            rec.mark("data", step, micro, shape=list(shape))
            last = micro == case["grad_accum"] - 1
            with contextlib.nullcontext() if last else chunk.no_sync():
                loss = forward_step(torch, chunk, tokens, labels)
                rec.mark("forward", step, micro)
                if case["grad_accum"] > 1:
                    loss = loss / case["grad_accum"]
                config.grad_scale_func(loss).backward()
            if last:
                finalize_model_grads([chunk], None)
            rec.mark("backward", step, micro)
        optimizer.step()
        rec.mark("optimizer_step", step)
        rec.mark("step_end", step)
    report["_snapshot"] = rec.snapshot()


def even_routing(torch, case):
    """Without a capacity, sizes depend on data, which the device does not have: every expert gets the same."""
    from megatron.core.transformer.moe.token_dispatcher import MoEAlltoAllTokenDispatcher as Dispatcher
    preprocess = Dispatcher.preprocess

    class MaskedSelect(torch.autograd.Function):
        @staticmethod
        def forward(ctx, values, mask):
            ctx.save_for_backward(mask, values)
            found = mask.shape[1] * case["topk"]
            places = torch.empty((found, 2), dtype=torch.long, device="cuda")  # noqa: F841  as long as it lives
            return values.new_empty(found)

        @staticmethod
        def backward(ctx, grad):
            _, values = ctx.saved_tensors
            result = torch.zeros_like(values)
            sums = torch.empty(values.shape, dtype=torch.long, device="cuda")  # noqa: F841  as long as it lives
            return result, None

    def even(self, routing_map):
        preprocess(self, routing_map)
        rows = routing_map.size(0) * case["topk"] // self.num_experts
        if self.ep_size > 1 or self.tp_size > 1:
            self.input_splits = self.output_splits = [rows * self.num_local_experts] * self.ep_size
            self.output_splits_tp = torch.tensor([rows * self.num_local_experts * self.ep_size] * self.tp_size)
        if self.num_local_experts > 1:
            self.num_global_tokens_per_local_expert = torch.full((self.ep_size * self.tp_size, self.num_local_experts), rows)
        return torch.full((self.num_local_experts,), rows * self.ep_size * self.tp_size)

    Dispatcher.preprocess = even
    torch.Tensor.masked_select = lambda values, mask: MaskedSelect.apply(values, mask)


def record_case(run):
    torch, case = run.torch, run.case
    describe(case, run.report)
    install_kernels(torch)
    import megatron.core.optimizer as mcore_optimizer
    patch_norm(torch)
    if case["experts"] and case["capacity"] is None:
        even_routing(torch, case)
    multi_tensor_kernels(torch)
    if case["attention"] == "flash":
        flash_attention(torch)
    if case["adam"] == "fused":
        adam = make_fused_adam(torch)
        torch.optim.AdamW = adam
        mcore_optimizer.Adam = adam
    train(torch, case, run.recorder, run.report)


if __name__ == "__main__":
    os.environ.update({"TORCHDYNAMO_DISABLE": "1", "CUDA_DEVICE_MAX_CONNECTIONS": "1"})
    sys.exit(record_main(record_case, Path(__file__).resolve(), __doc__, DEFAULTS))
