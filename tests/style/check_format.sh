#!/bin/sh
# SPDX-License-Identifier: MIT
# Every C source is as clang-format leaves it, but the kernel's in contrib/kernel, which has the
# style of the tree that it goes into; every shell script passes shellcheck:
# check_format.sh SOURCE_ROOT.
set -eu
cd "$1"
failed=0
c_folders=
for folder in src cli include bindings tests bench demo examples; do
    [ ! -d "$folder" ] || c_folders="$c_folders $folder"
done
if command -v clang-format >/dev/null; then
    # shellcheck disable=SC2086 # a list
    find $c_folders -name '*.[ch]' -print0 |
        xargs -0 -n 100 -P "$(nproc)" clang-format --dry-run -Werror || failed=1
else
    echo "clang-format is missing"
    failed=1
fi
if command -v shellcheck >/dev/null; then
    find . \( -path './build*' -o -path './bench/work' -o -path ./.git \) -prune -o \
        -type f \( -name '*.sh' -o -name run \) -print0 |
        xargs -0 -n 20 -P "$(nproc)" shellcheck -x || failed=1
else
    echo "shellcheck is missing"
    failed=1
fi
exit $failed
