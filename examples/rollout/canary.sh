#!/bin/sh
# One look at a canary: go on, take it back, or wait. Run it every minute, e.g. from cron.
#
#   LOG       live records of both builds: a file, a folder or a pattern
#   RECEIPT   the receipt of the last run over the gold set
#   DEPLOY    a command that takes the share of the new build, from 0 to 1; it may be told the same share again
#   LEDGER    the file of the rollout (default: .ragworthy/rollout.jsonl)
#   UNTIL     look at the log up to here (default: now)
#
# LEDGER.deployed holds the move that DEPLOY was last told with success. Until it is the last move of the ledger, each
# run tells DEPLOY again: a rollback reaches the traffic even if DEPLOY fails at first, or somebody else signed it.
# Exit: 0 all is as the ledger says; 1 DEPLOY or a move failed, the next run tries again; 2 a wrong file or flag; 4 the
# ledger was changed, nothing is moved.
set -u
ledger=${LEDGER:-.ragworthy/rollout.jsonl}
by=${BY:-$(id -un)}
told=$ledger.deployed

status() { ragworthy rollout status --ledger "$ledger" --format json; }
field() { printf '%s\n' "$now" | sed -n "s/^  \"$1\": \"\(.*\)\",\$/\1/p"; }
deploy() { # make the traffic what the ledger says
  now=$(status) || exit $?
  [ "$(cat "$told" 2>/dev/null)" = "$(field head)" ] && return 0
  "$DEPLOY" "$(field share)" && field head >"$told"
}

if command -v flock >/dev/null; then # one run at a time, or two of them could tell DEPLOY in the wrong order
  exec 9>"$ledger.running" || exit 2
  flock -n 9 || { echo "another run is not done yet" >&2 && exit 0; }
fi
now=$(status) || exit $?
state=$(field state)
[ -n "$state" ] || exit 0 # nothing was started
behind=0
deploy || behind=1
[ "$state" = rolled_back ] && exit "$behind"

ragworthy rollout check -q --ledger "$ledger" --log "$LOG" --receipt "$RECEIPT" --until "${UNTIL:-now}"
code=$?
case $code in
0)
  { [ "$state" = promoted ] || [ "$behind" = 1 ]; } && exit "$behind"
  ragworthy rollout advance --ledger "$ledger" --log "$LOG" --receipt "$RECEIPT" --until "${UNTIL:-now}" \
    --by "$by" --reason "rollout check: go on" ${AT:+--at "$AT"}
  code=$?
  [ "$code" = 3 ] && exit 0 # wait: a move asks more of a log than a look does
  [ "$code" = 0 ] || exit "$code"
  deploy || exit 1
  ;;
1)
  if ragworthy rollout rollback --ledger "$ledger" --by "$by" --reason "rollout check: roll back" ${AT:+--at "$AT"}; then
    deploy || exit 1
  else
    "$DEPLOY" 0 # the ledger could not be written: the traffic goes back all the same
    exit 1
  fi
  ;;
3) exit "$behind" ;; # wait
*) exit "$code" ;;
esac
