#!/usr/bin/env bats
# Files that are large, have holes, or are many.

load helper

setup() {
    # where there is room in memory, the disk is left alone
    local room=${TMPDIR:-/tmp}
    [ -w /dev/shm ] && room=/dev/shm
    SCRATCH=$(mktemp -d "$room/sqlpack-large-XXXXXX")
    cd "$SCRATCH" || return
}

teardown() {
    cd / && rm -rf -- "$SCRATCH"
}

free_mib() {
    df --output=avail -BM . | tail -n 1 | tr -dc 0-9
}

@test "large: holes stay holes, in a small pack" {
    mkdir tree
    truncate -s 1200M tree/end tree/hole tree/middle tree/start
    printf x | dd of=tree/start conv=notrunc bs=1 status=none
    printf x | dd of=tree/middle conv=notrunc bs=1 seek=600000000 status=none
    printf x | dd of=tree/end conv=notrunc bs=1 seek=1258291199 status=none
    run_ok sqlpack pack -q tree t.db
    [ "$(stat -c %s t.db)" -le 65536 ]
    [ "$(sqlite3 t.db 'SELECT count(*) FROM sqlpack_chunk')" -eq 3 ]
    [ "$(sqlite3 t.db 'SELECT count(*) FROM sqlar WHERE id >= 1 << 41 AND data IS NULL')" -eq 4 ]
    run_ok sqlpack unpack -q t.db out
    for f in end hole middle start; do
        [ "$(stat -c %s out/$f)" -eq 1258291200 ]
        [ "$(stat -c %b out/$f)" -le $(($(stat -c %b tree/$f) + $(stat -f -c %S .) / 512)) ]
    done
    run_ok sqlpack verify t.db out
    cmp tree/middle out/middle
}

@test "large: a dense file beyond a row of SQLite goes to chunks, and comes back" {
    [ "$(free_mib)" -gt 4000 ] || skip "needs 4 GB of room"
    mkdir tree
    head -c 1100000000 /dev/urandom >tree/dense
    run_ok sqlpack pack -q --no-sync tree t.db
    [ "$(sqlite3 t.db 'SELECT sum(len) FROM sqlpack_chunk')" -eq 1100000000 ]
    run_ok sqlpack verify -q t.db tree
    sqlpack cat t.db dense | cmp - tree/dense
}

@test "large: a file too large to be read whole is deflated, or stored as they are where that does not help" {
    mkdir tree
    seq 1 2500000 >tree/text
    head -c 20000000 /dev/urandom >tree/noise
    head -c 4194304 /dev/zero >tree/exact
    head -c 4194305 /dev/zero >tree/over
    ln tree/noise tree/noise-again
    run_ok sqlpack pack -q tree t.db
    [ "$(sqlite3 t.db "SELECT group_concat(name||(length(data)<sz)) FROM sqlar
        WHERE name IN ('text','noise','exact','over') ORDER BY name")" = "exact1,noise0,over1,text1" ]
    run_ok sqlpack verify -q t.db tree
    sqlpack cat t.db noise-again | cmp - tree/noise
    run_ok sqlpack pack -q -l 0 tree raw.db
    [ "$(sqlite3 raw.db 'SELECT count(*) FROM sqlar WHERE length(data) < sz')" -eq 0 ]
    run_ok sqlpack verify -q raw.db tree
}

@test "large: 100,000 names in one folder, within the bounds of memory" {
    mkdir tree
    perl -e 'for (1..100000) { open my $f, ">", sprintf("tree/%06d", $_) or die; print $f $_ }'
    run_ok sqlpack pack -q --no-sync tree t.db
    [ "$(sqlpack ls t.db | wc -l)" -eq 100000 ]
    [ "$(sqlpack cat t.db 077777)" = 77777 ]
    run_ok sqlpack verify -q t.db tree
}

@test "large: 10,000 folders in each other, with a small stack" {
    mkdir tree
    perl -e 'chdir "tree" or die; for (1..10000) { mkdir "d" or die; chdir "d" or die }
        open my $f, ">", "leaf" or die; print $f "deep"'
    run_ok bash -c 'ulimit -s 256; exec sqlpack pack -q --no-sync tree t.db'
    [ "$(sqlpack ls t.db | wc -l)" -eq 10001 ]
    [ "$(sqlite3 t.db 'PRAGMA integrity_check')" = ok ]
    run_ok sqlpack unpack -q --no-sync t.db out
    [ "$(sqlpack digest out | cut -d' ' -f1)" = "$(sqlpack digest tree | cut -d' ' -f1)" ]
}

@test "large: the pack is the same for any number of threads, page after page" {
    mkdir -p tree/sub
    head -c 9000000 /dev/urandom >tree/a
    seq 1 1500000 >tree/b
    truncate -s 3M tree/c
    printf data >>tree/c
    for i in $(seq 300); do seq 1 "$i" >"tree/sub/$i"; done
    mkdir -m 500 tree/closed
    for i in $(seq 40); do ln "tree/sub/$i" "tree/sub/link$i"; done
    find tree -exec touch -h -d '2021-01-01' {} +
    for size in 512 4096 65536; do
        for jobs in 1 2 8; do
            sqlpack pack -q -f --reproducible --page-size $size -j $jobs tree t$jobs.db
            [ "$(sqlite3 t$jobs.db 'PRAGMA integrity_check')" = ok ]
        done
        cmp t1.db t2.db
        cmp t1.db t8.db
    done
}
