"""What an environment is: its declaration, the tables of its ``spec.md``, and the package that holds it."""

from .document import Example, Field, Policy, ResetExample, Slot, Spec
from .environment import Environment
from .package import Package

__all__ = ["Environment", "Example", "Field", "Package", "Policy", "ResetExample", "Slot", "Spec"]
