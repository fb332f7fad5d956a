#!/usr/bin/env bats
# sqlpack pack: what goes in, what stays out, what is told, what a failure leaves behind.

load helper

# names PACK: what it holds, sorted, one a line.
names() {
    sqlite3 "$1" 'SELECT name FROM sqlar ORDER BY name'
}

# json KEY: the value in the JSON that the last command printed.
json() {
    jq -r ".$1" <<<"$output"
}

# page_size PACK: as its header has it.
page_size() {
    sqlite3 "$1" 'PRAGMA page_size'
}

@test "pack: a tree, and what that saves" {
    make_tree tree
    rm tree/fifo
    run_ok sqlpack pack tree t.db
    grep -qxE 'files +10' <<<"$output"
    grep -qxE 'folders +7' <<<"$output"
    grep -qxE 'symlinks +2' <<<"$output"
    grep -qxE 'hard links +1' <<<"$output"
    grep -qE '^content +[0-9.]+ KiB$' <<<"$output"
    grep -qE '^tree on disk +[0-9.]+ KiB$' <<<"$output"
    grep -qE '^pack on disk +[0-9.]+ KiB$' <<<"$output"
    grep -qE '^saved +[0-9.]+ KiB \([0-9.]+%\)$' <<<"$output"
    grep -qxE 'inodes freed +19' <<<"$output"
    grep -qE '^root digest +[0-9a-f]{32}$' <<<"$output"
    run_ok sqlpack verify -q t.db tree
}

@test "pack: JSON tells the same, in numbers" {
    need jq
    make_tree tree
    run_ok sqlpack pack --json tree t.db
    [ "$(wc -l <<<"$output")" -eq 1 ]
    [ "$(json file_count)" -eq 10 ]
    [ "$(json hard_link_count)" -eq 1 ]
    [ "$(json special_count)" -eq 1 ]
    [ "$(json pack_bytes)" -eq "$(stat -c %s t.db)" ]
    [ "$(json pack_allocated_bytes)" -eq $(($(stat -c %b t.db) * 512)) ]
    [ "$(json content_bytes)" -eq \
        "$(find tree -type f -printf '%i %s\n' | sort -u | awk '{ n += $2 } END { print n }')" ]
    [ "$(json tree_allocated_bytes)" -eq \
        "$(find tree -printf '%i %b\n' | sort -u | awk '{ n += $2 * 512 } END { print n }')" ]
    [ "$(json tree_inode_count)" -eq "$(find tree -printf '%i\n' | sort -u | wc -l)" ]
    [ "$(json saved_bytes)" -eq $(($(json tree_allocated_bytes) - $(json pack_allocated_bytes))) ]
    [ "$(json freed_inode_count)" -eq $(($(json tree_inode_count) - 1)) ]
    [ "$(json page_bytes)" -eq "$(page_size t.db)" ]
    [ "$(json dry_run)" = false ]
}

@test "pack: a pack that is larger than its tree says so" {
    mkdir tree
    run_ok sqlpack pack tree t.db
    [[ $output == *"saved "*" -"* ]]
}

@test "pack: quiet says nothing, and JSON all the same" {
    mkdir tree
    run_ok sqlpack pack -q tree t.db
    [ -z "$output" ]
    run_ok sqlpack pack -q --json -f tree t.db
    [[ $output == '{"file_count":0,'* ]]
}

@test "pack: verbose tells why the page size was chosen" {
    make_tree tree
    run_ok sqlpack pack -v tree t.db
    [ "$(grep -c 'chosen$' <<<"$output")" -eq 1 ]
    run_ok sqlpack pack -v -f --page-size 4096 tree t.db
    [[ $output != *chosen* ]]
}

@test "pack: every page size is obeyed, no other is taken" {
    need sqlite3
    make_tree tree
    local size
    for size in 512 1024 2K 4096 8KiB 16384 32768 65536; do
        run_ok sqlpack pack -q -f --page-size "$size" tree t.db
        [ "$(page_size t.db)" -eq "$(numfmt --from=auto "${size/KiB/Ki}" | sed 's/^2000$/2048/')" ]
        [ "$(sqlite3 t.db 'PRAGMA integrity_check')" = ok ]
    done
    for size in auto min; do
        run_ok sqlpack pack -q -f --page-size "$size" tree t.db
    done
    for size in 0 1 -1 256 3000 131072 8k8 '' big; do
        run_fails 2 sqlpack pack tree no.db "--page-size=$size"
        [[ $stderr == "sqlpack pack: --page-size takes auto, min or a power of two from 512 to 65536, not '$size'"* ]]
    done
    [ ! -e no.db ]
}

