"""``simulacrum validate --deep``: the battery's sampling checks with ever new seeds, until it is stopped."""

from __future__ import annotations

import sys

from rich.console import Console

from ..harness import deep, executors
from ..harness.evidence import CAVEAT, words
from ..harness.finding import Finding
from ..harness.profile import DEFAULT
from .arguments import some_seed
from .codes import FINDINGS, PASSED
from .signals import interruptible
from .validate import load, read

FEW = 5  # shards that are named


def validate_deep(target: str, *, seed: int | None = None, ray: str | None = None, shards: int | None = None) -> int:
    """Run shards until interrupted (or ``shards`` of them are done), and say what all of them came to; the exit code.

    Raises :class:`~simulacrum.errors.SimulacrumError` for a package that cannot be loaded, or where Ray, or the
    cluster, is not there or cannot run a shard.
    """
    package = read(target)
    load(package)
    console = Console(file=sys.stdout, highlight=False, emoji=False)
    ledger = deep.Ledger(package, seed, some_seed())
    work = executors.Work(package, DEFAULT)
    before = len(ledger.done)
    executor: deep.Executor = executors.Local(work) if ray is None else executors.OnRay(work, ray)
    _say(
        console,
        f"Validating {package.environment.id} ({package.path}), deep profile, seed {ledger.seed}, "
        f"{executor.width} shards at a time, {'until stopped (Ctrl-C)' if shards is None else f'{shards} more'}\n"
        f"{before} shards done before; kept in {ledger.file}",
    )
    told: set[tuple[str, ...]] = set()

    def finished(done: deep.Done) -> None:
        transitions = done.counts.get("transitions", 0)
        _say(
            console,
            f"{done.outcome:<15} shard {done.shard.number}: {done.shard.check}, seed {done.shard.seed}, "
            f"{done.seconds:.1f} s, {transitions:,} transitions",
        )
        for finding in (Finding(**content) for content in done.findings):
            if deep.kind(finding) not in told:  # one fault is found again and again
                told.add(deep.kind(finding))
                _say(console, finding.text())

    try:
        with interruptible():  # from here on: Ray has a handler of its own for SIGTERM
            deep.run_deep(ledger, executor, finished, shards)
    except KeyboardInterrupt:
        _say(console, "\nStopped; the same command goes on from here.")
    return _end(console, ledger)


def _end(console: Console, ledger: deep.Ledger) -> int:
    """All shards of the ledger, by check, and what they found: the same whichever ended first, or was run again."""
    _say(console, f"\n{len(ledger.done)} shards:")
    totals = ledger.totals()
    for check, total in totals.items():
        if not total["shards"]:
            continue
        failed = f", {total['failed']} with findings" if total["failed"] else ""
        sure = words(check, "failed" if total["failed"] else "passed", total["evidence"])
        _say(
            console,
            f"{check:<26} {total['shards']:>6} shards{failed}, {total['transitions']:,} transitions compared"
            + (f"; {sure}" if sure else ""),
        )
    for finding, found_by in ledger.merged():
        more = f" and {len(found_by) - FEW} more" if len(found_by) > FEW else ""
        _say(console, f"\n{finding.text()}\n  found by   shard {', '.join(map(str, found_by[:FEW]))}{more}")
    _say(console, CAVEAT)
    _say(console, "A deep run writes no report: simulacrum validate does.")
    return FINDINGS if any(total["failed"] for total in totals.values()) else PASSED


def _say(console: Console, text: str) -> None:
    console.print(text, markup=False, soft_wrap=True)
