#!/usr/bin/env bats
# What every reading command does with what is no pack, is locked, or is hostile.

load helper

# refused STATUS FILE: every reading command ends so, names the file in a few lines, leaves no trace.
refused() {
    local want=$1 file=$2 before command
    before=$(ls -lA --time-style=full-iso)
    for command in ls "ls -l" info verify digest; do
        # shellcheck disable=SC2086 # words
        run_fails "$want" timeout 20 sqlpack $command "$file"
        # shellcheck disable=SC2154 # bats sets $stderr
        [[ $stderr == *"${file##*/}"* ]]
        [ "$(wc -l <<<"$stderr")" -le 3 ]
    done
    run_fails "$want" timeout 20 sqlpack cat "$file" x
    run_fails "$want" timeout 20 sqlpack unpack "$file" out
    [ ! -e out ]
    [ "$(ls -lA --time-style=full-iso)" = "$before" ]
}

small_pack() {
    mkdir -p tree
    echo hello >tree/x
    sqlpack pack -qf --page-size 1024 tree "$1"
}

@test "open: files that are no pack" {
    : >empty.db
    refused 4 empty.db
    printf 'SQLite format 3\0' >short.db
    refused 4 short.db
    seq 1 1000 >text.db
    refused 4 text.db
    mkfifo fifo.db
    refused 4 fifo.db
}

@test "open: a name that is not there is named" {
    run --separate-stderr sqlpack ls none.db
    [ "$status" -ge 2 ]
    [[ $stderr == *"cannot open 'none.db': No such file or directory"* ]]
}

@test "open: a pack without permission" {
    need_root
    need setpriv
    small_pack t.db
    chmod 600 t.db
    chmod 755 "$BATS_RUN_TMPDIR"
    run --separate-stderr as_nobody "$(command -v sqlpack)" ls t.db
    [ "$status" -ne 126 ] && [ "$status" -ne 127 ] || skip "nobody cannot run sqlpack here"
    [ "$status" -eq 3 ]
    [[ $stderr == *"'t.db': Permission denied"* ]]
}

@test "open: packs that are cut off or half written" {
    small_pack t.db
    local size
    size=$(stat -c %s t.db)
    head -c $((size - 1)) t.db >cut.db
    refused 4 cut.db
    head -c $((size / 2)) t.db >half.db
    refused 4 half.db
    head -c 2048 t.db >schema.db
    refused 4 schema.db
}

@test "open: WAL mode is told with its remedy, and nothing is written" {
    need sqlite3
    small_pack t.db
    sqlite3 t.db 'PRAGMA journal_mode=WAL' >/dev/null
    rm -f t.db-wal t.db-shm
    refused 4 t.db
    run_fails 4 sqlpack ls t.db
    [[ $stderr == *WAL* && $stderr == *'PRAGMA journal_mode=DELETE'* ]]
    sqlite3 t.db 'PRAGMA journal_mode=DELETE' >/dev/null
    run_ok sqlpack ls t.db
}

@test "open: views, triggers, virtual tables, generated columns" {
    need sqlite3
    local sql n=0
    for sql in 'CREATE VIEW v AS SELECT 1' 'CREATE VIRTUAL TABLE f USING fts5(a)' \
        'CREATE TRIGGER t AFTER INSERT ON sqlar BEGIN SELECT 1; END' \
        'CREATE TABLE g(a, b AS (a + 1))' \
        'DROP TABLE sqlar; CREATE VIEW sqlar(name,mode,mtime,sz,data) AS
            WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM r)
            SELECT i,33188,0,0,NULL FROM r'; do
        small_pack t$((++n)).db
        sqlite3 t$n.db "$sql"
        refused 4 t$n.db
    done
}

@test "open: tables of the user beside ours, VACUUM and a dump are fine" {
    need sqlite3
    small_pack t.db
    sqlite3 t.db 'CREATE TABLE notes(name TEXT, note TEXT); CREATE INDEX by_time ON sqlar(mtime);
        VACUUM'
    run_ok sqlpack ls t.db
    run_ok sqlpack cat t.db x
    sqlite3 t.db .dump | sqlite3 d.db
    run_ok sqlpack cat d.db x
    [ "$output" = hello ]
    run_ok sqlpack info d.db
}

@test "open: a schema of many tables is refused at once" {
    need sqlite3
    small_pack t.db
    { echo 'BEGIN;' && seq -f 'CREATE TABLE t%.0f(a);' 1 20000 && echo 'COMMIT;'; } | sqlite3 t.db
    local start=$SECONDS
    refused 4 t.db
    [ $((SECONDS - start)) -le 15 ]
}

@test "open: names that mean something to SQLite" {
    small_pack ./plain.db
    local name
    for name in 'file:x?mode=ro' ':memory:' $'new\nline' '-q'; do
        cp plain.db "./$name"
        run_ok sqlpack ls -- "$name"
        [ "$output" = x ]
    done
}

@test "open: on a read-only folder, as nobody" {
    need_root
    need setpriv
    small_pack t.db
    mkdir ro
    cp t.db ro/
    chmod 555 ro
    chmod 755 "$BATS_RUN_TMPDIR" # SQLite looks at every folder of a path
    run as_nobody "$(command -v sqlpack)" ls ro/t.db
    [ "$status" -ne 126 ] && [ "$status" -ne 127 ] || skip "nobody cannot run sqlpack here"
    [ "$status" -eq 0 ]
    [ "$output" = x ]
}

@test "open: a pack that is being written to is waited for, then told" {
    need python3
    small_pack t.db
    python3 - <<'END' &
import sqlite3, time
c = sqlite3.connect('t.db', isolation_level=None)
c.execute('BEGIN EXCLUSIVE')
open('locked', 'w').close()
time.sleep(20)
END
    local pid=$! i=0
    while [ ! -e locked ] && [ $((i++)) -lt 100 ]; do sleep 0.1; done
    run_fails 5 sqlpack ls t.db
    kill "$pid"
    wait "$pid" || true
    [[ $stderr == *'another program is writing it'* ]]
    run_ok sqlpack ls t.db
}
