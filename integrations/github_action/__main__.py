"""``python integrations/github_action STEP``: caches, changes, battery, publish or verdict."""

import importlib
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # of this process alone: no battery sees it

STEPS = ("caches", "changes", "battery", "publish", "verdict")


def main(arguments: list[str]) -> int:
    """Run the step that is named; its exit code, 1 where it could not run, which GitHub shows as an error."""
    if arguments not in [[step] for step in STEPS]:
        print(f"expected one of {', '.join(STEPS)}, got {' '.join(arguments) or 'nothing'}", file=sys.stderr)
        return 1
    from github_action import workflow

    try:
        code: int = importlib.import_module(f"github_action.{arguments[0]}").main()
    except RuntimeError as error:
        workflow.annotate("simulacrum", str(error))
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
