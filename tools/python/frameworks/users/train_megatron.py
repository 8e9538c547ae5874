"""train_megatron.py [KEY=VALUE ...]: three steps of a GPTModel of Megatron-Core with its DDP, optimizer and schedules.

12 layers of 1024 channels, 2 sequences of 1024 tokens, bf16; the keys are those of SETTINGS. Layers are the local
ones, with torch's norms, since Transformer Engine and Apex have to be compiled; fused=1 makes the blocks of their Adam
and norm of gradients. optimizer=muon needs Megatron-Core 0.19 and emerging-optimizers 0.3; with sharded=1 it is the
layer-wise distributed one, with layout=0 that of --no-use-layer-wise-param-layout. deallocate=1 frees outputs that a stage
has sent, as Megatron-LM always does. te=1 takes the layers of Transformer Engine instead, as Megatron-LM does by default
(transformer_engine/install.py), with its fused rotary positions, its fused cross entropy and gradients that are summed into
those of DDP's buffer; fp8=delayed (or tensorwise, blockwise, mxfp8) is --fp8-format hybrid with --fp8-recipe.

experts=8 makes a mixture: grouped=1 is --moe-grouped-gemm, permute=1 --moe-permute-fusion, router=aux_loss (or seq_aux_loss)
--moe-router-load-balancing-type; capacity=0 drops no token; shared=N adds shared experts of that width; dense=1 makes the
first layer an MLP of `ffn` beside experts of `expert_ffn`; etp=1 is --expert-tensor-parallel-size. mla=1 is
--multi-latent-attention with --qk-layernorm. modules=mlp,moe_act is --recompute-granularity selective with
--recompute-modules mlp moe_act.
"""
import functools
import os
import pathlib
import sys
import types

import torch

if "te=1" in sys.argv:
    # Apex's, which the output layer calls: adds the product to the gradient in place, and allocates nothing.
    products = sys.modules["fused_weight_gradient_mlp_cuda"] = types.ModuleType("fused_weight_gradient_mlp_cuda")
    vars(products).update(dict.fromkeys(("wgrad_gemm_accum_fp32", "wgrad_gemm_accum_fp16"), lambda inputs, gradients, sums: None))

from megatron.core import parallel_state, tensor_parallel
from megatron.core.config import set_experimental_flag
from megatron.core.distributed import DistributedDataParallel, DistributedDataParallelConfig, finalize_model_grads
from megatron.core.models.gpt import GPTModel
from megatron.core.models.gpt.gpt_layer_specs import (
    get_gpt_decoder_block_spec,
    get_gpt_layer_local_spec,
    get_gpt_layer_with_transformer_engine_spec,
)
from megatron.core.optimizer import OptimizerConfig, get_megatron_optimizer
from megatron.core.pipeline_parallel.schedules import get_forward_backward_func
from megatron.core.transformer import dot_product_attention, torch_norm
from megatron.core.transformer.module import Float16Module
from megatron.core.transformer.transformer_config import MLATransformerConfig, TransformerConfig

SETTINGS = {"model": "gpt", "tp": 1, "pp": 1, "chunks": 0, "sp": 0, "sharded": 0, "flash": 0, "overlap": 0,
            "recompute": 0, "modules": "", "etp": 0, "micro_batches": 1, "optimizer": "adam", "fused": 0, "layout": 1, "muon_tp_mode": "duplicated",
            "muon_split_qkv": 1, "muon_nesterov": 0, "layers": 12, "hidden": 1024, "ffn": 2816, "heads": 16, "groups": 8,
            "vocabulary": 50304, "length": 1024, "experts": 0, "ep": 1, "deallocate": 0,
            "te": 0, "fp8": "none", "top_k": 2, "expert_ffn": 0, "dense": 0, "shared": 0, "grouped": 1, "permute": 0,
            "capacity": 1.25, "router": "none", "router_dtype": "fp32", "score": "softmax", "pre_softmax": 0, "router_groups": 0,
            "group_topk": 0, "scaling": 0.0, "expert_bias": 0, "qk_norm": 0, "rope_fusion": 1, "mla": 0, "q_rank": 192, "kv_rank": 64,
            "qk_dim": 64, "rope_dim": 32, "v_dim": 64}
BATCH = 2


def read_settings():
    chosen = dict(SETTINGS)
    for word in sys.argv[1:]:
        key, _, text = word.partition("=")
        chosen[key] = type(SETTINGS[key])(text)
    return chosen


def use_flash_attention():
    """The local layers have Megatron's own softmax; scaled_dot_product_attention stands for the flash package."""
    def forward(self, query, key, value, mask, attn_mask_type=None, **more):
        heads = [states.permute(1, 2, 0, 3) for states in (query, key, value)]
        output = torch.nn.functional.scaled_dot_product_attention(
            *heads, is_causal=True, enable_gqa=heads[0].size(1) != heads[1].size(1))
        output = output.permute(2, 0, 1, 3).contiguous()
        return output.view(output.size(0), output.size(1), -1)

    dot_product_attention.DotProductAttention.forward = forward


