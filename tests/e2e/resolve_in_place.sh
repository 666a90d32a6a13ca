#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn resolve where its input is replaced: whatever goes wrong, the input is as it was, and what
# was begun is gone or named. A FIFO as --maps holds a run at the point where it has opened both.
set -eu

fail() {
    echo "resolve_in_place: $1"
    [ ! -f said ] || cat said
    exit 1
}

gcc -g -O2 -fno-PIE -no-pie "$SRC/tests/e2e/resolve_program.c" -D_GNU_SOURCE -o program
address=$(nm program | sed -n 's/ T outer$//p')
read -r start end < <(readelf -lW program |
    sed -n 's/^ *LOAD *0x[0-9a-f]* 0x0*\([0-9a-f]*\) .* R E .*/\1/p' | head -n 1 |
    while read -r from; do printf '%s %x\n' "$from" $((0x$from + 4096)); done)
offset=$(readelf -lW program | sed -n 's/^ *LOAD *0x0*\([0-9a-f]*\) .* R E .*/\1/p' | head -n 1)
echo "$start-$end r-xp ${offset:-0} 08:01 7 $WORK/program" >maps

fresh() {
    rm -f in .in.cairn-*
    printf 'main;0x%s 1\r\n\nx 2' "$address" >in
    cp in before
}
printf 'main;outer 1\r\n\nx 2' >after
resolve() {
    "$CAIRN" resolve "$@" --maps maps >out 2>said
}
no_temp() {
    ! ls "${1:-.}"/.*.cairn-* >/dev/null 2>&1 || fail "a temporary file is left: $2"
}

