#!/usr/bin/env bats
# Sources that move while they are packed, and system calls that fail.
# shellcheck disable=SC2012,SC2154 # names here are plain; bats sets $stderr

load helper

# LeakSanitizer cannot run under strace.
traced() {
    ASAN_OPTIONS=detect_leaks=0:${ASAN_OPTIONS-} strace -f -qq "$@"
}

need_strace() {
    need strace
    strace -qq true 2>/dev/null || skip "strace cannot trace here"
}

losses() {
    sqlite3 "$1" "SELECT name FROM sqlpack_loss ORDER BY rowid"
}

# pack_while CHANGE...: packs with every read held up for 0.3 s, and runs CHANGE again and again
# meanwhile. The status is in $status, what was said in the file messages.
pack_while() {
    touch trace
    (while [ ! -e stop ]; do
        "$@"
        sleep 0.05
    done) &
    local changer=$!
    status=0
    traced -o trace -e inject=read:delay_exit=300000 sqlpack pack -q -j1 tree t.db \
        2>messages || status=$?
    touch stop
    wait "$changer"
}

grow() { printf more >>tree/moves; }

@test "moving: a file that grows gives its beginning, and is named" {
    need_strace
    mkdir tree
    seq 1 100 >tree/a
    seq 1 1000 | tee before >tree/moves
    seq 1 100 >tree/z
    pack_while grow
    [ "$status" -eq 1 ]
    grep -q "'moves': changed while it was read" messages
    [ "$(losses t.db)" = moves ]
    run_ok sqlpack verify -q t.db
    sqlpack cat t.db moves >stored
    head -c "$(stat -c %s before)" stored | cmp - before
    head -c "$(stat -c %s stored)" tree/moves | cmp - stored
    [ "$(sqlpack cat t.db a z | wc -l)" -eq 200 ]
}

shrink() { truncate -s -10 tree/moves; }

@test "moving: a file that is cut short is stored as read, without a NUL, and named" {
    need_strace
    mkdir tree
    seq 1 3000 | tee before >tree/moves
    pack_while shrink
    [ "$status" -eq 1 ]
    grep -q "'moves': changed while it was read" messages
    sqlpack cat t.db moves >stored
    [ "$(tr -d '\0' <stored | wc -c)" = "$(wc -c <stored)" ]
    head -c "$(stat -c %s stored)" before | cmp - stored
    run_ok sqlpack verify -q t.db
}

# Only when the first file is opened: by then the root has been listed.
vanish() { if grep -q '"0"' trace; then rm -rf tree/gone tree/dir/b; fi; }

@test "moving: files and folders that vanish are named, the others stored" {
    need_strace
    mkdir -p tree/dir tree/gone
    seq 1 10 | tee tree/0 tree/dir/a tree/dir/b tree/dir/c >tree/gone/x
    # the root is listed before anything is read, so 'gone' is known when it goes
    pack_while vanish
    [ "$status" -eq 1 ]
    grep -q "'gone': vanished before it was read" messages
    run_ok sqlpack verify -q t.db
    [[ $(sqlpack ls t.db | tr '\n' ' ') == "0 dir dir/a "*"dir/c " ]]
}

