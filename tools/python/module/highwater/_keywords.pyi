"""The keywords of each function, as the program's help has them; written by make_options.py."""

import os
from collections.abc import Mapping, Sequence
from typing import TypedDict

class TrainingOptions(TypedDict, total=False):
    hidden: int | str
    """make the model wider or narrower: heads and feed-forward part in proportion; heads keep their size, and key-value heads and the feed-forward size their ratio to the hidden size; default the model's own"""
    framework: str
    """training loop that sets the defaults: hf, trainer, trl-sft, accelerate-fsdp2, torchtitan, torchtune, lightning, torch, deepspeed, megatron, nemo, colossalai-gemini; options override them. nemo is megatron with Apex's DistributedFusedAdam, colossalai-gemini stands for LLMem's scripts; default hf"""
    model_code: str
    """whose code runs; hf is transformers: hf, torchtitan, torchtune, megatron; default hf"""
    batch: int
    """sequences per micro-batch; default 1"""
    seq: int | Sequence[int]
    """tokens per sequence, one length per micro-batch; default 1024"""
    image_size: str
    """height and width of images in pixels; with `engine` torch; a model whose configuration names the size is made for it; of diffusers' models it is that of the sample (latents); default the model's own"""
    audio_seconds: str
    """length of sounds; with `engine` torch; default the model's own"""
    video_frames: int | str
    """frames of videos; with `engine` torch; default the model's own"""
    precision: str
    """fp32, bf16, fp16, amp-bf16, amp-fp16, bf16+amp; bf16+amp: a model in bf16 under autocast, as Trainer's bf16=True runs one that was loaded with dtype=torch.bfloat16; default fp32"""
    attention: str
    """eager, sdpa, sdpa-flash, sdpa-efficient, sdpa-math, sdpa-cudnn, flex; default sdpa"""
    checkpoint: str
    """none, full, every-N, selective-op, selective-attention, selective; default none"""
    checkpoint_impl: str
    """nonreentrant, reentrant; default nonreentrant"""
    dropout: float | str
    """replaces the model's own probabilities; default the model's own"""
    loss: str
    """hf, shift, flat, chunked-N, fused, trl; default hf"""
    num_labels: int | str
    """a head that sorts sequences into N classes in the place of the language model's (...ForSequenceClassification); 0: none; default 0"""
    keep_logits: bool
    """the model's output lives until the next forward has returned; default true"""
    use_cache: bool
    """the model returns keys and values; default true"""
    attention_mask: bool | str
    """the model is given a [batch, seq] mask that hides nothing, or padding: none, full, padded; default false"""
    data: str
    """batches are copied from the host (to) or made on the device: to, device; default to"""
    init: str
    """where the model is built: device, cpu, meta, pretrained-half; pretrained-half: in fp32 on the host, moved, then converted; default cpu"""
    experts: str
    """how a mixture routes: eager, even, batched_mm, grouped_mm, deepspeed; default eager"""
    moe_load: str | os.PathLike[str]
    """how often a mixture's router chooses each expert; busiest:X: the busiest rank of `ep`, otherwise the busiest expert, gets X times the mean. zipf:S: expert i gets a share in proportion to 1 / i^S. FILE has the share of each expert, one number for each; default even"""
    moe_noise: str
    """experts deepspeed: MoE's noisy_gate_policy: none, rsample, jitter; default none"""
    moe_residual: bool
    """experts deepspeed: MoE's use_residual, an MLP beside the experts; default false"""
    mode: str
    """eval: forward only, without gradients: train, eval; default train"""
    from_: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
    """the plan of your own configuration file, launch script or launch line (in quotes), of a recording of highwater record, or of a published run, by its name; can be given several times, options given beside it win, and what has no option is listed among the notes"""
    optimizer: str
    """none, sgd, sgd-momentum, adam, adamw, rmsprop, adagrad, adafactor, nadam, radam, adamax, adadelta, asgd, rprop, muon, adamw-8bit, adamw-32bit, paged-adamw-8bit, paged-adamw-32bit, lion-8bit, lion-32bit, paged-lion-8bit, paged-lion-32bit, ademamix-8bit, ademamix-32bit, paged-ademamix-8bit, paged-ademamix-32bit, rmsprop-8bit, rmsprop-32bit, sgd-8bit, sgd-32bit, adagrad-8bit, adagrad-32bit, lamb-32bit, lars-32bit, adafactor-hf, lion, stable-adamw, schedule-free-adamw, schedule-free-radam, schedule-free-sgd, galore-adamw, galore-adamw-8bit, galore-adafactor, apollo-adamw, came, grokadamw, lomo, adalomo, adamw-torch-8bit, adamw-torch-4bit, adamw-torch-fp8, adamw-cpu-offload, adam-8bit; default adamw"""
    optimizer_impl: str
    """default, foreach, fused, loop, deepspeed; deepspeed: the optimizer that its configuration names (FusedAdam, on the host CPUAdam); default default"""
    param_groups: int
    """2: norms and biases in their own group; default 1"""
    master_weights: bool
    """fp32 copies of low-precision parameters; default false"""
    optimizer_in_backward: bool
    """each parameter is updated when its gradient is ready; default false"""
    optimizer_rank: int
    """of the projections of GaLore and APOLLO; default 128"""
    grad_clip: float | str
    """clip the gradient norm; default none"""
    grad_accum: int
    """micro-batches per step; default 1"""
    steps: int
    """training steps; default 3"""
    set_to_none: bool
    """zero_grad frees the gradients; default true"""
    zero_grad_at: str
    """when a step zeroes its gradients: end, start, backward; default end"""
    empty_cache_every_step: bool
    """torch.cuda.empty_cache() at the end of each step; default false"""
    lora: int | str
    """train LoRA adapters of this rank, with the model frozen; 0: none; default 0"""
    lora_dropout: float
    """dropout before the adapters; default 0"""
    lora_targets: str | Sequence[str]
    """module names that get adapters; default those of the model's family"""
    dora: bool
    """adapters with a magnitude for each output (DoRA); default false"""
    quantize: str
    """frozen layers in 4 or 8 bits: none, nf4, fp4, int8, int8-weight-only; nf4, fp4: QLoRA; int8: LLM.int8(); int8-weight-only: torchao's. Weights are quantised one by one while from_pretrained() loads them; torchtune's nf4 is torchao's, made with its layers; default none"""
    double_quant: bool
    """scales of 4-bit blocks in 8 bits; default false"""
    quant_compute_dtype: str
    """what 4-bit layers compute in: default, bf16, fp16, fp32; default default"""
    quant_storage: str
    """type of the blocks that hold 4-bit weights: uint8, bf16, fp16, fp32; FSDP shards them together with weights of the same type; default uint8"""
    prepare_kbit: bool
    """prepare_model_for_kbit_training(): other weights in fp32; default true"""
    compile: bool
    """torch.compile; with `engine` torch; the whole model, with fully_shard each block; Inductor's own requests while it compiles, in the first step, are part of the run; default false"""
    float8: bool
    """torchao's float8 products; convert_to_float8_training() of all linear layers but the head, with dynamic scales for whole tensors; default false"""
    dp: int
    """data-parallel ranks; default 1"""
    dp_kind: str
    """ddp, zero0, zero1, zero2, zero3, fsdp1, fsdp2; zero kinds are DeepSpeed's engine, or the framework's own; default ddp"""
    bucket_cap_mb: float
    """size of DDP's gradient buckets; default 25, and 1 for the first"""
    gemini_min_chunk: int
    """smallest sharded chunk of Gemini in elements; default 33554432"""
    gemini_search_range: int
    """how far above the smallest size Gemini searches, in elements; default 33554432"""
    gemini_search_step: int
    """step of that search; default 1024"""
    gemini_gather_lone: bool
    """chunks that only one rank has stay gathered; default true"""
    gemini_empty_cache: bool
    """the cache is emptied after wrapping and the first backward; default true"""
    gemini_placement: str
    """where Gemini's chunks live that no operator uses: cuda, cpu, const, auto; default cuda"""
    gemini_pin: bool
    """Gemini's chunks have pinned memory on the host; default false"""
    gemini_const_mb: float
    """`gemini_placement` const: the most that gathered chunks take; default 512"""
    gemini_warmup_ratio: float
    """`gemini_placement` auto: share of the GPU that the first step leaves to all but chunks; default 0.8"""
    gemini_steady_ratio: float
    """`gemini_placement` auto: share of the GPU that later steps may use; default 0.9"""
    gemini_margin_ratio: float
    """`gemini_placement` auto: share of the GPU's unused memory for fp32 copies and moments; default 0"""
    bucket_view: bool
    """gradients are views into DDP's buckets (gradient_as_bucket_view); default false"""
    static_graph: bool
    """DDP is told that the graph never changes; default false"""
    param_dtype: str
    """FSDP: dtype of gathered parameters and compute: none, bf16, fp16, fp32; default none"""
    reduce_dtype: str
    """FSDP: dtype of the reduced gradients: none, bf16, fp16, fp32; default none"""
    reshard: str
    """FSDP2: blocks freed after their forward: always, never, but-last, all; with `pp` never, unless given (torchtitan 01/2025 parallelize_llama.py); all: the model's own unit as well, since 2.8, where the script says reshard_after_forward=True for it; default always"""
    fsdp_units: str
    """FSDP: only blocks are units, or also the ends (embedding, norm with head) or adapters: blocks, ends, adapters; adapters is PEFT's policy for FSDP1, which Trainer takes (peft 0.21 utils/other.py fsdp_auto_wrap_policy); ends is what accelerate 1.15 (utils/fsdp_utils.py fsdp2_prepare_model) and torchtitan 0.3 (distributed/fsdp.py) do; default blocks"""
    dp_replicate: int
    """HSDP: copies of the model among the dp ranks, each sharded over dp / N; default 1"""
    strategy: str
    """FSDP1's ShardingStrategy: full_shard, shard_grad_op, no_shard, hybrid_shard; default full_shard"""
    use_orig_params: bool
    """FSDP1: the optimizer sees the model's parameters, not the flat ones; default true"""
    limit_all_gathers: bool
    """FSDP1: the host waits, so that at most two all-gathers are under way; default true"""
    forward_prefetch: bool
    """FSDP1: gather the next unit's parameters before a unit's forward; default false"""
    backward_prefetch: str
    """FSDP1: gather the unit that comes next before a unit's backward, or after it: none, pre, post; none with accelerate and Trainer, unless given (accelerate 1.15 utils/dataclasses.py NO_PREFETCH); the file of 'accelerate config' may say BACKWARD_PRE; default pre"""
    no_sync: bool
    """gradients are reduced only after the last micro-batch of a step; default false"""
    backend: str
    """what carries collectives; fake does nothing: nccl, fake; default nccl"""
    overlap_comm: bool
    """DeepSpeed reduces (and zero3 gathers) on its own streams; default true with zero3, otherwise false"""
    reduce_bucket_size: int
    """elements of a gradient bucket of DeepSpeed's ZeRO; default 500000000"""
    sub_group_size: int
    """zero3: elements that are updated together; default 1000000000"""
    prefetch_bucket_size: int
    """zero3: elements gathered ahead of use; default 50000000"""
    param_persistence_threshold: int
    """zero3: parameters of up to this many elements stay whole; default 100000"""
    model_persistence_threshold: int | str
    """zero3: elements that may stay whole in total; default no limit"""
    max_live_parameters: int
    """zero3: elements up to which parameters are prefetched; default 1000000000"""
    max_reuse_distance: int
    """zero3: elements within which a parameter is kept for its next use; default 1000000000"""
    contiguous_gradients: bool
    """gradients are copied into DeepSpeed's buckets; default true"""
    reduce_scatter: bool
    """DeepSpeed reduces to each partition's owner; default true"""
    round_robin_gradients: bool
    """zero1, zero2: assign parameters to the ranks in turn; default false"""
    zero_init: bool
    """zero3: the model is built inside deepspeed.zero.Init(); default false"""
    find_unused_parameters: bool
    """DDP looks for parameters without gradients in each forward; default false"""
    ddp_comm_hook: str
    """what reduces DDP's buckets: none, allreduce, fp16-compress, bf16-compress, powersgd; default none"""
    powersgd_rank: int
    """matrix_approximation_rank; default 1"""
    powersgd_start_iter: int
    """first iterations with a plain all-reduce (start_powerSGD_iter); default 1000"""
    powersgd_min_rate: float
    """matrices that shrink by less than this stay whole (min_compression_rate); default 2"""
    powersgd_error_feedback: bool
    """add the lost part in the next iteration (use_error_feedback); default true"""
    powersgd_warm_start: bool
    """reuse P and Q in the next iteration (warm_start); default true"""
    tp: int
    """tensor-parallel ranks; default 1"""
    tp_kind: str
    """megatron, colossalai, dtensor, 2d, 2.5d, 3d; 2d, 2.5d, 3d: Colossal-AI's layers over a grid of ranks; default megatron"""
    tp_depth: int
    """tp-kind 2.5d: grids that hold the same weights; default 1"""
    sp: bool
    """sequence parallelism along the tensor-parallel ranks; each norm works on part of the sequence; default false"""
    loss_parallel: bool
    """tp-kind dtensor: logits stay split over the vocabulary (loss_parallel); default false"""
    pp: int
    """pipeline stages; Megatron-Core's with `model_code` megatron, otherwise those of torch.distributed.pipelining over `grad_accum` micro-batches of `batch` sequences; default 1"""
    pp_schedule: str
    """naive, gpipe, 1f1b, interleaved; naive: one process spreads a transformers model over N GPUs (device_map); a rank is a GPU; default 1f1b"""
    pp_chunks: int
    """model chunks per rank of an interleaved schedule; default 2"""
    cp: int
    """context-parallel ranks: parts of each sequence; default 1"""
    ep: int
    """ranks that share the experts, of dp * cp; default 1"""
    overlap_grad_reduce: bool
    """Megatron reduces gradient buckets during the backward; default false"""
    overlap_param_gather: bool
    """Megatron gathers parameters during the forward; default false"""
    fp32_grads: bool
    """Megatron's gradient buffer is fp32; default true"""
    wgrad_fusion: bool
    """Megatron adds weight gradients to that buffer in the matmul; default true"""
    rope_fusion: bool
    """Megatron's rotary embedding is Transformer Engine's kernel; Megatron-Core alone has no such kernel unless apply_rope_fusion is set (transformer_config.py); default true"""
    ddp_bucket_size: int | str
    """elements of Megatron's gradient buckets; default max(40000000, 1000000 dp) with overlap, otherwise one bucket"""
    vocab_divisor: int
    """Megatron pads the vocabulary to a multiple of this times tp; default 128"""
    cp_kind: str
    """ring, ulysses: Megatron's cp_comm_type p2p, a2a: ring, ulysses, distributed-attention, ring-self-attention; with transformers' models ring is PyTorch's context_parallel(), ulysses DeepSpeed's UlyssesSPAttentionHF, distributed-attention its DistributedAttention; ring-self-attention: Li et al. 2021, by Colossal-AI's layer in a plain loop; default ring"""
    moe_capacity_factor: float | str
    """every expert takes X times its even share of tokens, padded; none: dropless; --moe-expert-capacity-factor with --moe-pad-expert-input-to-capacity; default none"""
    muon_tp_mode: str
    """blockwise, duplicated, distributed: what Megatron's Muon makes orthogonal of a matrix split over tp: blockwise, duplicated, distributed; a rank's part alone, the gathered whole, or the part with sums over the ranks; default duplicated"""
    muon_split_qkv: bool
    """Megatron's Muon makes queries, keys and values orthogonal apart; default true"""
    muon_nesterov: bool
    """Megatron's Muon has Nesterov momentum; default false"""
    apex_bucket_mb: float
    """size of the buckets of Apex's DistributedFusedAdam; default 100"""
    apex_remainders: bool
    """Apex keeps 16 extra bits per bf16 parameter instead of fp32 copies; default true"""
    apex_contiguous_grads: bool
    """Apex's gradient buckets are one buffer; default false"""
    offload: str
    """kept in host memory: none, optimizer, params, both, activations; params and both with fsdp1, fsdp2: parameters, gradients and optimizer states in pinned host memory (CPUOffload, CPUOffloadPolicy(pin_memory=True)); optimizer with DeepSpeed's zero1, zero2, zero3; activations: torch.autograd.graph.save_on_cpu(pin_memory=True) around forward and loss; default none"""
    event_lag: int
    """kernel launches by which events of other streams are delayed; default 0"""
    event_queries: int
    """how often an event is found incomplete; default 0"""
    engine: str
    """what makes the requests: this program's model, or your own torch: auto, model, torch, both; torch carries out the plan with the PyTorch of `python`, on a simulated GPU; auto takes the model where it covers the plan, else torch; both (simulate) compares the two; default auto"""
    python: str | os.PathLike[str]
    """the Python whose PyTorch `engine` torch runs; default python3"""
    gpu: int | str
    """the GPU that the run must fit on, or its memory: a100-80, a100-40, h100-80, h100-pcie, h100-nvl, h100-96, h200, gh200, b200, v100-16, v100-32, p100-16, l40s, l40, l4, t4, a40, a10g, a10, rtx6000-ada, rtxa6000, rtxa5000, rtx-pro-6000, rtx5090, rtx4090, rtx4080, rtx3090, rtx3060, rtx2080ti; default a100-80"""
    torch: str
    """PyTorch release whose behaviour is modelled; auto is the one installed in the Python on the PATH; a later one than the default is taken as the default; default 2.15"""
    transformers: str
    """transformers release; auto and later ones as for `torch`; default 5.24"""
    deepspeed: str
    """DeepSpeed release: 0.16 or before, or newer; default 0.19"""
    torchtitan: str
    """torchtitan release: 0.0, the code of January 2025, or newer, which is 0.3; default 0.0"""
    pin_memory: bool
    """what DeepSpeed offloads is in pinned host memory; default true, with `deepspeed` 0.16 false"""
    offload_ratio: float
    """zero3: the part of the optimizer's sub-groups that is on the host; default 1"""
    offload_optimizer_device: str
    """zero3: where `offload` keeps the optimizer: cpu, nvme; default cpu"""
    offload_optimizer_buffer_count: int
    """nvme: buffers in host memory, each for the largest sub-group; default 4"""
    offload_param_device: str
    """zero3: where `offload` keeps parameters: cpu, nvme; default cpu"""
    offload_param_buffer_count: int
    """nvme: buffers in host memory; default 5"""
    offload_param_buffer_size: int
    """nvme: elements of one of them; default 100000000"""
    max_in_cpu: int
    """nvme: elements of a rank's parameters that stay in host memory; default 1000000000"""

