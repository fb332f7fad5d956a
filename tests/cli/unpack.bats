#!/usr/bin/env bats
# unpack: whole or not at all, exact, and never outside of its folder.
# shellcheck disable=SC2154 # bats sets $stderr
load helper

teardown() {
    cd /
    chmod -R u+rwX -- "$BATS_TEST_TMPDIR" ${public:+"$public"} 2>/dev/null || true
    [ -z "${public:-}" ] || rm -rf -- "$public"
}

# public: goes to a folder that other users may use, too; those above bats' own are closed. It is in
# memory, where flushing takes no time.
public() {
    local place=${TMPDIR:-/tmp}
    [ ! -w /dev/shm ] || place=/dev/shm
    public=$(mktemp -d -- "$place/sqlpack-unpack.XXXXXX")
    chmod 777 "$public"
    cd -- "$public" || return
}

# traced OPTION... COMMAND...: under strace, where the sanitizers cannot look for leaks.
traced() {
    ASAN_OPTIONS=detect_leaks=0 strace -f -qq "$@"
}

# hidden: what a run left in the current folder.
hidden() {
    find . -name '.sqlpack-*'
}

# foreign PACK SQL: a pack as another program could write it.
foreign() {
    sqlite3 "$1" 'CREATE TABLE sqlar(name TEXT PRIMARY KEY, mode INT, mtime INT, sz INT, data BLOB);' "$2"
}

# sentinel: a tree beside the target that no unpack may touch.
sentinel() {
    mkdir -p outside/sub
    echo untouched >outside/file
    echo untouched >outside/sub/file
    chmod 0711 outside/sub
    touch -d '2001-01-01' outside/file outside/sub/file outside/sub outside
    sentinel_before=$("$BUILD/unit/treedump" outside)
}
sentinel_is_safe() {
    [ "$("$BUILD/unit/treedump" outside)" = "$sentinel_before" ]
}

# -- the folder ---------------------------------------------------------------------------------

@test "unpack: a new folder is as the tree was" {
    make_tree tree
    chmod 0751 tree
    touch -d '2003-03-03 03:03:03.333333333' tree
    sqlpack pack -q tree t.db
    for jobs in 1 2 8; do
        run_ok sqlpack unpack --specials -j $jobs t.db out
        same_tree tree out
        rm -rf out
    done
    [ -z "$(hidden)" ]
}

@test "unpack: DIR is PACK's name without its suffix" {
    mkdir tree sub
    echo x >tree/x
    sqlpack pack -q tree sub/thumbs.old.db
    run_ok sqlpack unpack -q sub/thumbs.old.db
    [ "$(cat thumbs.old/x)" = x ]
    cp sub/thumbs.old.db plain
    run_fails 2 sqlpack unpack plain
    [[ $stderr == *"'plain'"* ]]
}

@test "unpack: an empty folder is filled in place, one with content is refused" {
    mkdir tree out
    echo x >tree/x
    sqlpack pack -q tree t.db
    inode=$(stat -c %i out)
    run_ok sqlpack unpack -q t.db out
    [ "$(stat -c %i out)" = "$inode" ]
    same_tree tree out
    before=$("$BUILD/unit/treedump" out)
    run_fails 2 sqlpack unpack t.db out
    [[ $stderr == *"'out'"*"not empty"*--into* ]]
    [ "$("$BUILD/unit/treedump" out)" = "$before" ]
    ln -s out link
    run_fails 2 sqlpack unpack t.db link
    run_fails 2 sqlpack unpack t.db t.db
    run_fails 2 sqlpack unpack t.db none/out
    ln -s nowhere dangling
    run_fails 2 sqlpack unpack t.db dangling
    [ -L dangling ] && [ ! -e nowhere ]
    [ -z "$(hidden)" ]
}

@test "unpack: an empty tree and an empty pack" {
    mkdir tree
    chmod 0700 tree
    sqlpack pack -q tree t.db
    run_ok sqlpack unpack -q t.db out
    same_tree tree out
    foreign f.db ''
    run_ok sqlpack unpack -q f.db foreign
    [ "$(stat -c %a foreign)" = 755 ]
}

@test "unpack: a new folder has nothing from the one above it" {
    need_root
    need setfacl
    mkdir -p tree/d above
    touch tree/d/f
    chmod 0640 tree/d/f
    sqlpack pack -q tree t.db
    setfacl -d -m u:1234:rwx above 2>/dev/null || skip "no ACLs here"
    chown :4321 above
    chmod g+s above
    run_ok sqlpack unpack -q t.db above/out
    same_tree tree above/out
    mkdir above/empty
    run_ok sqlpack unpack -q t.db above/empty
    [ "$(getfacl -cpn above/empty/d/f | grep -c 1234)" = 0 ]
    [ "$(stat -c '%a %u:%g' above/empty/d/f above/empty/d)" = "$(stat -c '%a %u:%g' tree/d/f tree/d)" ]
}

@test "unpack: what a killed run left is removed by the next" {
    mkdir tree .sqlpack-89abcdef
    touch tree/x .sqlpack-89abcdef/y
    sqlpack pack -q tree t.db
    run_ok sqlpack unpack -q t.db out
    [ -z "$(hidden)" ]
}

@test "unpack: one run does not take another one's folder for left over" {
    need strace
    public
    mkdir tree
    touch tree/{1..9}
    sqlpack pack -q --no-sync tree t.db
    for call in mkdirat flock; do # slow right behind: while the folder is not locked, and after
        traced -o /dev/null -e "inject=$call:delay_exit=500000:when=1" \
            sqlpack unpack -q --no-sync t.db "slow-$call" &
        slow=$!
        for _ in {1..100}; do
            [ -z "$(hidden)" ] || break
            sleep 0.02
        done
        run_ok sqlpack unpack -q --no-sync t.db "quick-$call"
        wait $slow
        same_tree tree "slow-$call"
    done
    [ -z "$(hidden)" ]
}

