"""``Package``: one environment package, read once; what is hashed is what is imported.

A package is a folder. ``Package.read`` takes every file's bytes, and their digest names them; its modules are compiled
from those bytes under a private name, so that two versions of a package can live in one process and a file that
changes on the disk changes nothing that has been admitted. Classes pickle as (path, digest, module, name).
"""

from __future__ import annotations

import copyreg
import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from ..errors import PackageError, SimulacrumError
from .constants import with_values
from .document import Spec
from .environment import Environment
from .schema import resized

PREFIX = "_simulacrum_package_"
IGNORED_FOLDERS = {"__pycache__", "corpus", "failures", "trajectories"}
IGNORED_PREFIXES = (".", "validation_report.")
CONFIGURATIONS = re.compile(rb"^[ \t]*\|?[ \t]*`?configuration\b", re.MULTILINE | re.IGNORECASE)
REQUIRED = ("spec.md", "schema.json", "__init__.py", "reference.py", "fast.py", "checks.py", "render.py")


class Package:
    """An environment package as it was on the disk when it was read.

    Attributes:
        path: its folder, absolute.
        files: the bytes of each file by its path inside the folder, with ``/`` on every system.
        digest: SHA-256 over names and bytes, in hexadecimal.
        config: the name of its configuration; None where none was chosen.
        origin: the package as it is on the disk.

    Raises :class:`PackageError` for a module that cannot be imported, or that lacks what it is to have.

    Example:
        >>> from simulacrum.spec import Package
        >>> package = Package.read("envs/toywalk")
        >>> package.name, list(package.forms), package.environment.id
        ('toywalk', ['tensor', 'kernel'], 'simulacrum/toywalk-v0')
        >>> package.with_constants({"L": 3}).module().L
        3
    """

    def __init__(
        self, path: Path, files: Mapping[str, bytes], config: str | None = None, origin: Package | None = None
    ) -> None:
        self.path = path
        self.files = dict(files)
        self.digest = _digest(self.files)
        self.config = config
        self.origin = origin or self
        identity = hashlib.sha256("\0".join([str(path), self.digest, config or ""]).encode()).hexdigest()[:16]
        self.module_name = f"{PREFIX}{identity}"

    def __reduce__(self) -> Any:
        origin = None if self.origin is self else self.origin
        return _again, (self.path, self.files, self.config, origin)

    def __copy__(self) -> Package:
        made = Package.__new__(Package)
        made.__dict__.update(self.__dict__)
        return made

    @classmethod
    def read(cls, path: str | Path, config: str | None = None) -> Package:
        """Read the package in the folder ``path``, as it is or in a named configuration. Raises :class:`PackageError`
        where there is none."""
        folder = Path(path).resolve()
        if not folder.is_dir():
            raise PackageError(f"no environment package at {folder}: it is no folder")
        missing = [name for name in REQUIRED if not (folder / name).is_file()]
        if missing:
            raise PackageError(
                f"{folder} is no environment package: it lacks {', '.join(missing)} "
                "(begin one with: simulacrum new NAME)"
            )
        package = cls(folder, {file.relative_to(folder).as_posix(): file.read_bytes() for file in _files(folder)})
        package = _loaded.setdefault(package.module_name, package)
        return package.configured(config) if config else package

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.path.name

    def module(self, name: str = "") -> ModuleType:
        """The module ``name`` (``reference``, ``fast`` ...) of the package, or the package itself."""
        full = f"{self.module_name}.{name}" if name else self.module_name
        _loaded[self.module_name] = self
        if name:
            self.module()  # first, so that an error in it names its own file
        try:
            return importlib.import_module(full)
        except SimulacrumError:
            raise
        except (Exception, SystemExit) as error:
            file = self.path / f"{name or '__init__'}.py"
            raise PackageError(f"importing {file} raised {type(error).__name__}: {error}") from error

    @cached_property
    def spec(self) -> Spec:
        """The tables of ``spec.md``."""
        try:
            return Spec(self.files["spec.md"].decode())
        except UnicodeDecodeError as error:
            raise PackageError(f"{self.path / 'spec.md'}: expected UTF-8: {error}") from None

    @cached_property
    def environment(self) -> Environment:
        """``ENVIRONMENT`` of ``__init__.py``."""
        environment = getattr(self.module(), "ENVIRONMENT", None)
        if not isinstance(environment, Environment):
            raise PackageError(f"{self.path / '__init__.py'}: expected ENVIRONMENT = simulacrum.Environment(...)")
        return environment

    @cached_property
    def reference(self) -> type[Any]:
        """The :class:`simulacrum.ReferenceEnv` of ``reference.py``."""
        found = self._implementations("reference", "ReferenceEnv")
        if len(found) != 1:
            message = f"expected one subclass of ReferenceEnv, found {len(found)}"
            raise PackageError(f"{self.path / 'reference.py'}: {message}")
        return found[0]

    @cached_property
    def forms(self) -> dict[str, type[Any]]:
        """The fast forms of ``fast.py`` by name, the one that is compared with the reference first.

        ``"tensor"`` is its :class:`simulacrum.FastEnv`, ``"kernel"`` its :class:`simulacrum.KernelEnv`.
        """
        found = self._implementations("fast", "FastEnv")
        kernels = [cls for cls in found if _has_base(cls, "KernelEnv")]
        tensors = [cls for cls in found if cls not in kernels]
        if not found or len(tensors) > 1 or len(kernels) > 1:
            raise PackageError(
                f"{self.path / 'fast.py'}: expected one subclass of FastEnv, one of KernelEnv, or one of each, "
                f"found {len(tensors)} and {len(kernels)}"
            )
        named = {"tensor": tensors, "kernel": kernels}
        return {name: classes[0] for name, classes in named.items() if classes}

    @property
    def fast(self) -> type[Any]:
        """The first of :attr:`forms`, which is the tensor form, or the kernel form of a package that has no other."""
        return next(iter(self.forms.values()))

    @property
    def checks(self) -> ModuleType:
        """``checks.py``."""
        return self.module("checks")

    def with_constants(self, values: Mapping[str, Any]) -> Package:
        """The same package with some constants replaced, in memory; it loads as a module set of its own.

        Bounds, shapes, slots and whatever else ``spec.md`` and ``__init__.py`` compute from them follow. Raises
        :class:`PackageError` for a constant that is not there or is no plain literal.
        """
        package = Package(self.path, with_values(self.files, self.spec, values), self.config, self.origin)
        return _loaded.setdefault(package.module_name, package)

    def configured(self, config: str | None = None) -> Package:
        """The package in a named configuration of its spec, by default the first; itself where it has none.

        Its constants are replaced as by :meth:`with_constants`, and the sizes and bounds in ``schema.json`` follow.
        Raises :class:`PackageError` for a configuration that there is none of.
        """
        if config is None and not CONFIGURATIONS.search(self.files["spec.md"]):
            return self  # told without the tables, for the gate asks at every make
        names = list(self.spec.configurations)
        if config is None and names:
            config = names[0]
        if config is None:
            return self
        if config not in names:
            known = f"one of {names}" if names else "None: spec.md names no configurations"
            raise PackageError(f"config: {self.path.name} ({self.path}): expected {known}, got {config!r}")
        values = self.spec.configurations[config]
        files = with_values(self.files, self.spec, values)
        if files != self.files:
            files["schema.json"] = resized(files["schema.json"], Spec(files["spec.md"].decode()))
        package = Package(self.path, files, config, self)
        return _loaded.setdefault(package.module_name, package)

    @property
    def is_variant(self) -> bool:
        """Whether it is a configuration of other constants than those on the disk, on which the whole battery runs."""
        return self.config is not None and self.digest != self.origin.digest

    @property
    def target(self) -> str:
        """How a command line names it, by its folder, and its configuration where one was chosen."""
        return shlex.quote(str(self.path)) + (f" --config {self.config}" if self.config else "")

    def _implementations(self, name: str, base: str) -> list[type[Any]]:
        """The classes that a module of the package defines with a base class of the framework of that name."""
        module = self.module(name)
        return [
            value
            for value in vars(module).values()
            if isinstance(value, type) and value.__module__ == module.__name__ and _has_base(value, base)
        ]


