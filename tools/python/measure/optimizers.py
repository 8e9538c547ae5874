"""The optimizer of a case."""


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
    optim = torch.optim
    makers = {
        "adamw": lambda: optim.AdamW(params, lr=1e-4, **options),
        "adam": lambda: optim.Adam(params, lr=1e-4, **options),
        "sgd": lambda: optim.SGD(params, lr=1e-3, **options),
        "sgd-momentum": lambda: optim.SGD(params, lr=1e-3, momentum=0.9, **options),
        "rmsprop": lambda: optim.RMSprop(params, lr=1e-4, **options),
        "adagrad": lambda: optim.Adagrad(params, lr=1e-3, **options),
        "adafactor": lambda: optim.Adafactor(params, lr=1e-3, **options),
    }
    return makers[name]()