# -- which entries -------------------------------------------------------------------------------

@test "unpack: single names with what is below, literally" {
    mkdir -p tree/a/b tree/a-b 'tree/*'
    touch tree/a/b/1 tree/a/b/2 tree/a/3 tree/a-b/4 'tree/*/5' tree/6
    chmod 0710 tree/a
    touch -d '2001-01-01' tree/a
    sqlpack pack -q tree t.db
    run_ok sqlpack unpack -q t.db out a/b/ '*'
    [ "$(cd out && find . | sort | tr '\n' ' ')" = '. ./* ./*/5 ./a ./a/b ./a/b/1 ./a/b/2 ' ]
    [ "$(stat -c '%a %y' out/a)" = "$(stat -c '%a %y' tree/a)" ]
    run_ok sqlpack unpack -q t.db whole .
    same_tree tree whole
}

@test "unpack: a name that is not in the pack is named, the rest is done" {
    mkdir tree
    touch tree/x
    sqlpack pack -q tree t.db
    run_fails 1 sqlpack unpack t.db out none x ../x
    [[ $stderr == *"'none'"*"not in the pack"* && $stderr == *"'../x'"* ]]
    [ "$(ls out)" = x ]
}

@test "unpack: names from a file" {
    mkdir tree
    touch tree/a tree/b tree/$'new\nline' tree/d
    sqlpack pack -q tree t.db
    printf 'a\nb' >list
    printf 'new\nline\0d\0' >list0
    : >nothing
    run_ok sqlpack unpack -q -T list t.db lines
    [ "$(cd lines && echo *)" = 'a b' ]
    run_ok sqlpack unpack -q -0 -T list0 t.db nul
    [ -e nul/$'new\nline' ] && [ -e nul/d ] && [ ! -e nul/a ]
    run_ok sqlpack unpack -q -T nothing t.db none
    [ -d none ] && [ -z "$(ls none)" ]
    run_fails 1 sqlpack unpack -T - t.db many < <(seq -f 'no%g' 1 2000)
    [ "$(grep -c 'not in the pack' <<<"$stderr")" = 2000 ]
}

@test "unpack: --exclude" {
    mkdir -p tree/cache tree/src/cache
    touch tree/a.tmp tree/cache/x tree/src/cache/y tree/src/b.c
    ln tree/a.tmp tree/src/linked
    sqlpack pack -q tree t.db
    run_ok sqlpack unpack -q -x '*.tmp' -x cache/ t.db out
    [ "$(cd out && find . | sort | tr '\n' ' ')" = '. ./src ./src/b.c ./src/linked ' ]
    [ "$(stat -c %h out/src/linked)" = 1 ]
}

@test "unpack: --dry-run writes nothing and counts" {
    make_tree tree
    sqlpack pack -q tree t.db
    run_ok sqlpack unpack -n --json --specials --no-sandbox t.db out
    [ ! -e out ]
    planned=$output
    run_ok sqlpack unpack --json --specials --no-sandbox t.db out
    [ "${planned/'"dry_run":true'/'"dry_run":false'}" = "$output" ]
    run_fails 2 sqlpack unpack -n t.db out
}

@test "unpack: --max-total" {
    mkdir tree
    head -c 10000 /dev/zero >tree/a
    head -c 10000 /dev/zero >tree/b
    sqlpack pack -q tree t.db
    run_fails 2 sqlpack unpack --max-total 19999 t.db out
    [ ! -e out ]
    run_fails 2 sqlpack unpack --max-total 9999 t.db out b
    [ ! -e out ]
    run_ok sqlpack unpack -q --max-total 20000 t.db out
    foreign bomb.db "INSERT INTO sqlar VALUES('bomb', 33188, 0, 4000000000, x'789c');"
    run sqlpack unpack bomb.db boom
    [ "$status" -ne 0 ] && [ ! -s boom/bomb ]
}

# -- into an existing folder ----------------------------------------------------------------------

@test "unpack: --into overwrites nothing, names each, does the rest" {
    mkdir -p tree/d out/d
    echo new | tee tree/a tree/d/b tree/d/c >/dev/null
    ln -s new tree/l
    ln -s new tree/m
    mkdir tree/folder
    sqlpack pack -q tree t.db
    echo old | tee out/a out/d/b out/folder out/other >/dev/null
    ln -s old out/l
    run_fails 1 sqlpack unpack --into t.db out
    for name in a d/b l folder; do
        [[ $stderr == *"'$name'"* ]]
    done
    [[ $stderr == *--force* && $stderr != *"'d/c'"* ]]
    [ "$(cat out/a out/d/b out/folder out/other out/d/c)" = $'old\nold\nold\nold\nnew' ]
    [ "$(readlink out/l out/m)" = $'old\nnew' ]
    [ "$(stat -c %Y out/d)" = "$(stat -c %Y tree/d)" ]
}

@test "unpack: --into --force replaces, and never writes through a link" {
    sentinel
    mkdir -p tree/d out
    echo new | tee tree/hard tree/soft tree/d/f >/dev/null
    ln -s target tree/link
    ln tree/hard tree/hard2
    sqlpack pack -q tree t.db
    ln outside/file out/hard
    ln -s ../outside/file out/soft
    ln -s ../outside out/d
    echo old >out/link
    echo old >out/hard2
    sentinel_before=$("$BUILD/unit/treedump" outside)
    for _ in 1 2; do
        run_ok sqlpack unpack -q --into -f t.db out
        sentinel_is_safe
        touch -r tree out # which keeps its own metadata
        same_tree tree out
    done
    rm out/link && mkdir out/link && touch out/link/x
    run_fails 1 sqlpack unpack --into -f t.db out
    [[ $stderr == *"'link'"* ]]
    [ -e out/link/x ]
}

