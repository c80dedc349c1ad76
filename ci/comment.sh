#!/usr/bin/env bash
# One comment on a pull request, edited at every push: comment.sh REPORT
# Reads GITHUB_API_URL, GITHUB_REPOSITORY, PR, COMMENT_KEY and COMMENT_AUTHOR; gh reads the token from GH_TOKEN.
set -euo pipefail
report="$1"
case "$COMMENT_KEY" in
  *[!A-Za-z0-9._/-]* | "")
    echo "comment-key: expected letters, digits and . _ / -, got: $COMMENT_KEY" >&2
    exit 2
    ;;
esac
export MARKER="<!-- ragworthy: $COMMENT_KEY -->"
comments="$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/issues"
body="$(mktemp)"
trap 'rm -f "$body"' EXIT
printf '%s\n' "$MARKER" > "$body"
if [ -f "$report" ]; then
  cat "$report" >> "$body"
else
  echo "ragworthy scored nothing: the log of this job says what to fix." >> "$body"
fi
# Whoever may comment can write the marker into a comment of their own: only ours is edited.
ids="$(gh api --paginate "$comments/$PR/comments?per_page=100" \
  --jq '.[] | select(.user.login == env.COMMENT_AUTHOR and (.body | startswith(env.MARKER))) | .id')"
if [ -n "$ids" ]; then
  gh api --silent --method PATCH "$comments/comments/${ids%%$'\n'*}" --field "body=@$body"
else
  gh api --silent --method POST "$comments/$PR/comments" --field "body=@$body"
fi