def allow_sequence_parallel_norms():
    """torch's norms refuse sequence parallelism; Apex's and Transformer Engine's only mark their parameters."""
    plain = torch_norm.WrappedTorchNorm.__new__

    def make(cls, config, hidden_size, **more):
        config.sequence_parallel = False
        norm = plain(cls, config, hidden_size, **more)
        config.sequence_parallel = True
        for parameter in norm.parameters():
            parameter.sequence_parallel = True
        return norm

    torch_norm.WrappedTorchNorm.__new__ = make


def use_fused_adam():
    """What Transformer Engine's and Apex's kernels allocate, in place of torch's AdamW."""
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
    import megatron.core.optimizer
    from record_megatron import make_fused_adam, multi_tensor_kernels
    multi_tensor_kernels(torch)
    torch.optim.AdamW = megatron.core.optimizer.Adam = make_fused_adam(torch)


def mixture(s):
    """By default two experts a token, each of which takes its even share and a quarter more."""
    limited = dict(moe_expert_capacity_factor=s["capacity"], moe_pad_expert_input_to_capacity=True) if s["capacity"] else {}
    groups = dict(moe_router_num_groups=s["router_groups"], moe_router_group_topk=s["group_topk"]) if s["router_groups"] else {}
    return dict(num_moe_experts=s["experts"], moe_router_topk=s["top_k"], moe_ffn_hidden_size=s["expert_ffn"] or s["ffn"],
                moe_router_dtype=None if s["router_dtype"] == "none" else s["router_dtype"],
                expert_model_parallel_size=s["ep"], expert_tensor_parallel_size=s["etp"] or None, moe_token_dispatcher_type="alltoall",
                moe_router_load_balancing_type=s["router"], moe_aux_loss_coeff=0.0 if s["router"] == "none" else 0.001,
                moe_router_score_function=s["score"], moe_router_pre_softmax=bool(s["pre_softmax"]),
                moe_router_topk_scaling_factor=s["scaling"] or None, moe_router_enable_expert_bias=bool(s["expert_bias"]),
                moe_layer_freq=[0] * s["dense"] + [1] * (s["layers"] - s["dense"]),
                moe_shared_expert_intermediate_size=s["shared"] or None, moe_grouped_gemm=bool(s["te"] and s["grouped"]),
                moe_permute_fusion=bool(s["permute"]), **limited, **groups)


def latent_attention(s):
    return dict(q_lora_rank=s["q_rank"] or None, kv_lora_rank=s["kv_rank"], qk_head_dim=s["qk_dim"],
                qk_pos_emb_head_dim=s["rope_dim"], v_head_dim=s["v_dim"])


def transformer(s):
    is_gpt = s["model"] == "gpt"
    recompute = dict(recompute_granularity="full", recompute_method="uniform", recompute_num_layers=1)
    if s["modules"]:
        recompute = dict(recompute_granularity="selective", recompute_modules=s["modules"].split(","))
    fused = dict(apply_rope_fusion=bool(not is_gpt and s["rope_fusion"]), gradient_accumulation_fusion=True, cross_entropy_loss_fusion=True,
                 cross_entropy_fusion_impl="te")
    unfused = dict(apply_rope_fusion=False, gradient_accumulation_fusion=False)
    fp8 = {} if s["fp8"] == "none" else dict(fp8="hybrid", fp8_recipe=s["fp8"])
    kind = MLATransformerConfig if s["mla"] else TransformerConfig
    return kind(
        num_layers=s["layers"], hidden_size=s["hidden"], num_attention_heads=s["heads"],
        num_query_groups=s["heads"] if is_gpt or s["mla"] else s["groups"],
        ffn_hidden_size=4 * s["hidden"] if is_gpt else s["ffn"], hidden_dropout=0.0, attention_dropout=0.0,
        normalization="LayerNorm" if is_gpt else "RMSNorm", add_bias_linear=is_gpt, gated_linear_unit=not is_gpt,
        activation_func=torch.nn.functional.gelu if is_gpt else torch.nn.functional.silu, bias_activation_fusion=True,
        bias_dropout_fusion=True, masked_softmax_fusion=False, attention_softmax_in_fp32=False,
        tensor_model_parallel_size=s["tp"], pipeline_model_parallel_size=s["pp"], sequence_parallel=bool(s["sp"]),
        virtual_pipeline_model_parallel_size=s["chunks"] or None, **(fused if s["te"] else unfused), **fp8,
        persist_layer_norm=False, bf16=True, params_dtype=torch.bfloat16, pipeline_dtype=torch.bfloat16,
        deallocate_pipeline_outputs=bool(s["deallocate"]), **(mixture(s) if s["experts"] else {}),
        **(latent_attention(s) if s["mla"] else {}), qk_layernorm=bool(s["qk_norm"] or s["mla"]),
        **(recompute if s["recompute"] or s["modules"] else {}))