@test "unpack: a symlink where a folder is needed is not followed" {
    sentinel
    mkdir -p tree/d/e out
    touch tree/d/f tree/d/e/g
    sqlpack pack -q tree t.db
    ln -s ../outside out/d
    run_fails 1 sqlpack unpack --into t.db out
    [[ $stderr == *"'d/f'"* && $stderr == *"'d/e/g'"* ]]
    sentinel_is_safe
    [ -L out/d ]
}

@test "unpack: --skip-existing goes on after an interruption" {
    make_tree tree
    sqlpack pack -q tree t.db
    mkdir out
    sqlpack unpack -q --specials --into t.db out
    rm -rf out/a/b out/link 'out/with space'
    inode=$(stat -c %i out/a/zeros)
    run_ok sqlpack unpack --specials --into --skip-existing t.db out
    same_tree tree out
    [ "$(stat -c %i out/a/zeros)" = "$inode" ]
    # one that is not what it should be is named, or replaced
    printf y >out/a/b.json
    run_fails 1 sqlpack unpack --specials --into --skip-existing t.db out
    [[ $stderr == *"'a/b.json'"* ]]
    run_ok sqlpack unpack -q --specials --into --skip-existing -f t.db out
    same_tree tree out
    [ "$(stat -c %i out/a/zeros)" = "$inode" ]
}

@test "unpack: --force and --skip-existing are for --into" {
    mkdir tree
    sqlpack pack -q tree t.db
    run_fails 2 sqlpack unpack -f t.db out
    run_fails 2 sqlpack unpack --skip-existing t.db out
    [ ! -e out ]
}

@test "unpack: files in an existing folder appear complete" {
    need strace
    mkdir tree out
    head -c 3000000 /dev/urandom >tree/big
    sqlpack pack -q tree t.db
    run traced -o /dev/null -e inject=pwrite64:signal=KILL:when=1 \
        sqlpack unpack -q --into t.db out
    [ "$status" -ne 0 ]
    [ -z "$(ls -A out)" ]
    run_ok sqlpack unpack -q --into t.db out
    same_tree tree out
}

# -- metadata ------------------------------------------------------------------------------------

@test "unpack: all modes and set-id bits of root" {
    need_root
    mkdir tree
    for mode in 0000 0111 0222 0444 0777 1644 2755 4755 6711 7777 0200 2644; do
        echo $mode >tree/f$mode
        mkdir tree/d$mode
        chown 1234:4321 tree/f$mode tree/d$mode
        chmod $mode tree/f$mode tree/d$mode
    done
    sqlpack pack -q tree t.db
    for mask in 022 077 000; do
        (umask $mask && run_ok sqlpack unpack -q t.db out$mask)
        same_tree tree out$mask
    done
}

@test "unpack: owners, and set-id bits of others, for a user" {
    need_root
    public
    mkdir -m 777 tree here
    touch tree/mine tree/his
    chown 65534:65534 tree/mine
    chown 1234:4321 tree/his
    chmod 6755 tree/mine tree/his
    sqlpack pack -q tree t.db
    as_nobody sqlpack unpack -q --no-sync t.db here/out
    [ "$(stat -c '%a %u:%g' here/out/mine)" = '6755 65534:65534' ]
    [ "$(stat -c '%a %u:%g' here/out/his)" = '755 65534:65534' ]
    run_fails 1 as_nobody sqlpack unpack --same-owner t.db here/out2
    [[ $stderr == *"'his'"*owner* && $stderr != *"'mine'"* ]]
    [ "$(stat -c '%a' here/out2/his)" = 755 ]
}

@test "unpack: owners by name, by number, and untrusted" {
    need_root
    need_mounts
    mkdir tree etc
    touch tree/f
    chown 1:2 tree/f # daemon and bin, on Debian
    chmod 4755 tree/f
    setfattr -n security.capability -v 0x0100000200040000000000000000000000000000 tree/f
    sqlpack pack -q tree t.db
    user=$(stat -c %U tree/f) group=$(stat -c %G tree/f)
    [ "$user" != UNKNOWN ] && [ "$group" != UNKNOWN ] || skip "no such owners here"
    printf 'root:x:0:0::/:/bin/sh\n%s:x:4001:1::/:/bin/sh\n' "$user" >etc/passwd
    printf 'root:x:0:\n%s:x:4002:\n' "$group" >etc/group
    as_elsewhere() {
        unshare -m sh -c 'mount --bind etc/passwd /etc/passwd && mount --bind etc/group /etc/group &&
            exec "$@"' sh "$@"
    }
    as_elsewhere true 2>/dev/null || skip "cannot mount here"
    as_elsewhere sqlpack unpack -q t.db named
    [ "$(stat -c '%a %u:%g' named/f)" = '4755 4001:4002' ]
    as_elsewhere sqlpack unpack -q --numeric-owner t.db numeric
    [ "$(stat -c '%a %u:%g' numeric/f)" = '4755 1:2' ]
    run_ok sqlpack unpack -q --untrusted t.db untrusted
    [ "$(stat -c '%a %u:%g' untrusted/f)" = '755 0:0' ]
    [ -z "$(getfattr -m - untrusted/f 2>/dev/null)" ]
}

@test "unpack: times before 1970, far ahead, and beyond the file system" {
    mkdir tree
    python3 - <<'PY'
import os
for name, ns in (('a', -1500000000), ('b', 0), ('c', (2**31 + 5) * 10**9 + 5),
                 ('d', 15000000000 * 10**9 + 999999999), ('e', 20000000000 * 10**9)):
    open('tree/' + name, 'w').close()
    os.utime('tree/' + name, ns=(ns, ns))
    os.symlink('x', 'tree/l' + name)
    os.utime('tree/l' + name, ns=(ns, ns), follow_symlinks=False)
PY
    sqlpack pack -q tree t.db
    run --separate-stderr sqlpack unpack -q t.db out
    [ "$status" -eq 0 ] || [[ $stderr == *"beyond what this file system keeps"* ]]
    same_tree tree out
    # a file system that keeps no more than 2446, and a pack from one that does
    sqlite3 t.db "UPDATE sqlar SET mtime = 20000000000 WHERE name = 'a'"
    sqlite3 t.db "DELETE FROM sqlpack_stat WHERE id = (SELECT id FROM sqlar WHERE name = 'a')"
    run --separate-stderr sqlpack unpack t.db later
    if [ "$(stat -c %Y later/a)" != 20000000000 ]; then
        [ "$status" -eq 1 ]
        [[ $stderr == *"'a'"*"beyond what this file system keeps"* ]]
    fi
}

