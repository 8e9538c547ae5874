"""The optimizer of a case: one of torch's, as scripts make it."""

from highwater_engine.scripts.optimizers import OPTIMIZERS


def make_optimizer(torch, case, model):
    name, impl = case["optimizer"], case["impl"]
    if name == "none" or case["mode"] == "eval":
        return None
    params = [p for p in model.parameters() if p.requires_grad]
    if case["dist"]["kind"] == "tp" and not case["dist"].get("sequence_parallel"):
        # Only some parameters are sharded here, and multi-tensor operations cannot mix the two.
        params = [group for sharded in (True, False)
                  if (group := {"params": [p for p in params if hasattr(p, "_local_tensor") == sharded]})["params"]]
    elif case["param_groups"] == 2:
        params = [{"params": [p for p in params if p.dim() > 1], "weight_decay": 0.1},
                  {"params": [p for p in params if p.dim() <= 1], "weight_decay": 0.0}]
    options = {"default": {}, "foreach": {"foreach": True}, "fused": {"fused": True},
               "loop": {"foreach": False}}[impl]
    if impl == "loop" and name in ("adamw", "adam", "sgd", "sgd-momentum", "adagrad"):
        options["fused"] = False
    made = OPTIMIZERS[name]
    return eval(f"owner(params, {made.keywords}, **options)",
                {"owner": getattr(torch.optim, made.name.rpartition(".")[2]), "params": params, "options": options})
