# Backtraces as debuggerd prints them, which ndk-stack reads: where a call is, not where it returns.
python3 state.py <blocks.txt >"$TMP/a.heap"
"$CAIRN" heap leaks --format ndk "$TMP/a.heap" | tee "$TMP/out"
python3 ndk_stack.py <"$TMP/out"
