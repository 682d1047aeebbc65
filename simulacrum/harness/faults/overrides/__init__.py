"""Faults that apply to any package, as methods that are put into its implementation's class.

The files here are read, never run: each class is one fault, its docstring the fault's name, its body what is put at the
end of the class of ``fast.py`` (or, with ``side = "reference"``, of ``reference.py``). ``needs`` names what a package
must have for the fault to show. Where a fault replaces a method that the author wrote, the author's is called
``honest_`` and its name. ``"FIELD"`` stands for each state field in turn.
"""
