#!/usr/bin/env bats
# Random trees there and back, kills in between, damage of every kind; all of it with TORTURE=1.
load helper

TORTURE_DIR=$BATS_TEST_DIRNAME/../torture

# Fast and away from the disk, where there is such a place.
fast_place() {
    if [ -w /dev/shm ]; then echo /dev/shm; else echo "$BATS_TEST_TMPDIR"; fi
}

# some COUNT ALL: how much of a test is done here.
some() {
    if [ -n "${TORTURE:-}" ]; then echo "$2"; else echo "$1"; fi
}

@test "roundtrip: random trees come back as they were" {
    need rsync
    need_root
    "$TORTURE_DIR/roundtrip" 1 "$(some 200 10000)" "$(fast_place)" >&2
}

@test "roundtrip: random trees of a user" {
    need rsync setpriv
    need_root
    place=$(mktemp -d -- "$(fast_place)/sqlpack-user.XXXXXX")
    chmod 777 "$place"
    as_nobody bash -c "$(<"$TORTURE_DIR/roundtrip")" roundtrip 1 "$(some 30 1000)" "$place" >&2 || status=1
    rm -rf -- "$place"
    [ -z "${status:-}" ]
}

@test "kill: a pack is absent, old or whole, whenever it is killed" {
    need strace
    strace -qq true 2>/dev/null || skip "strace cannot trace here"
    "$TORTURE_DIR/kill" "$(some 300 0)" "$(fast_place)" >&2
}

@test "damage: a flipped bit or a broken page is noticed, or means nothing" {
    mkdir -p tree/folder
    "$BUILD/unit/randtree" 6 tree/random 40
    seq 1 3000 >tree/folder/numbers
    head -c 20000 /dev/urandom >tree/folder/noise
    truncate -s 1M tree/sparse
    find tree -size +40k -delete
    printf 'end' >>tree/sparse
    place=$(mktemp -d -- "$(fast_place)/sqlpack-damage.XXXXXX")
    sqlpack pack -q --page-size 1024 tree "$place/p.db"
    "$BUILD/unit/damage" "$place/p.db" pages >&2 || status=1
    "$BUILD/unit/damage" "$place/p.db" "$((RANDOM % 300))" "$(some 307 1)" >&2 || status=1
    rm -rf -- "$place"
    [ -z "${status:-}" ]
}
