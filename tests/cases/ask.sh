# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154 # its variables are those of the script that reads it
# What symbolize_cases.sh stands on: the programs, how to ask about them, and how cases are told.

# frames FILE [OPTION...] ADDR...: the compact form of frames.py, addresses cut off
frames() { # the status of cairn is not asked for: an unnamed address is an answer
    "$CAIRN" symbolize --json "$@" 2>>warnings | /usr/bin/python3 "$SRC/tests/cases/frames.py" |
        cut -d' ' -f2-
}

# What the compiler made of a function: for cases where that is not asked.
without_suffix() { sed -E 's/ \.(constprop|isra|part)[.0-9]*$//'; }

expect() { # WHAT EXPECTED FILE [OPTION...] ADDR
    local what=$1 expected=$2 got
    shift 2
    got=$(frames "$@")
    n_checks=$((n_checks + 1))
    [ "$got" = "$expected" ] || fail "$what: cairn symbolize $*
  expected: $expected
  got:      $got"
}

# The names that `cairn resolve` gives to lines of one address, in one line: $named
resolved() { # FILE OPTION...
    "$CAIRN" resolve "$@" -o - 2>>warnings >named.txt
    named=$(sed 's/ 1$//' named.txt | xargs)
}

differ() { # WHAT GOT UNWANTED
    n_checks=$((n_checks + 1))
    [ "$2" != "$3" ] || fail "$1 is $3, so the test shows nothing"
}

# The address of a symbol (exactly this name), as 0x...
at() { # FILE NAME
    llvm-nm-14 "$1" | awk -v name="$2" '$3 == name { print "0x" $1; exit }'
}

plus() { printf '0x%x\n' $(($1 + $2)); }

# p_vaddr - p_offset of the segment that holds an address
segment_shift() { # FILE ADDR
    readelf -lW "$1" | awk '$1 == "LOAD" { print $2, $3, $6 }' | while read -r off vaddr size; do
        [ $(($2)) -ge $((vaddr)) ] && [ $(($2)) -lt $((vaddr + size)) ] && echo $((vaddr - off))
    done
}

text_shift() { segment_shift "$1" "$(at "$1" _start)"; }

# Files of another CPU are beyond this machine's objcopy, GNU's for that CPU may be missing.
objcopy_() { llvm-objcopy-14 "$@" 2>>objcopy.log; }

objdump_() {
    if command -v "$triple-objdump" >/dev/null; then "$triple-objdump" "$@"; else llvm-objdump-14 "$@"; fi
}

# Where a function that ends with a call ends; on arm constants may follow the code.
call_end() { # FILE START SIZE
    local last
    last=$(objdump_ -d --no-show-raw-insn --start-address=$(($2)) --stop-address=$(($2 + $3)) "$1" |
        grep -E '\b(call|bl|blx)\b' | tail -n 1 | sed 's/^ *\([0-9a-f]*\):.*/0x\1/')
    case $cpu in
    x86_64) plus "$last" 5 ;;
    *) plus "$last" 4 ;;
    esac
}

compress() { # KIND FROM TO
    if [ "$1" != zstd ]; then
        objcopy_ "--compress-debug-sections=${1/zlib-gabi/zlib}" "$2" "$3"
    else
        "$triple-objcopy" --compress-debug-sections=zstd "$2" "$3" 2>>objcopy.log
    fi
}

make_dwp() { # NAME: NAME.dwp of NAME.dwo
    timeout 20 llvm-dwp-14 -e "$1" -o "$1.dwp" 2>>dwp.log
}

# stubs FILE: address and name@plt of each PLT stub. llvm-objdump names no stub of arm: those that lld made
# are of 16 bytes, behind a header of 32, in the order of .rel.plt.
stubs() {
    if [ "$cpu" != arm ] || command -v "$triple-objdump" >/dev/null; then
        objdump_ -d "$1" | sed -n 's/^0*\([0-9a-f]*\) <\(.*@plt\)>:/0x\1 \2/p'
        return
    fi
    local plt name n=0
    plt=$(readelf -SW "$1" | sed -n 's/^.* \.plt  *PROGBITS  *\([0-9a-f]*\) .*/0x\1/p')
    readelf -rW "$1" | awk '$3 ~ /JUMP_SLOT/ { print $5 }' | while read -r name; do
        echo "$(plus "$plt" $((32 + 16 * n))) ${name%%@*}@plt"
        n=$((n + 1))
    done
}

# The same answer for every label of two files that lie at the same addresses.
same_everywhere() { # FILE OTHER
    local mark
    for mark in mark_leaf mark_closure mark_hidden mark_hidden_inline mark_get mark_header _Z4worki; do
        same "$2 $mark" "$(frames "$2" "$(at "$1" $mark)")" "$(frames "$1" "$(at "$1" $mark)")"
    done
}

note() { echo "  note: case $number, $cpu: $1"; }

omit() { # REASON: the case says nothing on this CPU
    omitted=$1
}

build_programs() { # CPU
    cpu=$1
    case $cpu in
    arm) triple=arm-linux-gnueabihf ;;
    *) triple=$cpu-linux-gnu ;;
    esac
    mkdir -p "$WORK/$cpu" && cd "$WORK/$cpu" || exit 1
    bash "$SRC/tests/cases/build.sh" "$cpu" . || exit 1
    gcc5='' gcc_others='' gcc4_exec='' plt_bfd='' split_gcc=''
    if [ -f gcc5 ]; then
        gcc5=gcc5 gcc4_exec=gcc4-exec gcc_others="gcc4-exec gcc3 gcc2 gcc5-64" plt_bfd=plt-bfd
        split_gcc=split5-gcc
    fi
    all="clang5-lld clang4-lld types-clang $gcc5 $gcc_others ${gcc5:+types-gcc}"
}

# Runs case_N for each N that there is, on each of the CPUs; one line for each.
run_cases() { # TITLE...
    local before number title omitted
    for cpu in ${CPUS:-x86_64}; do
        build_programs "$cpu"
        number=0
        for title; do
            number=$((number + 1))
            declare -F "case_$number" >/dev/null || continue
            before=$failed omitted='' n_checks=0
            "case_$number"
            [ -n "$omitted" ] || [ "$n_checks" != 0 ] || fail "case $number, $cpu: nothing was checked"
            if [ -n "$omitted" ]; then
                skip "case $number, $cpu ($title)" "$omitted"
            elif [ "$failed" = "$before" ]; then
                echo "case $number, $cpu: right ($n_checks checks): $title"
            else
                echo "case $number, $cpu: WRONG: $title"
            fi
        done
    done
    finish "all cases answered right"
}
