#!/usr/bin/env bats
# sqlpack verify: what is wrong with a pack, and how it differs from a tree.
load helper

# A pack of a tree, both at rest.
pack_tree() {
    make_tree tree
    sqlpack pack -q tree p.db
}

# finds ID NAME COMMAND...: exit status 1 and exactly one finding, of that kind, on that name.
finds() {
    local want="sqlpack verify: '$2': $1: "
    run_fails 1 "${@:3}"
    if [[ $stderr != "$want"* || $stderr == *$'\n'* ]]; then
        printf 'want one line that begins with: %s\ngot: %s\n' "$want" "$stderr" >&2
        return 1
    fi
}

# changes_only ID NAME: the tree was changed at NAME; its folder's time is put right first.
changes_only() {
    finds "$1" "$2" sqlpack verify p.db tree
}

# damage SQL: changes the pack as another program would.
damage() {
    sqlite3 p.db "$1"
}

# offset_of TEXT: where it stands in the pack.
offset_of() {
    grep -obUaF -- "$1" p.db | head -n 1 | cut -d : -f 1
}

@test "verify: a sound pack, alone and with its tree" {
    pack_tree
    count=$(find tree -mindepth 1 -printf x | wc -c)
    run_ok sqlpack verify p.db
    [[ $output == *"none: all $count entries are as they were packed"* ]]
    run_ok sqlpack verify p.db tree
    [[ $output == *"none: all $count entries are as in the folder"* ]]
    run_ok sqlpack verify -q p.db tree
    [ -z "$output" ]
}

@test "verify: any number of threads says the same" {
    pack_tree
    flip_byte p.db "$(offset_of $'hello\n')"
    for jobs in 1 2 8; do
        finds content-damaged a/b.json sqlpack verify -j "$jobs" p.db
    done
}

@test "verify: an empty tree" {
    mkdir tree
    sqlpack pack -q tree p.db
    run_ok sqlpack verify p.db tree
    [[ $output == *"none: all 0 entries"* ]]
}

@test "verify: a changed byte of a content is named; --quick does not read it" {
    pack_tree
    flip_byte p.db "$(offset_of $'hello\n')"
    finds content-damaged a/b.json sqlpack verify p.db
    run_ok sqlpack verify --quick p.db
    [[ $output == *"none found in what was read"* ]]
}

@test "verify: a changed byte of a name is found" {
    pack_tree
    sqlite3 p.db "UPDATE sqlar SET name = 'a/c.json' WHERE name = 'a/b.json'"
    run_fails 1 sqlpack verify p.db
    [[ $stderr == *"'a/c.json': foreign: "* ]]
}

@test "verify: every difference from the tree is named once, with its kind" {
    pack_tree
    cp -a tree same
    restore() { rm -rf tree && cp -a same tree; }
    printf 'hellO\n' >tree/a/b.json
    touch -r same/a/b.json tree/a/b.json
    # a/b.json is the first name of a hard link: the other name has the same new content
    run_fails 1 sqlpack verify p.db tree
    [ "$(grep -c content-differs <<<"$stderr")" = 2 ]
    restore
    printf 'dasH\n' >tree/-rf && touch -r same/-rf tree/-rf
    changes_only content-differs -rf
    restore
    printf 'dash, and more\n' >tree/-rf && touch -r same/-rf tree/-rf
    changes_only size-differs -rf
    restore
    touch -d '1969-12-31 23:59:58.500000001' tree/-rf
    changes_only mtime-differs -rf
    restore
    chmod 0600 tree/-rf
    changes_only mode-differs -rf
    restore
    rm tree/-rf && touch -r same tree
    changes_only missing -rf
    restore
    : >tree/more && touch -r same tree
    changes_only extra more
    restore
    rm tree/-rf && mkdir tree/-rf && touch -r same tree
    changes_only type-differs -rf
    restore
    ln -sfn a/c.json tree/link && touch -h -r same/link tree/link && touch -r same tree
    changes_only target-differs link
    restore
    touch -d yesterday tree
    changes_only mtime-differs .
}

@test "verify: a hard link that became a file of its own" {
    pack_tree
    cp -a tree/'with space' keep
    rm tree/'with space/hard link' && cp -a keep/'hard link' tree/'with space'/
    touch -r keep tree/'with space'
    changes_only link-differs 'with space/hard link'
}

@test "verify: a file that became a hard link" {
    mkdir tree
    printf 'same\n' >tree/a && cp -a tree/a tree/b
    sqlpack pack -q tree p.db
    touch -r tree stamp
    ln -f tree/a tree/b && touch -r stamp tree
    changes_only link-differs b
}

