"""DeepSpeed's estimators and this module's on models of the meta device: prints JSON of both, case by case."""
import contextlib
import io
import json

import torch
from deepspeed.runtime.zero import stage3, stage_1_and_2
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

import highwater as hw

T5_3B = dict(model_type="t5", d_model=1024, d_kv=128, d_ff=16384, num_layers=24, num_heads=32, vocab_size=32128)
BLOOM = dict(model_type="bloom", hidden_size=14336, n_layer=70, n_head=112, vocab_size=250880)
MODELS = ((dict(model_type="gpt2"), AutoModelForCausalLM), (T5_3B, AutoModelForSeq2SeqLM),
          (BLOOM, AutoModelForCausalLM))


def printed(function, *arguments):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        function(*arguments)
    return out.getvalue()


def pairs(model, gpus, nodes):
    total, largest = hw.parameters(model)
    for offload in (True, False):
        yield (stage_1_and_2.estimate_zero2_model_states_mem_needs(total, gpus, nodes, offload),
               hw.estimate_zero2_model_states_mem_needs(total, gpus, nodes, offload))
        for params in (True, False):
            for zero_init in (True, False):
                case = (total, largest, gpus, nodes, offload, params, zero_init)
                yield (stage3.estimate_zero3_model_states_mem_needs(*case),
                       hw.estimate_zero3_model_states_mem_needs(*case))
    yield (printed(stage_1_and_2.estimate_zero2_model_states_mem_needs_all_cold, total, gpus, nodes),
           printed(hw.estimate_zero2_model_states_mem_needs_all_live, model, gpus, nodes))
    yield (printed(stage3.estimate_zero3_model_states_mem_needs_all_cold, total, largest, gpus, nodes),
           printed(hw.estimate_zero3_model_states_mem_needs_all_live, model, gpus, nodes))


results = []
for fields, auto in MODELS:
    fields = dict(fields)
    with torch.device("meta"):
        model = auto.from_config(AutoConfig.for_model(fields.pop("model_type"), **fields))
    for gpus, nodes in ((1, 1), (8, 1), (8, 2), (3, 7), (4, 96)):
        results += pairs(model, gpus, nodes)
print(json.dumps(results))
