# The ways to write an option, and where options end.
echo '0x1;x 1' >"$TMP/-in"
cd "$TMP" || exit 1
"$CAIRN" resolve -o- --leaf=ret --leaf ip --lines -- -in 2>/dev/null
"$CAIRN" resolve -vvo - - <-in 2>/dev/null
"$CAIRN" resolve - -s a -sb --symbols=c <-in 2>&1 | grep -c 'no such folder'
"$CAIRN" resolve --lines -in 2>&1 | head -n 1
"$CAIRN" resolve -o 2>&1
"$CAIRN" help version
"$CAIRN" --version | head -n 1
"$CAIRN" version -h | head -n 1
