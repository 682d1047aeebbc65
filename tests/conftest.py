"""One thread for torch and one for its compiler: the worlds of the tests are tiny."""

import os

os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")

import torch

torch.set_num_threads(1)
