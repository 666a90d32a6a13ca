# What was printed and did not arrive is a failure, however short it was.
"$CAIRN" version >/dev/full || echo "exit status $?"
"$CAIRN" --help >/dev/full || echo "exit status $?"
"$CAIRN" version >&- || echo "exit status $?"