class MemoryOptions(TypedDict, total=False):
    alloc_conf: str
    """settings as in PYTORCH_CUDA_ALLOC_CONF; replaces all settings of a file"""
    capacity: int | str
    """memory that the allocator can have, e.g. 80GiB; default: unlimited, or failures exactly where they were recorded"""
    memory_limit: int | str
    """what the process may take, as set by a memory fraction"""
    memory_fraction: float
    """the same as a share of the device's memory, 0 to 1"""

class FileOptions(TypedDict, total=False):
    device: int
    """only this device of the file"""
    torch: str
    """follow the file with the allocator of this PyTorch release, 2.6 or later; default: the file's own"""
    edit: str | Sequence[str]
    """change the run before it is replayed; repeatable, in this order"""
    max_expansion: int | str
    """refuse a compressed FILE that becomes larger than N times its size plus 64 MiB; default 250; none: no limit"""
    values: str
    """values for the integers of a FILE of highwater fit (.hwp)"""

class SimulateOptions(TrainingOptions, MemoryOptions, total=False):
    estimates: bool
    """also list the closed forms, as JSON always does"""
    bridge: str | Sequence[str]
    """break down the difference to these closed forms; all: every form"""
    find_batch: bool
    """find the largest batch that fits and report on it"""
    rank: int | str
    """ranks to simulate: one, all, or one of each kind (default)"""
    fail_on_oom: bool
    """exit with 1 if memory runs out"""
    max_reserved: int | str
    """exit with 1 if peak reserved exceeds SIZE"""
    journal: str | os.PathLike[str]
    """keep each result in FILE as soon as it is there"""
    resume: bool
    """go on from `journal` FILE, if it exists"""
    piece_times: str | os.PathLike[str]
    """write how long each piece took, and what handing them out took, one JSON object per line"""

