#!/usr/bin/env bats
# What reads a tree leaves its access times alone, as far as the kernel lets it.

load helper

# make_old DIR: a small tree that was read long ago.
make_old() {
    mkdir -p "$1/a/b"
    printf 'one' >"$1/a/one"
    printf 'one' >"$1/a/copy"
    head -c 50000 /dev/urandom >"$1/a/b/noise"
    seq 1 5000 >"$1/numbers"
    truncate -s 3M "$1/hole"
    printf 'end' >>"$1/hole"
}

# age DIR: all of it was read long ago, before it was written.
age() {
    find "$1" -exec touch -a -d 2001-01-01 {} +
}

# read_since DIR: what was read since then; finding that out reads the folders themselves.
read_since() {
    find "$1" -newerat 2002-01-01 ! -type l
}

# need_atime: skips the test where reading leaves no trace anyway.
need_atime() {
    echo probe >probe
    touch -a -d 2001-01-01 probe
    cat probe >/dev/null
    [ -n "$(read_since probe)" ] || skip "this file system keeps no access times"
}

@test "atime: every command that reads a tree leaves files and folders as they are" {
    need_atime
    make_old tree
    age tree
    sqlpack pack -q tree t.db
    sqlpack pack -q -j 1 --page-size 4096 tree u.db
    [ -z "$(read_since tree)" ]
    age tree
    sqlpack verify -q t.db tree
    sqlpack digest tree >root
    sqlpack audit -q --duplicates --sample 100% tree
    sqlpack bench -q --rounds 1 --budget 1 --layout asis,fresh tree
    [ -z "$(read_since tree)" ]
}

@test "atime: another user's own files stay as they are, what is others' is read all the same" {
    need_atime
    need_root
    make_old tree
    mkdir out
    chown nobody out tree/a/one tree/a/b tree/a/b/noise
    age tree
    run_ok as_nobody sqlpack pack -q tree out/t.db
    run_ok as_nobody sqlpack verify -q out/t.db tree
    run_ok as_nobody sqlpack digest tree
    run_ok as_nobody sqlpack audit --sample 100% tree
    run_ok as_nobody sqlpack bench -q --rounds 1 --budget 1 --scratch out tree out/t.db
    run_ok sqlpack verify out/t.db tree
    age tree
    run_ok as_nobody sqlpack pack -q -f tree out/t.db
    run_ok as_nobody sqlpack audit --sample 100% tree
    [ -z "$(find tree -user nobody -newerat 2002-01-01)" ]
    [ -n "$(read_since tree)" ] # the others' own: the test can see it
}

@test "atime: no file is opened twice, whosever it is" {
    need strace
    need_root
    make_old tree
    mkdir out
    chown nobody out tree/a/one
    # copied by now, so that strace finds it
    run_ok as_nobody sqlpack pack -q tree out/t.db
    local who
    for who in "" as_nobody; do
        rm -f out/log
        $who strace -f -o out/log -e trace=open,openat,openat2 sqlpack pack -q -f --page-size 4096 tree out/t.db
        local name
        for name in one copy noise numbers; do
            [ "$(grep -c "\"$name\"" out/log)" -eq 1 ]
        done
    done
}

@test "atime: root of a namespace reads files whose owner is not in it" {
    need_root
    need unshare
    unshare -U -r true 2>/dev/null || skip "no user namespaces here"
    make_old tree
    chown nobody tree/a/one tree/a
    run_ok unshare -U -r "$BUILD/sqlpack" pack -q tree t.db
    [ "$(sqlpack cat t.db a/one)" = one ]
    run_ok unshare -U -r "$BUILD/sqlpack" bench -q --rounds 1 --budget 1 tree t.db
}
