#!/bin/bash
# SPDX-License-Identifier: MIT
# --debuginfod against a server on loopback: what comes gives names, what is wrong, slow, missing or
# nothing costs seconds at most and no name that was there. The folder is that of elfutils' client.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need gcc objcopy strip readelf python3

"$CAIRN" symbolize --debuginfod=http://127.0.0.1:1 /bin/true 0x0 >out 2>log
if grep -q "has no HTTP" log; then
    echo "this build has no HTTP"
    exit 77
fi
cat >p.c <<'C'
__attribute__((noinline)) int inner(volatile int *x)
{
    return ++*x;
}
int main(int argc, char **argv)
{
    (void)argv;
    return inner(&argc);
}
C
build() { # NAME OPTION...
    gcc -g -O1 "${@:2}" -o "$1" p.c && objcopy --only-keep-debug "$1" "$1.debug" && strip -o "$1.stripped" "$1"
}
if ! build light || ! build heavy -O2; then
    echo "the compiler refused the program"
    exit 1
fi
build_id() { readelf -n "$1" | awk '/Build ID/ { print $3 }'; }
address() { readelf -sW "$1" | awk '$8 == "inner" { print $2 }'; }
light=$(build_id light)
heavy=$(build_id heavy)
python3 "$SRC/tests/support/raw_profile.py" raw.pb.gz "/opt/elsewhere/light,$light,$(address light),3" \
    "/opt/elsewhere/heavy,$heavy,$(address heavy),90" || exit 1
mkdir -p "files/$light" "files/$heavy" "files/0000" empty
for name in light heavy; do
    cp "$name.debug" "files/${!name}/debuginfo"
    cp "$name.stripped" "files/${!name}/executable"
done
cp /bin/true files/0000/debuginfo # whose build ID nobody asks for

# serve MODE [FOLDER]: its URL is in `url`.
server=
serve() {
    rm -f url requests
    python3 "$SRC/tests/support/debuginfod_server.py" "${2:-files}" "$1" requests >url 2>server.log &
    server=$!
    for ((i = 0; i < 300; i++)); do
        [ ! -s url ] || break
        sleep 0.1
    done
    : >>requests
    DEBUGINFOD_URLS=$(cat url)
    export DEBUGINFOD_URLS
}
end_server() {
    kill "$server" 2>/dev/null
    wait "$server" 2>/dev/null
}
folder=$XDG_CACHE_HOME/debuginfod_client
# fetch CASE [OPTION...]: resolves with what the server has.
fetch() {
    local case=$1
    shift
    "$CAIRN" resolve raw.pb.gz -o named.pb.gz --force --no-cache --debuginfod "$@" 2>log ||
        fail "$case: status $?" log
    "$CAIRN" convert named.pb.gz -o named.txt --force --to collapsed 2>>log
    hasnt log "Sanitizer" "$case"
}
n_requests() { wc -l <requests; }
export DEBUGINFOD_TIMEOUT=1 no_proxy=127.0.0.1
unset DEBUGINFOD_CACHE_PATH

# Names, the heaviest module first, and no request without the option.
serve right
"$CAIRN" resolve raw.pb.gz -o named.pb.gz --force --no-cache 2>log
same "without --debuginfod" "$(n_requests)" 0
fetch right
has log "2 of them named now" "named"
has named.txt inner "named"
same "four files" "$(n_requests)" 4
same "the layout of elfutils' client" "$(cd "$folder" && find . -type f -size +0 | sort)" \
    "$(printf './%s\n' "$light/debuginfo" "$light/executable" "$heavy/debuginfo" "$heavy/executable" | sort)"
fetch "a second time"
same "nothing is asked twice" "$(n_requests)" 4
end_server
fetch "without a server"
has log "2 of them named now" "kept"
python3 - "$folder" "$heavy" "$PWD/empty" <<'PY' >client 2>&1
import ctypes, os, sys
folder, build_id, _ = sys.argv[1:]
os.environ.update(DEBUGINFOD_URLS="http://127.0.0.1:1", DEBUGINFOD_CACHE_PATH=folder)
try:
    library = ctypes.CDLL("libdebuginfod.so.1")
except OSError:
    sys.exit(print("missing"))
