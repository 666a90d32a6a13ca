#!/bin/bash
# SPDX-License-Identifier: MIT
# Rules made of the code alone, of programs that have CFI, are what the CFI says.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

[ "$(uname -m)" = x86_64 ] || { echo "skipped: rules are made of x86-64's code alone"; exit 77; }
lib=/usr/lib/x86_64-linux-gnu

# agrees FILE SAME: so many permille of what CFI covers have the same rule; of 10,000 bytes at most 6
# have a wrong one, which are code that is written by hand, or begins where nobody says.
agrees() {
    [ -e "$1" ] || { skip "$1" "it is not there"; return; }
    "$BUILD/tests/e2e/derive_rows" "$1" >out 2>log || { fail "derive_rows $1" log; return; }
    read -r _ told same _ other wrong <<<"$(tail -1 out)"
    echo "$1: $told bytes, $same the same, $other by the other register, $wrong wrong"
    at_least "$2" $(((same + other) * 1000 / told)) "$1: permille with the same rule"
    at_least $((wrong * 10000 / told)) 6 "$1: bytes of 10,000 that may be wrong, and are fewer"
}

agrees "$lib/libc.so.6" 750
agrees "$lib/libm.so.6" 850
agrees "$lib/libsqlite3.so.0" 800
agrees "$lib/libstdc++.so.6" 800
agrees /bin/bash 850
agrees /usr/bin/redis-server 800

finish "$n_checks checks hold"