@test "pack: levels from 0 to 12, no other" {
    need sqlite3
    mkdir tree
    seq 1 20000 >tree/numbers
    head -c 5000 /dev/urandom >tree/noise
    local level stored last
    sqlpack pack -q -l 0 tree t.db
    last=$(sqlite3 t.db "SELECT length(data) FROM sqlar WHERE name = 'numbers'")
    [ "$last" -eq "$(stat -c %s tree/numbers)" ]
    for level in 1 12; do
        run_ok sqlpack pack -q -f -l "$level" tree t.db
        stored=$(sqlite3 t.db "SELECT length(data) FROM sqlar WHERE name = 'numbers'")
        [ "$stored" -lt "$last" ]
        last=$stored
        [ "$(sqlite3 t.db "SELECT length(data) = sz FROM sqlar WHERE name = 'noise'")" -eq 1 ]
        run_ok sqlpack verify -q t.db tree
    done
    touch -d '2020-01-01' tree/* tree
    sqlpack pack -q -f tree t.db
    sqlpack pack -q -f -l 6 tree six.db
    cmp t.db six.db
    for level in -1 13 x ''; do
        run_fails 2 sqlpack pack "--level=$level" tree no.db
    done
    [ ! -e no.db ]
}

@test "pack: an existing file is only replaced by --force" {
    mkdir tree other
    echo new >tree/file
    sqlpack pack -q other t.db
    cp t.db before.db
    run_fails 2 sqlpack pack tree t.db
    [ "$stderr" = "sqlpack pack: cannot create 't.db': it exists
  hint: --force replaces it" ]
    cmp t.db before.db
    run_ok sqlpack pack -q --force tree t.db
    run_ok sqlpack verify -q t.db tree
}

@test "pack: what is no pack is not replaced, with --force neither" {
    mkdir tree folder
    echo 'dear diary' >diary
    ln -s diary link
    mkfifo fifo
    local target
    for target in diary folder link fifo /dev/null; do
        run --separate-stderr sqlpack pack -f tree "$target"
        [[ $status == [24] ]]
        # shellcheck disable=SC2154
        [[ $stderr == *"'$target'"* ]]
    done
    [ "$(cat diary)" = 'dear diary' ]
    [ -L link ] && [ -p fifo ] && [ -d folder ] && [ -c /dev/null ]
}

@test "pack: a journal of that name is not left to be applied to the new pack" {
    mkdir tree
    echo content >tree/file
    echo x >t.db-journal
    run_fails 2 sqlpack pack tree t.db
    [[ $stderr == *"'t.db-journal'"* ]]
    [ ! -e t.db ]
    run_ok sqlpack pack -q -f tree t.db
    [ ! -e t.db-journal ]
    run_ok sqlpack verify -q t.db tree
}

@test "pack: a missing source makes nothing" {
    run_fails 2 sqlpack pack none t.db
    [[ $stderr == *"'none': No such file or directory"* ]]
    echo x >file
    run --separate-stderr sqlpack pack file t.db
    [[ $status == [23] ]]
    [[ $stderr == *"'file'"* ]]
    [ "$(ls)" = file ]
}

@test "pack: a missing folder for the pack is named" {
    mkdir tree
    run_fails 2 sqlpack pack tree none/t.db
    [[ $stderr == *"'none/t.db': No such file or directory"* ]]
}

@test "pack: a dry run reads all, writes nothing, tells the size" {
    need jq
    make_tree tree
    run_ok sqlpack pack --json -n tree t.db
    [ "$(json dry_run)" = true ]
    [ ! -e t.db ]
    local forecast digest
    forecast=$(json pack_bytes)
    digest=$(json root_digest)
    run_ok sqlpack pack --json tree t.db
    [ "$(json pack_bytes)" -eq "$forecast" ]
    [ "$(json root_digest)" = "$digest" ]
    [ "$forecast" -eq "$(stat -c %s t.db)" ]
    run_fails 2 sqlpack pack -n tree t.db
}

@test "pack: the same tree gives the same bytes, whatever the number of threads" {
    make_tree tree
    find tree -exec touch -h -d '2020-01-01' {} +
    sqlpack pack -q -j1 tree 1.db
    local jobs
    for jobs in 1 2 8; do
        sqlpack pack -q -j$jobs tree again.db
        cmp 1.db again.db
        rm again.db
    done
}

@test "pack: --reproducible gives equal trees in different places the same bytes" {
    make_tree tree
    cp -a tree elsewhere
    sqlpack pack -q --reproducible tree 1.db
    sqlpack pack -q --reproducible elsewhere 2.db
    cmp 1.db 2.db
}

# -- what goes in -------------------------------------------------------------------------------

make_caches() {
    mkdir -p tree/{cache/deep,cache2,mycache,sub/cache}
    touch tree/{cache,cache/deep,cache2,mycache,sub/cache}/f tree/{a.tmp,b.tmpx,sub/c.tmp,cachefile}
}

@test "pack: patterns leave out whole names, with what is below" {
    need sqlite3
    make_caches
    packed() { # WANT OPTION...
        local want=$1
        shift
        sqlpack pack -q -f tree t.db "$@"
        [ "$(names t.db | tr '\n' ' ')" = "$want " ] || { names t.db >&2 && return 1; }
    }
    packed 'a.tmp b.tmpx cache2 cache2/f cachefile mycache mycache/f sub sub/c.tmp' -x cache
    packed 'a.tmp b.tmpx cache2 cache2/f cachefile mycache mycache/f sub sub/c.tmp' -x cache/
    packed 'a.tmp b.tmpx cache2 cache2/f cachefile mycache mycache/f sub sub/c.tmp sub/cache sub/cache/f' \
        --exclude=/cache
    packed 'b.tmpx cachefile sub' -x '*.tmp' -x '*cache*/'
    packed 'a.tmp b.tmpx cachefile' -x '*/'
    packed 'a.tmp b.tmpx cache cache/deep cache2 cachefile mycache sub sub/c.tmp sub/cache' -x f
    packed 'a.tmp b.tmpx cache cache/deep cache/deep/f cache2 cachefile mycache sub sub/c.tmp sub/cache sub/cache/f' \
        -x '*/f'
}

