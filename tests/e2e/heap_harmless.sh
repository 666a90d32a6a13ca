#!/bin/bash
# SPDX-License-Identifier: MIT
# Real programs under the heap tracker do what they do without it: the same output, the same exit
# status, the same files; and each state adds up. CAIRN_FULL: longer ones, and more of them.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
library=$BUILD/libcairn-heap.so
[ -e "$BUILD/meson-private/cairn-heap.pc" ] || { echo "skipped: a sanitizer: many programs, which take long where the tracker traps"; exit 77; }
py=/usr/bin/python3
full=${CAIRN_FULL:-}
states=$PWD/states
mkdir -m 700 states
as=() # what a program is started by, for another user

# tracked COMMAND...: its states, and those of what it starts, alone in $states.
tracked() {
    rm -f "$states"/*
    "${as[@]}" env CAIRN_HEAP_DIR="$states" LD_PRELOAD="$library" "$@"
}

# judge NAME: every state adds up, and nothing was left out.
judge() {
    local name=$1 n=0
    for file in "$states"/*.heap; do
        [ -e "$file" ] || break
        n=$((n + 1))
        $py "$SRC/tests/support/heap_state.py" "$file" >said 2>&1 || fail "$name: a state" said
        # A process that was killed in the middle of a call has counted half of it.
        grep -q '^flags.*ended' said && has said 'counts agree' "$name"
        for loss in full address stacks_full overlap; do
            hasnt said "loss $loss" "$name"
        done
    done
    n_checks=$((n_checks + 1))
    [ $n -gt 0 ] || fail "$name: no state at all"
    echo "$name: the same; $n processes"
}

# program NAME COMMAND...: the same output and exit status as without.
program() {
    local name=$1 status
    shift
    command -v "$1" >/dev/null || { skip "$name" "$1 is missing"; return; }
    "$@" >plain 2>&1 </dev/null
    status=$?
    tracked "$@" >out 2>&1 </dev/null
    same "$name: exit status" $? $status
    cmp -s plain out || fail "$name: another output: $(diff plain out | head -n 5)"
    judge "$name"
}

rows=20000
[ -z "$full" ] || rows=300000
cat >big.sql <<SQL
pragma cache_size = 20000;
create table t(id integer primary key, k int, s text, v real);
with recursive c(x) as (select 1 union all select x + 1 from c where x < $rows)
    insert into t select x, (x * 2654435761) % 10007, 'str' || ((x * 7919) % 100003) || hex(x), x * 0.5 from c;
create index tk on t(k);
create index ts on t(s);
select count(*), sum(length(g)) from (select k, group_concat(s, '|') g from t group by k);
select count(*) from t a join t b on a.k = b.k and a.id < b.id where a.id < 5000;
select count(*), max(z) from (select upper(s) || lower(hex(s)) || printf('%08d:%s', id, s) z from t order by z);
select sum(json_extract(j, '\$.c[2]')) from (select json_object('a', s, 'c', json_array(1, 2, id)) j from t);
update t set s = s || 'x' where id % 3 = 0;
delete from t where id % 5 = 0;
select count(*), sum(length(s)), sum(v) from t;
SQL
program sqlite3 sqlite3 :memory: '.read big.sql'

$py -c '
import json, random
random.seed(2)
json.dump([{"id": i, "name": f"user{i}", "tags": [f"t{random.randrange(100)}" for _ in range(6)],
            "at": {"x": random.random()}} for i in range(4000)], open("big.json", "w"))'
program jq jq '[.[] | {id, n: (.name | ascii_upcase), t: (.tags | map(. + "x") | join(","))}]
    | group_by(.t[0:2]) | map({k: .[0].t[0:2], n: length, s: (map(.id) | add)})' big.json

cat >some.cc <<'CC'
#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <vector>
template <int N> struct row {
    std::map<std::string, std::vector<int>> m;
    int f() { std::function<int(int)> g = [this](int x) { return x + (int)m.size() + N; }; return g(N) + row<N - 1>().f(); }
};
template <> struct row<0> { int f() { return 0; } };
int main() { return std::regex_match("abcd", std::regex("a(b|c)*d")) ? row<8>().f() : 1; }
CC
# compile COMPILER: to the same bytes.
compile() {
    command -v "$1" >/dev/null || { skip "$1" "it is missing"; return; }
    "$1" -x c++ -O1 -c some.cc -o some.o && mv some.o plain.o
    tracked "$1" -x c++ -O1 -c some.cc -o some.o >out 2>&1
    same "$1: exit status" $? 0
    cmp plain.o some.o >out 2>&1 || fail "$1: another object file" out
    judge "$1"
}
compile clang
[ -z "$full" ] || compile g++

# CPython's own tests; times and orders in their output differ from run to run.
python_tests() {
    $py -c 'import test.test_json' 2>/dev/null || { skip "python3 -m test" "its test suite is missing"; return; }
    PYTHONMALLOC=malloc tracked $py -m test -q "$@" >out 2>&1 </dev/null
    same "python3 -m test $*: exit status" $? 0
    has out 'result: SUCCESS' "python3 -m test $*"
    [ $failed = 0 ] || tail -n 20 out
    judge "python3 -m test $*"
}
python_tests test_json test_ordered_dict test_deque
[ -z "$full" ] || python_tests test_re test_unicode test_dict test_list test_set test_collections \
    test_itertools test_generators test_threading test_xml_etree_c test_zlib test_pickle test_io

# wait_for FILE: a socket that a server makes.
wait_for() {
    local tries=0
    while [ ! -S "$1" ] && [ $((tries += 1)) -lt 200 ]; do sleep 0.05; done
}

redis() {
    local n=10000 server
    [ -z "$full" ] || n=200000
    for tool in redis-server redis-benchmark redis-cli; do
        command -v $tool >/dev/null || { skip redis "$tool is missing"; return; }
    done
    for how in plain tracked; do
        rm -f dump.rdb
        if [ $how = plain ]; then
            redis-server --port 0 --unixsocket "$WORK/redis" --save '' >redis.log 2>&1 &
        else
            tracked redis-server --port 0 --unixsocket "$WORK/redis" --save '' >redis.log 2>&1 &
        fi
        server=$!
        wait_for redis
        timeout 100 redis-benchmark -s redis -n $n -q -t set,get,lpush,lrange_100,zadd,mset >bench.log 2>&1 ||
            fail "redis-benchmark, $how" bench.log
        {
            for i in $(seq 500); do echo "zadd z $((i * 7919 % 503)) m$i"; done
            for i in $(seq 500); do echo "hset h f$((i % 50)) $i"; done
            echo 'zrange z 0 -1 withscores'
            echo 'hgetall h'
            echo 'eval "local s = 0 for i = 1, 20000 do s = s + #tostring(i) end return s" 0'
            echo 'bgsave'
        } | redis-cli -s redis >redis.$how 2>&1
        # A copy of the process wrote it.
        for _ in $(seq 100); do redis-cli -s redis info persistence | grep -q 'bgsave_in_progress:0' && break; sleep 0.05; done
        redis-cli -s redis info persistence | grep last_bgsave_status >>redis.$how
        redis-cli -s redis shutdown nosave >>redis.$how 2>&1
        wait $server
        same "redis, $how: exit status" $? 0
    done
    cmp -s redis.plain redis.tracked || fail "redis: another answer: $(diff redis.plain redis.tracked | head -n 5)"
    judge redis
}
redis

nginx_loaded() {
    local seconds=1 server
    [ -z "$full" ] || seconds=20
    for tool in nginx wrk; do
        command -v $tool >/dev/null || { skip nginx "$tool is missing"; return; }
    done
    mkdir -p nginx/html
    seq 1 20000 >nginx/html/index.html
    cat >nginx/nginx.conf <<CONF
daemon off; pid nginx.pid; error_log error.log; worker_processes 2;
$([ "$(id -u)" != 0 ] || echo "user root;")
events { worker_connections 64; }
http {
    access_log nginx.log; gzip on; gzip_types *;
    client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
    server {
        listen 127.0.0.1:$1;
        location ~ ^/x(a|b)+c { return 200 "ok"; }
        location / { root html; }
    }
}
CONF
    tracked nginx -p "$WORK/nginx" -c "$WORK/nginx/nginx.conf" >nginx.log 2>&1 &
    server=$!
    for _ in $(seq 200); do
        $py -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$1/xac')" 2>/dev/null && break
        sleep 0.05
    done
    for path in / /xabababc; do
        wrk -t 2 -c 8 -d ${seconds}s -H 'Accept-Encoding: gzip' "http://127.0.0.1:$1$path" >wrk.log 2>&1 || fail wrk wrk.log
        has wrk.log 'Requests/sec' "wrk $path"
        hasnt wrk.log 'Non-2xx' "wrk $path"
        hasnt wrk.log 'Socket errors' "wrk $path"
    done
    $py -c "import sys, urllib.request as u; sys.stdout.buffer.write(u.urlopen('http://127.0.0.1:$1/').read())" >page
    cmp -s page nginx/html/index.html || fail "nginx: another page"
    kill -HUP "$(cat nginx/nginx.pid)" # new workers, the old ones end
    sleep 0.3
    kill -QUIT "$(cat nginx/nginx.pid)"
    wait $server
    same "nginx: exit status" $? 0
    judge nginx
}
# A port that nobody has.
nginx_loaded "$($py -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"

if [ -z "$full" ]; then
    skip "postgres, java, node" "they take long: ./run test --full"
    finish "real programs do the same under the tracker ($n_checks checks)"
fi

# Under pgbench the sums of all tables must be those of the history.
postgres_loaded() {
    local bin data=$WORK/postgres/data
    bin=$(find /usr/lib/postgresql/*/bin -name initdb -printf '%h\n' 2>/dev/null | tail -n 1)
    [ -n "$bin" ] || { skip postgres "no /usr/lib/postgresql/VERSION/bin/initdb"; return; }
    mkdir postgres
    if [ "$(id -u)" = 0 ]; then
        id postgres >/dev/null 2>&1 || { skip postgres "it refuses root, and there is no user postgres"; return; }
        as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
        chown postgres postgres states
        chmod 711 "$WORK"
    fi
    rm -f "$states"/*
    "${as[@]}" env -i "PATH=$PATH" LC_ALL=C "$bin/initdb" -D "$data" -N >initdb.log 2>&1 || fail initdb initdb.log
    tracked "$bin/postgres" -D "$data" -F -k "$WORK/postgres" -c listen_addresses= >postgres.log 2>&1 &
    local server=$!
    wait_for postgres/.s.PGSQL.5432
    export PGHOST=$WORK/postgres PGUSER=postgres
    for _ in $(seq 100); do "$bin/psql" -c 'select 1' postgres >psql.log 2>&1 && break; sleep 0.1; done
    "$bin/pgbench" -i -s 2 postgres >bench.log 2>&1 || fail "pgbench -i" bench.log
    timeout 200 "$bin/pgbench" -c 4 -j 2 -t 500 postgres >bench.log 2>&1 || fail pgbench bench.log
    has bench.log 'transactions actually processed: 2000/2000' pgbench
    "$bin/psql" -At -c 'select (select sum(abalance) from pgbench_accounts) = (select sum(delta) from pgbench_history),
        (select sum(bbalance) from pgbench_branches) = (select sum(delta) from pgbench_history),
        (select count(*) from pgbench_history)' postgres >psql.log 2>&1
    same "postgres: sums" "$(cat psql.log)" "t|t|2000"
    kill -INT "$("${as[@]}" head -n 1 "$data/postmaster.pid")"
    wait $server
    same "postgres: exit status" $? 0
    judge postgres
    as=()
    [ "$(id -u)" != 0 ] || chown root states
}
postgres_loaded

cat >load.js <<'JS'
let sum = 0;
for (let n = 0; n < 300; n++) {
    const rows = JSON.parse(JSON.stringify([...Array(500).keys()].map(i => ({a: i, s: 'x'.repeat(i % 30)}))));
    sum += rows.reduce((s, r) => s + r.s.length, 0);
    sum += require('crypto').createHash('sha256').update('x'.repeat(10000)).digest()[n % 32];
    sum += 'abc'.repeat(50).replace(/b+/g, 'q').length;
}
console.log(sum, require('zlib').gzipSync('y'.repeat(1000000)).length);
JS
program node node load.js

cat >Load.java <<'JAVA'
import java.util.*;
public class Load {
    public static void main(String[] args) throws Exception {
        Map<String, Integer> map = new TreeMap<>();
        var digest = java.security.MessageDigest.getInstance("SHA-256");
        for (int n = 0; n < 2000; n++) {
            for (int i = 0; i < 1000; i++) map.merge("k" + (i * 7 % 501), 1, Integer::sum);
            digest.update(map.toString().getBytes());
            if (n % 50 == 0) map = new TreeMap<>();
        }
        Thread[] threads = new Thread[8];
        for (int i = 0; i < 8; i++) (threads[i] = new Thread(() -> { for (int j = 0; j < 100; j++) new java.util.zip.CRC32().update(new byte[10000]); })).start();
        for (Thread t : threads) t.join();
        System.out.println(HexFormat.of().formatHex(digest.digest()));
    }
}
JAVA
if command -v javac >/dev/null; then
    javac Load.java || fail javac
    program java java -Xmx256m Load
else
    skip java "javac is missing"
fi
finish "real programs do the same under the tracker ($n_checks checks)"
