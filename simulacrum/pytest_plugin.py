"""The pytest plugin: ``pytest --simulacrum envs/forager`` runs the validation battery, a check a test.

With the flag, every folder with a ``spec.md`` is an environment package, and ``envs/forager/spec.md::differential`` is
one of its tests; without it, ``spec.md`` is not looked at. ``-k``, ``-n`` (pytest-xdist), ``--cov`` (pytest-cov, which
sees the package's lines), pytest-randomly and ``--junitxml`` work as always; under ``-n`` the checks share the
processors, which ``throughput`` notices. pytest never writes the report that lets an environment load: ``simulacrum
validate`` does.

Loaded in every run of pytest, so it imports pytest alone; torch comes with the first check that runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .cli.arguments import battery_seed, some_seed

if TYPE_CHECKING:
    from .harness.report import CheckResult
    from .spec import Package

SPEC = "spec.md"
SEED_KEY = "simulacrum_seed"


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--simulacrum``, ``--simulacrum-seed`` and ``--simulacrum-quick``."""
    group = parser.getgroup("simulacrum", "simulacrum: validation of environment packages")
    group.addoption("--simulacrum", action="store_true", help="run the battery on every folder that has a spec.md")
    group.addoption(
        "--simulacrum-seed",
        type=battery_seed,
        metavar="S",
        help="the battery's seed, 0..2**32-1; by default drawn anew, and shown in the header",
    )
    group.addoption("--simulacrum-quick", action="store_true", help="the quick profile of the battery")


def pytest_configure(config: pytest.Config) -> None:
    """Draw the seed where none is given; a worker of pytest-xdist takes the one that was drawn for all."""
    if config.option.simulacrum and config.option.simulacrum_seed is None:
        given = getattr(config, "workerinput", {}).get(SEED_KEY)
        config.option.simulacrum_seed = some_seed() if given is None else given


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Hand the seed to a worker of pytest-xdist."""
    node.workerinput[SEED_KEY] = node.config.option.simulacrum_seed


def pytest_report_header(config: pytest.Config) -> str | None:
    """The seed, so that a run can be repeated."""
    if not config.option.simulacrum:
        return None
    seed, profile = config.option.simulacrum_seed, _profile_name(config)
    return f"simulacrum: {profile} profile, --simulacrum-seed {seed}; pytest writes no report, simulacrum validate does"


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A package's folder is a plain directory: as a Python package, pytest would import it a second time."""
    if parent.config.option.simulacrum and (path / SPEC).is_file():
        return pytest.Dir.from_parent(parent, path=path)  # type: ignore[no-any-return]
    return None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A ``spec.md`` is a package's battery."""
    if parent.config.option.simulacrum and file_path.name == SPEC:
        return Battery.from_parent(parent, path=file_path)  # type: ignore[no-any-return]
    return None


class Battery(pytest.File):
    """The checks of the package around a ``spec.md``."""

    def collect(self) -> Iterable[pytest.Item]:
        """A test for each check. A package that cannot be read is a collection error, in one message."""
        from .errors import SimulacrumError
        from .harness.checks import NAMES
        from .spec import Package

        try:
            package = Package.read(self.path.parent)
            for name in ("spec", "environment"):
                getattr(package, name)
        except SimulacrumError as error:
            raise self.CollectError(str(error)) from None
        configs: list[str | None] = [*package.spec.configurations]
        for config in configs or [None]:
            for name in NAMES:
                title = f"{name}[{config}]" if config else name
                yield Check.from_parent(self, name=title, check=name, package=package.configured(config))


class Check(pytest.Item):
    """One check of the battery."""

    def __init__(self, *, check: str, package: Package, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.check, self.package = check, package

    def runtest(self) -> None:
        """Run the check; its findings are the failure."""
        from .harness.profile import PROFILES
        from .harness.runner import run

        profile = PROFILES[_profile_name(self.config)].seeded(self.config.option.simulacrum_seed)
        with warnings.catch_warnings():
            warnings.simplefilter("default")  # a project that makes warnings errors has no other battery
            # TorchRL's own, of what it deprecates itself, when a check first imports it
            warnings.filterwarnings("ignore", r".*\bfrom torchrl\.", DeprecationWarning)
            (result,) = run(self.package, profile, names=(self.check,)).checks
        self.add_report_section("call", "simulacrum", _told(result))
        self.user_properties += [("outcome", result.outcome), ("seed", profile.seed), *sorted(result.counts.items())]
        self.user_properties += [("note", note) for note in result.notes]
        if result.outcome == "failed":
            raise Failed(result)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The findings alone: where they came from is in them."""
        if isinstance(excinfo.value, Failed):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Package and check, for headings."""
        return self.path, None, f"{self.package.name}: {self.name}"


class Failed(Exception):
    """The findings of a check."""

    def __init__(self, result: CheckResult) -> None:
        super().__init__("\n\n".join(finding.text() for finding in result.findings))


def _profile_name(config: pytest.Config) -> str:
    return "quick" if config.option.simulacrum_quick else "default"


def _told(result: CheckResult) -> str:
    """Outcome, what was compared, and notes (the reason where a check is not applicable), as lines."""
    counts = ", ".join(f"{name} {number:,}" for name, number in result.counts.items())
    return "\n".join([f"{result.outcome}: {counts or 'nothing counted'}", *result.notes, ""])
