"""Environments that nobody here wrote, as references: ``adopt``, ``Adoption``, ``AdoptedEnv``, ``KeyedGenerator``."""

from .adoption import Adoption
from .env import AdoptedEnv
from .generator import KeyedGenerator
from .inferred import adopt

__all__ = ["AdoptedEnv", "Adoption", "KeyedGenerator", "adopt"]
