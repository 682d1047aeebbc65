"""The arguments of ``simulacrum compare``; nothing heavy is imported here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .arguments import battery_seed, later, option


def add(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "compare",
        help="any vector environment beside any single one: spaces, seeds, resets, flags, transitions",
        description="Run what can be run on any gymnasium VectorEnv or TorchRL EnvBase against any gymnasium.Env. "
        "Exit code: 0 no finding but intended ones (with --replay: it does not show any more), 1 findings, 2 it could "
        "not run, 130 interrupted.",
    )
    command.add_argument(
        "reference",
        nargs="?",
        metavar="REFERENCE",
        help="a Gymnasium ID, or module:function or file.py:function that gives a gymnasium.Env",
    )
    command.add_argument(
        "candidate",
        nargs="?",
        metavar="CANDIDATE",
        help="gym:ID (its vector form), envpool:ID, gymnax:ID, simulacrum:NAME, or module:function or "
        "file.py:function, called as f(num_envs=N)",
    )
    for side in ("reference", "candidate"):
        command.add_argument(
            f"--{side}-option",
            action="append",
            default=[],
            type=option,
            metavar="KEY=VALUE",
            help=f"an argument for making the {side}: a Python literal or a word; may be given again",
        )
    command.add_argument(
        "--state",
        action="append",
        default=[],
        metavar="ATTRIBUTE=SOURCE",
        help="how a reference is brought into a row's state: its attribute, and observation or a path in the candidate "
        "with the rows first (state=state.T); may be given again",
    )
    command.add_argument(
        "--autoreset", metavar="MODE", help="next-step, same-step or disabled, where what is seen of it misleads"
    )
    command.add_argument("-k", dest="expression", metavar="EXPR", help="only the checks that match, as in validate")
    command.add_argument("--seed", type=battery_seed, default=0, metavar="S", help="0..2**32-1; 0 by default")
    command.add_argument("--quick", action="store_true", help="fewer and shorter cases")
    command.add_argument(
        "--intended",
        action="append",
        default=[],
        metavar="WHAT",
        help="a difference that is meant: 'CHECK/SUBJECT: REASON', or a JSON file of them; may be given again",
    )
    command.add_argument("--json", type=Path, metavar="FILE", help="write all results")
    command.add_argument("--save", type=Path, metavar="DIR", help="write each finding as a file for --replay")
    command.add_argument("--replay", type=Path, metavar="FILE", help="show what a saved finding's case does now")
    command.set_defaults(command=later("compare"))