@test "pack: patterns come from a file, the last line without a newline too" {
    need sqlite3
    make_caches
    : >none
    printf 'cache/\n*.tmp' >some
    sqlpack pack -q tree all.db
    sqlpack pack -q tree none.db --exclude-from none
    diff <(names all.db) <(names none.db)
    sqlpack pack -q tree some.db --exclude-from some
    [ "$(names some.db | tr '\n' ' ')" = \
        'b.tmpx cache2 cache2/f cachefile mycache mycache/f sub ' ]
    sqlpack pack -q tree stdin.db --exclude-from - <some
    diff <(names some.db) <(names stdin.db)
    run_fails 2 sqlpack pack tree no.db --exclude-from missing
    [[ $stderr == "sqlpack pack: cannot read 'missing': No such file or directory" ]]
    [ ! -e no.db ]
}

@test "pack: a list of names, by lines or by NUL" {
    need sqlite3
    make_tree tree
    printf 'a/b\n-rf\nwith space\n' >list
    sqlpack pack -q tree t.db -T list
    [ "$(names t.db | tr '\n' ' ')" = '-rf a a/b a/b/c a/b/c/noise a/b/numbers.txt with space with space/hard link ' ]
    printf 'new\nline/\033[31mred\0one byte' | sqlpack pack -q tree n.db -0T -
    [ "$(sqlite3 n.db "SELECT group_concat(hex(name)) FROM sqlar")" = \
        "6E65770A6C696E65,6E65770A6C696E652F1B5B33316D726564,6F6E652062797465" ]
    : | sqlpack pack -q tree empty.db -T -
    [ -z "$(names empty.db)" ]
}

