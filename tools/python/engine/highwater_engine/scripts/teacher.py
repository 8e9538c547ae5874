"""A frozen model beside the one that is trained: it is given the same batches, and its outputs live until the step's end."""
from ..models import CALL
from .lines import indented, text
from .model_lines import dtype

FOLDER = "teacher"  # of its config.json, beside the script's own


def files(model):
    """Those that it is made from. model: models.Model, or None"""
    return {f"{FOLDER}/{name}": content for name, content in model.files.items()} if model else {}


def made(job):
    """The lines that make it, before those of the model: both may call their configuration `config`."""
    teacher = job["teacher"]
    if not teacher:
        return ""
    return text(teacher.imports, teacher.prepare.replace('from_pretrained(".")', f'from_pretrained("{FOLDER}")'),
                f"teacher = {teacher.construct(dtype(job), job['attention'])}",
                'teacher.to("cuda").eval().requires_grad_(False)')


def asked(job):
    """The lines that give it a batch as the model is given it. Labels would only make it compute a loss, unless its decoder
    reads them."""
    teacher, call = job["teacher"], job["model"].call
    if not teacher:
        return ""
    if call == CALL and not teacher.targets:
        call = '{called}(**{{name: value for name, value in batch.items() if name != "labels"}})'
    return text("with torch.no_grad():", indented(f"answers = {call.format(called='teacher', constants='')}"))
