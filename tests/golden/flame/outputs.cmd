# What is written where, and what is said about it.
cp simple.collapsed "$TMP/a.collapsed"
"$CAIRN" flame "$TMP/a.collapsed" && ls "$TMP"
echo "== it is there already"
"$CAIRN" flame "$TMP/a.collapsed"
"$CAIRN" flame "$TMP/a.collapsed" --force
echo "== several inputs, one picture"
"$CAIRN" flame "$TMP/a.collapsed" simple.collapsed -o "$TMP/both.svg" && grep -c '<g>' "$TMP/both.svg"
grep -o '<title>all [^<]*' "$TMP/both.svg"
echo "== stdin and stdout"
"$CAIRN" flame - -o - --format=svg <simple.collapsed | grep -o '<title>all [^<]*'
"$CAIRN" flame - -o - <simple.collapsed | grep -c '<!doctype html>'
"$CAIRN" flame - <simple.collapsed
echo "== used wrongly"
"$CAIRN" flame
"$CAIRN" flame simple.collapsed -o "$TMP/picture.png"
"$CAIRN" flame simple.collapsed --format=png
"$CAIRN" flame simple.collapsed --min-percent=0
"$CAIRN" flame simple.collapsed --width=1
"$CAIRN" flame simple.collapsed --value=cpu -o "$TMP/cpu.html"
"$CAIRN" flame "$TMP/none.collapsed"
echo "exit status $?"
echo "== no room"
"$CAIRN" flame simple.collapsed -o /dev/full --format=svg --force
echo "exit status $?"
ls "$TMP"
