"""IDs: what ``gymnasium.make``, ``gymnasium.make_vec`` and ``simulacrum.make_fast`` find under them, through the gate.

``import simulacrum`` registers every known environment with Gymnasium; :mod:`simulacrum.harness.discovery` finds them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium
from gymnasium.vector import AutoresetMode

from .harness.discovery import Known, known, resolve

if TYPE_CHECKING:
    import torch

    from .fast import FastEnv
    from .reference import ReferenceEnv
    from .vector import FastVectorEnv

__all__ = ["Known", "known", "make_fast", "make_reference", "make_vector", "register_known", "resolve"]

RENDER_MODES = ("human", "ansi", "rgb_array")  # as simulacrum.render.MODES, which import simulacrum need not load


def register_known() -> list[str]:
    """Register all known environments that Gymnasium does not have yet; the IDs that were added.

    ``import simulacrum`` does so; call it again for packages that have come since. A package that cannot be registered
    is left out: ``simulacrum list`` tells why.

    Example:
        >>> import gymnasium
        >>> from simulacrum.registry import register_known
        >>> added = register_known()
        >>> "simulacrum/toywalk-v0" in gymnasium.registry
        True
    """
    added = []
    for identifier in dict.fromkeys(one.id for one in known()):
        if identifier is None or identifier in gymnasium.registry:
            continue
        try:
            gymnasium.register(
                identifier,
                entry_point=f"{__name__}:make_reference",
                vector_entry_point=f"{__name__}:make_vector",
                kwargs={"environment": identifier},
            )
        except gymnasium.error.Error:
            continue
        added.append(identifier)
    return added


def make_reference(
    environment: str | os.PathLike[str],
    render_mode: str | None = None,
    config: str | None = None,
    render_options: Mapping[str, Any] | None = None,
) -> ReferenceEnv[Any]:
    """The reference of an environment (an ID, a bare name or a path): one instance, a ``gymnasium.Env``.

    ``config`` names one of its configurations, if it has any; None is the first of them. ``render_options`` are
    keywords of the package's renderer. What ``gymnasium.make`` calls. Raises
    :class:`~simulacrum.errors.GateError` where no fresh report admits it, :class:`~simulacrum.errors.PackageError`
    where there is no such environment.

    Example:
        >>> from simulacrum.registry import make_reference
        >>> env = make_reference("simulacrum/toywalk-v0", render_mode="ansi")
        >>> _ = env.reset(seed=0)
        >>> print(env.render())
        |. . . A . . . . . . G|  position -2  step 0/60
    """
    from .harness.gate import admit

    env: ReferenceEnv[Any] = admit(environment, form=None, config=config).reference(
        render_mode=render_mode, render_options=render_options
    )
    return env


def make_fast(
    environment: str | os.PathLike[str],
    batch_size: int | Sequence[int],
    *,
    form: str | None = None,
    config: str | None = None,
    compile: bool | Mapping[str, Any] | None = None,
    device: torch.device | str = "cpu",
    seed: int | torch.Tensor | None = None,
    first_instance: int = 0,
    resets: str = "rows",
    validate_actions: bool | None = None,
    expose_state: bool = False,
) -> FastEnv[Any]:
    """The fast side of an environment: N instances, a TorchRL ``EnvBase``.

    Args:
        environment: an ID (``"simulacrum/forager-v0"``), a bare name (``"forager"``) or a path.
        batch_size: any; N is its product.
        form: ``"tensor"``, ``"kernel"`` (on the CPU), or None for the fastest one that the report covers on the device:
            by what it measured, the kernel if there is one, unless ``compile`` asks for the tensor form.
        config: one of the environment's named configurations, if it has any; None is the first of them.
        compile: whether the tensor form's step and reset are compiled, or a dictionary of :func:`torch.compile`
            arguments; a kernel has nothing to compile.
        device, seed, first_instance, resets, validate_actions, expose_state: see :class:`simulacrum.FastEnv`.

    Every form gives the same bits. Raises :class:`~simulacrum.errors.GateError` where no fresh report covers the form,
    eager, compiled or native, on the device; :class:`~simulacrum.errors.PackageError` where there is no such
    environment; ValueError for another ``form``, and for ``form="kernel"`` with ``compile``.
    ``functools.partial(make_fast, ID, [4])`` is a picklable factory for workers.

    Example:
        >>> import simulacrum
        >>> env = simulacrum.make_fast("simulacrum/toywalk-v0", batch_size=[4], seed=0)
        >>> td = env.rollout(10, break_when_any_done=False)
        >>> td["next", "observation"].shape, td["next", "observation"].dtype
        (torch.Size([4, 10, 2]), torch.float32)
    """
    from .harness.gate import admit_fast

    compiled = compile is not False and compile is not None
    package, form = admit_fast(environment, form, compiled=compiled, device=device, config=config)
    env: FastEnv[Any] = package.forms[form](
        batch_size=batch_size,
        seed=seed,
        first_instance=first_instance,
        device=device,
        resets=resets,
        validate_actions=validate_actions,
        expose_state=expose_state,
        **({"compile": compile if compile is True else dict(compile)} if compiled else {}),  # type: ignore[arg-type]
    )
    return env


def make_vector(
    environment: str | os.PathLike[str],
    num_envs: int = 1,
    autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    render_mode: str | None = None,
    max_episode_steps: int | None = None,
    **options: Any,
) -> FastVectorEnv:
    """The fast side of an environment behind ``gymnasium.vector.VectorEnv``; what ``gymnasium.make_vec`` calls.

    ``options`` are those of :func:`make_fast` (``form``, ``config``, ``seed``, ``device``, ``compile`` ...), which
    tells the errors as well. Raises also ValueError for ``max_episode_steps``: the step cap is the environment's own.

    Example:
        >>> import gymnasium
        >>> import simulacrum
        >>> envs = gymnasium.make_vec("simulacrum/toywalk-v0", num_envs=3)
        >>> observations, infos = envs.reset(seed=0)
        >>> observations.shape, observations.dtype, infos["seed"].tolist()
        ((3, 2), dtype('float32'), [0, 1, 2])
    """
    if max_episode_steps is not None:
        raise ValueError(
            f"max_episode_steps: expected None, got {max_episode_steps!r}: the step cap is the environment's own; for "
            "another, gather instances of gymnasium.make(..., max_episode_steps=...) in a SyncVectorEnv"
        )
    from .vector import FastVectorEnv

    env = make_fast(environment, [num_envs], **options)
    return FastVectorEnv(env, autoreset_mode=AutoresetMode(autoreset_mode), render_mode=render_mode)


for _creator in (make_reference, make_vector):
    vars(_creator)["metadata"] = {"render_modes": list(RENDER_MODES)}
