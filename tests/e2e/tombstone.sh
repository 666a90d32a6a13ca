#!/bin/sh
# SPDX-License-Identifier: MIT
# Crash dumps of Android as inputs: the three meanings of pc lead to the same function of a library
# whose code lies at another address than in its file; a library in an APK is found by its own name.
set -eu

fail() {
    echo "tombstone: $1"
    [ ! -f said ] || cat said
    exit 1
}

cat >paint.c <<'EOC'
__attribute__((noinline)) int fill(volatile int *p) { return p[0] + 7; }
__attribute__((noinline)) int draw(volatile int *p) { return fill(p) + p[1]; }
EOC
gcc -g -O1 -fPIC -shared -Wl,--build-id -Wl,-Ttext=0x21000 paint.c -o libpaint.so
mkdir -p sym plain
id=$(readelf -n libpaint.so | sed -n 's/.*Build ID: //p')
text=$(readelf -SW libpaint.so | sed -n 's/.* \.text *PROGBITS *\([0-9a-f]*\) \([0-9a-f]*\) .*/\1 \2/p')
vaddr=0x${text% *} off=0x${text#* }
[ $((vaddr)) -ne $((off)) ] || fail "the code has its file's offset as address: $text"
address() {
    printf '%d' "0x$(nm libpaint.so | sed -n "s/ T $1\$//p")"
}
fill=$(address fill) draw=$(($(address draw) + 4))
mv libpaint.so sym/libpaint.so
objcopy --remove-section=.note.gnu.build-id sym/libpaint.so plain/libpaint.so

banner='*** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***'
# $1: version, $2: what is taken off addresses, $3: path, $4: behind it
dump() {
    cat <<EOT
$banner
Build fingerprint: 'acme/slate/slate:$1/TQ1A/93:user/release-keys'
ABI: 'arm64'
pid: 4813, tid: 4830, name: Render thread  >>> org.acme.paint <<<
signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x0
Abort message: 'no brush'
    x0  0000000000000000  x1  0000000000000ca5

backtrace:
      #00 pc $(printf %016x $((fill - $2)))  $3$4
      #01 pc $(printf %016x $((draw - $2)))  $3$4

memory near x1:
    0000007d8da5b1c0 0000007d8da5b1e0 0000000000000000  ....}...........
--- --- --- --- --- --- --- --- --- --- --- --- --- --- --- ---
pid: 4813, tid: 4813, name: main  >>> org.acme.paint <<<
backtrace:
      #00 pc $(printf %016x $((draw - $2)))  $3$4
EOT
}
named() {
    rm -f out.pb.gz
    "$CAIRN" resolve "$1" --symbols "$2" -o out.pb.gz 2>said || fail "$1: resolve"
    "$CAIRN" convert out.pb.gz -o - --to collapsed 2>said | sort >names
    printf 'draw 1\ndraw;fill 1\n' >expected
    cmp -s expected names || fail "$1: the names are $(cat names)"
}

dump 13 0 /system/lib64/libpaint.so " (BuildId: $id)" >new
named new sym
dump Baklava 0 /system/lib64/libpaint.so " (BuildId: $id)" >codename
named codename sym
dump 10 $((vaddr - off)) /system/lib64/libpaint.so " (BuildId: $id)" >offsets
named offsets sym
dump 7.1.2 $((vaddr)) /system/lib64/libpaint.so " (offset $off)" >segment
named segment plain
dump 14 0 "/data/app/~~A==/org.acme-B==/base.apk!libpaint.so" " (offset 0x1a2000) (BuildId: $id)" >apk
named apk sym
dump 14 0 "/data/app/~~A==/org.acme-B==/base.apk!libpaint.so" " (offset 0x1a2000)" >apk_by_name
named apk_by_name plain

# What --annotate cannot change is not passed through without a word, unless it is asked for.
for from in auto tombstone; do
    if "$CAIRN" resolve new --annotate --from "$from" >out 2>said; then
        fail "--annotate of a tombstone"
    fi
    grep -q 'new: --annotate changes kernel logs alone, and this is of the format tombstone' said ||
        fail "why --annotate fails"
    [ ! -s out ] || fail "--annotate wrote $(cat out)"
done
if "$CAIRN" resolve - --annotate <out.pb.gz >out 2>said; then
    fail "--annotate of a profile"
fi
"$CAIRN" resolve new --annotate --from klog >out 2>said || fail "--annotate --from klog"
cmp -s new out || fail "--annotate --from klog changed a tombstone"

# Behind prefixes of logs, two dumps in one log, with lines of others between.
{
    sed 's/^/08-24 10:11:12.345  1300  1300 F DEBUG   : /' new
    echo '08-24 10:11:12.346   900   950 I Zygote  : Process 77 exited'
    sed 's/^/F\/DEBUG   ( 1301): /' offsets
    sed 's/^/[   16.706176][  T574] DEBUG: /' new
} >logcat
"$CAIRN" resolve logcat --symbols sym -o log.pb.gz 2>said || fail "the log: resolve"
"$CAIRN" convert log.pb.gz -o - --to collapsed 2>said | sort >names
printf 'draw 3\ndraw;fill 3\n' >expected
cmp -s expected names || fail "the log: $(cat names)"

# Labels: the thread that crashed, and the others.
for label in stack=crashed 'thread=Render thread' tid=4830 'message=no brush' \
    'report=signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x0'; do
    "$CAIRN" convert out.pb.gz --label "$label" -o - --to collapsed >names 2>said ||
        fail "$label: no stack"
    [ "$(cat names)" = 'draw;fill 1' ] || fail "$label: $(cat names)"
done
"$CAIRN" convert out.pb.gz --label tid=4813 -o - --to collapsed >names 2>said || fail "tid: no stack"
[ "$(cat names)" = 'draw 1' ] || fail "the other thread: $(cat names)"
"$CAIRN" report new >table 2>said || fail "report"
grep -q 'libpaint.so+0x' table || fail "the report: $(cat table)"
"$CAIRN" flame out.pb.gz new --no-open -f -o x.svg >out 2>said || fail "flame"
grep -q 'fill' x.svg || fail "the picture has no name"

# A file of this machine is not the one of that path there.
mkdir -p here
cp plain/libpaint.so here/
dump 14 0 "$PWD/here/libpaint.so" '' >elsewhere
"$CAIRN" resolve elsewhere -o other.pb.gz 2>said || fail "without a build ID: resolve"
"$CAIRN" convert other.pb.gz -o - --to collapsed 2>said | grep -q fill && fail "another host's file"

# debuggerd -b, and two kinds of reports in one log.
cat >threads <<EOT
----- pid 4813 at 2023-05-06 07:08:09.123456789+0000 -----
Cmd line: org.acme.paint

"main" sysTid=4813
    #00 pc $(printf %016x "$draw")  /system/lib64/libpaint.so (BuildId: $id)

"Jit thread pool" sysTid=4820
    #00 pc $(printf %016x "$fill")  /system/lib64/libpaint.so (BuildId: $id)
    #01 pc $(printf %016x "$draw")  /system/lib64/libpaint.so (BuildId: $id)

----- end 4813 -----
EOT
named threads sym
{
    cat new
    echo '==9==ERROR: AddressSanitizer: heap-use-after-free on address 0x1'
    echo '    #0 0x55d1 in use /src/a.c:4:53'
} >both
if "$CAIRN" report both >table 2>said; then
    fail "two kinds of reports were read as one"
fi
grep -q 'sanitizer and tombstone' said || fail "which kinds they are"
grep -q 'hint: --from sanitizer' said || fail "what to do"
"$CAIRN" report both --from tombstone >table 2>said || fail "--from"
