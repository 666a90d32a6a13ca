# A line that is no mapping is refused by file, line and column; nothing is written.
for maps in bad_*.maps nowhere.maps; do
    "$CAIRN" resolve in.collapsed -o - --maps "$maps" || echo "exit status $?"
done
