"""RF-DETR with CUDA graphs, one for each of its eleven training resolutions: rfdetr_graphs.py nano|medium [up]

Needs rfdetr[train] (1.11.2 was tried). A step of each resolution, from the largest down or, with `up`, from the
smallest; the loss is a sum, so neither data nor a criterion is needed.
"""
import sys

import torch
from rfdetr.config import RFDETRMediumConfig, RFDETRNanoConfig
from rfdetr.models.lwdetr import build_model_from_config
from rfdetr.training.cuda_graph_step import CudaGraphTrainingRunner
from rfdetr.utilities.tensors import NestedTensor

BATCH = 4


def loss_of(outputs):
    heads = [outputs, *outputs.get("aux_outputs", [])]
    return sum(head["pred_logits"].float().sum() + head["pred_boxes"].float().sum() for head in heads)


def main(size, *words):
    config = {"nano": RFDETRNanoConfig, "medium": RFDETRMediumConfig}[size](pretrain_weights="none.pth")  # not loaded
    model = build_model_from_config(config).cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    runner = CudaGraphTrainingRunner(model)
    unit = config.patch_size * config.num_windows
    sides = [unit * (config.resolution // unit + offset) for offset in range(-5, 6)]
    for side in sides if "up" in words else reversed(sides):
        images = torch.randn(BATCH, 3, side, side, device="cuda")
        mask = torch.zeros(BATCH, side, side, dtype=torch.bool, device="cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = loss_of(runner(NestedTensor(images, mask)))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


main(*sys.argv[1:])
