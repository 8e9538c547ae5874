"""A script around accelerate's Accelerator, and the file of `accelerate config` for FSDP2."""
from . import evaluation, teacher
from .lines import indented, text
from .loop import dropped, forward_and_loss, loader, loading
from .model_lines import adapted, built, checkpointed, data, imports_of_model
from .optimizers import optimizer, zeroed
from .wrapping import on_device

PLUGIN = """plugin = FullyShardedDataParallelPlugin(
    fsdp_version=2, auto_wrap_policy="transformer_based_wrap", transformer_cls_names_to_wrap=["{block}"]{more})"""


def accelerate_step(job):
    accumulates = job["accumulate"] > 1
    clip = f"accelerator.clip_grad_norm_(model.parameters(), {job['clip']})"
    forward, loss = forward_and_loss(job)
    zero = {job["zeroes_at"]: zeroed(job)}
    step = text(zero.get("start"), fed(job), forward, teacher.asked(job), f"loss = {loss}" if loss else "", dropped(job),
                zero.get("backward"),
                "accelerator.backward(loss)",
                *(("if accelerator.sync_gradients:", f"    {clip}") if job["clip"] and accumulates else
                  (clip,) if job["clip"] else ()),
                "optimizer.step()", zero.get("end"),
                *(("if accelerator.sync_gradients:", "    averaged.update_parameters(model)") if job["averages"] else ()))
    if job["context_ranks"] > 1:
        step = text("buffers = list(batch.values())",
                    "with accelerator.maybe_context_parallel(buffers=buffers, buffer_seq_dims=[1] * len(buffers),",
                    "                                        no_restore_buffers=set(buffers)):", indented(step))
    return text("with accelerator.accumulate(model):" if accumulates else "", indented(step) if accumulates else step,
                evaluation.called(job))


def fed(job):
    """The lines that make a batch what the forward takes. accelerate's loader has brought it to the device; it prepares
    nothing but a DataLoader."""
    return loading(job, "accelerator.device") if job["model"].batches else text(*job["model"].arranges)


def prepared(job):
    parts = ", ".join(("model", "optimizer", *(() if job["model"].batches else ("loader",))))
    copied = "averaged = torch.optim.swa_utils.AveragedModel(accelerator.unwrap_model(model))" if job["averages"] else ""
    return text(f"{parts} = accelerator.prepare({parts})", copied)


def evaluated(job):
    """The function that evaluates between steps, and what it goes over."""
    forward, loss = forward_and_loss(job)
    return text(evaluation.data(job),
                "evaluation = accelerator.prepare(evaluation)" if job["evaluation"] and not job["model"].batches else "",
                evaluation.function(job, fed(job), text(forward, f"loss = {loss}" if loss else "")))


def made(job):
    """On the host, or where the script asks for it."""
    if job["init"] == "device":
        return on_device(job, "accelerator.device")
    return text(f"model = {built(job)}", adapted(job), checkpointed(job))


def parallelism(job):
    """Parts of a sequence, where there are any."""
    if job["context_ranks"] == 1:
        return ""
    data_ranks = job["ranks"] // job["context_ranks"]
    return f"parallelism = ParallelismConfig(dp_shard_size={data_ranks}, cp_size={job['context_ranks']})"


def plugin(job):
    """What a script says itself, where no file of `accelerate config` does."""
    more = "" if job["reshard"] is None else f", reshard_after_forward={job['reshard']}"
    return PLUGIN.format(block=job["model"].block[1], more=more)


def accelerate_script(job):
    """`makes_plugin`: FSDP is set up here; by fsdp_file() where the model is sharded otherwise."""
    own = job["makes_plugin"]
    counted = [f"gradient_accumulation_steps={job['accumulate']}"] if job["accumulate"] > 1 else []
    given = [f'mixed_precision="{job["mixed"]}"'] if own or job["sharding"] != "fsdp2" else []
    given += ["fsdp_plugin=plugin"] if own else []
    given += ["parallelism_config=parallelism"] if parallelism(job) else []
    imported = "Accelerator, FullyShardedDataParallelPlugin" if own else "Accelerator"
    return text("import torch", f"from accelerate import {imported}",
                "from accelerate.parallelism_config import ParallelismConfig" if parallelism(job) else "", imports_of_model(job),
                teacher.made(job), job["model"].prepare, data(job), plugin(job) if own else "", parallelism(job),
                f"accelerator = Accelerator({', '.join(counted + given)})", made(job), "model.train()", optimizer(job),
                loader(job), prepared(job), evaluated(job),
                f"for {'step, batch in enumerate(loader)' if job['evaluation'] else 'batch in loader'}:",
                indented(accelerate_step(job))) + "\n"


def fsdp_file(block, ranks, mixed="bf16", reshards=True):
    """What `accelerate config` writes for FSDP2 where every question is answered with its default, but for mixed
    precision and the class to wrap, which it asks for."""
    return {"fsdp.yaml": f"""compute_environment: LOCAL_MACHINE
distributed_type: FSDP
fsdp_config:
  fsdp_activation_checkpointing: false
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_cpu_ram_efficient_loading: true
  fsdp_offload_params: false
  fsdp_reshard_after_forward: {str(reshards).lower()}
  fsdp_state_dict_type: SHARDED_STATE_DICT
  fsdp_transformer_layer_cls_to_wrap: {block}
  fsdp_version: 2
machine_rank: 0
main_training_function: main
mixed_precision: {"'no'" if mixed == "no" else mixed}
num_machines: 1
num_processes: {ranks}
rdzv_backend: static
use_cpu: false
"""}
