# Kernel frames by a copy of /proc/kallsyms: modules end where /proc/modules says, or with their page.
"$CAIRN" resolve kernel.txt -o - --kallsyms kallsyms.txt --kernel-modules modules.txt
"$CAIRN" resolve kernel.txt -o - --kallsyms kallsyms.txt -v 2>/dev/null | sed -n 3p
# By System.map, which knows no modules, and how far the kernel was moved.
"$CAIRN" resolve kernel.txt -o - --kallsyms System.map --kernel-slide 0x19000000 2>/dev/null
"$CAIRN" resolve kernel.txt -o - --kallsyms System.map 2>/dev/null | sed -n 1p
# Code made at run time.
"$CAIRN" resolve kernel.txt -o - --perf-map jit.map 2>/dev/null | sed -n '$p'
cp jit.map "$TMP/perf-42.map"
"$CAIRN" resolve kernel.txt -o - --perf-map "$TMP" 2>/dev/null | sed -n '$p'
cp jit.map "$TMP/perf-43.map"
"$CAIRN" resolve kernel.txt -o - --perf-map "$TMP" 2>&1 >/dev/null | grep 'perf maps'
# What does not serve.
for words in '--kallsyms hidden.txt' '--kallsyms modules.txt' '--kallsyms nosuch' '--vmlinux nosuch' \
    '--vmlinux kernel.txt' '--perf-map nosuch' '--perf-map kernel.txt' '--kernel-slide 12g' ''; do
    # shellcheck disable=SC2086
    "$CAIRN" resolve kernel.txt -o "$TMP/out" -f $words 2>&1 | head -2
done
