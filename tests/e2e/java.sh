#!/bin/sh
# SPDX-License-Identifier: MIT
# What jstack prints of a process: a sample for each thread with frames, by name, id and state.
set -eu

fail() {
    echo "java: $1"
    [ ! -f said ] || cat said
    exit 1
}

if ! command -v javac >/dev/null || ! command -v jstack >/dev/null; then
    echo "skipped: javac and jstack are not installed"
    exit 77
fi
cat >Waits.java <<'EOC'
public class Waits {
    static final Object lock = new Object();

    static void hold() {
        synchronized (lock) {
            try {
                Thread.sleep(100000);
            } catch (InterruptedException e) {
            }
        }
    }

    static void want() {
        synchronized (lock) {
            System.out.println();
        }
    }

    public static void main(String[] words) throws Exception {
        Thread a = new Thread(Waits::hold, "the \"holder\""), b = new Thread(Waits::want, "wants");
        a.setDaemon(true);
        b.setDaemon(true);
        a.start();
        while (a.getState() != Thread.State.TIMED_WAITING)
            Thread.sleep(10);
        b.start();
        while (b.getState() != Thread.State.BLOCKED)
            Thread.sleep(10);
        System.out.println("ready");
        System.out.flush();
        Thread.sleep(60000);
    }
}
EOC
if ! javac Waits.java >said 2>&1; then
    echo "skipped: javac does not run here: $(tail -n 1 said)"
    exit 77
fi
java -Xmx64m -XX:+UseSerialGC Waits >ready 2>said &
pid=$!
trap 'kill $pid 2>/dev/null || true' EXIT
for _ in $(seq 100); do
    grep -q ready ready && break
    sleep 0.1
done
if ! jstack "$pid" >dump.txt 2>said; then
    echo "skipped: jstack does not reach a process here: $(tail -n 1 said)"
    exit 77
fi
one() {
    "$CAIRN" convert "$@" -o - --to collapsed 2>said || fail "convert $*"
}
one dump.txt --label 'thread=the "holder"' --label state=TIMED_WAITING >names
grep -q '^java.lang.Thread.run.*;Waits.hold;java.lang.Thread.sleep.* 1$' names ||
    fail "the thread that sleeps: $(cat names)"
one dump.txt --label thread=wants --label state=BLOCKED >names
grep -q ';Waits.want 1$' names || fail "the thread that is blocked: $(cat names)"
one dump.txt --label thread=main >names
grep -q '^Waits.main;java.lang.Thread.sleep.* 1$' names || fail "the first thread: $(cat names)"
n=$(awk '/^"/ { head = 1 } /^\tat / { n += head; head = 0 } END { print n }' dump.txt)
sum=$(one dump.txt | awk '{ sum += $NF } END { print sum }')
[ "$sum" = "$n" ] || fail "$n threads with frames expected, not $sum"
sed 's/^/app-1  | /' dump.txt >log.txt
one dump.txt | sort >expected
one log.txt | sort >names
cmp -s expected names || fail "behind a prefix: $(cat names)"
"$CAIRN" report dump.txt >table 2>said || fail "report"
grep -q Waits.hold table || fail "the report: $(cat table)"
"$CAIRN" flame dump.txt --no-open -f -o x.svg >out 2>said || fail "flame"
grep -q Waits.want x.svg || fail "the picture has no name"
