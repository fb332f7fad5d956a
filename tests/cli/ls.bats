#!/usr/bin/env bats
# sqlpack ls: names, the long form, patterns, filters, orders, JSON.

load helper

setup_pack() {
    make_tree tree
    sqlpack pack -q tree t.db
}

# names_of DIR: all names under it, a NUL behind each, in the order of bytes.
names_of() {
    (cd -- "$1" && find . -mindepth 1 -printf '%P\0' | LC_ALL=C sort -z)
}

@test "ls: all names, exactly with -0, escaped without" {
    setup_pack
    cmp <(sqlpack ls -0 t.db) <(names_of tree)
    run_ok sqlpack ls t.db
    [ "$(grep -c . <<<"$output")" -eq "$(names_of tree | tr -dc '\0' | wc -c)" ]
    [[ $output == *'new\nline/\033[31mred'* ]]
    [[ $output == *'not utf8 \377\376'* ]]
    [[ $output == *'gęślą/jaźń'* ]]
    [[ $output != *$'\e'* ]]
}

@test "ls: an empty pack has no names" {
    mkdir empty
    sqlpack pack -q empty e.db
    run_ok sqlpack ls e.db
    [ -z "$output" ]
    run_ok sqlpack ls --json e.db
    [ -z "$output" ]
}

@test "ls: -l shows what ls shows" {
    setup_pack
    run_ok sqlpack ls -l t.db
    local owner
    owner=$(printf '%-8s %-8s' "$(id -un)" "$(id -gn)")
    grep -qxF -- "-rw-r--r-- $owner     300000 2001-02-03 04:05:06 a/zeros" <<<"$output"
    grep -qxF -- "lrwxrwxrwx $owner          8 2001-02-03 04:05:06 link -> a/b.json" <<<"$output"
    grep -qxF -- "-rw-r--r-- $owner          5 1969-12-31 23:59:58 -rf" <<<"$output"
    grep -qE -- '^drwxr-x--- .* 0 .* a$' <<<"$output"
    grep -qE -- '^prw-r--r-- .* fifo$' <<<"$output"
    grep -qE -- '^-rw-r----- .* with space/hard link link to a/b.json$' <<<"$output"
    TZ=JST-9 run_ok sqlpack ls -l t.db a/zeros
    [[ $output == *'2001-02-03 13:05:06 a/zeros' ]]
}

@test "ls: -l shows devices, numbers of unknown owners, set-id bits" {
    need_root
    mkdir tree
    mknod tree/null c 1 3 || skip "no device nodes here"
    touch tree/f
    chown 12345:54321 tree/f
    chmod 6711 tree/f
    sqlpack pack -q tree t.db
    run_ok sqlpack ls -l t.db
    grep -qE '^crw-r--r-- root     root        1,    3 .* null$' <<<"$output"
    grep -qE '^-rws--s--x 12345    54321             0 .* f$' <<<"$output"
}

@test "ls: a name takes in what is below it" {
    setup_pack
    run_ok sqlpack ls t.db a/b
    [ "$output" = "$(printf '%s\n' a/b a/b/c a/b/c/noise a/b/numbers.txt)" ]
    run_ok sqlpack ls t.db a/b.json
    [ "$output" = a/b.json ]
    run_ok sqlpack ls t.db link ./a/b/
    [ "$output" = "$(printf '%s\n' a/b a/b/c a/b/c/noise a/b/numbers.txt link)" ]
    run_ok sqlpack ls t.db a a/b a/b/c
    [ "$output" = "$(sqlpack ls t.db a)" ]
    run_ok sqlpack ls t.db -- -rf
    [ "$output" = -rf ]
}

