"""A script around accelerate's Accelerator, and the file of `accelerate config` for FSDP2."""
from .lines import indented, text
from .model_lines import built, checkpointed, data, imports_of_model
from .optimizers import optimizer


def accelerate_script(job):
    accumulates = job["accumulate"] > 1
    clip = f"accelerator.clip_grad_norm_(model.parameters(), {job['clip']})"
    step = text("outputs = model(**batch)", "loss = outputs.loss", "accelerator.backward(loss)",
                *(("if accelerator.sync_gradients:", f"    {clip}") if job["clip"] and accumulates else
                  (clip,) if job["clip"] else ()),
                "optimizer.step()", "optimizer.zero_grad()")
    if accumulates:
        step = text("with accelerator.accumulate(model):", indented(step))
    counted = f"gradient_accumulation_steps={job['accumulate']}" if accumulates else ""
    return text("import torch", "from accelerate import Accelerator", imports_of_model(job),
                job["model"].prepare, data(job), f"accelerator = Accelerator({counted})", f"model = {built(job)}",
                checkpointed(job), "model.train()", optimizer(job),
                f"loader = torch.utils.data.DataLoader({job['model'].dataset}, batch_size={job['batch']})",
                "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)",
                "for batch in loader:", indented(step)) + "\n"


def fsdp_file(block, ranks):
    """What `accelerate config` writes for FSDP2 where every question is answered with its default, but for mixed
    precision and the class to wrap, which it asks for."""
    return {"fsdp.yaml": f"""compute_environment: LOCAL_MACHINE
distributed_type: FSDP
fsdp_config:
  fsdp_activation_checkpointing: false
  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP
  fsdp_cpu_ram_efficient_loading: true
  fsdp_offload_params: false
  fsdp_reshard_after_forward: true
  fsdp_state_dict_type: SHARDED_STATE_DICT
  fsdp_transformer_layer_cls_to_wrap: {block}
  fsdp_version: 2
machine_rank: 0
main_training_function: main
mixed_precision: bf16
num_machines: 1
num_processes: {ranks}
rdzv_backend: static
use_cpu: false
"""}
