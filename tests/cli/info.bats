#!/usr/bin/env bats
# sqlpack info: what a pack holds, how its space is used, what was lost.

load helper

# value KEY: from the JSON in $output.
value() {
    sed -n "s/.*\"$1\":\([^,}]*\).*/\1/p" <<<"$output"
}

@test "info: counts and sizes are those of the tree" {
    make_tree tree
    sqlpack pack -q --page-size 2048 tree t.db
    run_ok sqlpack info --json t.db
    [ "$(value format)" = 1 ]
    [ "$(value file_count)" = 10 ]
    [ "$(value folder_count)" = "$(find tree -mindepth 1 -type d -printf x | wc -c)" ]
    [ "$(value symlink_count)" = 2 ]
    [ "$(value special_count)" = 1 ]
    [ "$(value hard_link_count)" = 1 ]
    [ "$(value foreign_count)" = 0 ]
    [ "$(value skipped_count)" = 0 ]
    [ "$(value page_bytes)" = 2048 ]
    [ "$(value pack_bytes)" = "$(stat -c %s t.db)" ]
    [ "$(value page_count)" = $(($(stat -c %s t.db) / 2048)) ]
    local content
    content=$(find tree -type f ! -name 'hard link' -printf '%s\n' | awk '{ s += $1 } END { print s }')
    [ "$(value content_bytes)" = "$content" ]
    [ "$(value stored_bytes)" -lt "$content" ]
    local parts=$(($(value stored_bytes) + $(value overhead_bytes) + $(value free_bytes)))
    [ "$parts" = "$(value pack_bytes)" ]
    [ "\"$(sqlpack digest t.db | cut -d' ' -f1)\"" = "$(value root_digest)" ]
}

# In an account that was kept and in one that is counted: of files in rows and in pieces.
@test "info: stored bytes are the lengths of what is stored" {
    need sqlite3
    mkdir tree
    seq 1 20000 >tree/text
    ln tree/text tree/again
    head -c 10000 /dev/urandom >tree/noise
    seq 1 900000 >tree/large
    truncate -s 3M tree/sparse
    printf end >>tree/sparse
    sqlpack pack -q tree t.db
    local rows pieces
    rows=$(sqlite3 t.db "SELECT sum(length(data)) FROM sqlar WHERE mode & 0xf000 = 0x8000")
    pieces=$(sqlite3 t.db "SELECT sum(length(data)) FROM sqlpack_chunk")
    run_ok sqlpack info --json t.db
    [ "$(value stored_bytes)" = $((rows + pieces)) ]
    [ "$(value stored_bytes)" = "$(sqlite3 t.db \
        "SELECT value FROM sqlpack_info WHERE key = 'stored_bytes'")" ]
    sqlite3 t.db "DELETE FROM sqlar WHERE name = 'noise'"
    run_ok sqlpack info --json t.db
    [ "$(value stored_bytes)" = $((rows + pieces - 10000)) ]
    [ "$(value file_count)" = 3 ]
}

@test "info: text is for people" {
    mkdir tree
    seq 1 100000 >tree/numbers
    sqlpack pack -q tree t.db
    run_ok sqlpack info t.db
    [[ $output == *'format'*'sqlpack 1'* ]]
    [[ $output == *'content'*'575.1 KiB'* ]]
    [[ $output != *'symlinks'* ]]
}

@test "info: losses, twenty of them or all" {
    need setpriv
    mkdir tree
    (cd tree && seq -f 'f%02g' 1 25 | xargs touch)
    chmod 000 tree/*
    chmod 777 . tree
    run as_nobody "$(command -v sqlpack)" pack -q tree t.db
    [ "$status" -eq 1 ] || skip "nobody cannot run sqlpack here"
    run_ok sqlpack info t.db
    [[ $output == *'losses'*'25'* ]]
    [ "$(grep -c 'Permission denied' <<<"$output")" -eq 20 ]
    run_ok sqlpack info -v t.db
    [ "$(grep -c 'Permission denied' <<<"$output")" -eq 25 ]
    run_ok sqlpack info --json -v t.db
    [ "$(grep -o '"os_errno":13' <<<"$output" | wc -l)" -eq 25 ]
    run_ok sqlpack info --json t.db
    [ "$(value loss_count)" = 25 ]
}

@test "info: an archive of sqlite3 -A, and one with rows that cannot be used" {
    need sqlite3
    mkdir -p tree/d
    seq 1 1000 >tree/f
    (cd tree && sqlite3 ../a.db -Ac .)
    run_ok sqlpack info --json a.db
    [ "$(value format)" = 0 ]
    [ "$(value file_count)" = 1 ]
    [ "$(value folder_count)" = 1 ]
    [ "$(value foreign_count)" = 2 ]
    [ "$(value content_bytes)" = "$(stat -c %s tree/f)" ]
    [ "$(value root_digest)" = null ]
    run_ok sqlpack info a.db
    [[ $output == *'another program'* ]]
    sqlite3 a.db "INSERT INTO sqlar VALUES('../x', 33188, 0, 1, x'41')"
    run_fails 1 sqlpack info --json a.db
    [ "$(value skipped_count)" = 1 ]
}

@test "info: rows that another program added are counted" {
    need sqlite3
    mkdir tree
    echo a >tree/a
    sqlpack pack -q tree t.db
    echo b >tree/b
    (cd tree && sqlite3 ../t.db -Au b)
    run_ok sqlpack info --json t.db
    [ "$(value file_count)" = 2 ]
    [ "$(value foreign_count)" = 1 ]
}
