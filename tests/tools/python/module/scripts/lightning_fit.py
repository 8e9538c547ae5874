"""Trains a stack of linear layers that does not fit, with Lightning's callback."""
import sys

import lightning
import torch
from highwater.lightning import WatchCallback


class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(*(torch.nn.Linear(4096, 4096) for _ in range(4)))

    def training_step(self, batch, _):
        return self.layers(batch[0]).sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.zeros(1 << 16, 4096)), batch_size=1 << 16)
trainer = lightning.Trainer(accelerator="cuda", devices=1, max_steps=2, logger=False, enable_checkpointing=False,
                            enable_progress_bar=False, enable_model_summary=False,
                            callbacks=[WatchCallback(sys.argv[1])])
trainer.fit(Model(), data)