class EstimateOptions(TrainingOptions, total=False):
    formula: str | Sequence[str]
    """only these forms, with their terms (all: every form): 4n, zero-paper, accelerate, deepspeed-zero2, deepspeed-zero2-current, deepspeed-zero3, deepspeed-activations, nemo-printed, nemo-table, korthikanti, megatron, tensor-grid, sequence-parallel, expert-parallel, llmem, llmem-corrected, llmem-code, dnnmem"""
    gpus_per_node: int
    """GPUs per node; default: what the plan's ranks need, at most 8"""
    nodes: int
    """nodes of the job; default: what the plan's ranks need"""
    llmem_base: int | str
    """LLMem's m_base, the memory in use before training; default 1100 MiB"""
    explain: bool
    """also show each form's equation, source, assumptions and known errors"""

class PlanOptions(TrainingOptions, total=False):
    gpus: int
    """GPUs to spread the job over; default 1"""
    capacity: int | str
    """memory of one GPU; default: that of `gpu`"""
    alloc_conf: str
    """settings as in PYTORCH_CUDA_ALLOC_CONF, for the simulation"""
    global_batch: int
    """sequences of a step; default: 4 Mi tokens, at most 128 Ki per GPU"""
    margin: str
    """memory that a row leaves free; default 3 %"""
    allow: str
    """what training may give up, all kinds listed: full, 16-bit, lora, lora-16-bit, 8-bit, 4-bit; default: nothing, and where that does not fit, all"""
    only: str
    """only strategies with NAME in their name"""
    rows: int
    """rows to find; default 10"""
    tensor_first: bool
    """pipelines only where tensor parallelism fills a machine"""
    tp_comm_overlap: bool
    """time: Megatron-Core's tensor-parallel sums run beside products"""
    network: str
    """time: of a GPU to other machines; default: that of `gpu`'s DGX"""
    llmem_base: int | str
    """LLMem's m_base, the memory in use before training; default 1100 MiB"""
    formulas_only: bool
    """skip the simulations: only LLMem's Algorithm 1"""
    published: bool
    """recompute the LLMem paper's Tables 2 and 3 next to the printed figures"""
    journal: str | os.PathLike[str]
    """keep each result in FILE as soon as it is there"""
    resume: bool
    """go on from `journal` FILE, if it exists"""
    piece_times: str | os.PathLike[str]
    """write how long each piece took, and what handing them out took, one JSON object per line"""

