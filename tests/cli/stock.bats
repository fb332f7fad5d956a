#!/usr/bin/env bats
# The pack as an SQLite Archive: what sqlite3's own shell reads, writes and changes.
# shellcheck disable=SC2154 # bats sets $stderr

load helper

setup_file() {
    command -v sqlite3 >/dev/null || skip "no sqlite3 here"
    sqlite3 -help 2>&1 | grep -q -- -A || skip "this sqlite3 has no archive mode"
}

# What sqlite3 -A keeps: type, permissions, content, target; links it makes into symlinks.
outline() {
    (cd "$1" && find . -mindepth 1 \( -type f -printf '%p f %m ' -exec sh -c 'cksum <"$1"' - {} \; \
        -o -type d -printf '%p d %m\n' -o -type l -printf '%p l %l\n' \) | LC_ALL=C sort)
}

# A tree that a plain extractor run by its owner finds hard: closed folders, links of all kinds.
hard_tree() {
    mkdir -p "$1"/{a/b,ro/deep/er,closed}
    seq 1 100 >"$1/a/b/f"
    head -c 5000 /dev/urandom >"$1/a/noise"
    : >"$1/empty"
    echo r >"$1/ro/f"
    echo d >"$1/ro/deep/g"
    ln -s nowhere "$1/dangling"
    ln -s /etc/hostname "$1/absolute"
    ln -s ../b "$1/a/b/self"
    ln -s a "$1/a link"
    chmod 555 "$1/ro/deep" "$1/ro"
    chmod 500 "$1/closed"
    touch -h -d '2020-01-02 03:04:05' "$1/dangling"
}

@test "stock: sqlite3 -At and -Atv list every entry" {
    make_tree tree
    sqlpack pack -q tree t.db
    sqlite3 t.db -At >names
    sqlite3 t.db 'SELECT name FROM sqlar' | cmp - names
    [ "$(sqlite3 t.db -Atv | wc -l)" -ge "$(sqlpack ls -0 t.db | tr -dc '\0' | wc -c)" ]
}

@test "stock: sqlite3 -Ax restores a hard tree as its owner wrote it, for root and for others" {
    chmod 755 "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR/.."
    hard_tree tree
    chmod -R go+rX tree
    sqlpack pack -q tree t.db
    chmod 644 t.db
    mkdir root
    (cd root && sqlite3 ../t.db -Ax)
    diff <(outline tree) <(outline root)
    mkdir -m 777 nobody
    (cd nobody && as_nobody sqlite3 ../t.db -Ax) || skip "cannot become nobody here"
    diff <(outline tree) <(outline nobody)
}

@test "stock: sqlite3 -Ax restores a real tree" {
    [ -d /usr/share/doc ] || skip "no /usr/share/doc here"
    mkdir tree out
    cp -a /usr/share/doc tree/ 2>/dev/null
    sqlpack pack -q tree t.db
    (cd out && sqlite3 ../t.db -Ax)
    diff <(outline tree) <(outline out)
}

@test "stock: what sqlite3 -Au changed is read, and told as another program's" {
    mkdir tree
    for i in a b c; do echo $i >tree/$i; done
    sqlpack pack -q tree t.db
    sleep 1.1
    echo changed >tree/b
    (cd tree && sqlite3 ../t.db -Au b)
    [ "$(sqlpack cat t.db b)" = changed ]
    [ "$(sqlpack ls t.db | tr '\n' ' ')" = "a b c " ]
    run_fails 1 sqlpack verify t.db
    [[ $stderr == *"'b'"* ]]
    [[ $stderr != *"'a'"* ]]
    run sqlpack unpack -q t.db out
    cmp out/b tree/b
    cmp out/c tree/c
}

@test "stock: what sqlite3 -Ar removed is gone, and verify says that the whole differs" {
    [[ $(sqlite3 -help 2>&1; sqlite3 x.db -A 2>&1) == *remove* ]] || skip "no -Ar here"
    mkdir tree
    for i in a b c; do echo $i >tree/$i; done
    sqlpack pack -q tree t.db
    sqlite3 t.db -Ar b
    [ "$(sqlpack ls t.db | tr '\n' ' ')" = "a c " ]
    run_fails 1 sqlpack verify t.db
    [ "$(sqlpack cat t.db c)" = c ]
}

@test "stock: VACUUM, and a dump read back, leave the same pack" {
    make_tree tree
    sqlpack pack -q tree t.db
    digest=$(sqlpack digest t.db | cut -d' ' -f1)
    cp t.db v.db
    sqlite3 v.db VACUUM
    run_ok sqlpack verify v.db tree
    [ "$(sqlpack digest v.db | cut -d' ' -f1)" = "$digest" ]
    sqlite3 t.db .dump | sqlite3 d.db
    run_ok sqlpack verify -q d.db tree
    [ "$(sqlpack digest d.db | cut -d' ' -f1)" = "$digest" ]
}

@test "stock: an archive that sqlite3 -Ac made is read by every command" {
    mkdir -p tree/sub
    seq 1 500 >tree/text
    head -c 3000 /dev/urandom >tree/sub/noise
    (cd tree && sqlite3 ../t.db -Ac text sub)
    [ "$(sqlpack ls t.db | tr '\n' ' ')" = "sub sub/noise text " ]
    sqlpack cat t.db text | cmp - tree/text
    run_ok sqlpack info t.db
    run sqlpack verify t.db
    [ "$status" -eq 0 ]
    run sqlpack unpack -q t.db out
    [ "$status" -eq 0 ]
    diff -r tree out
}

@test "stock: the odd names of sqlite3 -Ac are read as what they mean, '..' never" {
    mkdir -p w/tree/sub
    seq 1 50 >w/tree/a
    echo s >w/tree/sub/s
    echo out >w/up
    (cd w/tree && sqlite3 ../../dot.db -Ac .)
    [ "$(sqlpack ls dot.db | tr '\n' ' ')" = "a sub sub/s " ]
    sqlpack cat dot.db a | cmp - w/tree/a
    (cd w && sqlite3 ../abs.db -Ac "$PWD/tree/a")
    run sqlpack ls abs.db
    [ "$status" -eq 0 ]
    [[ $output != /* ]]
    (cd w/tree && sqlite3 ../../up.db -Ac ../up a)
    run_fails 1 sqlpack unpack up.db out
    [[ $stderr == *'../up'* ]]
    [ "$(cd out && find . -type f)" = ./a ]
    [ ! -e up ]
}
