# shellcheck shell=bash
# What every .bats file loads: sqlpack on the PATH, a scratch folder, trees and their comparison.
#
#   load helper
#   @test "pack: an empty folder" {
#       mkdir tree
#       sqlpack pack -q tree t.db          # a command that succeeds says nothing on stderr:
#       run_ok sqlpack ls t.db             # demanded by run_ok; its stdout is in $output
#       run_fails 2 sqlpack ls none.db     # exit status 2; its messages are in $stderr
#   }
# Tests run in an empty folder of their own, which bats removes. With TORTURE set, tests that can
# try everything try everything.

BUILD=${BUILD:-$BATS_TEST_DIRNAME/../../build}
# shellcheck disable=SC2034 # used by tests
ROOT=$(cd -- "$BATS_TEST_DIRNAME/../.." && pwd)
PATH=$BUILD:$PATH
export LC_ALL=C.UTF-8 TZ=UTC
umask 022
bats_require_minimum_version 1.5.0

setup() {
    chmod 755 "$BATS_TEST_TMPDIR"
    mkdir -p -- "$BATS_TEST_TMPDIR/here" # bats puts files of its own beside it
    cd -- "$BATS_TEST_TMPDIR/here" || return
}

# Folders that a test closed would stop bats from removing them.
teardown() {
    chmod -R u+rwX -- "$BATS_TEST_TMPDIR" 2>/dev/null || true
}

# run_ok COMMAND...: exit status 0 and nothing on stderr; stdout is in $output.
run_ok() {
    run --separate-stderr "$@"
    # shellcheck disable=SC2154 # bats sets $stderr
    if [ "$status" -ne 0 ] || [ -n "$stderr" ]; then
        printf 'status %s, want 0, from: %s\nstdout: %s\nstderr: %s\n' \
            "$status" "$*" "$output" "$stderr" >&2
        return 1
    fi
}

# run_fails STATUS COMMAND...: that exit status and a message on stderr, which is in $stderr.
run_fails() {
    local want=$1
    shift
    run --separate-stderr "$@"
    if [ "$status" -ne "$want" ] || [ -z "$stderr" ]; then
        printf 'status %s, want %s, from: %s\nstdout: %s\nstderr: %s\n' \
            "$status" "$want" "$*" "$output" "$stderr" >&2
        return 1
    fi
}

# make_tree DIR: a small tree with everything that is awkward and needs no privilege.
make_tree() {
    local dir=$1
    mkdir -p -- "$dir"/{a/b/c,empty,'with space'} "$dir"/$'new\nline' "$dir/gęślą"
    : >"$dir/empty file"
    printf x >"$dir/one byte"
    printf 'hello\n' >"$dir/a/b.json"
    seq 1 2000 >"$dir/a/b/numbers.txt"
    head -c 70000 /dev/urandom >"$dir/a/b/c/noise"
    head -c 300000 /dev/zero >"$dir/a/zeros"
    printf 'dash\n' >"$dir/-rf"
    printf 'n\n' >"$dir/"$'new\nline/\e[31mred'
    printf 'u\n' >"$dir/gęślą/jaźń"
    printf 'b\n' >"$dir/"$'not utf8 \xff\xfe'
    ln -s a/b.json "$dir/link"
    ln -s /nowhere/at/all "$dir/dangling"
    ln "$dir/a/b.json" "$dir/with space/hard link"
    mkfifo "$dir/fifo"
    chmod 0640 "$dir/a/b.json"
    chmod 0750 "$dir/a"
    chmod 0444 "$dir/one byte"
    touch -h -d '2001-02-03 04:05:06.789012345' "$dir/link" "$dir/a/zeros" "$dir/empty"
    touch -d '1969-12-31 23:59:58.5' "$dir/-rf"
}

# same_tree A B: both have the same entries, contents and metadata; judged by the project's own
# treedump and, where it is there, by rsync.
same_tree() {
    diff <("$BUILD/unit/treedump" "$1") <("$BUILD/unit/treedump" "$2") >&2 || return
    command -v rsync >/dev/null || return 0
    local changes
    changes=$(rsync -aHAXn --checksum --delete --modify-window=-1 -i -- "$1/" "$2/") || return
    [ -z "$changes" ] || { printf '%s\n' "$changes" >&2 && return 1; }
}

# flip_byte FILE OFFSET: turns over all bits of one byte.
flip_byte() {
    perl -e 'open my $f, "+<", $ARGV[0] or die; seek $f, $ARGV[1], 0; read $f, my $b, 1;
        seek $f, $ARGV[1], 0; print $f ~$b; close $f or die' -- "$1" "$2"
}

# as_nobody COMMAND...: without privilege. The programs are copied, since they may lie below a folder
# that is root's alone, as bats' own is.
as_nobody() {
    [ "$(id -u)" = 0 ] || { "$@" && return; }
    local public=$BATS_TEST_TMPDIR/public
    chmod 711 -- "$BATS_RUN_TMPDIR"
    mkdir -p -- "$public/unit"
    cp -n -- "$BUILD/sqlpack" "$public"
    cp -n -- "$BUILD"/unit/{treedump,randtree} "$public/unit"
    BUILD=$public PATH=$public:$PATH setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"
}

# need COMMAND...: skips the test where one of them is missing.
need() {
    local command
    for command; do
        command -v "$command" >/dev/null || skip "no $command here"
    done
}

# is_sanitized: whether the build runs under a sanitizer.
is_sanitized() {
    nm "$BUILD/libsqlpack.so" | grep -qE '__(asan|tsan)_init'
}

# need_plain_build: skips the test where programs cannot link what a sanitizer has been through.
need_plain_build() {
    ! is_sanitized || skip "a sanitizer is in the way"
}

# need_mounts: skips the test where it cannot mount anything for itself alone.
need_mounts() {
    need unshare
    unshare -m mount -t tmpfs none "$BATS_TEST_TMPDIR" 2>/dev/null || skip "cannot mount here"
}

# need_root: skips the test without it.
need_root() {
    [ "$(id -u)" = 0 ] || skip "needs root"
}

# make_small_files DIR COUNT: small files in two folders.
make_small_files() {
    mkdir -p "$1"/{a,b}
    local i
    for ((i = 0; i < $2; i++)); do
        head -c $((i % 7 * 1500 + i)) /dev/zero | tr '\0' "$((i % 10))" >"$1/a/$i"
        printf '%s' "$i" >"$1/b/$i.txt"
    done
}
