"""One half-precision convolution at growing widths: what PyTorch reserves includes cuDNN's workspace.

pytorch/pytorch#123533 reports on a real card 4.02, 5.52, 6.15, 6.77, 7.40, 8.02, 8.65, 9.27, 9.90 and
10.52 GiB reserved:

    highwater record --gpu h100-80 -- python3 convolution_sizes.py
"""
import torch

convolution = torch.nn.Conv2d(256, 256, 3, padding=1).half().cuda()
for width in range(1024, 2177, 128):
    image = torch.zeros((1, 256, 2048, width)).half().cuda()
    convolution(image)
    print(f"{width} allocated {torch.cuda.memory_allocated() / 2**30:.2f} GiB, reserved {torch.cuda.memory_reserved() / 2**30:.2f} GiB")
    torch.cuda.empty_cache()