@test "verify: an attribute, by its name" {
    pack_tree
    setfattr -n user.note -v one tree/-rf 2>/dev/null || skip "no attributes here"
    finds xattr-differs -rf sqlpack verify p.db tree
    [[ $stderr == *"user.note is only in the tree" ]]
    sqlpack pack -q -f tree p.db
    run_ok sqlpack verify -q p.db tree
    setfattr -n user.note -v two tree/-rf
    finds xattr-differs -rf sqlpack verify p.db tree
    [[ $stderr == *"user.note has another value in the tree" ]]
    setfattr -x user.note tree/-rf
    finds xattr-differs -rf sqlpack verify p.db tree
    [[ $stderr == *"user.note is only in the pack" ]]
}

@test "verify: an owner and a device" {
    need_root
    pack_tree
    chown 12:34 tree/-rf
    finds owner-differs -rf sqlpack verify p.db tree
    chown 0:0 tree/-rf
    mknod tree/null c 1 3 || skip "no device nodes here"
    sqlpack pack -q -f tree p.db
    touch -r tree stamp && touch -r tree/null stamp2
    rm tree/null && mknod tree/null c 1 5 && touch -r stamp tree && touch -r stamp2 tree/null
    finds device-differs null sqlpack verify p.db tree
}

@test "verify: what lies between names that sort around '/'" {
    mkdir -p tree/a tree/a-b tree/a0 tree/'a b'
    for dir in tree/*; do : >"$dir/x"; done
    : >tree/a.c
    sqlpack pack -q tree p.db
    run_ok sqlpack verify -q p.db tree
    touch -r tree/a stamp && rm tree/a/x && touch -r stamp tree/a
    changes_only missing a/x
}

@test "verify: the pack inside the tree and sockets are no difference" {
    need python3
    make_tree tree
    sqlpack pack -q tree p.db
    touch -r tree stamp
    ln p.db tree/p.db && ln p.db tree/'another name' && touch -r stamp tree
    run_ok sqlpack verify -q p.db tree
    rm tree/p.db tree/'another name'
    python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("tree/socket")'
    touch -r stamp tree
    run sqlpack verify p.db tree
    [ "$status" = 0 ]
    [[ $output == *"'socket': is a socket"* ]]
}

@test "verify: a folder of the tree that cannot be read is named, not what is below it" {
    need_root
    need setpriv
    mkdir -p tree/shut/below tree/open
    : >tree/shut/below/file
    chmod 755 tree tree/open
    sqlpack pack -q tree p.db
    chmod 644 p.db
    # ctime is never compared: a mode that goes and comes back is no change
    chmod 000 tree/shut
    sqlpack pack -q -f tree p.db
    chmod 711 "$BATS_RUN_TMPDIR" # SQLite opens by absolute paths
    run_fails 1 as_nobody sqlpack verify p.db tree
    [ "$stderr" = "sqlpack verify: 'shut': cannot be read: Permission denied" ]
}

@test "verify: rows of another program are named" {
    pack_tree
    mkdir -p more && printf 'new\n' >more/file
    (cd more && sqlite3 ../p.db -Au file)
    run_fails 1 sqlpack verify p.db
    [[ $stderr == *"'file': foreign: written by another program"* ]]
    [[ $stderr == *"'.': info-differs: root_digest is not that of the rows"* ]]
    [[ $stderr != *orphan* ]]
    sqlpack verify --json p.db 2>/dev/null | grep -q '"foreign_count":1,'
}

@test "verify: names that sqlite3 writes in its own way lead where they should" {
    mkdir -p tree/a && printf 'x' >tree/a/file
    sqlpack pack -q tree p.db
    (cd tree && touch . && sqlite3 ../p.db -Au . && sqlite3 ../other.db -Ac . ./a/file)
    run --separate-stderr sqlpack verify p.db
    [[ $stderr != *index-differs* && $stderr == *"'./a': unusable: "* ]]
    run --separate-stderr sqlpack verify -q other.db
    [ "$status" = 0 ]
}

@test "verify: an index that leads to another row" {
    pack_tree
    # an index entry: the size of its header, the types of name and rowid, the name, the rowid
    perl -0777 -i -pe 's/(\x03\x2b\x01a\/b\/numbers\.txt)(.)/$1 . chr(ord($2) + 1)/se or die' p.db
    run --separate-stderr sqlpack verify p.db
    [ "$status" = 1 ] || [ "$status" = 4 ]
    [[ $stderr == *index* ]]
}

@test "verify: rows of the tables beside the entries are of the right types" {
    pack_tree
    damage "UPDATE sqlpack_owner SET name = CAST(name AS BLOB)"
    run_fails 1 sqlpack verify p.db
    [[ $stderr == *"'.': malformed: a row of sqlpack_owner"* ]]
}

@test "verify: an entry that another program removed leaves an orphan" {
    pack_tree
    damage "DELETE FROM sqlar WHERE name = '-rf'"
    run_fails 1 sqlpack verify p.db
    [[ $stderr == *"'.': orphan: "* ]]
}

@test "verify: metadata that another program changed" {
    local sql
    for sql in "sqlar SET mode = 33188 WHERE name = 'one byte'" \
        "sqlar SET mtime = 5 WHERE name = 'one byte'" \
        "sqlpack_stat SET uid = 77 WHERE id = (SELECT id FROM sqlar WHERE name = 'one byte')" \
        "sqlpack_stat SET xattr = x'00' WHERE id = (SELECT id FROM sqlar WHERE name = 'one byte')" \
        "sqlpack_stat SET seal = 1 WHERE id = (SELECT id FROM sqlar WHERE name = 'one byte')"; do
        rm -rf tree p.db
        pack_tree
        damage "UPDATE $sql"
        run_fails 1 sqlpack verify p.db
        [[ $stderr == *"'one byte': foreign: "* ]]
    done
    rm -rf tree p.db
    pack_tree
    damage "UPDATE sqlpack_stat SET mtime_ns = 1 WHERE id = 0"
    run_fails 1 sqlpack verify p.db
    [[ $stderr == *"'.': foreign: the metadata of the root is not sealed"* ]]
}

@test "verify: the tables beside the entries are sealed too" {
    local sql
    for sql in "UPDATE sqlpack_info SET value = value + 1 WHERE key = 'file_count'" \
        "DELETE FROM sqlpack_info WHERE key = 'content_bytes'" \
        "INSERT INTO sqlpack_info VALUES('more', 1)" \
        "UPDATE sqlpack_info SET value = zeroblob(16) WHERE key = 'root_digest'" \
        "UPDATE sqlpack_owner SET name = 'mallory'" \
        "INSERT INTO sqlpack_loss VALUES('a', 'is lost', 5)"; do
        rm -rf tree p.db
        pack_tree
        damage "$sql"
        run_fails 1 sqlpack verify p.db
        [[ $stderr == *"'.': info-differs: "* ]]
    done
}

@test "verify: pieces of no file" {
    pack_tree
    damage "INSERT INTO sqlpack_chunk VALUES(3, 0, 5, 'hello')"
    finds chunk-stray . sqlpack verify p.db
}

@test "verify: pieces that overlap or leave their file" {
    mkdir tree
    truncate -s 64M tree/sparse
    printf 'data' | dd of=tree/sparse bs=1M seek=3 conv=notrunc status=none
    sqlpack pack -q tree p.db
    run_ok sqlpack verify -q p.db tree
    cp p.db sound.db
    damage "INSERT INTO sqlpack_chunk SELECT id, offset + 1, len, data FROM sqlpack_chunk LIMIT 1"
    run_fails 1 sqlpack verify --quick p.db
    [[ $stderr == *"'sparse': chunk-overlap: "* ]]
    run_fails 1 sqlpack verify p.db
    cp sound.db p.db
    damage "UPDATE sqlpack_chunk SET offset = 67108863"
    run_fails 1 sqlpack verify --quick p.db
    [[ $stderr == *"'sparse': chunk-outside: "* ]]
    cp sound.db p.db
    damage "DELETE FROM sqlpack_chunk"
    finds content-damaged sparse sqlpack verify p.db
}

@test "verify: an entry whose folder is missing" {
    pack_tree
    damage "DELETE FROM sqlar WHERE name = 'a/b'"
    run_fails 1 sqlpack verify p.db
    [[ $stderr == *"'a/b/numbers.txt': folder-missing: no folder is above it"* ]]
}

@test "verify: a hard link whose first name is gone or no file" {
    pack_tree
    damage "DELETE FROM sqlar WHERE name = 'a/b.json'"
    run --separate-stderr sqlpack verify p.db
    [ "$status" = 1 ] || [ "$status" = 4 ]
    [[ $stderr == *"with space/hard link"* ]]
}

@test "verify: unsafe and double names are named" {
    sqlite3 p.db "CREATE TABLE sqlar(name TEXT PRIMARY KEY, mode INT, mtime INT, sz INT, data BLOB);
        INSERT INTO sqlar VALUES('../up', 33188, 1, 1, x'78'), ('a', 33188, 1, 1, x'78'),
            ('./a', 33188, 1, 1, x'79')"
    run_fails 1 sqlpack verify p.db
    [[ $stderr == *"'../up': unusable: "* ]]
    [ "$(grep -c unusable <<<"$stderr")" = 2 ]
}

@test "verify: an archive of sqlite3 is checked for what it has" {
    need sqlite3
    mkdir -p tree/a
    seq 1 5000 >tree/a/numbers
    printf 'small' >tree/small
    (cd tree && sqlite3 ../p.db -Ac a small)
    run sqlpack verify p.db
    [ "$status" = 0 ]
    [[ $output == *"no-digests: made by another program"* ]]
    run sqlpack verify -q p.db tree
    [ "$status" = 0 ]
    printf 'smalL' >tree/small && touch -d @"$(sqlite3 p.db "SELECT mtime FROM sqlar WHERE
        name = 'small'")" tree/small
    finds content-differs small sqlpack verify -q p.db tree
    printf 'small' >tree/small && touch -d @"$(sqlite3 p.db "SELECT mtime FROM sqlar WHERE
        name = 'small'")" tree/small
    run sqlpack verify -q p.db tree
    [ "$status" = 0 ]
    sqlite3 p.db "UPDATE sqlar SET data = substr(data, 1, length(data) - 3) WHERE name = 'a/numbers'"
    finds content-damaged a/numbers sqlpack verify -q p.db
}

@test "verify: a page of structure that is broken is found" {
    pack_tree
    damage "PRAGMA writable_schema = 1; DELETE FROM sqlite_schema WHERE name = 'x'"
    size=$(stat -c %s p.db)
    truncate -s $((size - 4096)) p.db
    run_fails 4 sqlpack verify p.db
}

@test "verify: an index that disagrees with its table is a finding" {
    pack_tree
    # an entry of the index that is renamed on disk: the table still has the old name
    flip=$(grep -obUaF 'numbers.txt' p.db | tail -n 1 | cut -d : -f 1)
    flip_byte p.db "$flip"
    run --separate-stderr sqlpack verify p.db
    [ "$status" = 1 ] || [ "$status" = 4 ]
    [ -n "$stderr" ]
}

@test "verify: a sample reads a share of the contents, another one each time" {
    mkdir tree
    for i in {1..500}; do echo "$i" >"tree/$i"; done
    sqlpack pack -q tree p.db
    run_ok sqlpack verify --sample 20% --json p.db
    [[ $output =~ \"read_count\":([0-9]+), ]]
    first=${BASH_REMATCH[1]}
    ((first > 40 && first < 200))
    for _ in {1..20}; do
        sqlpack verify --sample 20% --json p.db
    done | grep -o '"read_count":[0-9]*' | sort -u >counts
    [ "$(wc -l <counts)" -gt 1 ]
    run_ok sqlpack verify --sample 100% --json p.db
    [[ $output == *'"read_count":500,'* ]]
    run_fails 2 sqlpack verify --sample 0% p.db
}

@test "verify: a sample of the tree is the same sample" {
    mkdir tree
    for i in {1..300}; do echo "$i" >"tree/$i"; done
    sqlpack pack -q tree p.db
    for i in {1..300}; do touch -r "tree/$i" stamp && echo "$((i + 1))" >"tree/$i" &&
        touch -r stamp "tree/$i"; done
    run_fails 1 sqlpack verify --sample 20% --json p.db tree
    found=$(grep -c content-differs <<<"$stderr")
    ((found > 10 && found < 150))
    run_fails 1 sqlpack verify --quick p.db tree
    [[ $stderr != *content-differs* ]]
}

@test "verify: --json gives every finding and the result, one object a line" {
    need python3
    pack_tree
    rm tree/-rf
    run sqlpack verify --json p.db tree
    [ "$status" = 1 ]
    sqlpack verify --json p.db tree 2>/dev/null >out || true
    python3 - <<'PYTHON'
import json
lines = [json.loads(line) for line in open("out")]
result = lines.pop()
assert result["difference_count"] == len(lines) == 2, lines
assert result["root_digest_matches"] is True
assert {(f["kind"], f["name"], f["what"].split(":")[0]) for f in lines} == \
    {("difference", "-rf", "missing"), ("difference", "", "mtime-differs")}
PYTHON
}

@test "verify: changes nothing on disk" {
    pack_tree
    sha256sum p.db >before && stat -c '%n %y %z %i %s' . p.db >>before
    sqlpack verify p.db tree >/dev/null
    sha256sum p.db >after && stat -c '%n %y %z %i %s' . p.db >>after
    grep p.db before >b && grep p.db after >a && cmp a b
    [ "$(echo p.db*)" = p.db ]
}

@test "verify: wrong arguments and files that are no pack" {
    mkdir tree
    run_fails 2 sqlpack verify
    run_fails 2 sqlpack verify none.db
    : >empty
    run_fails 4 sqlpack verify empty
    head -c 100000 /dev/urandom >noise
    run_fails 4 sqlpack verify noise
    sqlpack pack -q tree p.db
    run_fails 2 sqlpack verify p.db none
    run_fails 3 sqlpack verify p.db p.db
}

@test "verify: a full standard output is an error" {
    pack_tree
    run sh -c 'sqlpack verify p.db >/dev/full'
    [ "$status" = 3 ]
}