@test "unpack: symlinks of all kinds, never followed" {
    mkdir tree
    ln -s /nowhere tree/dangling
    ln -s / tree/absolute
    ln -s self tree/self
    ln -s . tree/dir
    ln -s "$(head -c 4095 /dev/zero | tr '\0' x)" tree/long
    ln -s $'\xff\xfe\n' tree/bytes
    touch -h -d '2001-01-01 01:01:01.000000001' tree/*
    sqlpack pack -q tree t.db
    run_ok sqlpack unpack -q t.db out
    same_tree tree out
}

@test "unpack: hard links" {
    mkdir -p tree/a tree/b tree/z
    echo x >tree/b/first
    ln tree/b/first tree/a/second
    ln tree/b/first tree/z/third
    mkdir tree/many
    echo y >tree/many/0
    for i in {1..999}; do ln tree/many/0 "tree/many/$i"; done
    sqlpack pack -q tree t.db
    run_ok sqlpack unpack -q t.db out
    same_tree tree out
    [ "$(stat -c %h out/many/500 out/z/third)" = $'1000\n3' ]
    # one name of three is a plain file
    run_ok sqlpack unpack -q t.db part z
    [ "$(stat -c '%h %F' part/z/third)" = '1 regular file' ]
    [ "$(cat part/z/third)" = x ]
}

@test "unpack: hard links where the file system has none" {
    need strace
    mkdir tree
    echo x >tree/a
    ln tree/a tree/b
    sqlpack pack -q tree t.db
    run_fails 1 traced -o /dev/null -e inject=linkat:error=EPERM sqlpack unpack t.db out
    [[ $stderr == *"'b'"*copy* ]]
    [ "$(cat out/a out/b)" = $'x\nx' ]
    [ "$(stat -c %h out/b)" = 1 ]
}

@test "unpack: extended attributes" {
    public
    mkdir tree
    touch tree/f tree/read-only
    setfattr -n user.empty tree/f 2>/dev/null || skip "no attributes here"
    setfattr -n user.binary -v 0x000102ff00 tree/f
    setfattr -n user.note -v text tree/read-only
    setfattr -n user.note -v folder tree
    chmod 0444 tree/read-only
    if [ "$(id -u)" = 0 ]; then
        ln -s x tree/link
        mkfifo tree/fifo
        setfattr -h -n trusted.link -v l tree/link
        setfattr -n trusted.fifo -v f tree/fifo
        setfattr -n security.capability -v 0x0100000200040000000000000000000000000000 tree/f
    fi
    sqlpack pack -q tree t.db
    run_ok sqlpack unpack -q --specials t.db out
    same_tree tree out
    [ "$(getfattr -dhm - tree/* | sed 's/tree/out/')" = "$(getfattr -dhm - out/*)" ]
    run_ok sqlpack unpack -q --specials --no-xattrs t.db none
    [ -z "$(getfattr -dhm - none none/*)" ]
    if [ "$(id -u)" = 0 ]; then
        run_fails 1 as_nobody sqlpack unpack --no-sync t.db user
        [[ $stderr == *"'link'"*trusted.link* && $stderr == *"'f'"*security.capability* ]]
        [ "$(getfattr --only-values -n user.note user/read-only)" = text ]
    fi
}

@test "unpack: attributes that cannot be set are named, the data is there" {
    need strace
    mkdir tree
    echo data >tree/f
    setfattr -n user.one -v 1 tree/f 2>/dev/null || skip "no attributes here"
    setfattr -n user.two -v 2 tree/f
    sqlpack pack -q tree t.db
    run_fails 1 traced -o /dev/null -e inject=fsetxattr:error=EOPNOTSUPP \
        sqlpack unpack t.db out
    [[ $stderr == *"'f'"*user.one* && $stderr == *"'f'"*user.two* ]]
    [ "$(grep -c user.one <<<"$stderr")" = 1 ]
    [ "$(cat out/f)" = data ]
}

@test "unpack: attributes of the system alone are left out with a note" {
    need_root
    mkdir tree
    touch tree/f tree/g
    setfattr -n trusted.overlay.opaque -v y tree/f 2>/dev/null || skip "no attributes here"
    setfattr -n trusted.overlay.opaque -v y tree/g
    sqlpack pack -q tree t.db
    run --separate-stderr sqlpack unpack t.db out
    [ "$status" -eq 0 ]
    [ "$(grep -c "trusted.overlay.opaque" <<<"$stderr")" = 1 ]
    [ -z "$(getfattr -m - out/f)" ]
}

@test "unpack: ACLs" {
    need setfacl
    mkdir -p tree/d
    touch tree/f tree/d/g
    setfacl -m u:1234:rw,g:4321:r tree/f 2>/dev/null || skip "no ACLs here"
    setfacl -m u:1234:rwx -d -m u:1234:rx tree/d
    sqlpack pack -q tree t.db
    run_ok sqlpack unpack -q t.db out
    same_tree tree out
    diff <(cd tree && getfacl -Rn .) <(cd out && getfacl -Rn .)
}

@test "unpack: holes stay holes" {
    mkdir tree
    truncate -s 1G tree/all
    truncate -s 1G tree/end && printf x >>tree/end
    printf x | dd of=tree/middle bs=1 seek=500M conv=notrunc status=none
    truncate -s 1G tree/middle
    printf x >tree/start && truncate -s 1G tree/start
    sqlpack pack -q tree t.db
    run_ok sqlpack unpack -q t.db out
    for name in all end middle start; do
        (($(stat -c %b out/$name) <= $(stat -c %b tree/$name) + 8))
        [ "$(stat -c '%s %Y' out/$name)" = "$(stat -c '%s %Y' tree/$name)" ]
    done
    cmp tree/middle out/middle
}

@test "unpack: special files only with --specials" {
    mkdir tree
    mkfifo -m 0620 tree/fifo
    touch -d '2001-01-01' tree/fifo
    devices=()
    if [ "$(id -u)" = 0 ] && mknod -m 0642 tree/char c 1 3 && mknod tree/block b 7 200; then
        devices=(char block)
        chown 1234:4321 tree/char
    fi
    sqlpack pack -q tree t.db
    run_fails 1 sqlpack unpack t.db out
    for name in fifo "${devices[@]}"; do
        [[ $stderr == *"'$name'"* ]]
        [ ! -e "out/$name" ]
    done
    [[ $stderr == *--specials* ]]
    run_ok timeout 10 sqlpack unpack --specials t.db all
    diff <("$BUILD/unit/treedump" tree) <("$BUILD/unit/treedump" all)
    [ ${#devices[@]} -gt 0 ] || return 0
    run_fails 1 sqlpack unpack --specials --untrusted t.db untrusted
    [ -p untrusted/fifo ] && [ ! -e untrusted/char ]
}

@test "unpack: read-only folders with content, as a user" {
    public
    cat >make.sh <<'SH'
mkdir -p tree/closed/in tree/odd/in
touch tree/closed/f tree/closed/in/g tree/odd/in/h
touch -d 2001-01-01 tree/closed/in tree/odd/in tree/closed tree/odd
chmod 0555 tree/closed/in tree/closed tree/odd/in
chmod 0500 tree/odd
sqlpack pack -q --no-sync tree t.db
SH
    as_nobody sh ./make.sh
    run_ok as_nobody sqlpack unpack --no-sync t.db out
    same_tree tree out
}

# -- names -----------------------------------------------------------------------------------------

@test "unpack: paths beyond PATH_MAX, and 10,000 folders in each other" {
    public
    mkdir tree
    python3 - <<'PY'
import os
os.chdir('tree')
for i in range(30):
    name = '%02d' % i + 'x' * 200
    os.mkdir(name)
    os.chdir(name)
open('leaf', 'w').write('deep')
os.chdir('/')
PY
    (cd tree && python3 -c '
import os
for i in range(10000):
    os.mkdir("d"); os.chdir("d")
open("end", "w").close()')
    sqlpack pack -q --no-sync tree t.db
    (ulimit -s 256 && run_ok sqlpack unpack -q --no-sync t.db out)
    diff <("$BUILD/unit/treedump" tree | md5sum) <("$BUILD/unit/treedump" out | md5sum)
    # bats' own rm may not get so deep
    sqlpack pack -q --no-sync -x '*' tree none.db
    python3 - tree out <<'PY'
import os, sys
for top in sys.argv[1:]:
    while os.path.isdir(top + '/d'): # lift the chain, a part at a time
        os.chdir(top)
        for i in range(500):
            if not os.path.isdir('d/d'): break
            os.rename('d/d', 'up')
            for f in os.listdir('d'): os.unlink('d/' + f)
            os.rmdir('d')
            os.rename('up', 'd')
        else:
            os.chdir('..')
            continue
        for f in os.listdir('d'): os.unlink('d/' + f)
        os.rmdir('d')
        os.chdir('..')
PY
    [ ! -e out/d ]
}

@test "unpack: names that mean something elsewhere" {
    mkdir tree
    for name in -rf --help 'a b' "'" '"' ';DROP TABLE sqlar' '%s%n' '*' \\ .x ... 'dot.' CON \
        $'\u202e' $'\e[31m' $'a\nb' "$(printf 'x%.0s' {1..255})"; do
        printf '%s' "$name" >"tree/$name"
    done
    sqlpack pack -q tree t.db
    run_ok sqlpack unpack -q t.db out
    same_tree tree out
    run_ok sqlpack unpack -q t.db one -- -rf --help
    [ "$(cat one/-rf one/--help)" = '-rf--help' ]
}

@test "unpack: names that this file system takes for one are both named" {
    need cc
    mkdir tree
    echo upper >tree/README
    echo lower >tree/readme
    sqlpack pack -q tree t.db
    cat >fold.c <<'C'
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
/* a file system that folds case: new names become upper case */
int openat64(int fd, const char *path, int flags, ...)
{
    int (*real)(int, const char *, int, ...) = dlsym(RTLD_NEXT, "openat64");
    char name[256];
    int i = 0;
    va_list args;
    va_start(args, flags);
    int mode = va_arg(args, int);
    va_end(args);
    for (; path[i] && i < 255; i++)
        name[i] = (char)(path[0] == '/' || path[0] == '.' ? path[i] : toupper(path[i]));
    name[i] = 0;
    return real(fd, name, flags, mode);
}
int openat(int fd, const char *path, int flags, ...) __attribute__((alias("openat64")));
C
    cc -shared -fPIC -w -o fold.so fold.c -ldl
    run env LD_PRELOAD="$PWD/fold.so" sqlpack unpack -j1 t.db out
    [[ $output != *LeakSanitizer* && $output != *ASan* ]] || skip "not under a sanitizer"
    [ "$status" -eq 1 ]
    [[ $output == *"takes its name for"* && $output == *README* && $output == *readme* ]]
    [ "$(ls out)" = README ]
}

