"""Counter-based randomness: every draw is a pure function of (seed, episode, t, slot, index).

``Draw`` is the plain form (one instance, Python integers); ``simulacrum.rng.tensor.Draw`` the batched one (torch),
with the same method names and the same bits. Importing this package does not import torch.
"""

from .arguments import MAX_SLOT, Phase
from .draw import Draw
from .threefry import episode_key, instance_seed, seed_key, threefry2x32

__all__ = ["MAX_SLOT", "Draw", "Phase", "episode_key", "instance_seed", "seed_key", "threefry2x32"]
