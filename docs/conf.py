"""How the documentation is built: ``sphinx-build -W docs site``."""

import shutil
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from simulacrum import __version__ as release  # noqa: E402

project, author, copyright = "simulacrum", "The simulacrum authors", "The simulacrum authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "sphinx_copybutton"]
exclude_patterns = ["article", "figures", "dieharder", "schemas", "cookbook"]
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_preserve_defaults = True
napoleon_attr_annotations = False
nitpicky = False
html_theme, html_title = "furo", f"simulacrum {release}"
html_static_path: list[str] = []
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
BESIDE = ("article", "schemas")  # folders that lie beside the pages as they are


def beside(app: Any, error: Exception | None) -> None:
    """Copy the article and the schemas to where the pages link to them."""
    for name in BESIDE:
        if error is None and (HERE / name).is_dir():
            shutil.copytree(HERE / name, Path(app.outdir) / name, dirs_exist_ok=True)


def short(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """Link what a docstring names without its module: an error, or a name of the top."""
    name, kind, page = node["reftarget"], node["reftype"], node.get("refdoc")
    for place in ("simulacrum.errors", "simulacrum") if node.get("refdomain") == "py" else ():
        found = env.get_domain("py").resolve_xref(env, page, app.builder, kind, f"{place}.{name}", node, contnode)
        if found is not None:
            return found
    return None


def setup(app: Any) -> None:
    """Connect to the build."""
    app.connect("build-finished", beside)
    app.connect("missing-reference", short)