# -- hostile packs ---------------------------------------------------------------------------------

@test "unpack: names that lead outside are named and left out" {
    sentinel
    foreign t.db "INSERT INTO sqlar VALUES
        ('../outside/new', 33188, 0, 1, x'78'), ('/tmp/sqlpack-evil', 33188, 0, 1, x'78'),
        ('a/../../outside/new', 33188, 0, 1, x'78'), ('..', 16877, 0, 0, NULL),
        ('ok', 33188, 0, 1, x'78');"
    run_fails 1 sqlpack unpack t.db out
    [[ $stderr == *"'../outside/new'"* && $stderr == *"'a/../../outside/new'"* ]]
    sentinel_is_safe
    [ ! -e /tmp/sqlpack-evil ]
    [ -f out/ok ]
}

@test "unpack: very many odd names, which are sorted outside of memory" {
    public
    python3 - <<'PY'
import sqlite3
c = sqlite3.connect('t.db')
c.execute('CREATE TABLE sqlar(name TEXT PRIMARY KEY, mode INT, mtime INT, sz INT, data BLOB)')
name = 'folder/a-long-name-%08d-' + 'x' * 80
c.executemany("INSERT INTO sqlar VALUES(?, 33188, 0, 0, x'')",
              (('./' + name % i,) for i in range(60000)))
c.executemany("INSERT INTO sqlar VALUES(?, 33188, 0, 1, x'78')",
              ((name % i,) for i in range(0, 60000, 2)))
c.commit()
PY
    run_fails 1 sqlpack unpack -q --no-sync t.db out # each double is named
    [ "$(find out -type f | wc -l)" = 60000 ]
    [ "$(find out -type f -size 1c | wc -l)" = 30000 ]
}

