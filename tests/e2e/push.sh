#!/bin/bash
# SPDX-License-Identifier: MIT
# cairn push against a store on loopback, which decodes what comes and answers well or badly. No secret is printed.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need python3 protoc

printf 'main;walk 3\nmain;rest 4\n' >in.collapsed
unset CAIRN_PUSH_TOKEN CAIRN_PUSH_USER CAIRN_PUSH_PASSWORD http_proxy all_proxy
export no_proxy=127.0.0.1
"$CAIRN" push in.collapsed http://127.0.0.1:1 --to otlp --timeout 0.3 >log 2>&1
status=$?
if grep -q "has no HTTP" log; then
    echo "this build has no HTTP"
    exit 77
fi
same "a store that is away" "$status" 1
has log "in.collapsed: http://127.0.0.1:1/v1development/profiles: " "a store that is away"
"$CAIRN" push in.collapsed http://127.0.0.1:1 --to otlp --timeout 1.5 >log 2>&1
has log "; next attempt in " "a store that stays away"

rm -f url
python3 "$SRC/tests/support/store_server.py" >url 2>server.log &
server=$!
trap 'kill "$server" 2>/dev/null' EXIT
for ((i = 0; i < 300; i++)); do
    [ ! -s url ] || break
    sleep 0.1
done
url=$(cat url)

# push MODE STATUS [OPTION...]: what the store saw is in `seen`.
push() {
    local mode=$1 wanted=$2
    shift 2
    rm -f seen
    "$CAIRN" push in.collapsed "$url/$mode" --timeout 6 "$@" >out 2>log
    same "$mode: status" "$?" "$wanted"
    hasnt log "Sanitizer" "$mode"
    hasnt log "s3cret" "$mode"
    n_requests=$(grep -cs ^request seen)
}

# What arrives.
push 200 0 --to pyroscope --name shop --label host=web1 --label zone=a.b --tenant t1
has seen "path /200/ingest" "Pyroscope"
has seen "name shop{host=web1,zone=a.b}" "Pyroscope"
has seen "format pprof" "Pyroscope"
has seen "header X-Scope-OrgID t1" "Pyroscope"
has seen "pprof main;rest 4" "Pyroscope"
has seen "pprof main;walk 3" "Pyroscope"
hasnt seen "header Authorization" "without a secret"
has log "in.collapsed: sent to $url/200/ingest, " "Pyroscope"
push 204 0 --to otlp --name shop --label host=web1
has seen "path /204/v1development/profiles" "OTLP"
has seen "header Content-Type application/x-protobuf" "OTLP"
has seen 'string_value: "shop"' "OTLP"
has seen 'key: "host"' "OTLP"
has seen 'string_table: "walk"' "OTLP"
has seen "values: 4" "OTLP"
push 200/v1development/profiles 0
has seen "path /200/v1development/profiles" "the path says which store"

# Who we are.
export CAIRN_PUSH_TOKEN=s3cret-token
push 200 0 --to otlp
has seen "header Authorization Bearer s3cret-token" "a token"
push echo 1 --to otlp # its text repeats the headers
has log "***" "a secret in the answer"
unset CAIRN_PUSH_TOKEN
export CAIRN_PUSH_USER=me CAIRN_PUSH_PASSWORD=s3cret
push echo 1 --to otlp
has seen "header Authorization Basic bWU6czNjcmV0" "a password"
hasnt log "bWU6czNjcmV0" "a password in base64"
unset CAIRN_PUSH_USER CAIRN_PUSH_PASSWORD
echo "Basic you:s3cret" >auth
chmod 644 auth
"$CAIRN" push in.collapsed "$url/200" --to otlp --auth auth 2>log
same "a file for all" "$?" 1
has log "hint: chmod 600 auth" "a file for all"
chmod 600 auth
push 200 0 --to otlp --auth auth
has seen "header Authorization Basic eW91OnMzY3JldA==" "a file"
echo "s3cret" >auth
push 200 1 --to otlp --auth auth
has log "auth: expected one line" "a file of another form"
"$CAIRN" push in.collapsed http://u:s3cret@127.0.0.1:4040 2>log
same "a password in the URL" "$?" 1
hasnt log "s3cret" "a password in the URL"
has log "--auth" "a password in the URL"

# Refused, each once and with the store's words.
for status in 400 401 403 404 413 415 422 500; do
    push "$status" 1 --to pyroscope
    same "$status: attempts" "$n_requests" 1
    has log "HTTP status $status" "$status"
    has log 'no, \x1b[31msaid the store' "$status: escaped"
done
push 413 1 --to otlp
has log "cairn convert --time" "413"
push partial 1 --to otlp
has log "refused 1 of the profiles: too old" "a success in part"

# Busy, then not.
for status in 429 502 503 504; do
    push "$status-once" 0 --to pyroscope
    same "$status: attempts" "$n_requests" 2
done
has log "may have the profile twice" "a proxy that gave up"
push 429-once 0 --to pyroscope # with Retry-After: 1
at_least 900 "$(awk '/^request/ { if (was) print int(1000 * ($2 - was)); was = $2 }' seen)" "Retry-After"
push 429-long 1 --to pyroscope # an hour is more than the time that there is
same "Retry-After of an hour: attempts" "$n_requests" 1

# An answer that is half there counts; none is doubtful, and nothing is sent twice.
push half 0 --to pyroscope
push away 1 --to pyroscope
same "away: attempts" "$n_requests" 1
has log "the store may have the profile" "away"
push none 1 --to pyroscope --timeout 1
same "none: attempts" "$n_requests" 1
has log "the store may have the profile" "none"

# Redirections.
push 307-same 0 --to pyroscope
has seen "path /200/ingest" "307 on the same server"
push 307-other 1 --to pyroscope
has log "sent on to http://localhost:9/x, which is not followed" "307 to another server"
push 307-loop 1 --to pyroscope
at_most 5 "$n_requests" "a loop of redirections"
push 302-same 1 --to pyroscope
push 307-file 1 --to pyroscope

# Used wrongly.
"$CAIRN" push in.collapsed 2>log
same "no URL" "$?" 2
"$CAIRN" push in.collapsed "$url" 2>log
same "which store" "$?" 1
has log "say --to pyroscope" "which store"
push 200 1 --to pyroscope --label 'a=x,b=y}'
push 200 1 --to otlp --label $'a=x\ny'
push 200 2 --to otlp --label x
push 200 1 --to otlp --label "0=y"
"$CAIRN" push missing in.collapsed "$url/200" --to otlp 2>log
same "one of two" "$?" 1
has log "in.collapsed: sent to" "one of two"
finish "$n_checks checks"
