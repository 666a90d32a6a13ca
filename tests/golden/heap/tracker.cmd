# Every block by itself, as users of small embedded trackers parse it; and the same read back.
python3 state.py <blocks.txt >"$TMP/a.heap"
"$CAIRN" heap leaks --format tracker "$TMP/a.heap"
echo "---- nothing lives"
echo process 1 x | python3 state.py >"$TMP/empty.heap"
"$CAIRN" heap leaks --format tracker "$TMP/empty.heap"
echo "---- without names, with names"
cat report.txt
"$CAIRN" resolve report.txt -o - -s ../resolve
echo "---- out of a log, with lines"
cat logcat.txt
"$CAIRN" resolve logcat.txt -o - -s ../resolve --lines --names short
echo "---- by the maps"
"$CAIRN" resolve bare.txt -o - -s ../resolve --maps ../resolve/maps.txt 2>/dev/null
