"""What an environment is: its declaration, the tables of its ``spec.md``, and the package that holds it."""

from .document import Spec
from .environment import Environment
from .package import Package
from .rows import Example, Field, Policy, ResetExample, Slot, SmallWorld

__all__ = ["Environment", "Example", "Field", "Package", "Policy", "ResetExample", "Slot", "SmallWorld", "Spec"]
