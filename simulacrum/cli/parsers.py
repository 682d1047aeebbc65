"""The arguments of every command. Nothing heavy is imported here: a command imports what it needs when it runs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from .. import __version__
from . import comparing, viewing
from .arguments import TARGET, battery_seed, later, names, numbers, option, positive
from .codes import complain
from .signals import interruptible


def parser() -> argparse.ArgumentParser:
    """All commands and their arguments; each sets ``command``, which runs it."""
    parser = argparse.ArgumentParser(
        prog="simulacrum", description="Environments that are written twice, and compared bit by bit."
    )
    parser.add_argument("--version", action="version", version=f"simulacrum {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    command = commands.add_parser(
        "validate",
        help="run the validation battery on a package",
        description="Run the validation battery on a package and write its report. Exit code: 0 passed, 1 findings, "
        "2 it could not run, 130 interrupted.",
    )
    command.add_argument("target", metavar="PATH_NAME_OR_ID", help=TARGET)
    command.add_argument(
        "-k",
        dest="expression",
        metavar="EXPR",
        help="only the checks that match: parts of names with and, or, not (no report is written)",
    )
    command.add_argument(
        "--seed",
        type=battery_seed,
        metavar="S",
        help="0..2**32-1: all that the battery draws at random follows from it; by default drawn anew, and printed",
    )
    command.add_argument("--quick", action="store_true", help="a shorter battery (no report is written)")
    command.add_argument(
        "--device",
        action="append",
        metavar="DEVICE",
        dest="devices",
        help="where the fast side runs, the CPU by default; may be given again: the first is that of most checks",
    )
    command.add_argument(
        "--config", metavar="NAME", help="one of the package's configurations, if it has any; by default each in turn"
    )
    command.add_argument(
        "--deep",
        action="store_true",
        help="ever new seeds on all cores until stopped (Ctrl-C); the same command goes on (no report is written)",
    )
    command.add_argument("--ray", metavar="ADDRESS", help="with --deep: on a Ray cluster (auto finds a running one)")
    command.add_argument("--shards", type=positive, metavar="N", help="with --deep: stop after N more shards")
    command.set_defaults(command=_validate)
    _check_parser(commands)

    command = commands.add_parser(
        "explain",
        help="replay a finding's file: both sides step by step, the first difference marked",
        description="Replay the case of a finding on the package as it is now, and show both sides beside each other, "
        "the draws that were made, and the first difference. Exit code: 0 the two sides agree now, 1 they differ, "
        "2 it could not run.",
    )
    command.add_argument("file", metavar="FILE", help="PACKAGE/failures/NAME.json, as validate wrote it")
    command.add_argument(
        "--package",
        metavar="PATH_NAME_OR_ID",
        help="the package to replay it on; by default the one that FILE lies in, or else the one that it was found in, "
        "if that has not changed",
    )
    command.set_defaults(command=_explain)

    command = commands.add_parser("list", help="the known environments: ID, path, source, and whether they load")
    command.set_defaults(command=_list)

    command = commands.add_parser("new", help="begin a package: a small complete environment that passes the battery")
    command.add_argument("name", metavar="NAME", help="its name: a Python identifier in lower case")
    command.add_argument("--directory", default=".", metavar="DIR", help="where its folder is made; here by default")
    command.add_argument("--kernel", action="store_true", help="with a kernel too: Cython loops over instances")
    command.add_argument(
        "--distribution", metavar="DIST", help="in a distribution for pip of that name, with its entry point"
    )
    command.add_argument("--namespace", metavar="NS", help="of the ID NS/NAME-v0; by default DIST, or else simulacrum")
    command.add_argument(
        "--adopt", metavar="ID", help="around a Gymnasium environment, which is the reference as it is"
    )
    command.add_argument(
        "--option",
        action="append",
        default=[],
        type=option,
        metavar="KEY=VALUE",
        help="of --adopt: a keyword argument that the original is made with, a Python literal or a word; repeatable",
    )
    command.add_argument(
        "--state", default="", metavar="A,B", help="of --adopt: its state's attributes; by default those that change"
    )
    command.set_defaults(command=_new)

    command = commands.add_parser(
        "freeze",
        help="commit a package's behaviour: write the digest of its fixed trace to trace.json",
        description="Write the digest of a package's fixed trace to its trace.json, so that the battery finds a change "
        "of behaviour that the ID's version does not tell.",
    )
    command.add_argument("target", metavar="PATH_NAME_OR_ID", help=TARGET)
    command.set_defaults(command=_freeze)
    _faults_parser(commands)
    _bench_parser(commands)
    comparing.add(commands)
    viewing.add(commands)
    return parser


def _check_parser(commands: Any) -> None:
    command = commands.add_parser(
        "check",
        help="the spec against the code and a static read, in seconds, as a hook before a commit",
        description="Compare spec.md with the code of a package, and read its sources for what cannot be right. "
        "Nothing is played, and no report is written: what lets an environment load is validate. Exit code: 0 passed, "
        "1 findings, 2 it could not run.",
    )
    command.add_argument("targets", nargs="+", metavar="FILE_PATH_NAME_OR_ID", help=f"a file in a package, or {TARGET}")
    command.set_defaults(command=later("check"))


def _bench_parser(commands: Any) -> None:
    command = commands.add_parser(
        "bench",
        help="measure how fast an environment is, form by form, beside a yardstick",
        description="Measure every fast form of a package at batch sizes from 1 to 1,048,576, by turns with its "
        "reference and with Gymnasium's vector CartPole. Exit code: 0 measured, 2 it could not run, 130 interrupted "
        "(what was measured is shown and written).",
    )
    command.add_argument("target", metavar="PATH_NAME_OR_ID", help=TARGET)
    command.add_argument(
        "--config", metavar="NAME", help="one of its configurations, if it has any; the first by default"
    )
    command.add_argument("--forms", type=names, metavar="F,...", help="of eager, compiled, kernel; all by default")
    command.add_argument("--sizes", type=numbers, metavar="N,...", help="batch sizes; powers of four by default")
    command.add_argument("--threads", type=numbers, metavar="K,...", help="thread counts; 1 and torch's own by default")
    command.add_argument("--quick", action="store_true", help="few sizes, one thread, short rounds, no memory")
    command.add_argument("--profile", action="store_true", help="where one step's microseconds go, layer by layer")
    command.add_argument("--json", type=Path, metavar="FILE", help="write all figures, each round's too")
    command.add_argument("--plot", type=Path, metavar="FILE.png", help="nanoseconds a step over N (the extra viz)")
    command.set_defaults(command=later("bench"))


def _faults_parser(commands: Any) -> None:
    command = commands.add_parser(
        "faults",
        help="put known faults into copies of a package, and tell which check finds which",
        description="Put known faults into copies of a package, one at a time, and tell which check finds which. Exit "
        "code: 0 every domain fault was found and every other survivor has a written reason, 1 not so, 2 it could not "
        "run, 130 interrupted (run it again: it goes on where it stopped).",
    )
    command.add_argument("targets", nargs="+", metavar="PATH_NAME_OR_ID", help=TARGET)
    command.add_argument(
        "--kind",
        choices=("domain", "generic", "both", "kernel", "all"),
        default="all",
        help="domain: the package's own faults and those of any package; generic: mutations of either side's source; "
        "both: misreadings put into both sides alike; kernel: the package's own faults of its kernel.pyx, each of "
        "which is a build, so that all leaves them out",
    )
    command.add_argument(
        "-k", dest="expression", metavar="EXPR", help="only faults that match: parts of names with and, or, not"
    )
    command.add_argument("--sample", type=positive, metavar="N", help="N of them, chosen at random by --seed")
    command.add_argument("--seed", type=battery_seed, default=0, metavar="S", help="of the sample and of the battery")
    command.add_argument("--all-checks", action="store_true", help="go on after the first check that finds a fault")
    command.add_argument("--quick", action="store_true", help="the quick profile")
    command.add_argument("--workers", type=positive, default=2, metavar="N", help="processes, 2 by default")
    command.add_argument("--output", type=Path, metavar="FILE", help="where results are kept, as JSON lines")
    command.add_argument("--markdown", type=Path, metavar="FILE", help="write the figures as a page")
    command.set_defaults(command=later("faults"))


def _validate(arguments: argparse.Namespace) -> int:
    if arguments.deep:
        if arguments.quick or arguments.expression or arguments.devices or arguments.config:
            return complain(
                "--deep runs its own checks in the whole profile on the CPU, with the constants as they are: without "
                "-k, --quick, --device, --config"
            )
        from .deep import validate_deep

        return validate_deep(arguments.target, seed=arguments.seed, ray=arguments.ray, shards=arguments.shards)
    if arguments.ray is not None or arguments.shards is not None:
        return complain("--ray and --shards belong to --deep")
    from .validate import validate

    with interruptible():  # else SIGTERM would leave the workers behind
        return validate(
            arguments.target,
            arguments.expression,
            seed=arguments.seed,
            quick=arguments.quick,
            devices=arguments.devices,
            config=arguments.config,
        )


def _explain(arguments: argparse.Namespace) -> int:
    from .explain import explain

    return explain(arguments.file, arguments.package)


def _list(arguments: argparse.Namespace) -> int:
    from .listing import show

    return show()


def _new(arguments: argparse.Namespace) -> int:
    from .new import new

    return new(
        arguments.name,
        arguments.directory,
        arguments.kernel,
        arguments.distribution,
        arguments.namespace,
        arguments.adopt,
        dict(arguments.option),
        [name.strip() for name in arguments.state.split(",") if name.strip()],
    )


def _freeze(arguments: argparse.Namespace) -> int:
    from .freeze import freeze

    return freeze(arguments.target)