@test "moving: what becomes a FIFO or a symlink is neither followed nor waited for" {
    need_strace
    mkdir tree
    echo secret >outside
    for kind in fifo symlink; do
        rm -f tree/* t.db
        echo before >tree/swapped
        traced -o /dev/null -e inject=getdents64:delay_exit=500000 \
            timeout 20 sqlpack pack -q -j1 tree t.db 2>messages &
        sleep 0.25
        rm tree/swapped
        if [ $kind = fifo ]; then mkfifo tree/swapped; else ln -s ../outside tree/swapped; fi
        status=0
        wait $! || status=$?
        if [ "$status" -eq 1 ]; then
            grep -q "'swapped': " messages
        else
            [ "$status" -eq 0 ] # the folder was read after the swap
        fi
        [[ $(sqlpack cat t.db swapped 2>/dev/null) != *secret* ]]
    done
}

@test "moving: FIFOs and sockets are never opened" {
    need_strace
    mkdir tree
    mkfifo tree/fifo
    perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => "tree/sock", Listen => 1) or die'
    run traced -o trace -e trace=open,openat,openat2 sqlpack pack -q tree t.db
    [ "$status" -eq 0 ]
    run ! grep -E '"(fifo|sock)"' trace
    [ "$(sqlpack ls t.db)" = fifo ]
}

@test "moving: what cannot be read leaves the rest, and is never stored as empty" {
    need_strace
    mkdir tree
    for i in 1 2 3 4; do seq 1 $i$i$i >tree/f$i; done
    run --separate-stderr traced -o /dev/null -P "$PWD/tree/f3" -e inject=read:error=EIO \
        sqlpack pack -q tree t.db
    [ "$status" -eq 1 ]
    [[ $stderr == *"'f3': cannot be read: Input/output error"* ]]
    [ "$(losses t.db)" = f3 ]
    [ "$(sqlite3 t.db "SELECT count(*) FROM sqlar")" -eq 3 ]
    run_ok sqlpack verify -q t.db
}

@test "moving: a pack is whole or absent whatever system call fails" {
    need_strace
    mkdir tree
    for i in 1 2 3; do
        mkdir tree/d$i
        seq 1 $((i * 400)) >tree/d$i/f
    done
    ln -s x tree/l
    echo old >old
    for call in openat fstat newfstatat read pread64 getdents64 flistxattr readlinkat \
        pwrite64 fsync linkat close fcntl; do
        for error in EIO ENOSPC EDQUOT ENOMEM EMFILE ENOENT; do
            # to POSIX a folder that was removed meanwhile is one that has ended
            [ "$call $error" != "getdents64 ENOENT" ] || continue
            for when in 1 2 4 7 11 16+; do
                status=0
                traced -o /dev/null -e "inject=$call:error=$error:when=$when" \
                    sqlpack pack -q tree t.db 2>/dev/null || status=$?
                [ "$status" -lt 128 ] || { echo "$call $error $when: $status" >&2 && return 1; }
                if [ -e t.db ]; then
                    # an error behind the moment of publication may leave a pack, but a whole one
                    sqlpack verify -q t.db >&2 ||
                        { echo "$call $error $when: $status, and damage" >&2 && return 1; }
                    [ "$status" -ne 0 ] || sqlpack verify -q t.db tree >&2 ||
                        { echo "$call $error $when: 0, and not all" >&2 && return 1; }
                else
                    [ "$status" -gt 1 ] || { echo "$call $error $when: $status, no pack" >&2 && return 1; }
                fi
                rm -f t.db
                [ "$(ls -A | tr '\n' ' ')" = "old tree " ] ||
                    { echo "$call $error $when left: $(ls -A)" >&2 && return 1; }
            done
        done
    done
}

@test "moving: nothing is kept below a folder that is lost" {
    need_strace
    mkdir -p tree/{a,a-b,b}/in
    touch tree/{a,a-b,b}{,/in}/f
    for error in EIO ENOENT; do
        for when in {1..45}; do
            rm -f t.db
            traced -o /dev/null -e "inject=openat:error=$error:when=$when" \
                sqlpack pack -q -j1 tree t.db 2>>messages || true
            [ ! -e t.db ] || sqlpack verify -q t.db
        done
    done
    grep -q "'a/in': is in a folder that is left out" messages
}

@test "moving: a failed flush is final, and the old pack stays" {
    need_strace
    mkdir tree
    echo 1 >tree/x
    sqlpack pack -q tree t.db
    cp t.db before
    echo 2 >tree/y
    run traced -o trace -e trace=fsync,renameat,renameat2,linkat \
        -e inject=fsync:error=EIO:when=1 sqlpack pack -q -f tree t.db
    [ "$status" -eq 3 ]
    [ "$(grep -c fsync trace)" -eq 1 ]
    run grep -cE 'rename|linkat' trace
    [ "$output" = 0 ]
    cmp t.db before
    [ "$(ls -A | tr '\n' ' ')" = "before t.db trace tree " ]
}

@test "moving: a pseudo file gives what it holds, though it says it is empty" {
    [ -r /proc/self/limits ] || skip "no /proc here"
    mkdir -p tree
    run --separate-stderr sqlpack pack -q -T <(printf 'version\nfilesystems\n') /proc t.db
    [ "$status" -le 1 ]
    sqlpack cat t.db version | cmp - /proc/version
    sqlpack cat t.db filesystems | cmp - /proc/filesystems
}

@test "moving: a folder that contains itself by a mount ends" {
    need_root
    mkdir -p tree/inner
    touch tree/file
    mount --bind tree tree/inner 2>/dev/null || skip "cannot mount here"
    run --separate-stderr timeout 20 sqlpack pack -q tree t.db
    umount tree/inner
    [ "$status" -eq 1 ]
    [[ $stderr == *"'inner': contains itself, left out"* ]]
}
