#!/bin/bash
# SPDX-License-Identifier: MIT
# Captures of programs at instructions that nobody chose, each walked by cairn and by libunwind's
# unw_step and compared frame by frame (unwind/compare.c). Where they differ, and for some of the rest,
# the program itself says who called (unwind/returned.h); unwind_report.py judges by that. 1000
# captures a program; 10000 with CAIRN_FULL.
set -u

# shellcheck source=tests/support/e2e_lib.sh
. "$SRC/tests/support/e2e_lib.sh"
need g++ timeout /usr/bin/python3

compare=$BUILD/tests/e2e/unwind/libunwind_compare.so
[ -e "$compare" ] || { echo "skipped: a library with a sanitizer cannot be preloaded"; exit 77; }
/sbin/ldconfig -p | grep -q libunwind.so.8 || { echo "skipped: libunwind.so.8 is missing"; exit 77; }
captures=1000
slower=1
[ -z "${CAIRN_FULL:-}" ] || { captures=10000; slower=8; }
export UNWIND_CAPTURES=$captures

as=() # what a program is started by, for another user
# prove NAME SECONDS COMMAND...: the program with both libraries preloaded; it must live.
prove() {
    local name=$1 seconds=$2 status=0
    shift 2
    command -v "$1" >/dev/null || { skip "$name" "$1 is missing"; return; }
    UNWIND_OUT="${out:-$WORK}/$name" timeout -s KILL "$seconds" "${as[@]}" env \
        LD_PRELOAD="$BUILD/libcairn-unwind.so:$compare" "$@" >"$name.log" 2>&1 || status=$?
    [ $status = 0 ] || fail "$name: exit status $status" "$name.log"
    n_checks=$((n_checks + 1))
}

work_seconds=$((2 * slower))
g++ -O2 -pthread "$SRC/tests/e2e/unwind/storm.cc" -o storm || exit 1
UNWIND_SAME=0 prove storm 60 ./storm $work_seconds
g++ -O2 -pthread -rdynamic -I"$SRC/include" "$SRC/tests/e2e/unwind/exceptions.cc" -o exceptions \
    -L"$BUILD" -lcairn-unwind -Wl,-rpath,"$BUILD" || exit 1
UNWIND_NS=0 UNWIND_CAPTURES=1000000 prove exceptions 60 ./exceptions $((60 * slower))
UNWIND_NS=0 UNWIND_CAPTURES=1000000 ODD_LIBRARY=$BUILD/tests/e2e/unwind/odd_library.so \
    prove odd 120 "$BUILD/tests/e2e/unwind/unwind_odd" --captures $((captures * 3 / 10))

cat >load.py <<'PY'
import hashlib, json, os, re, sys, time
end = time.time() + float(sys.argv[1])
while time.time() < end and not os.path.exists("python3.full"):
    json.loads(json.dumps([{"a": i, "b": [1, 2, 3]} for i in range(1000)]))
    re.findall(r"(a|b)+c", "abababab" * 50)
    sorted(range(1000), key=lambda x: -x)
    hashlib.sha256(b"x" * 10000).hexdigest()
PY
prove python3 90 /usr/bin/python3 load.py $((3 * work_seconds))
prove openssl 90 openssl speed -seconds $(((slower + 1) / 2)) -bytes 1024 aes-128-cbc sha256
prove openssl_rsa 60 openssl speed -seconds $slower rsa2048 ecdsap256
prove sqlite3 60 sqlite3 :memory: "
    with recursive c(x) as (select 1 union all select x + 1 from c where x < 1000000 * $slower)
        select count(*), sum(x % 7), max(hex(x)) from c;
    create table t(a, b);
    with recursive c(x) as (select 1 union all select x + 1 from c where x < 100000)
        insert into t select x, hex(x * 7) from c;
    create index i on t(b);
    select count(*) from t a join t b on a.b = b.b;"

cat >load.js <<'JS'
const fs = require('fs'), end = Date.now() + 1000 * Number(process.argv[2]);
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
while (Date.now() < end && !fs.existsSync('node.full')) {
    JSON.parse(JSON.stringify([...Array(500).keys()].map(i => ({a: i, s: 'x'.repeat(i % 30)}))));
    fib(18);
    require('crypto').createHash('sha256').update('x'.repeat(10000)).digest('hex');
    'abc'.repeat(50).replace(/b+/g, 'q');
}
JS
prove node 90 node load.js $((3 * work_seconds))

cat >Load.java <<'JAVA'
import java.util.*;
public class Load {
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    public static void main(String[] args) throws Exception {
        long end = System.currentTimeMillis() + 1000 * Long.parseLong(args[0]);
        Map<String, Integer> map = new HashMap<>();
        var digest = java.security.MessageDigest.getInstance("SHA-256");
        for (int n = 0; System.currentTimeMillis() < end; n++) {
            fib(15);
            for (int i = 0; i < 1000; i++) map.merge("k" + (i * 7 % 501), 1, Integer::sum);
            digest.update(new byte[5000]);
            if (n % 50 == 0) map = new HashMap<>();
            try { if (n % 3 == 0) throw new Exception("x"); } catch (Exception e) { }
        }
    }
}
JAVA
if [ -n "${CAIRN_FULL:-}" ] && command -v javac >/dev/null; then
    javac Load.java || fail "javac"
    prove java 120 java -Xmx256m Load $((2 * work_seconds))
else
    skip java "it starts slowly: ./run test --full"
fi

