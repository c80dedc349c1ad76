#!/usr/bin/env bash
# The last commit as source distribution and wheel in dist/: the same commit gives the same bytes, wherever and
# whenever it is built. The wheel is built from the source distribution, so that one has all it needs.
set -euo pipefail
cd "$(dirname "$0")/.."
python="$(realpath .venv-release)/bin/python"
git diff --quiet HEAD || echo "note: changes that are not committed are left out"
source="$(mktemp -d)"
trap 'rm -rf "$source"' EXIT
git archive HEAD | tar -x -C "$source"  # no stray file, no stale build folder
rm -rf dist
SOURCE_DATE_EPOCH="$(git log -1 --format=%ct)" "$python" -m build --no-isolation --outdir dist "$source"
cd dist
sha256sum ragworthy-* | tee SHA256SUMS
