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
# Tests run in $BATS_TEST_TMPDIR, which bats removes.

BUILD=${BUILD:-$BATS_TEST_DIRNAME/../../build}
ROOT=$(cd -- "$BATS_TEST_DIRNAME/../.." && pwd)
PATH=$BUILD:$PATH
export LC_ALL=C.UTF-8 TZ=UTC
umask 022
bats_require_minimum_version 1.5.0

setup() {
    cd -- "$BATS_TEST_TMPDIR" || return
    chmod 755 .
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

# list_tree DIR: a line an entry with all its metadata, names escaped, for diff. Links are told by
# the first of their names.
list_tree() {
    (
        cd -- "$1" || exit
        find . -printf '%y %m %U:%G %T@ %n %l\t%i\t%s\t%P\0' | LC_ALL=C sort -z -t $'\t' -k 4 |
            perl -0ne 'chomp; my ($meta, $inode, $size, $name) = split /\t/, $_, 4;
                my $first = $first{$inode} //= $name;
                s/([^ -~]|\\)/sprintf "\\%03o", ord $1/ge for $meta, $name, $first;
                $meta =~ s/ \d+ / / if $meta =~ /^d/; $size = 0 if $meta =~ /^d/;
                print "$name\t$meta\t$size\t$first\n"'
    )
}

# same_tree A B: both have the same entries, contents and metadata, to the nanosecond.
same_tree() {
    diff <(list_tree "$1") <(list_tree "$2") >&2 || return
    diff -r --no-dereference --exclude=fifo -- "$1" "$2" >&2 || return
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

# as_nobody COMMAND...: without privilege; skips the test where that is not possible.
as_nobody() {
    [ "$(id -u)" = 0 ] || { "$@" && return; }
    setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"
}

# need COMMAND...: skips the test where one of them is missing.
need() {
    local command
    for command; do
        command -v "$command" >/dev/null || skip "no $command here"
    done
}

# need_root: skips the test without it.
need_root() {
    [ "$(id -u)" = 0 ] || skip "needs root"
}