@test "pack: a listed name that is not there is named, the rest is packed" {
    need sqlite3
    mkdir tree
    touch tree/{a,b}
    printf 'a\nmissing\nb\n' >list
    run_fails 1 sqlpack pack tree t.db -T list
    [[ $stderr == *"'missing'"* ]]
    [ "$(names t.db | tr '\n' ' ')" = 'a b ' ]
}

@test "pack: --max-file leaves larger files out, counts them, names them with -v" {
    need jq sqlite3
    mkdir tree
    head -c 1000 /dev/zero >tree/small
    head -c 1024 /dev/zero >tree/just
    head -c 1025 /dev/zero >tree/large
    run_ok sqlpack pack --json --max-file 1K tree t.db
    [ "$(json skipped_count)" -eq 1 ]
    [ "$(names t.db | tr '\n' ' ')" = 'just small ' ]
    run --separate-stderr sqlpack pack -f -v --max-file 1K tree t.db
    [ "$status" -eq 0 ]
    [ "$stderr" = "sqlpack pack: 'large': is larger than the limit, left out" ]
}

@test "pack: --one-file-system stops at a mount point" {
    need sqlite3
    need_mounts
    need_root
    mkdir -p tree/mount tree/folder
    touch tree/folder/file
    unshare -m bash -e -c 'mount -t tmpfs none tree/mount; touch tree/mount/inside
        sqlpack pack -q --one-file-system tree one.db; sqlpack pack -q tree all.db' ||
        skip "cannot mount here"
    [ "$(names one.db | tr '\n' ' ')" = 'folder folder/file mount ' ]
    [ "$(names all.db | tr '\n' ' ')" = 'folder folder/file mount mount/inside ' ]
}

@test "pack: --no-xattrs leaves attributes out" {
    need sqlite3 setfattr
    mkdir tree
    touch tree/file
    setfattr -n user.key -v value tree/file || skip "no extended attributes here"
    sqlpack pack -q tree with.db
    sqlpack pack -q --no-xattrs tree without.db
    [ "$(sqlite3 with.db 'SELECT count(xattr) FROM sqlpack_stat WHERE id > 0')" -eq 1 ]
    [ "$(sqlite3 without.db 'SELECT count(xattr) FROM sqlpack_stat')" -eq 0 ]
}

@test "pack: the pack in its own tree is left out" {
    need sqlite3
    mkdir tree
    touch tree/file
    run --separate-stderr sqlpack pack -q tree tree/t.db
    [ "$status" -eq 0 ]
    [ "$(names tree/t.db)" = file ]
    ln tree/t.db tree/second-name
    run --separate-stderr sqlpack pack -f tree tree/t.db
    [ "$status" -eq 0 ]
    [[ $stderr == *"t.db"* ]]
    [ "$(names tree/t.db)" = file ]
}

# -- what stays out -----------------------------------------------------------------------------

@test "pack: a socket is a note, and a loss only with --strict" {
    need python3
    mkdir tree
    python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("tree/socket")'
    run --separate-stderr sqlpack pack tree t.db
    [ "$status" -eq 0 ]
    [ "$stderr" = "sqlpack pack: 'socket': is a socket, left out" ]
    run_ok sqlpack pack -q -f tree t.db
    run_fails 1 sqlpack pack -f --strict tree t.db
}

@test "pack: what cannot be read is named, listed in the pack, and makes the status 1" {
    need sqlite3 setpriv
    need_root
    mkdir -p tree/shut
    touch tree/{open,secret} tree/shut/inside
    chmod 0 tree/secret tree/shut
    chmod 777 .
    run_fails 1 as_nobody sqlpack pack -q tree t.db
    [[ $stderr == *"sqlpack pack: 'secret': cannot be read: Permission denied"* ]]
    [[ $stderr == *"sqlpack pack: 'shut': "*": Permission denied"* ]]
    [ "$(names t.db | tr '\n' ' ')" = 'open shut ' ]
    [ "$(sqlite3 t.db "SELECT group_concat(name || ' ' || os_errno) FROM sqlpack_loss ORDER BY name")" = \
        'secret 13,shut 13' ]
}

@test "pack: odd names do not reach the terminal" {
    need setpriv
    need_root
    mkdir tree
    touch $'tree/\e[31mred\n'
    chmod 0 $'tree/\e[31mred\n'
    chmod 777 .
    run_fails 1 as_nobody sqlpack pack tree t.db
    [[ $stderr == "sqlpack pack: '\\033[31mred\\n': cannot be read: Permission denied" ]]
}