library.debuginfod_begin.restype = ctypes.c_void_p
client = ctypes.c_void_p(library.debuginfod_begin())
print(library.debuginfod_find_debuginfo(client, build_id.encode(), 0, None) >= 0)
PY
case $(cat client) in
missing) skip "elfutils' client finds the files" "there is no libdebuginfod" ;;
*) same "elfutils' client finds the files" "$(cat client)" True ;;
esac

# What there is not is noted.
rm -rf "$folder"
serve 404
fetch 404
same "all are asked for" "$(n_requests)" 4
same "notes of what there is not" "$(find "$folder" -type f -size 0 | wc -l)" 4
fetch "404 again"
same "what there is not is not asked for again" "$(n_requests)" 4
echo 0 >"$folder/cache_miss_s"
touch -d '1 minute ago' "$folder"/*/debuginfo "$folder"/*/executable
fetch "404 later"
same "but later" "$(n_requests)" 8
end_server

# The heaviest module is asked for first: four files are asked for at once, so others stand between.
rows=("/opt/elsewhere/light,$light,$(address light),3")
for i in 1 2 3 4 5 6; do
    rows+=("/opt/elsewhere/other$i,$(printf '%040x' "$i"),0x1000,$((i + 10))")
done
rows+=("/opt/elsewhere/heavy,$heavy,$(address heavy),90")
python3 "$SRC/tests/support/raw_profile.py" many.pb.gz "${rows[@]}" || exit 1
rm -rf "$folder"
serve 404
"$CAIRN" resolve many.pb.gz -o named.pb.gz --force --no-cache --debuginfod 2>log
same "the heaviest first, the lightest last" \
    "$(grep -oE "$heavy|$light" requests | awk '!seen[$1]++ { printf "%s ", $1 }')" "$heavy $light "
same "every file" "$(n_requests)" 16
end_server

# What is no answer: told, bounded in time, nothing kept, and after the second failure nothing asked.
bad() { # MODE TEXT
    rm -rf "$folder"
    serve "$1"
    local start=$SECONDS
    fetch "$1" --fetch-limit 1M
    at_most 15 $((SECONDS - start)) "$1: seconds"
    has log "$2" "$1"
    has log "$DEBUGINFOD_URLS" "$1"
    hasnt named.txt inner "$1"
    same "$1: nothing is kept" "$(find "$folder" -type f)" ""
    at_most 4 "$(n_requests)" "$1: requests"
    end_server
}
bad html "no ELF file"
bad wrong "expected $heavy"
bad slow "too slow"
bad none "no answer in time"
bad 500 "HTTP status 500"
bad cut "not asked any more"
bad empty "an empty file"
bad endless "--fetch-limit"
bad away "not asked any more"
bad moved "not asked any more"
DEBUGINFOD_URLS=http://127.0.0.1:1 fetch "nobody listens"
has log "not asked any more" "nobody listens"

# The first server that has it; one that is away costs its own failures alone.
rm -rf "$folder"
serve right
DEBUGINFOD_URLS="http://127.0.0.1:1 $(cat url)" fetch "the second server has it"
has log "2 of them named now" "the second server has it"
# The bound of a run, a file given by name, URLs that are none.
rm -rf "$folder"
fetch "limit" "--debuginfod=$(cat url)" --fetch-limit 1k
has log "--fetch-limit" "limit"
rm -rf "$folder"
"$CAIRN" symbolize "--debuginfod=$(cat url)" heavy.stripped "0x$(address heavy)" >out 2>log
has out "p.c:3" "symbolize"
"$CAIRN" symbols pack raw.pb.gz "--debuginfod=$(cat url)" -o x.tar >out 2>log || fail "pack: status $?" log
has out "4 files of 2 modules" "pack"
end_server
"$CAIRN" resolve raw.pb.gz -o x.pb.gz --debuginfod=ftp://x 2>log
same "no URL" $? 2
has log "is no server" "no URL"
# A folder that another could write to is no place for root's files.
if [ "$(id -u)" = 0 ]; then
    rm -rf "$folder"
    mkdir -m 777 "$folder"
    chmod 777 "$folder"
    serve right
    fetch "a folder for all"
    has log "only root can write" "a folder for all"
    same "a folder for all: no request" "$(n_requests)" 0
    end_server
fi

finish "$n_checks checks of debuginfod"
