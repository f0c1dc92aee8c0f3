#!/bin/bash
# Checks that every source file is laid out as .clang-format says; names the first place in each file that is
# not. `clang-format -i FILE` mends one.
set -u
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../.." || exit 3
layers=(app core host irq kernel net observe sched tests transports workloads)
report=$(find "${layers[@]}" \( -name '*.cpp' -o -name '*.hpp' -o -name '*.inl' \) -print0 2>/dev/null | sort -z |
  xargs -0 -r -n 20 -P "$(nproc)" clang-format --dry-run --Werror 2>&1)
status=$?
# One line a file; whatever is no finding (a program that cannot run) is printed as it came.
grep -E '^[^ ]+:[0-9]+:[0-9]+: error:' <<<"$report" | sort -t: -u -k1,1
((status == 0)) || grep -qE ': error:' <<<"$report" || echo "$report"
exit $status