class SolveOptions(TrainingOptions, MemoryOptions, total=False):
    frontier: str
    """peak memory against recomputation: checkpoint, or checkpoint,batch"""
    margin: str
    """memory that an answer leaves free; default 0 %"""
    html: str | os.PathLike[str]
    """write a page with a picture of the frontier to FILE"""

class ChanceOptions(TrainingOptions, MemoryOptions, total=False):
    lengths: str | os.PathLike[str]
    """tokens of each sample: a FILE with one length on each line, or a distribution: uniform:LO..HI, lognormal:median=M,sigma=S,max=N, normal:mean=M,sd=S,max=N, geometric:mean=M,max=N, zipf:exponent=S,max=N"""
    runs: int
    """runs that differ by chance; default 1000"""
    seed: int
    """the same seed gives the same runs; default 0"""
    pad_to_multiple_of: int
    """a batch is padded to its longest sample, and that to a multiple of N; default 1"""
    train_sampling_strategy: str
    """the order of samples: random (default; of a FILE each once an epoch), replacement, sequential, group_by_length"""
    moe_loads: str
    """the load of experts in each step: busiest:D or zipf:D, with a distribution of the number that `moe_load` takes"""
    event_lags: str
    """how late events of other streams complete in each run: a distribution of `event_lag`"""
    set: Mapping[str, object]
    """also try these values with the same draws, as sweep does; repeatable (cross product). KEY: as in sweep, or pad-to-multiple-of or train-sampling-strategy"""
    compare: bool
    """also try the settings that can change something and paddings, each alone"""
    journal: str | os.PathLike[str]
    """keep each result in FILE as soon as it is there"""
    resume: bool
    """go on from `journal` FILE, if it exists"""
    piece_times: str | os.PathLike[str]
    """write how long each piece took, and what handing them out took, one JSON object per line"""

