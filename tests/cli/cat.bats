#!/usr/bin/env bats
# sqlpack cat: contents to standard output.

load helper

setup_pack() {
    make_tree tree
    sqlpack pack -q tree t.db
}

@test "cat: contents, one after the other in the order of the names" {
    setup_pack
    cmp <(sqlpack cat t.db a/b/numbers.txt) tree/a/b/numbers.txt
    cmp <(sqlpack cat t.db a/zeros a/b/c/noise 'empty file' a/b.json) \
        <(cat tree/a/zeros tree/a/b/c/noise tree/a/b.json)
    cmp <(sqlpack cat t.db -- -rf) tree/-rf
    cmp <(sqlpack cat t.db $'new\nline/\e[31mred') $'tree/new\nline/\e[31mred'
    cmp <(sqlpack cat t.db $'not utf8 \xff\xfe') $'tree/not utf8 \xff\xfe'
    cmp <(sqlpack cat t.db 'with space/hard link') tree/a/b.json
    cmp <(sqlpack cat t.db ./a//b.json) tree/a/b.json
    run_ok sqlpack cat t.db link
    [ "$output" = a/b.json ]
}

@test "cat: every level and page size gives the same bytes" {
    make_tree tree
    local level page
    for level in 0 1 12; do
        for page in 512 65536; do
            sqlpack pack -qf -l "$level" --page-size "$page" tree t.db
            cmp <(sqlpack cat t.db a/zeros a/b/c/noise a/b/numbers.txt) \
                <(cat tree/a/zeros tree/a/b/c/noise tree/a/b/numbers.txt)
        done
    done
}

@test "cat: large and sparse files" {
    mkdir tree
    seq 1 3000000 >tree/large
    truncate -s 300M tree/sparse
    printf x | dd of=tree/sparse bs=1 seek=200000000 conv=notrunc status=none
    truncate -s 40M tree/hole
    sqlpack pack -q tree t.db
    local name
    for name in large sparse hole; do
        cmp <(sqlpack cat t.db "$name") "tree/$name"
    done
}

@test "cat: a folder or a missing name is told, the rest is written" {
    setup_pack
    run_fails 1 sqlpack cat t.db a nope a/b.json fifo
    [ "$output" = hello ]
    # shellcheck disable=SC2154 # bats sets $stderr
    [[ $stderr == *"'a': it is a folder"* ]]
    [[ $stderr == *"'nope'"* ]]
    [[ $stderr == *"'fifo': it is a special file"* ]]
}

@test "cat: names from files and from standard input" {
    setup_pack
    printf '%s\n' a/b.json '' 'one byte' >names
    cmp <(sqlpack cat -T names t.db) <(cat tree/a/b.json 'tree/one byte')
    cmp <(sqlpack cat t.db -T - <names) <(cat tree/a/b.json 'tree/one byte')
    cmp <(sqlpack cat t.db -- -rf <names) tree/-rf
    printf '%s\0' $'new\nline/\e[31mred' a/b.json >names0
    cmp <(sqlpack cat -0T names0 t.db -- -rf) \
        <(cat -- tree/-rf $'tree/new\nline/\e[31mred' tree/a/b.json)
    : >none
    run_ok sqlpack cat -T none t.db
    [ -z "$output" ]
    run_fails 2 sqlpack cat t.db
    run_fails 2 sqlpack cat -T missing t.db
}

@test "cat: thousands of names in one go" {
    mkdir tree
    (cd tree && seq -f %05g 1 5000 | while read -r name; do echo "$name" >"$name"; done)
    sqlpack pack -q tree t.db
    sqlpack ls t.db >names
    diff <(sqlpack cat -T names t.db) names
}

@test "cat: damaged content is told, and none of it written" {
    mkdir tree
    yes 'the content of a' | head -c 20000 >tree/a
    yes 'the content of b' | head -c 20000 >tree/b
    sqlpack pack -q -l 0 tree t.db
    local at
    at=$(LC_ALL=C grep -obUa 'the content of a' t.db | sed -n '500s/:.*//p')
    flip_byte t.db "$at"
    run --separate-stderr bash -c 'sqlpack cat t.db a b >out'
    [ "$status" -eq 4 ]
    [[ $stderr == *"'a'"* && $stderr != *"'b'"* ]]
    cmp out tree/b
}

@test "cat: archives of sqlite3 -A" {
    need sqlite3
    mkdir tree
    seq 1 5000 >tree/packed
    head -c 5000 /dev/urandom >tree/raw
    : >tree/empty
    (cd tree && sqlite3 ../dot.db -Ac .)
    cmp <(sqlpack cat dot.db packed raw empty) <(cat tree/packed tree/raw)
    cmp <(sqlpack cat dot.db ./raw) tree/raw
}

@test "cat: a full disk is a failure, told once" {
    setup_pack
    run --separate-stderr bash -c 'sqlpack cat t.db a/zeros a/b.json >/dev/full'
    [ "$status" -eq 3 ]
    [ "$(grep -c 'cannot write' <<<"$stderr")" -eq 1 ]
    run --separate-stderr bash -c 'sqlpack cat t.db a/b.json >/dev/full'
    [ "$status" -eq 3 ]
}