@test "unpack: a symlink of the pack is not written through" {
    sentinel
    foreign t.db "INSERT INTO sqlar VALUES
        ('d', 41471, 0, 10, '../outside'), ('d/new', 33188, 0, 1, x'78'),
        ('d/sub', 16877, 0, 0, NULL), ('e', 41471, 0, 15, '../outside/file'),
        ('E', 33188, 0, 1, x'78');"
    run_fails 1 sqlpack unpack t.db out
    sentinel_is_safe
    [[ $stderr == *"'d'"* ]]
    [ "$(cat out/d/new)" = x ]
}

@test "unpack: a name that is a file and a folder, folders without rows" {
    foreign t.db "INSERT INTO sqlar VALUES
        ('a', 33188, 0, 1, x'78'), ('a/b', 33188, 0, 1, x'78'), ('c/d/e', 33188, 0, 1, x'78');"
    run_fails 1 sqlpack unpack t.db out
    [ "$(cat out/c/d/e)" = x ]
    [ "$(stat -c %a out/c out/c/d)" = $'755\n755' ]
    [[ $stderr == *"'a"* ]]
}

@test "unpack: hard links to nothing, to themselves and in circles" {
    mkdir tree
    echo x >tree/a
    ln tree/a tree/b
    ln tree/a tree/c
    sqlpack pack -q tree t.db
    # link b to: nothing, itself, c, which links to b; both with seals that fit
    for forged in '999,a,1,a' '2,b,1,a' '3,c,2,b' '3,c,1,a'; do
        IFS=, read -r link_b data_b link_c data_c <<<"$forged"
        cp t.db bad.db
        sqlite3 bad.db "UPDATE sqlpack_stat SET link = $link_b WHERE id = 2" \
            "UPDATE sqlpack_stat SET link = $link_c WHERE id = 3" \
            "UPDATE sqlar SET data = '$data_b' WHERE id = 2" \
            "UPDATE sqlar SET data = '$data_c' WHERE id = 3"
        "$BUILD/unit/reseal" bad.db
        run timeout 10 sqlpack unpack bad.db out
        [ "$status" -le 1 ]
        # what makes no sense is taken for what plain sqlite3 would make of it
        [ "$(cat out/a)" = x ] && [ "$(readlink out/b)" = "$data_b" ]
        rm -rf out
    done
}

@test "unpack: modes of no known type, folders with data, symlinks without target" {
    foreign t.db "INSERT INTO sqlar VALUES
        ('type', 61440, 0, 1, x'78'), ('folder', 16877, 0, 5, 'data'),
        ('null', 41471, 0, 0, NULL), ('nul', 41471, 0, 3, 'a' || char(0) || 'b'),
        ('whiteout', 8192, 0, 0, NULL), ('ok', 33188, 0, 1, x'78');"
    run sqlpack unpack --specials t.db out
    [ "$status" -eq 1 ] || [ "$status" -eq 4 ]
    [ "$status" -eq 1 ] || [ ! -e out ]
}

@test "unpack: a damaged content is named, the others are restored" {
    mkdir tree
    for i in 1 2 3; do seq $i 5000 >tree/f$i; done
    sqlpack pack -q tree t.db
    sqlite3 t.db "UPDATE sqlar SET
        data = CAST(substr(data, 1, 3000) || x'ff' || substr(data, 3002) AS BLOB) WHERE name = 'f2'"
    run_fails 1 sqlpack unpack t.db out
    [[ $stderr == *"'f2'"* ]]
    cmp tree/f1 out/f1
    cmp tree/f3 out/f3
    [ ! -e out/f2 ]
}

@test "unpack: what is no pack leaves nothing" {
    echo 'no pack' >t.db
    run_fails 4 sqlpack unpack t.db out
    mkdir tree
    seq 1 100000 >tree/f
    sqlpack pack -q --page-size 512 tree whole.db
    head -c 4096 whole.db >t.db
    run_fails 4 sqlpack unpack t.db out
    run_fails 2 sqlpack unpack none.db out
    [ ! -e out ] && [ -z "$(hidden)" ]
}

