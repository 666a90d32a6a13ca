#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn symbolize as a command: options, exit status, pipes, and names that would like to be more.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc objcopy nm
cat >prog.c <<'C'
volatile int sink;
static inline __attribute__((always_inline)) int leaf(int x)
{
    __asm__ volatile(".globl mark\nmark: nop");
    return x + sink;
}
__attribute__((noinline)) int outer(int x)
{
    return leaf(x) * 2;
}
__attribute__((noinline)) int red(int x) { return x - sink; }
int main(void) { return outer(1) + red(2); }
C
gcc -O2 -g -ffile-prefix-map="$PWD"=/src prog.c -o prog || exit 1
mark=0x$(nm prog | awk '$3 == "mark" { print $1 }' | sed 's/^0*//')

# The readable form, as the man page shows it.
"$CAIRN" symbolize prog "$mark" >out || fail "status $? for a good address"
printf '%s\n' "$mark: leaf at /src/prog.c:4" \
    "$(printf '%s' "$mark" | tr -c '' ' ')  inlined by outer at /src/prog.c:9" | diff - out ||
    fail "the readable form"
[ "$("$CAIRN" symbolize --no-inlines prog "$mark")" = "$mark: outer at /src/prog.c:9" ] ||
    fail "--no-inlines"
[ "$("$CAIRN" symbolize --max-memory 1k prog "$mark" | head -1)" = "$mark: leaf at /src/prog.c:4" ] ||
    fail "--max-memory"

# Malformed addresses: said, answered, exit status 1 at the end, the others answered.
printf '%s\n' "$mark" nonsense 0x 0x1g 123456789012345678 "" "  ${mark#0x}  " |
    "$CAIRN" symbolize prog >out 2>err
[ $? = 1 ] || fail "exit status for malformed addresses"
[ "$(grep -c 'leaf at /src/prog.c:4' out)" = 2 ] || fail "good addresses among malformed ones"
[ "$(grep -c ': not an address$' out)" = 4 ] || fail "malformed addresses are answered: $(cat out)"
[ "$(grep -c 'not an address' err)" = 4 ] || fail "malformed addresses are told on stderr"
"$CAIRN" symbolize --json prog nonsense "$mark" 2>/dev/null >out
[ $? = 1 ] || fail "exit status with --json"
/usr/bin/python3 - <<'PY' || fail "--json"
import json
bad, good = [json.loads(line) for line in open("out")]
assert bad == {"address": "nonsense", "vaddr": None, "state": "malformed", "frames": []}, bad
assert good["state"] == "named" and len(good["frames"]) == 2, good
assert set(good["frames"][0]) == {"function", "linkage", "file", "line", "start_line", "inlined",
                                  "source", "suffix", "folded"}, good
assert [f["inlined"] for f in good["frames"]] == [True, False], good
PY

# Through pipes each question is answered before the next one is asked.
coproc "$CAIRN" symbolize prog
echo "${mark}" >&"${COPROC[1]}"
IFS= read -r -t 10 line <&"${COPROC[0]}" || fail "no answer through a pipe within 10 s"
[ "$line" = "$mark: leaf at /src/prog.c:4" ] || fail "the answer through a pipe: $line"
pid=$COPROC_PID
eval "exec ${COPROC[1]}>&-"
wait "$pid" || fail "exit status $? after stdin ended"

# What is no ELF file, or none at all, is said; so is a wrong use.
"$CAIRN" symbolize prog.c 0x1 2>err && fail "a source file was accepted"
grep -q 'prog.c' err || fail "the message does not name the file: $(cat err)"
"$CAIRN" symbolize nowhere 0x1 2>err
[ $? = 1 ] || fail "status for a missing file"
grep -q 'nowhere' err || fail "the message does not name the missing file: $(cat err)"
"$CAIRN" symbolize 2>/dev/null
[ $? = 2 ] || fail "status without FILE"
"$CAIRN" symbolize --names=long prog 2>err 0x1
[ $? = 2 ] || fail "status for --names=long"
grep -q 'full, short or mangled' err || fail "what --names takes: $(cat err)"
"$CAIRN" symbolize prog "$mark" >/dev/full 2>err
[ $? = 1 ] || fail "status where stdout is full"
grep -q 'stdout' err || fail "a full stdout is told: $(cat err)"
(seq 1 300000 | "$CAIRN" symbolize prog 2>err; echo $? >status) | head -1 >/dev/null
[ "$(cat status)" = 141 ] || fail "status where the reader has gone: $(cat status)"
[ ! -s err ] || fail "words where the reader has gone: $(cat err)"

# A file that was cut short says so once, not for each unit, and not in silence.
size=$(stat -c %s prog)
head -c $((size / 2)) prog >half
"$CAIRN" symbolize half "$mark" >out 2>err
[ "$(grep -c 'half: its section table.*cut short' err)" = 1 ] || fail "half a file: $(cat err)"
g++ -g -x c++ -c - -o one.o <<<'int one() { return 1; }'
g++ -g -x c++ -c - -o two.o <<<'int two() { return 2; }'
g++ -g -x c++ -c - -o three.o <<<'int one(); int two(); int main() { return one() + two(); }'
g++ one.o two.o three.o -o units && objcopy --remove-section .debug_aranges units
read -r offset bytes < <(readelf -SW units |
    sed -n 's/.* \.debug_abbrev *PROGBITS *[0-9a-f]* \([0-9a-f]*\) \([0-9a-f]*\) .*/\1 \2/p')
head -c $((16#$bytes)) /dev/zero | dd of=units bs=1 seek=$((16#$offset)) conv=notrunc 2>/dev/null
"$CAIRN" symbolize units "0x$(nm units | awk '$3 == "_Z3twov" { print $1 }')" >out 2>err
grep -q '^cairn: warning: units: .debug_info: .*, and others too$' err ||
    fail "a file without abbreviations: $(cat err)"
[ "$(wc -l <err)" = 1 ] || fail "one fault, told more than once: $(cat err)"
grep -q 'two()' out || fail "the symbol's name of a file with damage: $(cat out)"

# Names from a file are harmless on a terminal and in JSON.
red=0x$(nm prog | awk '$3 == "red" { print $1 }')
strip --strip-debug prog -o hostile
objcopy --redefine-sym red=$'\033[31mred</script>\n;\377\342\200\256' hostile
"$CAIRN" symbolize hostile "$red" >out
[ "$(wc -l <out)" = 1 ] || fail "a line break in a name breaks the line"
grep -q $'\033' out && fail "an escape reaches the terminal"
grep -q '\\x1b\[31mred</script>\\x0a;\\xff\\u{202e}' out || fail "hostile name: $(cat -v out)"
"$CAIRN" symbolize --json hostile "$red" >out
/usr/bin/python3 - <<'PY' || fail "hostile name in JSON"
import json
text = open("out").read()
assert "</script" not in text and "\033" not in text and text.count("\n") == 1, text
name = json.loads(text)["frames"][0]["function"]
assert name == "\033[31mred</script>\n;\ufffd\u202e", repr(name)
PY

finish "the command behaves"
