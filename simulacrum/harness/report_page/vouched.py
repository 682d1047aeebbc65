"""What the report vouches for: versions, machine, digests, commit."""

from __future__ import annotations

from collections.abc import Sequence

from .markup import Markup, clip, some, tag
from .verdict import Content

FILES = 400  # shown at most
PARTS = (("versions", "Versions"), ("machine", "Machine"), ("native", "Native binaries (SHA-256)"))


def section(report: Content) -> Markup:
    """All parts of the fingerprint; the long lists of files to open."""
    taken = report["fingerprint"]
    whole = [
        ("package digest", taken.get("digest", "none")),
        ("commit", report["git"] or "none"),
        ("package", report["package"]["path"]),
    ]
    return tag(
        "section",
        tag("h2", "What it vouches for", id="vouched"),
        _list(whole),
        [tag("div", tag("h3", title), _list(list(taken[part].items()))) for part, title in PARTS if taken.get(part)],
        [
            _files(title, taken[part])
            for part, title in (("package", "files of the package"), ("framework", "files of simulacrum"))
            if taken.get(part)
        ],
        aria_labelledby="vouched",
    )


def _files(title: str, hashes: dict[str, str]) -> Markup:
    shown, left = some(list(hashes.items()), FILES)
    return tag(
        "details",
        tag("summary", f"{len(hashes)} {title} (SHA-256)"),
        _list(shown),
        tag("p", left, class_="quiet") if left else None,
        class_="files",
    )


def _list(pairs: Sequence[tuple[str, str]]) -> Markup:
    cells = [tag("div", tag("dt", clip(name, 200)), tag("dd", clip(value, 2000))) for name, value in pairs]
    return tag("dl", cells, class_="vouched")
