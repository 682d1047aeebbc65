"""Train a policy on a validated environment with PPO: TorchRL's losses, simulacrum's collector, many agents or one.

    python integrations/torchrl_ppo.py toywalk             # integrations/configs/toywalk.toml, into runs/toywalk
    python integrations/torchrl_ppo.py toywalk --resume    # go on from the last checkpoint
    python integrations/torchrl_ppo.py toywalk --evaluate  # play what was trained, and random actions beside it

Ctrl-C (or SIGTERM) ends it after the batch in hand, with a checkpoint. docs/training.md tells the rest.
"""

import argparse
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from ppo.evaluate import play
from ppo.features import sees_state
from ppo.logs import Display, Logs
from ppo.policy import Acting
from ppo.settings import Settings
from ppo.trainer import Trainer
from rich.console import Console

import simulacrum
from simulacrum.errors import SimulacrumError
from simulacrum.harness import require_fresh_report

CONFIGS = Path(__file__).resolve().parent / "configs"
EVALUATION_SEED = 1_000_003  # added to the run's: other episodes than those of the training


class Interrupted:
    """True once SIGINT or SIGTERM came; a second one ends the program at once. Use it as a context."""

    def __enter__(self) -> "Interrupted":
        self.came = False
        self._before = {each: signal.signal(each, self._take) for each in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *error: Any) -> None:
        for each, handler in self._before.items():
            signal.signal(each, handler)

    def _take(self, number: int, frame: Any) -> None:
        if self.came:
            raise KeyboardInterrupt
        self.came = True
        print("interrupted: ending after this batch (again: at once, without a checkpoint)", file=sys.stderr)

    def __bool__(self) -> bool:
        return self.came


def make_env(settings: Settings, seed: int, instances: int, expose_state: bool = False) -> Any:
    """The environment of a run, through the gate."""
    return simulacrum.make_fast(
        settings.environment,
        batch_size=[instances],
        config=settings.config,
        seed=seed,
        expose_state=expose_state or sees_state(settings),
    )


def train(trainer: Trainer, folder: Path, console: Console) -> bool:
    """Train to the run's last frame or an interruption, with logs and checkpoints in a folder; whether it is finished.

    A checkpoint is written every ``checkpoint_seconds`` and at the end, always between two batches.
    """
    checkpoint, saved = folder / "checkpoint.pt", time.monotonic()
    shows, writes = Display(console, trainer.settings.frames), Logs(folder, after=trainer.iteration)
    with Interrupted() as interrupted, shows as display, writes as logs:
        while not trainer.finished and not interrupted:
            row = trainer.iterate()
            logs.add(row)
            display.show(row)
            if time.monotonic() - saved >= trainer.settings.checkpoint_seconds:
                logs.flush()
                trainer.save(checkpoint)
                saved = time.monotonic()
        trainer.save(checkpoint)
    total = sum(trainer.seconds.values())
    if total:
        split = ", ".join(f"{name} {seconds / total:.1%}" for name, seconds in trainer.seconds.items())
        console.print(
            f"{trainer.frames:,} steps in {total:.1f} s: {trainer.frames / total:,.0f} steps/s ({split}); {checkpoint}",
            highlight=False,
            soft_wrap=True,
        )
    return trainer.finished


def evaluate(trainer: Trainer, console: Console) -> None:
    """Play greedily, by sampling, and at random, in episodes of the same seeds, and print what came of it."""
    settings = trainer.settings
    for name in ("greedy", "sampled", "random"):
        torch.manual_seed(settings.seed)
        env = make_env(settings, settings.seed + EVALUATION_SEED, settings.evaluation_instances, expose_state=True)
        policy = env.rand_action if name == "random" else Acting(trainer.network, env, greedy=name == "greedy")
        console.print(f"{name:<8} {play(env, policy)}", highlight=False, soft_wrap=True)


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", help="a name in integrations/configs, or a path to a TOML file")
    parser.add_argument("--out", type=Path, help="the run's folder (default: runs/NAME)")
    parser.add_argument("--resume", action="store_true", help="go on from the folder's checkpoint")
    parser.add_argument("--evaluate", action="store_true", help="train nothing: play what the checkpoint holds")
    parser.add_argument("--frames", type=int, help="agent-steps, instead of the settings'")
    parser.add_argument("--seed", type=int, help="the seed, instead of the settings'")
    parser.add_argument("--device", default="cpu", help="where the networks are (default: cpu)")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="of torch and of the kernel")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Train, or evaluate; 0 when the run is finished, 1 when it cannot begin, 130 when it was interrupted."""
    options, console = arguments(given), Console()
    path = Path(options.settings)
    path = path if path.suffix == ".toml" else CONFIGS / f"{path.name}.toml"
    replaced = {name: getattr(options, name) for name in ("frames", "seed") if getattr(options, name) is not None}
    torch.set_num_threads(options.threads)
    try:
        if not path.is_file():
            known = ", ".join(sorted(file.stem for file in CONFIGS.glob("*.toml")))
            raise FileNotFoundError(f"expected one of {known}, or the path of a TOML file, got {options.settings}")
        if options.device != "cpu" and not torch.cuda.is_available():
            raise ValueError(f"--device {options.device}: torch sees no such device here")
        settings = Settings.read(path, **replaced)
        require_fresh_report(settings.environment, strict=True, config=settings.config)
        folder = options.out or Path("runs") / path.stem
        checkpoint, goes_on = folder / "checkpoint.pt", options.resume or options.evaluate
        if goes_on != checkpoint.exists():
            wanted = "a checkpoint; train first" if goes_on else "no checkpoint; add --resume, or another --out"
            raise FileNotFoundError(f"{checkpoint}: expected {wanted}")
        trainer = Trainer(make_env(settings, settings.seed, settings.instances), settings, options.device)
        if goes_on:
            trainer.load(checkpoint)
    except (SimulacrumError, ValueError, OSError) as error:
        print(f"{path.stem}: {error}", file=sys.stderr)
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    finished = options.evaluate or train(trainer, folder, console)
    if not finished:
        command = [options.settings, "--out", str(folder), "--resume", "--threads", str(options.threads)]
        command += [part for name, value in replaced.items() for part in (f"--{name}", str(value))]
        told = shlex.join(["python", sys.argv[0], *command])
        console.print(f"interrupted; go on with: {told}", highlight=False, soft_wrap=True)
        return 130
    evaluate(trainer, console)
    return 0


if __name__ == "__main__":
    sys.exit(main())
