#!/bin/bash
# Checks that every source file is laid out as .clang-format says; names each file that is not.
# `clang-format -i FILE` mends one.
set -u
cd "$(dirname "$(realpath "${BASH_SOURCE[0]}")")/../.." || exit 3
layers=(app core host irq kernel net observe sched tests transports workloads)
find "${layers[@]}" \( -name '*.cpp' -o -name '*.hpp' -o -name '*.inl' \) -print0 2>/dev/null | sort -z |
  xargs -0 -r -n 20 -P "$(nproc)" bash -c '
    status=0
    for file; do
      clang-format "$file" | cmp -s - "$file" || { echo "$file: not laid out as .clang-format says"; status=1; }
    done
    exit $status' check_format