@test "unpack: a race for the folders leads nobody outside" {
    public
    need cc
    sentinel
    mkdir tree out
    for d in a b c d; do
        mkdir tree/$d
        (cd tree/$d && seq 1 200 | xargs touch)
    done
    sqlpack pack -q tree t.db
    cat >swap.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
/* turns the folders into symlinks that lead outside, and back, until the time is over */
int main(void)
{
    time_t end = time(NULL) + SECONDS;
    char d[8] = "out/a", link[8] = "link-a";
    for (int i = 0; i < 4; i++) {
        link[5] = (char)('a' + i);
        if (symlink("../outside", link) < 0)
            return 1;
    }
    while (time(NULL) < end)
        for (int i = 0; i < 4000; i++) {
            d[4] = link[5] = (char)('a' + i % 4);
            renameat2(AT_FDCWD, d, AT_FDCWD, link, RENAME_EXCHANGE);
        }
    return 0;
}
C
    cc -w -DSECONDS="${TORTURE:+300}${TORTURE:-3}" -o swap swap.c
    ./swap &
    attacker=$!
    while kill -0 $attacker 2>/dev/null; do
        sqlpack unpack -q --no-sync --into -f t.db out 2>/dev/null || true
    done
    wait $attacker
    sentinel_is_safe
}

# -- a failing machine ------------------------------------------------------------------------------

# on_small_disk OPTIONS COMMAND: runs a shell command in a small file system, mounted on small/.
on_small_disk() {
    mkdir -p small
    unshare -m sh -c "mount -t tmpfs -o '$1' none small && $2"
}

@test "unpack: a full disk leaves no new folder" {
    need_root
    need_mounts
    on_small_disk size=1M true 2>/dev/null || skip "cannot mount here"
    mkdir tree
    for i in {1..30}; do head -c 100000 /dev/urandom >"tree/f$i"; done
    sqlpack pack -q tree t.db
    # told at once where the numbers are clear, and on the way where they are not
    for more in '' '-x nothing' '-j1 -x nothing'; do
        run_fails 3 on_small_disk size=1M "sqlpack unpack $more t.db small/out; s=\$?; ls -A small; exit \$s"
        [ -z "$output" ]
        [[ $stderr == *"No space left"* ]]
    done
}

@test "unpack: a full disk leaves complete files in an existing folder" {
    need_root
    need_mounts
    on_small_disk size=1M true 2>/dev/null || skip "cannot mount here"
    mkdir tree
    for i in {1..30}; do head -c 100000 /dev/urandom >"tree/f$i"; done
    sqlpack pack -q tree t.db
    run_fails 3 on_small_disk size=1M "mkdir small/out && touch small/out/mine &&
        sqlpack unpack --into t.db small/out; s=\$?; cp -a small/out kept; exit \$s"
    [ -e kept/mine ]
    [ "$(find kept -name 'f*' | wc -l)" -gt 3 ]
    for file in kept/f*; do cmp "$file" "tree/${file#kept/}"; done
    [ -z "$(hidden)" ]
}

@test "unpack: no inodes left" {
    need_root
    need_mounts
    on_small_disk nr_inodes=20 true 2>/dev/null || skip "cannot mount here"
    mkdir tree
    touch tree/{1..50}
    sqlpack pack -q tree t.db
    for more in '' '-x nothing'; do
        run_fails 3 on_small_disk nr_inodes=20 "sqlpack unpack $more t.db small/out; s=\$?; ls -A small; exit \$s"
        [ -z "$output" ]
    done
}

@test "unpack: every failing system call is told, and nothing is left half done" {
    public
    need strace
    strace -qq true 2>/dev/null || skip "strace cannot trace here"
    mkdir tree
    for i in 1 2 3; do
        mkdir tree/d$i
        seq 1 500 >tree/d$i/f
    done
    ln -s x tree/l
    sqlpack pack -q tree t.db
    before=$("$BUILD/unit/treedump" tree)
    for call in openat openat2 mkdirat pwrite64 utimensat close syncfs renameat2 fsync symlinkat \
        fstat newfstatat getdents64 fchmod flock; do
        for error in EIO ENOSPC EMFILE; do
            for when in 1 2 3 5 8 13 21+; do
                status=0
                traced -o /dev/null -e "inject=$call:error=$error:when=$when" \
                    sqlpack unpack -q t.db out 2>/dev/null || status=$?
                [ "$status" -lt 128 ] || { echo "$call $error $when: $status" >&2 && return 1; }
                [ "$status" -gt 0 ] || [ -e out ] ||
                    { echo "$call $error $when: 0, and nothing" >&2 && return 1; }
                [ "$status" -eq 1 ] || [ ! -e out ] ||
                    [ "$("$BUILD/unit/treedump" out)" = "$before" ] ||
                    { echo "$call $error $when: $status, and a wrong tree" >&2 && return 1; }
                chmod -R u+rwX out .sqlpack-* 2>/dev/null || true
                rm -rf out .sqlpack-*
            done
        done
    done
}

@test "unpack: a failed flush is final" {
    need strace
    mkdir tree
    touch tree/x
    sqlpack pack -q tree t.db
    run_fails 3 traced -o trace -e trace=syncfs,renameat2,fsync \
        -e inject=syncfs:error=EIO:when=1 sqlpack unpack t.db out
    [ "$(grep -c syncfs trace)" = 1 ]
    run grep -c renameat2 trace
    [ "$output" = 0 ]
    [ ! -e out ] && [ -z "$(hidden)" ]
}

@test "unpack: flushed before the name appears, unless --no-sync" {
    need strace
    mkdir tree
    touch tree/x
    sqlpack pack -q tree t.db
    traced -o trace -e trace=syncfs,renameat2,fsync sqlpack unpack -q t.db out
    [ "$(grep -o 'syncfs\|renameat2\|fsync' trace | tr '\n' ' ')" = 'syncfs renameat2 fsync ' ]
    traced -o trace -e trace=syncfs,renameat2,fsync sqlpack unpack -q --no-sync t.db out2
    [ "$(grep -o 'syncfs\|renameat2\|fsync' trace | tr '\n' ' ')" = 'renameat2 ' ]
}

