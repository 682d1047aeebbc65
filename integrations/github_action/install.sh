#!/usr/bin/env bash
# Installs simulacrum ($VERSION: a version, or what pip takes; by default what came with the action), then $INSTALL.
set -euo pipefail

case "${VERSION:-}" in
    "") python -m pip install "$GITHUB_ACTION_PATH" ;;
    [0-9]*) python -m pip install "simulacrum==$VERSION" ;;
    *) python -m pip install "$VERSION" ;;
esac
if [ -n "${INSTALL:-}" ]; then
    read -ra words <<<"$INSTALL"
    python -m pip install "${words[@]}"
fi