class ExportOptions(TrainingOptions, MemoryOptions, total=False):
    edit: str | Sequence[str]
    """change the run first; repeatable; forms: highwater replay `help`"""
    to: str
    """snapshot (PyTorch's memory_viz and this program), perfetto (ui.perfetto.dev, chrome://tracing), csv (a row per operation) or folded (stacks for flame graphs); default: by the extension of `output`"""
    at: str
    """folded: live bytes at the peak (default), at the end, or after operation number N (as numbered in csv)"""
    device: int
    """only this device of a FILE"""
    max_expansion: int | str
    """refuse a compressed FILE that becomes larger than N times its size plus 64 MiB; default 250; none: no limit"""
    values: str
    """values for the integers of a FILE of highwater fit (.hwp)"""

class PlanSweepOptions(TrainingOptions, MemoryOptions, total=False):
    set: Mapping[str, object]
    """values to try on top of the file's or plan's own; repeatable (cross product). KEY: an option of PYTORCH_CUDA_ALLOC_CONF (value default: PyTorch's), capacity, memory-limit, fraction, torch, edit, or an option of the plan; auto: chosen from the trace, as for all allocator options without `set`"""
    top: int
    """table and markdown: best rows shown; default 20"""
    journal: str | os.PathLike[str]
    """keep each result in FILE as soon as it is there"""
    resume: bool
    """go on from `journal` FILE, if it exists"""
    piece_times: str | os.PathLike[str]
    """write how long each piece took, and what handing them out took, one JSON object per line"""

