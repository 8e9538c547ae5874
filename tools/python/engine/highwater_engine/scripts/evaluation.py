"""What a loop that a script writes itself does between its steps: a function that evaluates, without gradients."""
from .lines import indented, text
from .loop import loader


def data(job):
    """What the function goes over."""
    evaluation, model = job["evaluation"], job["model"]
    if not evaluation:
        return ""
    if model.batches:
        batches = (model.other_batches or model.batches).format(batch=evaluation["batch"], steps=evaluation["batches"])
        return f"evaluation = {batches}"
    examples = evaluation["batch"] * evaluation["batches"]
    return loader({**job, "batch": evaluation["batch"], "examples": examples,
                   "dataset": f"torch.utils.data.Subset({model.dataset}, range({examples}))"}).replace("loader = ", "evaluation = ", 1)


def function(job, load, forward):
    """load, forward: the lines that bring a batch to the device, and those of the forward pass with its loss."""
    if not job["evaluation"]:
        return ""
    passes = text("for batch in evaluation:", indented(text(load, forward)))
    return text("def evaluate():", indented(text("model.eval()", "with torch.no_grad():", indented(passes), "model.train()")))


def called(job):
    """The lines at the end of a micro-batch."""
    if not job["evaluation"]:
        return ""
    return text(f"if (step + 1) % {job['evaluation']['every'] * job['accumulate']} == 0:", "    evaluate()")
