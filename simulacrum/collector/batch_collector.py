"""``BatchCollector``: TorchRL's collector, with each step written straight into the batch that the caller gets."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase
from torch import Tensor, nn
from torchrl.collectors import Collector
from torchrl.envs import EnvBase, TransformedEnv
from torchrl.envs.utils import set_exploration_type

from ..errors import StateError
from ..fast import FastEnv
from ..fast.copying import duplicate
from ..fast.env import _cleared
from ..spec.agents import GROUP
from .memory import Memories, Recorder, Trajectories, Views, names_in, replaces

__all__ = ["BatchCollector"]

RUNNING = "running"  # the entry of a state_dict that TorchRL's own has not


class BatchCollector(Collector):
    """TorchRL's ``Collector`` for one process, several times as fast with a bare :class:`~simulacrum.FastEnv`.

    It iterates TensorDicts ``[*batch_size, T]`` with the layout, the keys and the bits of ``Collector``'s, T being
    ``frames_per_batch`` over the number of instances, rounded up. One batch is allocated per iteration, each step is
    written straight into it, and it is the caller's own: never written again. A batch lies in memory as ``[T, N, ...]``
    and is viewed as ``[N, T, ...]``, so flatten it by ``reshape``, not by ``view``.

    Args:
        create_env_fn: an environment, or a function that makes one.
        policy: a ``TensorDictModule``, an ``nn.Module``, a function of a TensorDict, or None for random actions.
        options: those of ``torchrl.collectors.Collector``, with their meaning and defaults; ``frames_per_batch`` is
            required. Alone ``auto_register_policy_transforms`` is False: where it is None, TorchRL warns of every
            policy that is a module.

    The direct way is taken where the environment is a bare :class:`~simulacrum.FastEnv` without ``expose_state``, all
    is on one device, and neither ``replay_buffer``, ``compile_policy``, ``cudagraph_policy``, ``compact_obs`` nor
    ``interruptor`` is given; :attr:`direct` tells. Elsewhere (a ``TransformedEnv``, say) TorchRL's own loop runs, and
    its steps are copied into the batch: the bits are the same.

    :meth:`state_dict` holds the running episodes too, so that a collector that loads it goes on with the same bits.

    Errors: TypeError for unknown options; ValueError for ``return_same_td=True``, which contradicts the class;
    :class:`~simulacrum.errors.ActionError` when the policy gives actions that are none.

    Example:
        >>> import simulacrum
        >>> env = simulacrum.make_fast("simulacrum/toywalk-v0", batch_size=[4], seed=0)
        >>> collector = simulacrum.BatchCollector(env, policy=None, frames_per_batch=40, total_frames=80)
        >>> for batch in collector:
        ...     batch.shape, batch["next", "reward"].shape, batch["next", "reward"].dtype
        (torch.Size([4, 10]), torch.Size([4, 10, 1]), torch.float32)
        (torch.Size([4, 10]), torch.Size([4, 10, 1]), torch.float32)
        >>> collector.shutdown()
    """

    _carrier: TensorDictBase
    _final_rollout: TensorDictBase

    def __init__(self, create_env_fn: EnvBase | Callable[..., EnvBase], policy: Any = None, **options: Any) -> None:
        if options.get("return_same_td"):
            raise ValueError(
                "return_same_td: BatchCollector gives every batch memory of its own; "
                "leave it out, or use torchrl.collectors.Collector"
            )
        super().__init__(create_env_fn, policy, **{"auto_register_policy_transforms": False, **options})
        if self._use_buffers:
            self._form = self._final_rollout[..., 0].clone()  # what a step holds: keys, shapes and dtypes
            written = set(names_in(self._form, self.env)) - set(names_in(self._carrier, self.env))
            self._written = [
                name for name in names_in(self._form, self.env) if name in written and _top(name) != "next"
            ]
            self._memories = Memories(self._new_memory)
            self._final_rollout = self._form  # instead of TorchRL's buffer, which is as large as a batch
        self._shown = names_in(self._carrier, self.env)  # what a policy sees
        self._can_be_direct = self._use_buffers and "traj_pool" not in options and self._steps_into()

    @property
    def direct(self) -> bool:
        """Whether steps are written straight into the batch."""
        return self._can_be_direct and self.interruptor is None

    # ------------------------------------------------------------------ batches

    def iterator(self) -> Iterator[TensorDictBase | None]:
        """The batches: TensorDicts ``[*batch_size, T]``, whose leaves have the dtypes of the environment's specs; None
        for each where a replay buffer takes them."""
        if self.replay_buffer is not None:
            yield from super().iterator()
            return
        while self._frames < self.total_frames:
            yield self._next_batch()  # held by no name here, so that its memory is free when the caller lets it go

    def _next_batch(self) -> TensorDictBase:
        self._iter += 1
        batch = self.rollout()
        assert batch is not None  # it is where no replay buffer takes the steps
        self._increment_frames(batch.numel())
        batch = self._postproc(batch)  # TorchRL's collector clones what this gives
        if self.post_collect_hook is not None:
            self.post_collect_hook(batch)
        return batch

    @torch.no_grad()
    def rollout(self) -> TensorDictBase | None:
        """The next ``frames_per_batch`` frames: a TensorDict ``[*batch_size, T]`` of its own, not post-processed; the
        dtypes are those of the specs."""
        if not self._use_buffers:
            return super().rollout()
        if not self.direct:
            return self._in_new_memory(super().rollout)
        if self.pre_collect_hook is not None:
            self.pre_collect_hook()
        if self.reset_at_each_iter:
            self._carrier.update(self.env.reset())
            self._start_new_trajectories()
        with set_exploration_type(self.exploration_type):
            return self._maybe_set_truncated(self._as_batch(self._collect()))

    def fake_tensordict(self) -> TensorDictBase:
        """Zeros of the form of a batch: ``[*batch_size, T]``, in the dtypes of the specs."""
        return self._in_new_memory(super().fake_tensordict) if self._use_buffers else super().fake_tensordict()

    def _in_new_memory(self, function: Callable[[], Any]) -> Any:
        """Call a function of TorchRL's that fills its buffer, with a new batch for the buffer."""
        self._final_rollout = self._as_batch(self._memories.take().zero_())
        try:
            return function()
        finally:
            self._final_rollout = self._form

    def _new_memory(self) -> TensorDictBase:
        """Memory for a batch, ``[T, *batch_size]``: what a step writes lies together."""
        return self._form.new_empty((self.frames_per_batch, *self.env.batch_size))

    def _as_batch(self, memory: TensorDictBase) -> TensorDictBase:
        with torch.enable_grad():  # else these would be views that no gradient may flow into
            batch = memory.permute(*range(1, memory.ndim), 0)
        batch.refine_names(..., "time")
        return batch

    # ------------------------------------------------------------------ the direct way

    def _steps_into(self) -> bool:
        """Whether the environment can write into a batch, and the policy adds to what it shows and replaces nothing."""
        env, devices = self.env, {self.policy_device, self.storing_device} - {None}
        return (
            isinstance(env, FastEnv)
            and not env.expose_state
            and devices <= {env.device}
            and self._carrier.device == self._form.device
            and not (self.compiled_policy or self.cudagraphed_policy or self._compact_next_keys)
            and {"next", "_step"}.isdisjoint(map(_top, self._policy_output_keys))
            and not any(replaces(name, self._carrier, env) for name in self._policy_output_keys)
        )

    def _collect(self) -> TensorDictBase:
        """The memory of the next batch, filled; what the step after it begins with becomes the carrier."""
        env, memory, begun = self.env, self._memories.take(), self._carrier.select(*self._shown)
        after, act, written = duplicate(begun), self._wrapped_policy, self._written
        if self._should_use_random_frames():
            memory.select(*written).zero_()
            act, written = env.rand_action, [env.action_key]
        seen = [*memory.select(*self._shown).unbind(0), after]
        memory.select(*env.done_keys).zero_()  # no flag is up when a step begins
        seen[0].update_(begun)
        steps = Views(memory, after, env)
        recorder = Recorder(memory, written, env)
        trajectories = Trajectories(self._traj_pool, steps.ids[0]) if self.track_traj_ids else None
        check, others = self._check_of_actions(), None
        if len(names_in(self._carrier, env)) > len(self._shown):
            others = self._carrier.exclude(*self._shown)  # what TorchRL hands on from step to step: a policy's memory
        for t, td in enumerate(seen[:-1]):
            given = recorder.given(td)
            if others is not None:
                td.update(others)
            output = act(td)
            if output is not td:
                td.update(output, keys_to_update=self._policy_output_keys)
            check(td)
            names = recorder.record(td, given, t)
            ended = steps.ended[t]
            env.step_into(steps.actions[t], ended, steps.now[t + 1])
            others = _cleared(td.select(*names), ended["done"].reshape(env.batch_size)) if names else None
            if trajectories is not None:
                trajectories.follow(steps.ids[t], ended["done"], steps.ids[t + 1])
        if trajectories is not None:
            trajectories.give_back()
        self._carrier = after if others is None else after.update(others)
        return memory

    def _check_of_actions(self) -> Callable[[TensorDictBase], Tensor]:
        """What refuses a policy's actions: an environment with a ``step_into`` of its own checks the values there."""
        env = self.env
        if type(env).step_into is FastEnv.step_into:
            return env._action
        key = env.action_key
        return lambda td: env._action_checker.check_form(td.get(key, None), env.batch_size)

    # ------------------------------------------------------------------ weights

    def _weight_update_impl(self, policy_or_weights: Any = None, **options: Any) -> None:
        """What :meth:`update_policy_weights_` does: here with every form of weights that TorchRL documents.

        TorchRL 0.14's collector for one process fails with a module, and takes no notice of ``weights_dict``.
        """
        named = options.get("weights_dict")
        if self._weight_sync_schemes or self._legacy_weight_updater or named is None:
            return super()._weight_update_impl(policy_or_weights, **options)
        if policy_or_weights is not None or options.get("model_id") is not None:
            raise ValueError("update_policy_weights_: expected weights_dict alone, got other weights or a model_id too")
        if set(named) != {"policy"}:
            raise KeyError(f"weights_dict: expected the weights of 'policy' alone, got {list(named)}")
        super()._weight_update_impl(named["policy"], **{**options, "weights_dict": None})

    def _extract_weights_if_needed(self, weights: Any, model_id: str) -> Any:
        if isinstance(weights, nn.Module):
            return TensorDict.from_module(weights)
        if isinstance(weights, dict):
            return TensorDict(weights).unflatten_keys(".")
        return super()._extract_weights_if_needed(weights, model_id)

    # ------------------------------------------------------------------ going on elsewhere

    def state_dict(self) -> OrderedDict[str, Any]:
        """TorchRL's (policy, transforms, counts of frames and trajectories), and under ``"running"`` the episodes.

        That entry holds copies of every instance's state and clock, seeds that wait for their reset, and what the next
        step begins with. It is missing where the environment is not a :class:`~simulacrum.FastEnv` under transforms.
        """
        state: OrderedDict[str, Any] = super().state_dict()
        base = _base(self.env)
        if base is not None:
            seeds = base._next_seeds
            state[RUNNING] = {
                "rows": base.get_state().to_dict(),
                "next_seeds": None if seeds is None else seeds.clone(),
                "begins": duplicate(self._carrier).to_dict(),
            }
        return state

    def load_state_dict(self, state_dict: OrderedDict[str, Any], **options: Any) -> None:
        """Go on where :meth:`state_dict` was taken, with the same bits; TorchRL's own begins new episodes instead.

        ``strict=False`` takes what is there. Raises :class:`~simulacrum.errors.StateError` for the state of another
        environment or batch size, ValueError for a policy's weights where the policy has none.
        """
        running, base, size = state_dict.get(RUNNING), _base(self.env), self.env.batch_size
        if running is not None and running["begins"]["done"].shape[:-1] != size:
            saved = list(running["begins"]["done"].shape[:-1])
            raise StateError(
                f"state_dict: expected instances {list(size)}, got {saved}; make the environment with as many"
            )
        if "policy_state_dict" not in state_dict and not hasattr(self, "_policy_w_state_dict"):
            self.env.load_state_dict(state_dict["env_state_dict"], **options)
            options = {**options, "strict": False}  # with which TorchRL asks for weights even where a function has none
        super().load_state_dict(state_dict, **options)
        if running is None or base is None:
            return
        base.reset(TensorDict(running["rows"], batch_size=base.batch_size), set_state=True)
        base._next_seeds = None if running["next_seeds"] is None else running["next_seeds"].to(base.device, copy=True)
        self._carrier = duplicate(TensorDict(running["begins"], batch_size=size, device=self._carrier.device))
        if base.environment.agents is not None:
            self._carrier.get(GROUP).batch_size = [*size, base.environment.agents]
        if self.track_traj_ids:  # TorchRL has numbered the episodes that it thinks begin
            self._traj_pool.load_state_dict(state_dict["traj_pool"])


def _base(env: EnvBase) -> FastEnv[Any] | None:
    """The environment of ours under transforms."""
    while isinstance(env, TransformedEnv):
        env = env.base_env
    return env if isinstance(env, FastEnv) else None


def _top(key: Any) -> str:
    return key if isinstance(key, str) else key[0]