class ReplayOptions(MemoryOptions, FileOptions, total=False):
    decisions: bool
    """also list every decision: OP ACTION ADDRESS SIZE STREAM"""
    timeline: bool
    """with `format` json: memory over time, with exact extremes"""
    fail_on_oom: bool
    """exit with 1 if an allocation fails"""
    max_reserved: int | str
    """exit with 1 if peak reserved exceeds SIZE"""

class ExplainOptions(MemoryOptions, FileOptions, total=False):
    top: int
    """rows of each list; default 8"""

class AdviseOptions(MemoryOptions, FileOptions, total=False):
    top: int
    """rows of each list; default 8"""

class SweepOptions(MemoryOptions, FileOptions, total=False):
    set: Mapping[str, object]
    """values to try on top of the file's or plan's own; repeatable (cross product). KEY: an option of PYTORCH_CUDA_ALLOC_CONF (value default: PyTorch's), capacity, memory-limit, fraction, torch, edit, or an option of the plan; auto: chosen from the trace, as for all allocator options without `set`"""
    top: int
    """table and markdown: best rows shown; default 20"""
    journal: str | os.PathLike[str]
    """keep each result in FILE as soon as it is there"""
    resume: bool
    """go on from `journal` FILE, if it exists"""
    piece_times: str | os.PathLike[str]
    """write how long each piece took, and what handing them out took, one JSON object per line"""

