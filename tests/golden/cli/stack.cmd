# What cairn stack says to uses that cannot be meant, and where there is nothing to look at.
for words in 'stack' 'stack --no-stop --consistent 1' 'stack --no-stop --method=ptrace 1' \
    'stack --consistent --method=memory 1' 'stack -n 0 1' \
    'stack --json -o x.txt 1' 'stack -o x.doc 1' 'stack no_such_process_here' 'stack 999999999' \
    'stack ./no_such_core'; do
    status=0
    # shellcheck disable=SC2086
    "$CAIRN" $words || status=$?
    echo "cairn $words: exit status $status"
done
