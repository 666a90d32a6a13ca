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
CAIRN_DEPS=skip "$SRC/run" test --full asan nosuch >"$WORK/out" 2>&1 && fail "a part that there is not is no error"
grep -q 'no part nosuch; the parts are gcc, asan,.*analysers' "$WORK/out" || fail "it does not name the parts"

stub id 'echo 0'
stub apt-get 'echo "apt-get $*" >>"$WORK/calls"'
stub dpkg-query 'echo installed'
deps build demo test bench full fresh format || fail "fails where nothing is missing"
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
# What the command needs at run time is built with it.
if command -v ninja >/dev/null && [ -f "$(dirname "$CAIRN")/build.ninja" ]; then
    ninja -C "$(dirname "$CAIRN")" -t inputs command >"$WORK/out" 2>&1 || fail "ninja knows no target command"
    grep -q 'libcairn-heap' "$WORK/out" || fail "the target command leaves out the tracker's library"
else
    echo "skipped: the target command: ninja or its build folder is missing"
fi

# A bench that measured nothing fails, and says what is missing.
mkdir "$WORK/bare"
stub_cairn=$WORK/bare/cairn
printf '#!/bin/sh\n' >"$stub_cairn"
chmod +x "$stub_cairn"
status=0
CAIRN="$stub_cairn" BENCH_WORK="$WORK/bench" sh "$SRC/bench/run.sh" heap >"$WORK/out" 2>&1 || status=$?
[ "$status" = 1 ] || fail "bench heap without the tracker: exit status $status, not 1"
grep -q 'heap was not measured: .*libcairn-heap.so is missing' "$WORK/out" || fail "bench heap does not say why"

# ./run fresh: needs root, says so, and leaves nothing behind when debootstrap fails or a signal comes.
copy_tree() {
    mkdir -p "$WORK/tree" "$WORK/tmp"
    cp -r "$SRC/scripts" "$SRC/run" "$SRC/README.md" "$WORK/tree/"
    (cd "$WORK/tree" && git init -q . && git -c user.name=t -c user.email=t@localhost commit -q --allow-empty -m t)
}
fresh() {
    CAIRN_DEPS=skip TMPDIR="$WORK/tmp" PATH="$WORK/bin:$PATH" sh "$WORK/tree/run" fresh "$@" >"$WORK/out" 2>&1 </dev/null
}
if command -v git >/dev/null && command -v unshare >/dev/null; then
    copy_tree
    stub id 'echo 1000'
    fresh && fail "fresh goes on without root"
    grep -q 'needs root' "$WORK/out" || fail "fresh does not say that it needs root"
    rm "$WORK/bin/id"
fi
if command -v git >/dev/null && [ "$(id -u)" = 0 ] && unshare --mount true 2>/dev/null; then
    # shellcheck disable=SC2016
    stub debootstrap 'echo "no such mirror"; for word; do case $word in /*) mkdir -p "$word/etc" ;; esac; done; exit 1'
    fresh true && fail "fresh succeeds though debootstrap fails"
    grep -q 'no such mirror' "$WORK/out" || fail "fresh hides what debootstrap said"
    [ -z "$(ls "$WORK/tmp")" ] || fail "fresh leaves its tree behind when debootstrap fails"
    stub debootstrap 'echo $$ >"$WORK/started"; exec sleep 60'
    CAIRN_DEPS=skip TMPDIR="$WORK/tmp" PATH="$WORK/bin:$PATH" sh "$WORK/tree/run" fresh true >"$WORK/out" 2>&1 </dev/null &
    pid=$!
    for _ in $(seq 200); do [ -s "$WORK/started" ] || sleep 0.1; done
    [ -s "$WORK/started" ] || fail "fresh did not call debootstrap"
    kill -TERM "$pid"
    wait "$pid" && fail "fresh succeeds though it was ended"
    for _ in $(seq 50); do kill -0 "$(cat "$WORK/started")" 2>/dev/null && sleep 0.1; done # init reaps it
    ! kill -0 "$(cat "$WORK/started")" 2>/dev/null || fail "fresh leaves debootstrap running when it is ended"
    [ -z "$(ls "$WORK/tmp")" ] || fail "fresh leaves its tree behind when it is ended"
else
    echo "skipped: ./run fresh: it needs root, git and mount namespaces"
fi
echo "front_door: fine"
