#!/bin/bash
# Runs clang-tidy (.clang-tidy) over the program's sources, and their headers with them, for as long as a
# budget allows: what changed last comes first. A file that the time did not reach counts as skipped.
#
#   check_tidy.sh BUDGET_SECONDS
set -u
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../.." || exit 3
deadline=$((SECONDS + $1))
layers=(core sched irq net kernel host transports workloads observe app)

unpacked=()
shopt -s nullglob
for package in build/unpacked/*/; do unpacked+=(-isystem "${package}usr/include"); done

# Changed files stand first, and every file once.
mapfile -t files < <({
  git diff --name-only HEAD -- "${layers[@]}" 2>/dev/null
  git diff --name-only HEAD~5 HEAD -- "${layers[@]}" 2>/dev/null
  find "${layers[@]}" -name '*.cpp' 2>/dev/null | sort
} | grep '\.cpp$' | awk '!seen[$0]++' | while read -r file; do [[ -f $file ]] && echo "$file"; done)

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
# What clang-tidy says about itself is part of the log: a tool that cannot run must not look like a finding.
tidy() { # tidy FILE RESULT
  if clang-tidy --quiet "$1" -- -std=c++20 -I. "${unpacked[@]}" \
    -DTAPESTRY_VERSION='""' -DTAPESTRY_COMMIT='""' >"$2.log" 2>&1; then
    touch "$2.passed"
  else
    touch "$2.failed"
    echo "$1:"
    grep -vE '^[0-9]+ warnings? (generated|treated as errors)' "$2.log"
  fi
}
number=0
for file in "${files[@]}"; do
  ((++number))
  ((SECONDS < deadline)) || break
  while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n; done
  tidy "$file" "$results/$number" &
done
wait

passed=$(find "$results" -name '*.passed' | wc -l)
failed=$(find "$results" -name '*.failed' | wc -l)
skipped=$((${#files[@]} - passed - failed))
((skipped == 0)) || echo "skipped: clang-tidy of $skipped files, for which the budget of $1 s was too short"
printf '%d passed, %d failed' "$passed" "$failed"
((skipped == 0)) || printf ', %d skipped' "$skipped"
echo
((failed == 0))