class InfoOptions(TypedDict, total=False):
    top: int
    """call sites to list per device; default 10"""
    max_expansion: int | str
    """refuse a compressed FILE that becomes larger than N times its size plus 64 MiB; default 250; none: no limit"""
    values: str
    """values for the integers of a FILE of highwater fit (.hwp)"""

class DiffOptions(TypedDict, total=False):
    view: str
    """peak: what changes the reserved peak; blocks: sizes and call sites alive at one peak of requested bytes and not at the other; requests: the aligned requests; all"""
    alloc_conf_a: str
    """replay A under these settings, as in PYTORCH_CUDA_ALLOC_CONF"""
    capacity_a: int | str
    """with this much memory for the allocator of A"""
    memory_limit_a: int | str
    """with this much memory for the process of A"""
    torch_a: str
    """replay A with the allocator of this PyTorch release"""
    alloc_conf_b: str
    """replay B (without a second file: A again) under these settings, as in PYTORCH_CUDA_ALLOC_CONF"""
    capacity_b: int | str
    """with this much memory for the allocator of B"""
    memory_limit_b: int | str
    """with this much memory for the process of B"""
    torch_b: str
    """replay B with the allocator of this PyTorch release"""
    device: int
    """only this device (peak)"""
    top: int
    """rows of each list (peak); default 10"""
    step: int
    """only this step (requests)"""
    phase: str
    """only this phase: init, zero_grad, data, forward (with loss), backward, clip, optimizer, empty_cache"""
    context: int
    """equal requests shown around a difference; default 3"""
    max_hunks: int
    """differences shown in full; default 5"""
    max_lines: int
    """lines shown of each difference; default 60"""
    ignore_free_order: bool
    """ignore the order of frees that have no allocation between them"""
    fail_above: str
    """exit with 1 if B's peak reserved exceeds A's by more than P, such as 5% or 64MiB"""
    max_expansion: int | str
    """refuse a compressed FILE that becomes larger than N times its size plus 64 MiB; default 250; none: no limit"""
    values: str
    """values for the integers of a FILE of highwater fit (.hwp)"""

