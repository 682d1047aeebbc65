"""Any batched environment beside any single one: ``simulacrum compare REFERENCE CANDIDATE``, as a library.

The candidate is a ``gymnasium.vector.VectorEnv`` or a TorchRL ``EnvBase`` that nobody here wrote; the reference is a
``gymnasium.Env``. Neither is changed. See ``docs/comparing.md``.
"""

from .comparison import Comparison, compare, replay
from .errors import CompareError
from .intended import Intended
from .targets import Target

__all__ = ["CompareError", "Comparison", "Intended", "Target", "compare", "replay"]
