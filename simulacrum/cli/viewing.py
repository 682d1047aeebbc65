"""The arguments of the commands that show what happened: play, render, pick, export-pack and report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .arguments import TARGET, later, natural, positive, rate, seed


def add(commands: Any) -> None:
    """Add them."""
    for one in (_play, _render, _pick, _export_pack, _report):
        one(commands)


def _play(commands: Any) -> None:
    command = commands.add_parser(
        "play",
        help="steer one agent yourself, in a window or in the terminal",
        description="Steer one agent of an environment's reference with the arrows or WASD; the others follow a "
        "policy. Exit code: 0 played, 2 it could not run, 130 interrupted (with --save the game is saved).",
    )
    command.add_argument("target", metavar="PATH_NAME_OR_ID", help=TARGET)
    command.add_argument("--config", metavar="NAME", help="one of its configurations, if it has any")
    command.add_argument("--seed", type=seed, metavar="S", help="0..2**64-1; by default drawn anew, and shown")
    command.add_argument("--terminal", action="store_true", help="in the terminal, also where a window can be had")
    command.add_argument("--agent", type=int, default=0, metavar="K", help="which of many agents; 0 by default")
    command.add_argument(
        "--policy", default="random", metavar="NAME", help="what the others do: random, or a policy of its checks.py"
    )
    command.add_argument(
        "--save", type=Path, metavar="FILE", help="save the game as a trajectory when it ends (.json, .jsonl, or .gz)"
    )
    command.add_argument("--fps", type=rate, default=8.0, metavar="F", help="steps a second, in real time")
    command.add_argument("--unvalidated", action="store_true", help="also without a fresh, passing report")
    command.set_defaults(command=later("play"))


def _render(commands: Any) -> None:
    command = commands.add_parser(
        "render",
        help="play a trajectory back, or write it as text, PNG frames, a GIF or an MP4",
        description="Show every state of a trajectory file, with the renderer of its package; no implementation runs. "
        "FILE may also be a finding of validate: both sides are shown beside each other. On a terminal text is played "
        "back: space pauses, + and - change the speed, arrows step, [ and ] change the episode, d goes to the first "
        "difference. Exit code: 0 shown or written, 2 it could not "
        "run, 130 interrupted.",
    )
    command.add_argument("file", type=Path, metavar="FILE", help="a trajectory: .json or .jsonl, or either with .gz")
    command.add_argument("--to", choices=("text", "png", "gif", "mp4"), default="text", help="text by default")
    command.add_argument(
        "--output",
        "-o",
        type=Path,
        metavar="PATH",
        help="the folder of PNG frames, the file of a GIF, MP4 or text; not there yet",
    )
    command.add_argument(
        "--beside", type=Path, metavar="FILE", help="another trajectory beside it, the first difference marked"
    )
    command.add_argument("--episode", type=natural, metavar="K", help="the K-th episode of the file alone, from 0 on")
    command.add_argument("--around", type=int, metavar="K", help="the part of the board around agent K")
    command.add_argument("--cell", type=positive, metavar="N", help="pixels a cell")
    command.add_argument("--matplotlib", action="store_true", help="the package's render_figure in place of render_rgb")
    command.add_argument("--fps", type=rate, default=8.0, metavar="F", help="frames a second")
    command.add_argument("--package", metavar="PATH_NAME_OR_ID", help="by default the one whose ID is in FILE")
    command.set_defaults(command=later("render"))


def _pick(commands: Any) -> None:
    command = commands.add_parser(
        "pick",
        help="find the episodes of trajectory files that are worth a look",
        description="List the worst, best, longest or shortest episodes of trajectory files, one of each termination "
        "cause, those that break an invariant or that a finding names, or a random sample; --output writes each as a "
        "file of its own. Exit code: 0 listed, 2 it could not run, 130 interrupted.",
    )
    command.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="trajectory files, or folders of them")
    command.add_argument(
        "--by",
        choices=("worst", "best", "longest", "shortest", "score", "sample", "cause", "broken", "findings", "all"),
        default="worst",
        help="worst and best: by return; score: the highest of --scores; cause: one of each termination cause; broken: "
        "those with a state that breaks an invariant; findings: those that --findings name; worst by default",
    )
    command.add_argument(
        "--count",
        "-n",
        type=positive,
        metavar="N",
        help="at most so many; 5 by default for worst, best, longest, shortest, score and sample, else all",
    )
    command.add_argument(
        "--scores", type=Path, metavar="FILE.json", help="a score (TD error, say) for each file or each episode"
    )
    command.add_argument("--findings", type=Path, metavar="DIR", help="findings of validate: PACKAGE/failures")
    command.add_argument("--seed", type=seed, default=0, metavar="S", help="of the sample; 0 by default")
    command.add_argument("--output", "-o", type=Path, metavar="DIR", help="write each picked episode as a file")
    command.add_argument("--package", metavar="PATH_NAME_OR_ID", help="by default the one whose ID is in each file")
    command.set_defaults(command=later("pick"))


def _export_pack(commands: Any) -> None:
    command = commands.add_parser(
        "export-pack",
        help="trajectories as a folder that any tool can read: manifest, schema, flat arrays, Parquet",
        description="Write trajectories, their schema and flat companions into one folder that needs nothing of "
        "simulacrum to be read. Exit code: 0 written, 2 it could not (and nothing was left behind).",
    )
    command.add_argument("schema", type=Path, metavar="SCHEMA", help="the schema.json of the package")
    command.add_argument("files", nargs="+", type=Path, metavar="FILE", help="trajectory files")
    command.add_argument("--output", "-o", type=Path, required=True, metavar="DIR", help="the pack's folder")
    command.add_argument(
        "--columns",
        choices=("auto", "parquet", "none"),
        default="auto",
        help="the columnar form: auto writes Parquet where pyarrow is there (the extra parquet)",
    )
    command.set_defaults(command=later("export_pack"))


def _report(commands: Any) -> None:
    command = commands.add_parser(
        "report",
        help="the report of a package as one HTML page to look at",
        description="Write the latest report of a package as one self-contained HTML page: checks, coverage, findings "
        "with frames of both sides, throughput, what it vouches for. Exit code: 0 written, 2 there is no report.",
    )
    command.add_argument("target", metavar="PATH_NAME_OR_ID", help=TARGET)
    command.add_argument("--config", metavar="NAME", help="one of its configurations, if it has any")
    command.add_argument("--output", "-o", type=Path, metavar="FILE.html", help="NAME-report.html here by default")
    command.add_argument(
        "--faults", type=Path, metavar="FILE", help="the kill matrix: what simulacrum faults --output wrote"
    )
    command.add_argument("--bench", type=Path, metavar="FILE", help="throughput: what simulacrum bench --json wrote")
    command.set_defaults(command=later("report"))