@test "unpack: signals roll back" {
    public
    mkdir tree
    (cd tree && seq 1 20000 | split -l 1 -a 4)
    sqlpack pack -q --no-sync tree t.db
    for signal in INT:130 TERM:143 HUP:129; do
        for delay in 0.00 0.01 0.02 0.04 0.08; do
            # a background job of a script ignores INT: env makes it as it is on a terminal
            env --default-signal=INT,TERM,HUP sqlpack unpack -q t.db out &
            pid=$!
            sleep $delay
            # twice, as timeout does it
            kill -s ${signal%:*} $pid 2>/dev/null && kill -s ${signal%:*} $pid 2>/dev/null || true
            status=0
            wait $pid || status=$?
            if [ "$status" -eq 0 ]; then
                [ "$(find out -type f | wc -l)" -eq 20000 ]
                rm -rf out
            else
                [ "$status" -eq ${signal#*:} ]
                [ ! -e out ] && [ -z "$(hidden)" ]
            fi
        done
    done
}

@test "unpack: whenever it is killed, the new folder is absent or whole" {
    public
    need strace
    strace -qq true 2>/dev/null || skip "strace cannot trace here"
    mkdir -p tree/a/b
    for i in 1 2 3 4 5; do seq 1 1000 | tee tree/f$i tree/a/f$i >tree/a/b/f$i; done
    ln tree/f1 tree/g
    ln -s x tree/l
    sqlpack pack -q tree t.db
    want=$("$BUILD/unit/treedump" tree)
    for call in openat pwrite64 utimensat mkdirat linkat symlinkat fchmod syncfs renameat2 fsync; do
        for when in 1 2 3 5 8 13; do
            run traced -o /dev/null -e "inject=$call:signal=KILL:when=$when" \
                sqlpack unpack -q t.db out
            if [ -e out ]; then
                [ "$("$BUILD/unit/treedump" out)" = "$want" ]
                rm -rf out
            fi
        done
    done
    run_ok sqlpack unpack -q t.db out
    [ "$("$BUILD/unit/treedump" out)" = "$want" ]
    [ -z "$(hidden)" ]
}

@test "unpack: few descriptors, small stack, little memory, small files" {
    mkdir -p tree/1/2/3/4/5/6/7/8/9/10/11/12
    for d in tree tree/1/2/3 tree/1/2/3/4/5/6/7/8/9/10/11/12; do
        seq 1 30000 >$d/f
    done
    ln tree/f tree/1/2/3/4/5/6/7/8/9/10/g
    sqlpack pack -q tree t.db
    (ulimit -n 16 && run_ok sqlpack unpack -q t.db out)
    same_tree tree out
    rm -rf out
    (ulimit -s 256 && run_ok sqlpack unpack -q t.db out)
    rm -rf out
    if ! is_sanitized; then # whose shadow memory is larger than that
        (ulimit -v 200000 && run_ok sqlpack unpack -q t.db out)
        rm -rf out
    fi
    (ulimit -f 64 && run_fails 3 sqlpack unpack t.db out && [[ $stderr == *"too large"* ]])
    [ ! -e out ] && [ -z "$(hidden)" ]
}

@test "unpack: from a read-only folder" {
    mkdir tree ro
    echo x >tree/x
    sqlpack pack -q tree ro/t.db
    chmod 0555 ro
    before=$(stat -c '%Y %s' ro ro/t.db)
    run_ok sqlpack unpack -q ro/t.db out
    [ "$(stat -c '%Y %s' ro ro/t.db)" = "$before" ]
    same_tree tree out
}

@test "unpack: an old kernel without openat2" {
    need strace
    sentinel
    make_tree tree
    sqlpack pack -q tree t.db
    traced -o /dev/null -e inject=openat2:error=ENOSYS sqlpack unpack -q --specials t.db out
    same_tree tree out
    mkdir -p tree2/d into
    touch tree2/d/f
    sqlpack pack -q tree2 t2.db
    ln -s ../outside into/d
    run_fails 1 traced -o /dev/null -e inject=openat2:error=ENOSYS \
        sqlpack unpack --into t2.db into
    sentinel_is_safe
}

@test "unpack: the kernel confines it, where it can, unless --no-sandbox" {
    need strace
    mkdir tree
    touch tree/x
    sqlpack pack -q tree t.db
    run sqlpack unpack --json t.db out
    [[ $output == *'"is_confined":true'* ]] || skip "no Landlock here"
    traced -o trace -e trace=landlock_restrict_self,clone3,clone,prctl \
        sqlpack unpack -q t.db out2
    grep -q 'landlock_restrict_self.*= 0' trace
    # before the first thread
    [ "$(grep -o 'landlock_restrict_self\|clone' trace | head -1)" = landlock_restrict_self ]
    traced -o trace -e trace=landlock_restrict_self sqlpack unpack -q --no-sandbox t.db out3
    [ ! -s trace ]
    # a kernel without it is no failure
    run_ok traced -o /dev/null -e inject=landlock_create_ruleset:error=ENOSYS \
        sqlpack unpack -q t.db out4
    same_tree tree out4
}

# -- what it says ------------------------------------------------------------------------------------

@test "unpack: the summary, quiet, and JSON" {
    make_tree tree
    sqlpack pack -q tree t.db
    run_ok sqlpack unpack --specials t.db out
    [[ $output == *files* && $output == *'hard links'* ]]
    run_ok sqlpack unpack -q --specials t.db out2
    [ -z "$output" ]
    run_ok sqlpack unpack --json --specials t.db out3
    python3 -c 'import json, sys; r = json.loads(sys.argv[1]); r = (r["hard_link_count"],
r["symlink_count"], r["special_count"], r["loss_count"]); assert r == (1, 2, 1, 0), r' "$output"
}
