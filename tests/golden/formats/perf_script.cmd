# All that a head and a frame can be; then what is wrong, with its place.
"$CAIRN" report perf-script.txt --top 0
echo "== each event is a value"
"$CAIRN" convert perf-script.txt -o - --to=collapsed --value=page-faults
echo "== through pprof, in pieces of a pipe"
cat perf-script.txt | "$CAIRN" convert - -o "$TMP/a.pb.gz"
"$CAIRN" convert "$TMP/a.pb.gz" -o - --to=collapsed
bad() {
    printf "$1" | "$CAIRN" convert - -o - --to=collapsed ${2:-}
    echo "exit status $?"
}
bad 'a 1 2.5: cycles: \n\t12 f (x)\n\nnot a head\n'
bad 'a 1 2.5: cycles: \n\t12 f (x)\n\na 1 2.5:'
bad 'w x\n\t12 f (x)\n' --from=perf-script
bad 'a 1 2.5: cycles: \n\t12 f\000 (x)\n'
bad '' --from=perf-script
echo "== what perf could not name, symbols do not name either: nobody is told to look"
printf 'a 1 2.5: cycles: \n\t12 [unknown] (x)\n\t13 [unknown] (y)\n' | "$CAIRN" report - --top 0
