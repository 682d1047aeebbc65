"""A copy of a package with a fabricated report, known by an ID of its own for the length of a test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import pytest
from edited import edited_as
from fabricated import validated

from simulacrum import registry
from simulacrum.harness import discovery, fingerprint


def registered(folder: Path, monkeypatch: pytest.MonkeyPatch, base: str = "forager", **options: Any) -> str:
    """Copy ``envs/<base>`` to ``folder/<base>`` under the ID ``tests/<base>-v0``, with a state folder beside it.

    The copy has the tensor form alone, without ``kernel=True``; the ID leaves Gymnasium's registry with the test.
    """
    identifier = f"tests/{base}-v0"
    monkeypatch.setenv("XDG_STATE_HOME", str(folder / "state"))
    monkeypatch.delenv("SIMULACRUM_KEY_FILE", raising=False)
    monkeypatch.setattr(discovery, "ROOT", folder / "checkout")
    monkeypatch.setitem(gymnasium.registry, identifier, None)  # so that the end of the test takes it out
    del gymnasium.registry[identifier]
    fingerprint.forget()
    renamed = [(name, f"simulacrum/{base}-v0", identifier) for name in ("__init__.py", "spec.md")]
    edited_as(folder / base, base, *renamed, **options)
    validated(folder / base)
    assert registry.register_known() == [identifier]
    return identifier