def layer_spec(s, config, chunk, is_gpt):
    if s["te"] and s["experts"]:
        return get_gpt_decoder_block_spec(config, use_transformer_engine=True, vp_stage=chunk)
    if s["te"]:
        return get_gpt_layer_with_transformer_engine_spec(qk_layernorm=config.qk_layernorm, multi_latent_attention=bool(s["mla"]))
    return get_gpt_layer_local_spec(num_experts=s["experts"] or None, moe_grouped_gemm=False,
                                    normalization=None if is_gpt else "RMSNorm")


def make_chunk(s, config, chunk):
    stage = {} if chunk is None else {"ignore_virtual": False, "vp_stage": chunk}
    is_gpt = s["model"] == "gpt"
    model = GPTModel(
        config, layer_spec(s, config, chunk, is_gpt), vocab_size=s["vocabulary"],
        max_sequence_length=s["length"], pre_process=parallel_state.is_pipeline_first_stage(**stage),
        post_process=parallel_state.is_pipeline_last_stage(**stage), share_embeddings_and_output_weights=is_gpt,
        position_embedding_type="learned_absolute" if is_gpt else "rope", vp_stage=chunk).cuda()
    ddp = DistributedDataParallelConfig(grad_reduce_in_fp32=True, overlap_grad_reduce=bool(s["overlap"]),
                                        use_distributed_optimizer=bool(s["sharded"] and s["layout"]))
    module = Float16Module(config, model)
    layout = layer_wise_layout(ddp, module) if s["sharded"] and s["layout"] and s["optimizer"] == "muon" else {}
    return DistributedDataParallel(config, ddp, module, disable_bucketing=bool(chunk), **layout)


def layer_wise_layout(ddp, module):
    """megatron/training/models/dist_utils.py (_ddp_wrap): matrices in a buffer of their own, whole on one rank each."""
    from megatron.core.optimizer.layer_wise_optimizer import LayerWiseDistributedOptimizer, tag_params_for_buffer_routing
    tag_params_for_buffer_routing([module])
    return {"full_param_layout": LayerWiseDistributedOptimizer.compute_full_param_layout(
        list(module.parameters()), None, parallel_state.get_data_parallel_world_size(), ddp,
        expert_data_parallel_world_size=parallel_state.get_expert_data_parallel_world_size())}


def batches(s):
    while True:
        yield torch.zeros((BATCH, s["length"]), dtype=torch.long)


def mean_loss(mask, losses):
    loss = torch.sum(losses.float().view(-1) * mask.view(-1)) / mask.sum()
    return loss, {"loss": loss.detach()}


def forward_step(s, iterator, model):
    ids, labels, positions = (next(iterator).cuda() for _ in range(3))
    loss_mask = torch.ones(ids.shape, device="cuda")
    hidden = None
    if not s["flash"] and not s["te"]:
        hidden = torch.triu(torch.ones((1, 1, s["length"], s["length"]), dtype=torch.bool, device="cuda"), 1)
    return model(ids, positions, hidden, labels=labels), functools.partial(mean_loss, loss_mask)


def muon_options(s):
    """--muon-tp-mode, --muon-no-split-qkv and --muon-nesterov."""
    return {key: value if isinstance(value, str) else bool(value) for key, value in s.items() if key.startswith("muon_")} \
        if s["optimizer"] == "muon" else {}


def train(s, config, models):
    is_layer_wise = s["sharded"] and s["optimizer"] == "muon"
    optimizer = get_megatron_optimizer(
        OptimizerConfig(optimizer=s["optimizer"], lr=1e-4, bf16=True, params_dtype=torch.bfloat16, clip_grad=1.0,
                        use_distributed_optimizer=bool(s["sharded"]) and not is_layer_wise,
                        **({"use_layer_wise_distributed_optimizer": True} if is_layer_wise else {}), **muon_options(s)), models)
    config.grad_scale_func, config.finalize_model_grads_func = optimizer.scale_loss, finalize_model_grads
    several = len(models) > 1
    data = [batches(s) for _ in models] if several else batches(s)
    for _ in range(3):
        for model in models:
            model.zero_grad_buffer()
        optimizer.zero_grad()
        get_forward_backward_func()(
            forward_step_func=functools.partial(forward_step, s), data_iterator=data,
            model=models if several else models[0], num_microbatches=s["micro_batches"], seq_length=s["length"],
            micro_batch_size=BATCH, decoder_seq_length=s["length"], forward_only=False)
        optimizer.step()


def main():
    s = read_settings()
    if s["flash"]:
        use_flash_attention()
    if s["fused"]:
        use_fused_adam()
    if s["sp"]:
        allow_sequence_parallel_norms()
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    torch.distributed.init_process_group("nccl")
    parallel_state.initialize_model_parallel(s["tp"], s["pp"], s["chunks"] or None, expert_model_parallel_size=s["ep"],
                                             expert_tensor_parallel_size=s["etp"] or None)
    tensor_parallel.model_parallel_cuda_manual_seed(1)
    set_experimental_flag(bool(s["mla"]))
    config = transformer(s)
    models = [make_chunk(s, config, chunk) for chunk in (range(s["chunks"]) if s["chunks"] else [None])]
    for model in models:
        model.train()
    train(s, config, models)


main()