# redis-server under redis-benchmark, on a socket in our own folder.
redis() {
    for tool in redis-server redis-benchmark redis-cli; do
        command -v $tool >/dev/null || { skip redis "$tool is missing"; return; }
    done
    prove redis 90 redis-server --port 0 --unixsocket "$WORK/sock" --save "" --daemonize no &
    local server=$! tries=0
    while [ ! -S sock ] && [ $((tries += 1)) -lt 100 ]; do sleep 0.1; done
    local end=$((SECONDS + 60))
    while [ ! -e redis.full ] && [ $SECONDS -lt $end ]; do
        timeout 60 redis-benchmark -s sock -n 8000 -q -t set,get,lpush,lrange_100,zadd,mset
    done >bench.log 2>&1
    redis-cli -s sock shutdown nosave >>bench.log 2>&1
    wait $server
}
redis

# nginx in one process, asked by four clients at once.
nginx_loaded() {
    command -v nginx >/dev/null || { skip nginx "nginx is missing"; return; }
    mkdir -p nginx/html
    seq 1 20000 >nginx/html/index.html
    cat >nginx/nginx.conf <<CONF
daemon off; master_process off; pid nginx.pid; error_log stderr;
events { worker_connections 64; }
http {
    access_log nginx.log; gzip on; gzip_types *; keepalive_requests 1000000;
    client_body_temp_path t1; proxy_temp_path t2; fastcgi_temp_path t3; uwsgi_temp_path t4; scgi_temp_path t5;
    server {
        listen unix:$WORK/nginx/sock;
        location ~ ^/x(a|b)+c { return 200 "ok"; }
        location / { root html; }
    }
}
CONF
    cat >ask.py <<'PY'
import http.client, socket, sys, threading, time
end = time.time() + float(sys.argv[2])
def client():
    c = http.client.HTTPConnection("localhost")
    c.sock = socket.socket(socket.AF_UNIX)
    c.sock.connect(sys.argv[1])
    n = 0
    while time.time() < end:
        n += 1
        c.request("GET", "/" if n % 2 else "/xabababc", headers={"Accept-Encoding": "gzip"} if n % 3 else {})
        c.getresponse().read()
threads = [threading.Thread(target=client) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
PY
    prove nginx 90 nginx -p "$WORK/nginx" -c "$WORK/nginx/nginx.conf" &
    local tries=0
    while [ ! -S nginx/sock ] && [ $((tries += 1)) -lt 100 ]; do sleep 0.1; done
    timeout 60 /usr/bin/python3 ask.py "$WORK/nginx/sock" $((2 * work_seconds)) >ask.log 2>&1 || fail "nginx's clients" ask.log
    kill -QUIT "$(cat nginx/nginx.pid)"
    wait $!
}
nginx_loaded

# One backend of postgres, by itself; it refuses root.
postgres_loaded() {
    local bin out=$WORK/postgres
    bin=$(find /usr/lib/postgresql/*/bin -name initdb -printf '%h\n' 2>/dev/null | tail -n 1)
    [ -n "$bin" ] || { skip postgres "no /usr/lib/postgresql/VERSION/bin/initdb"; return; }
    mkdir "$out"
    if [ "$(id -u)" = 0 ]; then
        id postgres >/dev/null 2>&1 || { skip postgres "it refuses root, and there is no user postgres"; return; }
        as=(setpriv --reuid=postgres --regid=postgres --clear-groups)
        chown postgres "$out"
        chmod 711 "$WORK"
    fi
    "${as[@]}" env -i "PATH=$PATH" LC_ALL=C "$bin/initdb" -D "$out/data" -N >initdb.log 2>&1 || fail "initdb" initdb.log
    { # a line a query
        echo "create table t as select x as a, md5(x::text) as b from generate_series(1, 50000) x;"
        echo "create index i on t(b);"
        for _ in $(seq $((4 * slower))); do
            echo "select count(*), max(y.b) from t x join t y on x.a = y.a + 1 where x.b ~ 'a.*[0-9]b';"
            echo "select a % 10, string_agg(b, ',' order by b) from t group by 1;"
            echo "update t set b = md5(b) where a % 7 = 0;"
        done
    } >queries.sql
    prove postgres 120 "$bin/postgres" --single -D "$out/data" -F postgres <queries.sql
    as=()
    mv "$out"/postgres.* .
}
postgres_loaded

# refuses LINE...: the report does not pass captures of which these lines tell.
refuses() {
    mkdir -p refused
    { echo "captures 1000 identical 999 frames 20000 lost 0"; printf '%s\n' "$@"; } >refused/wrong.1
    /usr/bin/python3 "$SRC/tests/e2e/unwind_report.py" refused 500 >refused.log 2>&1
    grep -q "FAIL: " refused.log ||
        fail "the report passes what it should not: $*" refused.log
    n_checks=$((n_checks + 1))
}
code="libunwind goes on to b.so+0x20 | own 1 1" at="at a.so+0x30 (f) | covered | leaf a.so+0x30 (f)"
refuses "same exact: back 40 1 9 0"
refuses "1 exact: cairn goes on by cfi to a.so+0x10 | $code | back 1 1 0 0 | $at"
refuses "1 exact: cairn goes on by cfi to a.so+0x10 | $code | back 0 0 1 0 | $at"
refuses "9 guess (code guess): cairn goes on by code guess to a.so+0x10 | $code | back 3 6 0 0 | $at"
refuses "9 end: cairn ends (no unwind rule) | $code | back 0 6 3 0 | $at"

if /usr/bin/python3 "$SRC/tests/e2e/unwind_report.py" "$WORK" $((captures / 4)) >report 2>&1; then
    cat report
else
    fail "differences that nothing explains" report
fi
finish "$(grep -c " captures, " report) programs walked as libunwind walks them, or better"