# held OPTION...: a run that waits until let_go; its number is in $run.
held() {
    rm -f hold
    mkfifo hold
    /usr/bin/python3 -c 'import os, signal, sys
for number in (signal.SIGINT, signal.SIGHUP): # the shell, or nohup, ignores them
    signal.signal(number, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$CAIRN" resolve "$@" --maps hold >out 2>said &
    run=$!
    for _ in $(seq 200); do
        ls .in.cairn-* >/dev/null 2>&1 && return
        sleep 0.05
    done
    fail "no temporary file appears"
}
let_go() {
    cat maps >hold
}

fresh
resolve in || fail "in place: exit status $?"
cmp -s in after || fail "in place: not what was expected"
grep -q 'in: replaced in place' said || fail "it is not said that the input is replaced"
[ ! -s out ] || fail "in place: something on stdout"
resolve in || fail "once more: exit status $?"
cmp -s in after || fail "once more: something changed"

fresh
resolve in -o in || fail "-o IN: exit status $?"
cmp -s in after || fail "-o IN: not replaced"

# Mode kept, a symlink followed and kept, nothing else in the folder.
fresh
mkdir -p real
mv in real/file
chmod 640 real/file
ln -s real/file link
resolve link || fail "a symlink: exit status $?"
[ -L link ] || fail "the symlink was replaced"
cmp -s real/file after || fail "the symlink's target was not replaced"
[ "$(stat -c %a real/file)" = 640 ] || fail "the mode is not kept"
no_temp real symlink
if [ "$(id -u)" = 0 ]; then
    cp before real/file
    chown 65534:65534 real/file
    resolve link
    [ "$(stat -c %u:%g real/file)" = 65534:65534 ] || fail "the owner is not kept"
fi

# Nothing else is overwritten unasked.
fresh
echo precious >other
resolve in -o other && fail "an output that is there is overwritten"
grep -q -- '--force' said || fail "--force is not hinted at"
[ "$(cat other)" = precious ] || fail "an output that is there was changed"
resolve in -o other --force || fail "--force: exit status $?"
cmp -s other after || fail "--force: not replaced"
cmp -s in before || fail "the input was changed though there is an output"
resolve in -o /dev/full && fail "a full device is no failure"
resolve in -o /dev/null || fail "a device is no output"
"$CAIRN" resolve in -o - --maps maps 2>said >/dev/full && fail "a full stdout is no failure"

# No room: a limit on the size of files, and a full disk where one can be mounted.
awk -v a="$address" 'BEGIN { for (i = 0; i < 200000; i++) print "main;0x" a ";frame " i " 1" }' >big
cp big in
(ulimit -f 1024 && "$CAIRN" resolve in --maps maps >out 2>said) && fail "too large a file is no failure"
cmp -s in big || fail "too large a file: the input was changed"
kept=$(sed -n 's/.*what was written is in \([^ ]*\).*/\1/p' said)
[ -s "$kept" ] || fail "what was written is not named"
rm -f "$kept"
no_temp . "too large a file"
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
    mkdir -p small
    # shellcheck disable=SC2016 # the inner shell expands it
    unshare -m sh -c 'mount -t tmpfs -o size=9m none small && cp big small/in &&
        ! "$CAIRN" resolve small/in --maps maps >out 2>said && cmp -s small/in big' ||
        fail "a full disk: the input was changed, or the run says that it was done"
    grep -q 'No space left' said || fail "a full disk is not called that"
else
    echo "resolve_in_place: no full disk, for that needs root"
fi

# A folder that is read-only, a file that is.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    mkdir locked
    fresh
    cp in locked/in
    chmod 644 locked/in
    chmod 755 locked "$WORK"
    cp "$CAIRN" cairn-for-all
    chmod 755 cairn-for-all program
    as_nobody="setpriv --reuid=65534 --regid=65534 --clear-groups"
    chown 65534 locked/in
    $as_nobody ./cairn-for-all resolve locked/in --maps maps >out 2>said && fail "a read-only folder"
    cmp -s locked/in before || fail "a read-only folder: the input was changed"
    grep -q 'hint' said || fail "a read-only folder: no hint"
    chown 65534 locked
    chmod 444 locked/in
    $as_nobody ./cairn-for-all resolve locked/in --maps maps >out 2>said && fail "a read-only file"
    cmp -s locked/in before || fail "a read-only file was replaced"
else
    echo "resolve_in_place: no read-only folder, for that needs root and setpriv"
fi

# The input changes, vanishes or is replaced while it is read.
fresh
held in
echo 'more 1' >>in
cp in before
let_go
wait "$run" && fail "an input that grew is no failure"
grep -q 'changed while it was read' said || fail "an input that grew: said otherwise"
cmp -s in before || fail "an input that grew was replaced"

fresh
held in
rm in
let_go
wait "$run" && fail "an input that vanished is no failure"
[ ! -e in ] || fail "an input that vanished is back"
grep -q 'was removed or replaced while' said || fail "an input that vanished: said otherwise"

fresh
held in
echo 'another 1' >new
mv new in
let_go
wait "$run" && fail "an input that was replaced is no failure"
[ "$(cat in)" = 'another 1' ] || fail "an input that was replaced is lost"

# Signals: the input stays, the temporary file goes.
for signal in INT TERM HUP; do
    fresh
    held in
    kill -s "$signal" "$run"
    status=0
    wait "$run" 2>/dev/null || status=$?
    [ "$status" = $((128 + $(kill -l "$signal"))) ] || fail "SIG$signal: exit status $status"
    cmp -s in before || fail "SIG$signal: the input was changed"
    no_temp . "SIG$signal"
done

# Two runs at once: the second waits, then finds the names of the first.
fresh
held in
first=$run
"$CAIRN" resolve in --maps maps >out2 2>said2 &
second=$!
for _ in $(seq 200); do
    grep -q 'another run is replacing it' said2 && break
    sleep 0.05
done
grep -q 'another run is replacing it' said2 || fail "the second run does not wait"
let_go
wait "$first" || fail "two runs: the first fails"
wait "$second" || fail "two runs: the second fails"
cmp -s in after || fail "two runs: not what was expected"
no_temp . "two runs"

# Whoever read stdout goes away: no word, and the status of SIGPIPE.
cp big in
set +e
"$CAIRN" resolve in -o - --maps maps 2>said | head -n 1 >out
status=${PIPESTATUS[0]}
set -e
[ "$status" = 141 ] || fail "a closed pipe: exit status $status"
grep -q 'pipe' said && fail "a closed pipe is talked about"
echo "resolve_in_place: fine"
