# What cairn says to a use that cannot be meant: one line, and where to read more.
for words in nosuch versoin 'version x' 'version --jsno' 'help nosuch'; do
    status=0
    # shellcheck disable=SC2086
    "$CAIRN" $words || status=$?
    echo "cairn $words: exit status $status"
done