# -- failures -----------------------------------------------------------------------------------

# on_small_disk SIZE COMMAND...: runs it with a tmpfs of that size at ./disk.
on_small_disk() {
    local size=$1
    shift
    # shellcheck disable=SC2016
    unshare -m bash -c 'mount -t tmpfs -o size="$0" none disk && "$@"' "$size" "$@"
}

@test "pack: a full disk leaves the old pack alone and nothing else behind" {
    need_mounts
    mkdir tree old disk
    head -c 3000000 /dev/urandom >tree/noise
    echo old >old/file
    # shellcheck disable=SC2016
    run --separate-stderr on_small_disk 1M bash -c '
        sqlpack pack -q old disk/t.db && cp disk/t.db before.db
        sqlpack pack -f tree disk/t.db; echo $?
        cmp disk/t.db before.db && ls -A disk
        sqlpack pack tree disk/new.db; echo $?; ls -A disk'
    [ "$output" = "3
t.db
3
t.db" ]
    [[ $stderr == *"No space left on device"*"hint: free some space"* ]]
}

@test "pack: a limit on file sizes is an error, not a death" {
    mkdir tree
    head -c 3000000 /dev/urandom >tree/noise
    run --separate-stderr bash -c 'ulimit -f 64; sqlpack pack tree t.db'
    [ "$status" -eq 3 ]
    [[ $stderr == *"File too large"*"hint: raise the limit on file sizes"* ]]
    [ "$(ls -A)" = tree ]
}

@test "pack: few descriptors are enough" {
    make_tree tree
    run bash -c 'ulimit -n 24; sqlpack pack -q tree t.db'
    [ "$status" -eq 0 ]
    run_ok sqlpack verify -q t.db tree
}

# A tree that takes a while.
make_slow() {
    mkdir slow
    local i
    for i in {1..40}; do
        seq "$i" 200000 >"slow/$i"
    done
}

@test "pack: a signal ends it, and nothing is left behind" {
    need python3
    make_slow
    run python3 - <<'PY'
import os, signal, subprocess, time
for name in ["INT", "TERM", "HUP"]:
    number = getattr(signal, "SIG" + name)
    signal.signal(number, signal.SIG_DFL) # under nohup it is ignored, which is inherited
    pack = subprocess.Popen(["sqlpack", "pack", "-l12", "-j1", "slow", "t.db"],
                            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
    time.sleep(0.3)
    pack.send_signal(number)
    print(name, pack.communicate()[1].decode(), os.listdir("."), pack.returncode)
PY
    [ "$output" = "INT sqlpack pack: stopped by SIGINT
 ['slow'] -2
TERM sqlpack pack: stopped by SIGTERM
 ['slow'] -15
HUP sqlpack pack: stopped by SIGHUP
 ['slow'] -1" ]
    run bash -c 'timeout -s INT 0.3 sqlpack pack -l12 -j1 slow t.db; echo $?; ls -A'
    [[ $output == *$'\nslow' ]]
}

@test "pack: a signal that is ignored stays ignored" {
    make_slow
    run_ok bash -c 'trap "" HUP; sqlpack pack -q -l9 -j1 slow t.db & sleep 0.3; kill -HUP $!; wait $!'
    [ -s t.db ]
}

@test "pack: progress is shown on a terminal only, or when asked for" {
    make_slow
    run_ok sqlpack pack -l 12 -q slow t.db
    run --separate-stderr sqlpack pack -l 12 -f --progress always slow t.db
    [ "$status" -eq 0 ]
    [[ $stderr == *$'\r'*" entries "*"/s"*$'\e[K'* ]]
    # the last thing is that the line goes away
    [[ $stderr == *$'\r\e[K' ]]
    need script
    script -qec 'sqlpack pack -l 12 -f slow t.db' /dev/null </dev/null >typescript
    grep -q entries typescript
    script -qec 'sqlpack pack -l 12 -f --progress never slow t.db' /dev/null </dev/null >typescript
    run grep entries typescript
    [ "$status" -eq 1 ]
}
