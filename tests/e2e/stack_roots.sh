#!/bin/bash
# SPDX-License-Identifier: MIT
# Stack roots that neither main() nor a thread is below: constructors of libraries, contexts, lisp's
# stacks, entry code of other languages. Whole for cairn stack, record and the heap tracker.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"

[ "$(uname -m)" = x86_64 ] || { echo "skipped: the roots are made of x86-64's code"; exit 77; }
cc=${CC:-gcc}
options="-O2 -g -fno-optimize-sibling-calls -fomit-frame-pointer"
# shellcheck disable=SC2086 # a list
{
    "$cc" $options -o prog "$SRC/tests/e2e/root_programs.c" &&
        "$cc" $options -DROOT_LIBRARY -shared -fPIC -o library.so "$SRC/tests/e2e/root_programs.c" &&
        echo 'extern void *root_block; int main(void) { return root_block == 0; }' >user.c &&
        "$cc" $options -o user user.c ./library.so &&
        "$cc" -O2 -fno-optimize-sibling-calls -fno-asynchronous-unwind-tables -fno-unwind-tables \
            -fno-stack-protector -nostdlib -static -no-pie -fno-pie -o entry "$SRC/tests/e2e/root_entry.c"
} >log 2>&1 || { fail "build" log; exit 1; }

# run CASE busy|wait|leave: the program itself, in place of this shell.
run() {
    case $1 in
    library) exec env ROOT_WHAT="$2" LD_LIBRARY_PATH=. ./user ;;
    loader) exec env ROOT_WHAT="$2" LD_LIBRARY_PATH=. "$loader" ./user ;;
    entry) if [ "$2" = busy ]; then exec ./entry busy; else exec ./entry; fi ;;
    *) exec ./prog "$1" "$2" ;;
    esac
}

loader=$(readelf -lW user | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
methods=
for method in bpf dump; do
    if "$CAIRN" record --method=$method -f -o probe.txt -- ./prog chain leave >probe.log 2>&1 ||
        grep -q samples probe.log; then
        methods="$methods $method"
    else
        skip "method $method" "$(head -1 probe.log)"
    fi
done

for root in library loader chain context entry; do
    (run $root wait) &
    target=$!
    sleep 0.4
    "$CAIRN" stack --why $target >stack.txt 2>log || fail "stack, $root" log
    has stack.txt 'whole: outermost' "stack, $root"
    at_least 8 "$(grep -c '^  #' stack.txt)" "stack, $root: frames"
    kill $target
    wait $target 2>/dev/null

    for method in $methods; do
        (run $root busy) &
        target=$!
        sleep 0.2
        "$CAIRN" record --method="$method" -F 499 -f -d 0.5 -o "$root.txt" -p $target >out.log 2>log ||
            fail "record, $root, $method" log
        at_least 950 "$(whole)" "record, $root, $method"
        kill $target 2>/dev/null
        wait $target 2>/dev/null
    done

    [ $root != entry ] || continue # it allocates nothing
    (run $root leave) >plain.log 2>&1 || fail "$root" plain.log
    case $root in
    library) "$CAIRN" heap run -f -o "$root.heap" -- env LD_LIBRARY_PATH=. ./user >out.log 2>log ;;
    loader) "$CAIRN" heap run -f -o "$root.heap" -- env LD_LIBRARY_PATH=. "$loader" ./user >out.log 2>log ;;
    *) "$CAIRN" heap run -f -o "$root.heap" -- ./prog $root leave >out.log 2>log ;;
    esac || fail "heap run, $root" log
    hasnt log ' cut' "heap run, $root"
    at_least 1 "$(grep -cE '[0-9]+ stacks?, [0-9]+ whole' log)" "heap run, $root: stacks"
done

finish "$n_checks checks hold"
