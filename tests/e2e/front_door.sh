#!/bin/sh
# SPDX-License-Identifier: MIT
# ./run and scripts/deps.sh, with a dpkg and an apt-get that only write down what they are asked.
# shellcheck disable=SC2016 # the stubs expand their bodies themselves
set -eu

fail() {
    echo "front_door: $1"
    [ ! -f "$WORK/out" ] || cat "$WORK/out"
    exit 1
}

# stub NAME BODY: a program of that name, first in PATH.
mkdir "$WORK/bin"
unset CAIRN_DEPS # the gate itself may run with it

stub() {
    printf '#!/bin/sh\n%s\n' "$2" >"$WORK/bin/$1"
    chmod +x "$WORK/bin/$1"
}

# deps GROUP...: scripts/deps.sh in a world of stubs; what it says is in $WORK/out.
deps() {
    : >"$WORK/calls"
    PATH="$WORK/bin:$PATH" sh "$SRC/scripts/deps.sh" "$@" >"$WORK/out" 2>&1 </dev/null
}
called() {
    grep -q "$1" "$WORK/calls"
}

"$SRC/run" help >"$WORK/out" || fail "help fails"
grep -q 'test \[--full\]' "$WORK/out" || fail "help does not tell of test --full"
status=0
(cd / && "$SRC/run" nosuch) >"$WORK/out" 2>&1 || status=$?
[ "$status" = 2 ] || fail "a command that there is not: exit status $status, not 2"
grep -q 'no command nosuch' "$WORK/out" || fail "it does not name the wrong command"

stub id 'echo 0'
stub apt-get 'echo "apt-get $*" >>"$WORK/calls"'
stub dpkg-query 'echo installed'
deps build demo test bench full format || fail "fails where nothing is missing"
[ ! -s "$WORK/calls" ] || fail "calls apt-get where nothing is missing"
[ ! -s "$WORK/out" ] || fail "says something where nothing is missing"

stub dpkg-query 'case "$*" in *meson*) exit 1 ;; *) echo installed ;; esac'
deps build || fail "fails where apt-get works"
called 'install -y .*meson' || fail "does not install what is missing"
called 'ninja-build' && fail "installs what is there"
called 'update' && fail "fetches lists though the installation worked"

stub apt-get 'echo "apt-get $*" >>"$WORK/calls"
    case "$*" in *install*) [ "$(grep -c update "$WORK/calls")" = 1 ] ;; esac'
deps build || fail "does not try again with new lists"

stub apt-get 'echo "E: no network"; exit 100'
deps build && fail "succeeds where apt-get fails"
grep -q 'no network' "$WORK/out" || fail "hides what apt-get said"
grep -q 'hint: install these by hand.*: meson' "$WORK/out" || fail "does not name the packages"

stub id 'echo 1000'
stub sudo 'exit 1'
deps build && fail "succeeds without root"
grep -q 'hint: install these by hand.*: meson' "$WORK/out" || fail "names no packages to a user"
CAIRN_DEPS=skip deps build || fail "CAIRN_DEPS=skip does not go on"
echo "front_door: fine"
