#!/usr/bin/env bats
# sqlpack digest: equal for a tree, its pack and what was unpacked from it, and for nothing else.
load helper

# digest_of ARGUMENT...: the digest alone.
digest_of() {
    sqlpack digest "$@" | cut -c -32
}

@test "digest: a tree, its pack, what was unpacked and a copy have the same" {
    make_tree tree
    sqlpack pack -q tree p.db
    sqlpack unpack -q --specials p.db out
    cp -a tree copy
    want=$(digest_of tree)
    [[ $want =~ ^[0-9a-f]{32}$ ]]
    for path in p.db out copy; do
        [ "$(digest_of "$path")" = "$want" ]
    done
    for jobs in 1 2 8; do
        [ "$(digest_of -j "$jobs" tree)" = "$want" ]
        [ "$(digest_of -j "$jobs" p.db)" = "$want" ]
    done
}

@test "digest: every change of the tree changes it; changed back, it is back" {
    make_tree tree
    cp -a tree same
    want=$(digest_of tree)
    seen=$want
    change() {
        eval "$1"
        got=$(digest_of tree)
        [[ $seen != *"$got"* ]] || { echo "not seen: $1" >&2 && return 1; }
        seen+=" $got"
        rm -rf tree && cp -a same tree
        [ "$(digest_of tree)" = "$want" ]
    }
    change 'chmod 0600 tree/-rf'
    change 'touch -d @1 tree/-rf'
    change 'touch -d @1.000000001 tree/-rf'
    change 'touch -d @1 tree'
    change 'printf DASH >tree/-rf; touch -r same/-rf tree/-rf'
    change 'mv tree/-rf tree/-rg; touch -r same tree'
    change 'rm tree/-rf; touch -r same tree'
    change ': >tree/more; touch -r same tree'
    change 'ln -sfn b tree/link; touch -h -r same/link tree/link; touch -r same tree'
    change 'cp -a --remove-destination same/a/b.json tree/"with space/hard link"
        touch -r same/"with space" tree/"with space"'
}

@test "digest: --content leaves owners, times and attributes out, and nothing else" {
    make_tree tree
    sqlpack pack -q tree p.db
    want=$(digest_of --content tree)
    [ "$(digest_of --content p.db)" = "$want" ]
    [ "$(digest_of tree)" != "$want" ]
    touch tree tree/-rf
    setfattr -n user.x -v y tree/-rf 2>/dev/null || true
    [ "$(id -u)" != 0 ] || chown 1:1 tree/-rf
    [ "$(digest_of --content tree)" = "$want" ]
    chmod 0600 tree/-rf
    [ "$(digest_of --content tree)" != "$want" ]
}

@test "digest: of a pack without reading its contents" {
    make_tree tree
    sqlpack pack -q tree p.db
    want=$(digest_of tree)
    flip_byte p.db "$(grep -obUaF $'hello\n' p.db | head -n 1 | cut -d : -f 1)"
    [ "$(digest_of p.db)" = "$want" ]
    # nor does it repeat what the pack says of itself
    sqlite3 p.db "UPDATE sqlpack_info SET value = zeroblob(16) WHERE key = 'root_digest'"
    [ "$(digest_of p.db)" = "$want" ]
}

@test "digest: an archive of another program has that of the content" {
    mkdir -p tree/a
    printf 'x' >tree/a/file
    ln -s a tree/link
    (cd tree && sqlite3 ../p.db -Ac a link)
    chmod 755 tree
    run_ok sqlpack digest --content p.db
}

@test "digest: prints like sha256sum, and JSON" {
    mkdir tree
    run_ok sqlpack digest tree
    [[ $output =~ ^[0-9a-f]{32}"  tree"$ ]]
    run_ok sqlpack digest --json tree
    [[ $output =~ ^\{\"path\":\"tree\",\"root_digest\":\"[0-9a-f]{32}\",\"content_only\":false\}$ ]]
}

@test "digest: what cannot be read is named and the exit status is 1" {
    need_root
    need setpriv
    mkdir tree
    : >tree/shut && chmod 000 tree/shut && chmod 755 tree
    run_fails 1 as_nobody sqlpack digest tree
    # shellcheck disable=SC2154 # bats sets it
    [ "$stderr" = "sqlpack digest: 'shut': cannot be read: Permission denied" ]
}

@test "digest: wrong arguments" {
    run_fails 2 sqlpack digest
    run_fails 2 sqlpack digest none
    : >empty
    run_fails 4 sqlpack digest empty
}