@test "ls: globs match as bsdtar's do, and what is below a match" {
    setup_pack
    run_ok sqlpack ls t.db '*.txt'
    [ "$output" = a/b/numbers.txt ]
    run_ok sqlpack ls t.db 'a?b'
    [ "$output" = "$(printf '%s\n' a/b a/b/c a/b/c/noise a/b/numbers.txt)" ]
    run_ok sqlpack ls t.db '[lo]*'
    [ "$output" = "$(printf '%s\n' link 'one byte')" ]
    run_ok sqlpack ls t.db '*.json' 'empty*'
    [ "$output" = "$(printf '%s\n' a/b.json empty 'empty file')" ]
    need bsdtar
    bsdtar -cf t.tar -C tree a empty link
    local glob
    for glob in '*.txt' 'a?b' '*b*' 'a/b*' '*c' '?'; do
        diff <(sqlpack ls t.db "$glob" | grep -E '^(a|empty|link)(/|$)') \
            <(bsdtar -tf t.tar "$glob" 2>/dev/null | sed 's,/$,,' | LC_ALL=C sort)
    done
}

@test "ls: a name with the characters of a glob is found" {
    mkdir tree
    touch 'tree/a[1].txt' tree/a1.txt
    sqlpack pack -q tree t.db
    run_ok sqlpack ls t.db 'a[1].txt'
    [ "$output" = "$(printf '%s\n' a1.txt 'a[1].txt')" ]
}

@test "ls: what matches nothing is named, the rest is listed" {
    setup_pack
    run_fails 1 sqlpack ls t.db nope link
    [ "$output" = link ]
    [[ $stderr == *"'nope'"* ]]
    run_fails 1 sqlpack ls t.db '*.nope' 'li*'
    [ "$output" = link ]
    [[ $stderr == *"'*.nope'"* ]]
    run_fails 1 sqlpack ls t.db ../tree
}

@test "ls: filters by size, type and time" {
    setup_pack
    run_ok sqlpack ls --size +8K t.db
    [ "$output" = "$(printf '%s\n' a/b/c/noise a/b/numbers.txt a/zeros)" ]
    run_ok sqlpack ls --size -1 t.db
    [ "$output" = 'empty file' ]
    run_ok sqlpack ls --size 1 t.db
    [ "$output" = 'one byte' ]
    run_ok sqlpack ls --type l t.db
    [ "$output" = "$(printf '%s\n' dangling link)" ]
    run_ok sqlpack ls --type pd t.db 'e*' fifo
    [ "$output" = "$(printf '%s\n' empty fifo)" ]
    touch -d '2001-02-03 04:05:06.789012344' before
    run_ok sqlpack ls --newer '2001-02-03 04:05:06' t.db a/zeros
    [ "$output" = a/zeros ]
    run_ok sqlpack ls --newer before t.db a/zeros
    [ "$output" = a/zeros ]
    run_ok sqlpack ls --newer tree/a/zeros t.db a/zeros
    [ -z "$output" ]
    run_ok sqlpack ls --newer '2001-02-03T04:05:07' t.db a/zeros
    [ -z "$output" ]
    run_ok sqlpack ls --newer @981173105 t.db a/zeros
    [ "$output" = a/zeros ]
    run_ok sqlpack ls --newer 2001-02-04 t.db empty
    [ -z "$output" ]
}

@test "ls: wrong values are usage errors" {
    setup_pack
    run_fails 2 sqlpack ls --size x t.db
    run_fails 2 sqlpack ls --size +-1 t.db
    run_fails 2 sqlpack ls --type fx t.db
    run_fails 2 sqlpack ls --type '' t.db
    run_fails 2 sqlpack ls --newer nope t.db
    run_fails 2 sqlpack ls --sort color t.db
    run_fails 2 sqlpack ls
}

@test "ls: orders by size and time, and backwards" {
    mkdir tree
    printf 333 >tree/c
    printf 22 >tree/a
    printf 1 >tree/b
    touch -d '2020-01-01 00:00:01.5' tree/a
    touch -d '2020-01-01 00:00:01.4' tree/b
    touch -d 1930-01-01 tree/c
    sqlpack pack -q tree t.db
    run_ok sqlpack ls --sort size t.db
    [ "$output" = "$(printf '%s\n' b a c)" ]
    run_ok sqlpack ls --sort size -r t.db
    [ "$output" = "$(printf '%s\n' c a b)" ]
    run_ok sqlpack ls --sort mtime t.db
    [ "$output" = "$(printf '%s\n' c b a)" ]
    run_ok sqlpack ls -r t.db
    [ "$output" = "$(printf '%s\n' c b a)" ]
    run_ok sqlpack ls -r --sort size t.db b c
    [ "$output" = "$(printf '%s\n' c b)" ]
}

