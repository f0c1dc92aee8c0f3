#!/bin/bash
# Runs every scenario that ships with each of the given programs, and compares the fingerprints: a result
# must not depend on compiler or optimisation. Each scenario is one test case. Whether expectations hold is another
# test's business: in a run cut short some can't.
#
#   fingerprints.sh PROGRAM PROGRAM...
set -u
root=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
[[ $# -ge 2 ]] || { sed -n '2,6p' "$0" >&2; exit 2; }

# What would take a sanitized program minutes runs for a shorter time.
declare -A shorter=(
  [uml-lkl-tap-virtio.yaml]="--set workloads.stream.duration=50ms --set workloads.maerts.duration=50ms"
  [uml-on-this-host.yaml]="--set workloads.stream.duration=50ms --set workloads.maerts.duration=50ms"
  [receive-livelock.yaml]="--set workloads.flood.duration=20ms"
)

fingerprint() { # fingerprint PROGRAM SCENARIO
  # shellcheck disable=SC2086  # several words
  { "$1" run "$2" ${shorter[$(basename "$2")]-} --json || (($? == 1)); } |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["fingerprint"])'
}

shopt -s nullglob
scenarios=("$root"/scenarios/*.yaml)
if ((${#scenarios[@]} == 0)); then
  echo "skipped: no scenario ships yet, so there is no fingerprint to compare"
  echo "0 passed, 0 failed, 1 skipped"
  exit 0
fi

set -o pipefail
passed=0 failed=0
for scenario in "${scenarios[@]}"; do
  name=$(basename "$scenario") expected= good=yes
  for program in "$@"; do
    if ! found=$(fingerprint "$program" "$scenario"); then
      echo "$name: $program failed"
      good=no
    elif [[ $found != "${expected:=$found}" ]]; then
      echo "$name: $program gives $found, $1 gives $expected"
      good=no
    fi
  done
  if [[ $good == yes ]]; then
    echo "$name: $expected"
    ((++passed))
  else
    ((++failed))
  fi
done
echo "$passed passed, $failed failed"
((failed == 0))
