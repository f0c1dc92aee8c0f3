#!/bin/bash
# Runs clang-tidy (.clang-tidy) over all sources and their headers. The files of a folder are read together, as they
# are compiled (SConstruct), so that a header's text is looked at once and not once for each file.
set -u
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../.." || exit 3
build=build/tidy

rm -rf "$build/unity"
scons -Q -s compiler=clang build="$build" compdb || exit 3

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
# What clang-tidy says about itself is part of the log: a tool that cannot run must not look like a finding.
tidy() { # tidy FILE
  local name checks=
  name=$(basename "$1" .cpp)
  # A test compares with "" to show what was found instead, looks at what was moved from, and writes
  # what is wrong on purpose.
  [[ $name == tests_* ]] && checks=-readability-container-size-empty,-google-global-names-in-headers
  [[ $name == tests_* ]] && checks+=,-bugprone-use-after-move,-bugprone-string-constructor
  if clang-tidy --quiet --checks="$checks" -p "$build" "$1" >"$results/$name.log" 2>&1; then
    touch "$results/$name.passed"
  else
    touch "$results/$name.failed"
    echo "$name:"
    grep -vE '^[0-9]+ warnings? (generated|treated as errors)' "$results/$name.log"
  fi
}
for file in "$build"/unity/*.cpp app/main.cpp; do
  while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n; done
  tidy "$file" &
done
wait

passed=$(find "$results" -name '*.passed' | wc -l)
failed=$(find "$results" -name '*.failed' | wc -l)
printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0 && passed > 0))
