# Recordings of perf, without the files that they name.
DATA=$SRC/tests/data/corpus/perf_data
"$CAIRN" convert "$DATA/fp.data" -o - --to=collapsed
"$CAIRN" convert "$DATA/fp.data" --info
"$CAIRN" convert "$DATA/fp.data" -o "$TMP/written.data"
"$CAIRN" convert "$TMP/written.data" -o - --to=collapsed
"$CAIRN" convert "$TMP/written.data" --info
"$CAIRN" convert "$DATA/fp.data" --info -o x.pb.gz
cp "$DATA/fp.data" "$TMP/perf.data"
cd "$TMP"
"$CAIRN" resolve perf.data
echo "exit status $?"
cmp perf.data "$DATA/fp.data"
for size in 60 150 300 2000; do
    head -c $size perf.data >cut.data
    "$CAIRN" convert cut.data -o - --to=collapsed
    echo "exit status $?"
done
