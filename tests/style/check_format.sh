#!/bin/sh
# SPDX-License-Identifier: MIT
# Every C source is as clang-format leaves it, every shell script passes shellcheck:
# check_format.sh SOURCE_ROOT.
set -eu
cd "$1"
failed=0
if command -v clang-format >/dev/null; then
    find src cli include tests bench demo examples -name '*.[ch]' \
        -exec clang-format --dry-run -Werror {} + || failed=1
else
    echo "clang-format is missing"
    failed=1
fi
if command -v shellcheck >/dev/null; then
    find run .ci/run scripts tests bench demo \( -name '*.sh' -o -path run -o -path .ci/run \) \
        -exec shellcheck -x {} + || failed=1
else
    echo "shellcheck is missing"
    failed=1
fi
exit $failed