def _again(path: Path, files: Mapping[str, bytes], config: str | None, origin: Package | None) -> Package:
    """A pickled package."""
    package = Package(path, files, config, origin)
    return _loaded.setdefault(package.module_name, package)


def _has_base(cls: type, name: str) -> bool:
    return any(base.__name__ == name and base.__module__.startswith("simulacrum.") for base in cls.__mro__)


_loaded: dict[str, Package] = {}  # by module name: what the finder below can import


def package_of(module_name: str) -> Package | None:
    """The package that a module (by its private name) was loaded from; None for any other module."""
    return _loaded.get(module_name.split(".")[0])


def sibling(cls: type, name: str) -> ModuleType:
    """The module ``name`` of the package that a class belongs to, however it was imported. Raises :class:`PackageError`
    where there is none."""
    package = package_of(cls.__module__)
    if package is not None:
        return package.module(name)
    parent = cls.__module__.rpartition(".")[0]
    try:
        if parent:
            return importlib.import_module(f"{parent}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{parent}.{name}":
            raise
    raise PackageError(f"{cls.__qualname__}: expected {name}.py beside its module {cls.__module__}")


def load_class(path: str, digest: str, module: str, name: str, config: str | None = None) -> type[Any]:
    """What a pickled class of a package becomes: the same class, from the same bytes, or a :class:`PackageError`."""
    package = Package.read(path, config)
    if package.digest != digest:
        raise PackageError(f"{path} has changed since {name} was pickled: make the environment again")
    value: type[Any] = getattr(package.module(module), name)
    return value


def pickle_by_loader(metaclass: type) -> None:
    """Let the classes of a metaclass pickle through :func:`load_class` when the loader made them."""
    copyreg.pickle(metaclass, _reduce_class)


def _reduce_class(cls: type) -> Any:
    package = package_of(cls.__module__)
    if package is None:
        return cls.__qualname__  # by reference, as any class
    module = cls.__module__.partition(".")[2]
    return load_class, (str(package.path), package.digest, module, cls.__qualname__, package.config)


def _files(folder: Path) -> Iterator[Path]:
    """The files that make a package: all below the folder but caches, corpora, failures, trajectories and reports."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in IGNORED_FOLDERS and not name.startswith("."))
        for name in folders:
            if Path(place, name).is_symlink():
                raise PackageError(
                    f"{Path(place, name)} is a link to a folder: put the files themselves into the package"
                )
        for name in sorted(names):
            file = Path(place, name)
            if not name.startswith(IGNORED_PREFIXES) and file.is_file():
                yield file


def _digest(files: Mapping[str, bytes]) -> str:
    total = hashlib.sha256()
    for name, data in sorted(files.items()):
        total.update(f"{name}\0{len(data)}\0".encode())
        total.update(data)
    return total.hexdigest()


class _Loader(importlib.abc.InspectLoader):
    """Compiles a module of a package from the bytes that were hashed."""

    def __init__(self, package: Package, file: str) -> None:
        self.package = package
        self.file = file

    def get_source(self, fullname: str) -> str:
        return importlib.util.decode_source(self.package.files[self.file])

    def get_data(self, path: str) -> bytes:
        """What ``pkgutil.get_data`` reads: a file of the package, from the bytes that were hashed."""
        try:
            return self.package.files[Path(path).relative_to(self.package.path).as_posix()]
        except (KeyError, ValueError):
            raise FileNotFoundError(f"{path} is not among the files of the package {self.package.path}") from None

    def is_package(self, fullname: str) -> bool:
        return self.file.endswith("__init__.py")

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.package.files[self.file], str(self.package.path / self.file), "exec", dont_inherit=True)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        root, _, rest = fullname.partition(".")
        package = _loaded.get(root)
        if package is None:
            return None
        stem = rest.replace(".", "/")
        candidates = [f"{stem}/__init__.py", f"{stem}.py"] if stem else ["__init__.py"]
        file = next((name for name in candidates if name in package.files), None)
        if file is None:  # never from the disk: only what was hashed is imported
            message = f"{rest} is not among the files of the package {package.path} that were read and hashed"
            raise ModuleNotFoundError(message, name=fullname)
        is_package = file.endswith("__init__.py")
        spec = importlib.machinery.ModuleSpec(fullname, _Loader(package, file), is_package=is_package)
        spec.origin = str(package.path / file)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = []
        return spec


sys.meta_path.insert(0, _Finder())
