"""How much a battery does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

__all__ = ["DEFAULT", "PROFILES", "QUICK", "Profile"]


@dataclass(frozen=True)
class Profile:
    """One battery's extent.

    Attributes:
        name: ``default``, or ``quick`` (a subset of the same checks, which writes no report).
        seed: all that the battery draws at random follows from it.
        sizes: batch size N -> (rows compared with a reference, steps) of the differential check.
        sweep: (N, steps) of the invariant sweep.
        independence: (N, steps) of the batch-independence check's large batch.
        transitions: how many single injected transitions are compared.
        search: (rounds, rows a round) of the guided search and of coverage's, and the steps of the runs that follow.
        ends: how often coverage must see each cause of an end.
        keeps: whether what the search found is kept in the package's corpus.
        episodes: (reference, fast) episodes of a scripted policy.
        compiled: whether compiled graphs are compared.
        joint: steps of a configuration with other constants that are compared in lockstep, at most: of agents, of rows.
        processes: whether other processes are started (another thread count, hash seed, collectors with workers).
        seconds: how long throughput measures each side.
        devices: where the fast side runs; the first is the one of most checks.

    Example:
        >>> from simulacrum.harness.profile import DEFAULT, QUICK
        >>> DEFAULT.seeded(7).seed, QUICK.transitions < DEFAULT.transitions
        (7, True)
    """

    name: str = "default"
    seed: int = 0
    sizes: dict[int, tuple[int, int]] = field(
        default_factory=lambda: {
            1: (1, 3000),
            2: (2, 2000),
            3: (3, 2000),
            7: (7, 1500),
            65: (65, 1000),
            513: (65, 800),
            4096: (65, 800),
        }
    )
    sweep: tuple[int, int] = (4096, 400)
    independence: tuple[int, int] = (4096, 200)
    transitions: int = 600_000
    search: tuple[int, int, int] = (60, 1024, 200)
    ends: int = 100
    keeps: bool = True
    episodes: tuple[int, int] = (400, 20_000)
    compiled: bool = True
    joint: tuple[int, int] = (9_500_000, 120_000)
    processes: bool = True
    seconds: float = 1.5
    devices: tuple[str, ...] = ("cpu",)

    def seeded(self, seed: int) -> Profile:
        """The same battery with another seed."""
        return replace(self, seed=seed)


DEFAULT = Profile()
QUICK = Profile(
    name="quick",
    sizes={1: (1, 400), 7: (7, 300), 65: (65, 150), 513: (33, 100)},
    sweep=(1024, 200),
    independence=(513, 100),
    transitions=20_000,
    search=(6, 512, 40),
    ends=20,
    keeps=False,
    episodes=(50, 5000),
    compiled=False,
    joint=(200_000, 4000),
    processes=False,
    seconds=0.3,
)
PROFILES = {"default": DEFAULT, "quick": QUICK}
