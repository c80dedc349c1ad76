#!/usr/bin/env bash
# Build the last commit in two clones that differ in all that must not matter, and compare the bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
one="$folder/one" other="$folder/in another/folder"
git clone --quiet . "$one"
(umask 077 && git clone --quiet . "$other")
for clone in "$one" "$other"; do ln -s "$(realpath .venv-release)" "$clone/.venv-release"; done

# What a work folder collects: a module that is gone but still lies in build/, and files that nobody committed.
mkdir -p "$other/build/lib/ragworthy"
touch "$other/build/lib/ragworthy/gone.py" "$other/src/ragworthy/uncommitted.py" "$other/notes.txt"
find "$other" -name '*.py' -exec touch --date 2001-02-03 {} +

(export TZ=UTC LC_ALL=C && "$one/release/dist.sh") >"$folder/log" || { cat "$folder/log"; exit 1; }
sleep 3
(export TZ=Asia/Tokyo LC_ALL=C.UTF-8 && umask 077 && "$other/release/dist.sh") >"$folder/log" || { cat "$folder/log"; exit 1; }
for file in "$one"/dist/*; do cmp "$file" "$other/dist/${file##*/}"; done
cat "$one/dist/SHA256SUMS"
echo "two clones, the same bytes"