class ReportOptions(MemoryOptions, FileOptions, total=False):
    pass

class ReduceOptions(MemoryOptions, FileOptions, total=False):
    keep: str
    """what has to remain: oom (the first request that fails, for the same cause), 'peak>=SIZE' (reserved) or 'fragmentation>=SHARE' (1 - peak active / peak reserved)"""
    script: str
    """a Python script that makes the same requests of PyTorch"""
    max_operations: int
    """how many operations the search may replay; default 20000000000"""

class FitOptions(TypedDict, total=False):
    device: int
    """only this device of each FILE"""
    gpu: str
    """the GPU of the recordings, where they do not say: workspaces stop to grow when it is busy"""
    max_expansion: int | str
    """refuse a compressed FILE that becomes larger than N times its size; none: no limit"""

class ScanOptions(TypedDict, total=False):
    max_expansion: int | str
    """refuse a compressed FILE that becomes larger than N times its size plus 64 MiB; default 250; none: no limit"""
    values: str
    """values for the integers of a FILE of highwater fit (.hwp)"""
    journal: str | os.PathLike[str]
    """keep each result in FILE as soon as it is there"""
    resume: bool
    """go on from `journal` FILE, if it exists"""
    piece_times: str | os.PathLike[str]
    """write how long each piece took, and what handing them out took, one JSON object per line"""
    html: str | os.PathLike[str]
    """write a page with a heat map over ranks to FILE"""
    sqlite: str | os.PathLike[str]
    """write rows, what they hold at their peak and how outliers differ to a database FILE"""

class ValidateOptions(TypedDict, total=False):
    recorded: str | os.PathLike[str]
    """folder to search for recorded cases: pairs X.json, X.pickle.xz"""
    reference: str | os.PathLike[str]
    """file of reference cases: recompute published figures; exit with 1 if a case fails"""
    only: str
    """only cases or plans whose name matches: patterns with * and ?, or part of the name (of a plan: 'model=gpt2 batch=4 ...'); separate several with commas"""
    max_error: float
    """exit with 1 if the simulation's error in peak allocated or reserved, or in the measurement of a grid's case, exceeds this fraction, or if a run ends differently from its recording; cases that an index.json in their folder holds out do not count"""
    engine: str
    """with `recorded`: what simulates the cases: this program's model (default), your own torch, or both, each in a row of its own"""
    python: str | os.PathLike[str]
    """the Python whose PyTorch `engine` torch runs; default: the one on the PATH. Cases of other releases are not simulated"""
    journal: str | os.PathLike[str]
    """keep each result in FILE as soon as it is there"""
    resume: bool
    """go on from `journal` FILE, if it exists"""
    piece_times: str | os.PathLike[str]
    """write how long each piece took, and what handing them out took, one JSON object per line"""