@test "ls: --json gives every field and exact names" {
    need python3
    setup_pack
    sqlpack ls --json t.db >list.json
    python3 - tree list.json <<'END'
import base64, json, os, stat, sys
top = os.fsencode(sys.argv[1])
names = set()
for line in open(sys.argv[2], encoding='utf-8'):
    e = json.loads(line)
    name = base64.b64decode(e['name_base64']) if 'name_base64' in e else e['name'].encode()
    names.add(name)
    st = os.lstat(os.path.join(top, name))
    assert e['mode'] == st.st_mode, e
    assert e['mtime'] == st.st_mtime_ns // 10**9 and e['mtime_ns'] == st.st_mtime_ns % 10**9, e
    assert e['uid'] == st.st_uid and e['gid'] == st.st_gid, e
    assert e['sz'] == (0 if stat.S_ISDIR(st.st_mode) else st.st_size), e
    assert ('digest' in e) == (e['type'] in ('file', 'symlink')) and not e['is_foreign'], e
    if stat.S_ISLNK(st.st_mode):
        assert e['target'] == os.readlink(os.path.join(top, name)).decode(), e
want = set()
for folder, folders, files in os.walk(top):
    want |= {os.path.relpath(os.path.join(folder, n), top) for n in folders + files}
assert names == want, names ^ want
END
}

@test "ls: archives of sqlite3 -A, with the names it writes" {
    need sqlite3
    mkdir -p tree/d
    echo hi >tree/f
    ln -s f tree/l
    (cd tree && sqlite3 ../dot.db -Ac .)
    run_ok sqlpack ls dot.db
    [ "$output" = "$(printf '%s\n' d f l)" ]
    run_ok sqlpack ls -l dot.db l
    [[ $output == 'lrwxrwxrwx ?        ?                 1 '*' l -> f' ]]
    (cd tree && sqlite3 ../plain.db -Ac d f l)
    run_ok sqlpack ls plain.db
    [ "$output" = "$(printf '%s\n' d f l)" ]
    sqlite3 plain.db "INSERT INTO sqlar VALUES('../x', 33188, 0, 1, x'41'),
        ('./f', 33188, 0, 1, x'41')"
    run_fails 1 sqlpack ls plain.db
    [ "$output" = "$(printf '%s\n' d f l)" ]
    [[ $stderr == *"'../x'"* && $stderr == *"'./f'"* ]]
}

@test "ls: what sqlite3 -Au changed is told as it is" {
    need sqlite3
    setup_pack
    printf 'new content\n' >tree/a/b.json
    touch -d '2002-02-02' tree/a/b.json
    (cd tree && sqlite3 ../t.db -Au a/b.json)
    run_ok sqlpack ls --json t.db a/b.json
    [[ $output == *'"sz":12,'* && $output == *'"is_foreign":true'* ]]
    run_ok sqlpack ls --json t.db a/zeros
    [[ $output == *'"is_foreign":false'* ]]
    cmp <(sqlpack ls -0 t.db) <(names_of tree)
}

@test "ls: a full disk is a failure, a reader that goes is none" {
    setup_pack
    run --separate-stderr bash -c 'sqlpack ls t.db >/dev/full'
    [ "$status" -eq 3 ]
    [[ $stderr == *'cannot write'* ]]
    run --separate-stderr bash -c 'sqlpack ls --json t.db >/dev/full'
    [ "$status" -eq 3 ]
    run --separate-stderr bash -c 'set -o pipefail; sqlpack ls t.db | head -n 1'
    [ -z "$stderr" ]
}
