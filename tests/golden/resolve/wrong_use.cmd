echo 'x 1' >"$TMP/in"
for words in '' 'a b' '--leaf last in' '--offsets rel,file in' '--names long in' '--from perf in' \
    '--max-memory 1x in' '--max-memory 0 in' '--maps' '--symbol . in' '-x in' '--lines=3 in'; do
    status=0
    # shellcheck disable=SC2086
    "$CAIRN" resolve $words || status=$?
    echo "cairn resolve $words: exit status $status"
done
"$CAIRN" resolve nosuch -o -
"$CAIRN" resolve . -o -
"$CAIRN" resolve "$TMP/in" -o - --maps nosuch
"$CAIRN" resolve "$TMP/in" -o - --maps stacks.txt
"$CAIRN" resolve "$TMP/in" -o nosuch/out
echo precious >"$TMP/out"
"$CAIRN" resolve "$TMP/in" -o "$TMP/out"
cat "$TMP/out"
"$CAIRN" resolve "$TMP/in" --symbols nosuch -o -
