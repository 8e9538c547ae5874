"""A loop around a schedule of torch.distributed.pipelining, whose stages are parts of a model of transformers."""
import ast
import pathlib

from .lines import indented, text
from .loop import loader
from .model_lines import built, checkpointed, data, imports_of_model
from .optimizers import clipped, import_of_optimizer, optimizer, zeroed
from .wrapping import WRAPPERS, imports_of_wrapping

SCHEDULES = {"gpipe": "ScheduleGPipe", "1f1b": "Schedule1F1B", "interleaved": "ScheduleInterleaved1F1B"}

LOSS = """
def loss_of(logits, labels):
    return whole.loss_function(logits=logits, labels=labels, vocab_size=config.vocab_size)

"""

STEP = """tokens = batch["input_ids"].to(rank)
labels = batch["labels"].to(rank)
losses = []
if stages[0].is_first:
    schedule.step(tokens)
elif stages[-1].is_last:
    schedule.step(target=labels, losses=losses)
else:
    schedule.step()
loss = torch.mean(torch.stack(losses)) if losses else None"""


def stage_class(name):
    """Its text, from stages.py."""
    source = pathlib.Path(__file__).with_name("stages.py").read_text(encoding="utf-8")
    found = next(node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == name)
    return f"\n{ast.get_source_segment(source, found)}\n"


def points(layers, stages):
    """Where each stage's blocks begin, and where the last one's end. torchtitan's generate_split_points of January 2025:
    rounded-down shares; the remainder goes one by one to the stages after the first."""
    share, extra = divmod(layers, stages)
    shares = [share + (0 < stage <= extra) for stage in range(stages)]
    return [*(sum(shares[:stage]) for stage in range(stages)), layers]


def mesh(job):
    """As torchtitan's ParallelDims.build_mesh: without dimensions of one rank."""
    sizes = {"pp": job["stages"], "dp": job["ranks"] // job["stages"]}
    used = {name: size for name, size in sizes.items() if size > 1}
    return f'mesh = init_device_mesh("cuda", {tuple(used.values())}, mesh_dim_names={tuple(used)})'.replace("'", '"')


def whole_model(job):
    lines = text(f"whole = {built(job)}", checkpointed(job).replace("model.", "whole.", 1))
    return text('with torch.device("meta"):', indented(lines)) if job["init"] == "meta" else lines


def part(job):
    """The rank's stage of an index, as a schedule takes it."""
    wraps = WRAPPERS[job["sharding"]].wraps(job)
    placed = 'model.to_empty(device="cuda")' if job["init"] == "meta" else 'model.to("cuda")'
    before, after = ("", wraps) if job["sharding"] == "ddp" else (wraps, "")
    return text(f"model = {job['stage_class']}(copy.deepcopy(whole), index == 0, index == count - 1, points[index], "
                "points[index + 1])", before, placed, "model.train()", after,
                'stages.append(PipelineStage(model, index, count, torch.device("cuda"), group=mesh["pp"].get_group()))')


def schedule(job):
    given = "stages" if job["schedule"] == "interleaved" else "stages[0]"
    return f"schedule = {SCHEDULES[job['schedule']]}({given}, {job['accumulate']}, loss_fn=loss_of)"


def pipeline_script(job):
    count = job["stages"] * job["chunks"]
    update = text(clipped(job), "optimizer.step()", zeroed(job) if job["zeroes_at"] == "end" else "",
                  "torch.cuda.empty_cache()" if job["empties_cache"] else "")
    return text(
        "import copy", "import os", import_of_optimizer(job), "import torch",
        f"from torch.distributed.pipelining import PipelineStage, {SCHEDULES[job['schedule']]}",
        "from torch.distributed.device_mesh import init_device_mesh", imports_of_model(job), imports_of_wrapping(job),
        "", job["model"].prepare, stage_class(job["stage_class"]), data(job), LOSS,
        'rank = int(os.environ["LOCAL_RANK"])', "torch.cuda.set_device(rank)",
        'torch.distributed.init_process_group("nccl")', mesh(job), whole_model(job),
        f"count = {count}", f"points = {points(job['layers'], count)}", "stages = []",
        f'for index in range(mesh["pp"].get_local_rank(), count, {job["stages"]}):', indented(part(job)), schedule(job),
        "model = torch.nn.ModuleList(stage.submod for stage in stages)", optimizer(job), loader(job),
        "for batch in loader:", indented(text(zeroed(job) if job["zeroes_at"] == "start" else "", STEP, update))) + "\n"
