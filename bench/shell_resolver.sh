#!/bin/bash
# SPDX-License-Identifier: MIT
# shell_resolver.sh --maps MAPS --symdir DIR --in IN --out OUT [--chunk 256]
#
# What people write by hand when collapsed stacks come back as addresses: bash and awk around addr2line in
# batches. It is here to be measured against. Like its models it takes "address - start + offset" for
# the address in the file, which is wrong wherever p_offset and p_vaddr differ, and loses inline frames.
set -u
chunk=256
addr2line=${ADDR2LINE:-addr2line}
while [ $# -gt 0 ]; do
    case $1 in
    --maps) maps=$2 ;;
    --symdir) symdir=$2 ;;
    --in) in=$2 ;;
    --out) out=$2 ;;
    --chunk) chunk=$2 ;;
    esac
    shift 2
done
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

declare -a map_start map_end map_path map_bias
n=0
while read -r range access off _ _ path; do
    [[ $access == *x* ]] || continue
    map_start[n]=$((16#${range%-*}))
    map_end[n]=$((16#${range#*-}))
    map_path[n]=$path
    map_bias[n]=$((map_start[n] - 16#$off))
    n=$((n + 1))
done <"$maps"

declare -A binary kind bucket_rel bucket_token
find_binary() {
    local path=$1 name=${1##*/}
    [[ -n ${binary[$path]+x} ]] && return
    if [[ -f $symdir/$name ]]; then
        binary[$path]=$symdir/$name
    else
        binary[$path]=$(find "$symdir" -name "$name" -print -quit 2>/dev/null)
    fi
    binary[$path]=${binary[$path]:--}
}
elf_type() {
    [[ -n ${kind[$1]+x} ]] || kind[$1]=$(readelf -hW "$1" 2>/dev/null | awk '/Type:/ { print $2 }')
}

# First pass: the stacks without their counts, and every address once.
awk -v frames="$tmp/frames" -v addresses="$tmp/addresses" '
    $0 == "" { print "" > frames; next }
    {
        count = $NF
        stack = substr($0, 1, length($0) - length(count) - 1)
        k = split(stack, frame, ";")
        print stack "\t" count > frames
        for (i = 1; i <= k; i++)
            if (frame[i] ~ /^0x[0-9a-fA-F]+$/ && !(frame[i] in seen)) {
                seen[frame[i]] = 1
                print frame[i] > addresses
            }
    }' "$in"

missing=0
while read -r token; do
    va=$((token)) hit=-1
    for ((i = 0; i < n; i++)); do
        if ((va >= map_start[i] && va < map_end[i])); then
            hit=$i
            break
        fi
    done
    ((hit < 0)) && continue
    path=${map_path[hit]}
    [[ -z $path || $path == \[* ]] && continue
    find_binary "$path"
    file=${binary[$path]}
    if [[ $file == - ]]; then
        missing=$((missing + 1))
        continue
    fi
    elf_type "$file"
    if [[ ${kind[$file]} == EXEC ]]; then
        rel=$token
    else
        printf -v rel '0x%x' $((va - map_bias[hit]))
    fi
    bucket_rel[$file]+="$rel "
    bucket_token[$file]+="$token "
done <"$tmp/addresses"

batches=0
: >"$tmp/names"
for file in "${!bucket_rel[@]}"; do
    read -ra rels <<<"${bucket_rel[$file]}"
    read -ra tokens <<<"${bucket_token[$file]}"
    for ((i = 0; i < ${#rels[@]}; i += chunk)); do
        batches=$((batches + 1))
        printf '%s\n' "${tokens[@]:i:chunk}" >"$tmp/tokens"
        "$addr2line" -f -C -e "$file" "${rels[@]:i:chunk}" 2>/dev/null |
            awk 'NR % 2 == 1' >"$tmp/functions"
        paste "$tmp/tokens" "$tmp/functions" >>"$tmp/names"
    done
done

# Second pass: names for addresses.
awk -F'\t' -v names="$tmp/names" '
    BEGIN {
        while ((getline line < names) > 0) {
            split(line, part, "\t")
            if (part[2] != "" && part[2] != "??")
                name[part[1]] = part[2]
        }
    }
    $0 == "" { print ""; next }
    {
        k = split($1, frame, ";")
        text = ""
        for (i = 1; i <= k; i++)
            text = text (i > 1 ? ";" : "") (frame[i] in name ? name[frame[i]] : frame[i])
        print text " " $2
    }' "$tmp/frames" >"$tmp/out" && mv "$tmp/out" "$out"
echo "batches=$batches unique=$(wc -l <"$tmp/addresses") modules_missing=$missing" >&2
