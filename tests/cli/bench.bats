#!/usr/bin/env bats
# sqlpack bench: that it measures what it says, touches nothing it should not, and leaves nothing.

load helper

# left_behind: what lies here besides what the test made.
left_behind() {
    find . -name '.sqlpack-*'
}

@test "bench: every arm answers every question of the default preset, alike on both sides" {
    need jq
    make_small_files tree 30
    run_ok sqlpack bench --json --rounds 2 --budget 1 --seed 5 tree
    jq -e '.preset == "default" and .seed == 5 and .round_count == 2' <<<"$output"
    jq -e '[.cases[].workload] | contains(["random read", "full read", "filter by size",
        "filter by time", "filter by name", "filter and read", "list names", "first read",
        "create", "overwrite", "delete"])' <<<"$output"
    jq -e '[.cases[] | select(.missing == "") | .series[] | select(.missing != "")] == []' \
        <<<"$output"
    jq -e '[.cases[] | select(.missing == "") | .series[].runs[] | select(.is_done | not)] == []' \
        <<<"$output"
    jq -e 'any(.cases[]; .results_differ) | not' <<<"$output"
    jq -e '.cases[] | select(.workload == "list names") | .match_count == 62' <<<"$output"
    # the little time does not make writes fewer than the files allow
    jq -e '[.cases[] | select(.workload == ("create", "overwrite", "delete") and
        .durability != "sync each") | [.workload, .series[].runs[].op_count] | unique] ==
        [[60, "create"], [60, "create"], [60, "overwrite"], [60, "overwrite"], [15, "delete"],
        [15, "delete"]]' <<<"$output"
    jq -e '.gates[] | select(.gate == "content") | .outcome == "passed"' <<<"$output"
    [ -z "$(left_behind)" ]
}

@test "bench: the same seed draws the same, another one does not" {
    need jq
    sizes() {
        sqlpack bench --preset quick --budget 1 --json --rounds 1 --seed "$1" \
            --synthetic 50:lognormal:2000:1 | jq -c '.corpus | [.bytes, .size_max, .size_p50]'
    }
    local first
    first=$(sizes 1)
    [ "$(sizes 1)" = "$first" ]
    [ "$(sizes 2)" != "$first" ]
}

@test "bench: few files get no verdict, one file is no special case" {
    mkdir tree
    echo content >tree/one
    run_ok sqlpack bench --preset quick --rounds 6 --budget 1 tree
    [[ $output == *"VERDICT WITHHELD"* ]]
    run sqlpack bench --preset quick --rounds 6 --budget 1 --strict tree
    [ "$status" -eq 3 ]
}

@test "bench: the tree is only read" {
    need strace
    make_small_files tree 20
    chmod 500 tree/a
    "$BUILD/unit/treedump" tree >before
    strace -f -y -o log sqlpack bench -q --rounds 1 --budget 1 --layout asis,flat,fanout,fresh "$PWD/tree"
    "$BUILD/unit/treedump" tree >after
    diff before after
    grep -E "$PWD/tree[/\">]" log >touched
    grep -q 'O_RDONLY' touched
    run grep -E 'O_WRONLY|O_RDWR|O_CREAT|O_TRUNC' touched
    [ "$status" -eq 1 ]
    run grep -E '^[0-9]+ +(creat|unlink|unlinkat|rmdir|mkdir|mkdirat|rename|renameat|renameat2|link|linkat|symlink|utime|utimes|utimensat|futimesat|chmod|fchmod|fchmodat|chown|lchown|fchown|fchownat|truncate|ftruncate|setxattr|fsetxattr|write|pwrite64)\(' \
        touched
    [ "$status" -eq 1 ]
}

@test "bench: access times stay as they are where the pack is there already" {
    make_small_files tree 20
    sqlpack pack -q tree t.db
    find tree -exec touch -a -d 2001-01-01 {} +
    run_ok sqlpack bench -q --rounds 1 --budget 1 tree t.db
    [ -z "$(find tree -type f -newerat 2002-01-01)" ]
}

@test "bench: a pack of another tree is refused, and what differs is named" {
    make_small_files tree 5
    sqlpack pack -q tree t.db
    printf 'other' >tree/b/3.txt
    rm tree/b/4.txt
    run_fails 1 sqlpack bench --preset quick tree t.db
    [[ $stderr == *"'b/3.txt': "* && $stderr == *"'b/4.txt': "* ]]
    [[ $output == *"VERDICT WITHHELD"* && $output != *"random read"* ]]
    [ -z "$(left_behind)" ]
}

@test "bench: what is left out of a tree is told in files and bytes" {
    need jq
    mkdir tree
    printf hello >tree/small
    truncate -s 1M tree/{a,b}
    run_ok sqlpack bench --json --preset quick --rounds 1 --budget 1 tree
    jq -e '.corpus.chunked_bytes == 2097152 and any(.notes[];
        . == "2 files above 64 MiB or in pieces are not read: 2097152 of 2097157 bytes")' <<<"$output"
}

@test "bench: what cannot be measured is told, with its exit status" {
    mkdir empty hollow
    touch hollow/{a,b}
    make_small_files tree 5
    echo no pack >none.db
    sqlpack pack -q tree t.db
    cp t.db bad.db
    flip_byte bad.db $(($(stat -c %s bad.db) - 100))
    mkdir sparse
    truncate -s 1M sparse/{a,b}
    run_fails 2 sqlpack bench sparse
    [[ $stderr == *"cannot measure 'sparse': every file is above 64 MiB, or has holes"* ]]
    run_fails 2 sqlpack bench empty
    run_fails 2 sqlpack bench hollow
    run_fails 2 sqlpack bench missing
    run_fails 2 sqlpack bench t.db
    run_fails 2 sqlpack bench tree missing.db
    run_fails 4 sqlpack bench tree none.db
    run_fails 4 sqlpack bench tree bad.db
    run_fails 2 sqlpack bench
    run_fails 2 sqlpack bench tree --synthetic 10:fixed:1K
    local spec preset
    for preset in kvtest csv; do
        for spec in '--layout flat' '--mount .' '--replay none' --drop-caches '--batch 2' '--workload cold'; do
            # shellcheck disable=SC2086 # an option and its value
            run_fails 2 timeout 9 sqlpack bench --preset $preset --synthetic 10:fixed:1K $spec
            [[ $stderr == *"--preset $preset "*" takes no ${spec%% *}"* ]]
        done
    done
    for spec in 10 0:fixed:1K 10:fixed: 10:uniform:9-8 10:uniform:1-99G 10:lognormal:0:1 10:odd:1; do
        run_fails 2 sqlpack bench --synthetic "$spec"
    done
    run_fails 2 sqlpack bench --layout flat,odd tree
    run_fails 2 sqlpack bench --compare one.json
    run_fails 2 sqlpack bench --replay missing.log tree
    [ -z "$(left_behind)" ]
}

@test "bench: stopped by a signal it leaves nothing behind" {
    local signal status pid
    for signal in INT TERM; do
        env --default-signal=INT sqlpack bench --synthetic 2000:fixed:1K >out 2>err &
        pid=$!
        until [ -n "$(left_behind)" ]; do
            kill -0 "$pid" # one that has ended would be waited for without end
            sleep 0.1
        done
        sleep 0.5
        kill -"$signal" "$pid"
        status=0
        wait "$pid" || status=$?
        [ "$status" -eq $((128 + $(kill -l "$signal"))) ]
        [ -z "$(left_behind)" ]
    done
}

@test "bench: a tree that changes under the run is told" {
    make_small_files tree 30
    sqlpack bench -q --preset quick --rounds 1 --budget 9 tree >out 2>err &
    while kill -0 $! 2>/dev/null; do
        echo more >>tree/a/10
        sleep 0.05
    done
    run wait $!
    [ "$status" -eq 1 ]
    [ -z "$(left_behind)" ]
}

@test "bench: without room for scratch it ends with 3" {
    need_root
    need unshare
    make_small_files tree 5
    head -c 3M /dev/urandom >tree/large
    mkdir small
    cat >inside <<'SH'
mount -t tmpfs -o size=5M none small && cp -r tree small/ && sqlpack bench small/tree
status=$?
find small -name '.sqlpack-*'
exit $status
SH
    unshare -m true || skip "no mount namespaces here"
    run_fails 3 unshare -m bash inside
    [[ $stderr == *"No space left on device"* ]]
    [ -z "$output" ]
}

@test "bench: scratch lies on the tree's file system, unless that is waived" {
    [ "$(stat -c %d /dev/shm)" != "$(stat -c %d .)" ] || skip "one file system here"
    make_small_files tree 5
    run_fails 2 sqlpack bench --scratch /dev/shm tree
    run_ok sqlpack bench -q --preset quick --rounds 1 --budget 1 --scratch /dev/shm --allow-cross-fs tree
    mkdir shut
    mv tree shut/
    chmod 555 shut
    chmod -R a+rX shut/tree
    run_fails 3 as_nobody sqlpack bench shut/tree
    [[ $stderr == *"cannot create scratch"* ]]
}

@test "bench: cold is refused with its reason on tmpfs, and never claimed without proof" {
    need jq
    need_root
    make_small_files tree 40
    [ "$(stat -f -c %T .)" != tmpfs ] || skip "the test itself runs on tmpfs"
    mkdir mine
    chown nobody mine
    run_ok as_nobody sqlpack bench --json --rounds 1 --budget 1 --scratch mine tree
    jq -e '[.cases[] | select(.state == "data cold") | .series[] | select(.side == "files") |
        .runs[] | select(.is_proven or .proof != "unverified")] == []' <<<"$output"
    local there
    there=$(mktemp -d -p /dev/shm)
    cp -r tree "$there"
    run sqlpack bench --json --rounds 1 --budget 1 "$there/tree"
    rm -r "$there"
    jq -e '[.cases[] | select(.state == "data cold") | .missing] | length > 0 and
        all(. == "on tmpfs the cache is the storage")' <<<"$output"
}

@test "bench: a log is replayed" {
    need jq
    make_small_files tree 10
    cat >paths <<'LOG'
a/1
./b/2.txt

b/3.txt
not/there
LOG
    cat >web <<'LOG'
1.2.3.4 - - [30/Nov/2026:13:00:00 +0000] "GET /a/1 HTTP/1.1" 200 10 "-" "x"
1.2.3.4 - - [30/Nov/2026:13:00:01 +0000] "GET /b/2.txt?v=1 HTTP/1.1" 200 10 "-" "x"
1.2.3.4 - - [30/Nov/2026:13:00:01 +0000] "GET /b/%33.txt HTTP/1.1" 200 10 "-" "x"
1.2.3.4 - - [30/Nov/2026:13:00:01 +0000] "GET /favicon.ico HTTP/1.1" 404 10 "-" "x"
LOG
    local log
    for log in paths web; do
        run_ok sqlpack bench --preset quick --json --rounds 1 --budget 1 --replay "$log" tree
        jq -e 'any(.cases[]; .workload == "replayed read")' <<<"$output"
        jq -e '.notes | any(test("3 of 4 reads"))' <<<"$output"
    done
    echo not/there >none
    run_fails 2 sqlpack bench --replay none tree
}

@test "bench: kvtest's table has every row" {
    need jq
    run_ok sqlpack bench --preset kvtest --synthetic 300:uniform:800-1200 --json --rounds 1 \
        --budget 1
    jq -e '[.cases[] | select(.workload == "kvtest read") | .series[].label] | contains([
        "direct file access", "direct, tree", "direct --random", "(plain database access)",
        "--blob-api", "--blob-api --random", "--mmap 1G", "--mmap 1G --blob-api --random"])' \
        <<<"$output"
    jq -e '[.cases[].series[].runs[] | select(.is_done | not)] == []' <<<"$output"
    jq -e '[.cases[] | select(.workload == "kvtest update") | .durability] ==
        ["no sync", "sync at the end", "sync each"]' <<<"$output"
}

@test "bench: the CSV benchmark finds the same records in all places" {
    need jq
    run_ok sqlpack bench --preset csv --json --rounds 7 --budget 1 --synthetic 1000:fixed:0
    jq -e '[.cases[] | select(.workload == "filtered query") | .match_count] == [9]' <<<"$output"
    jq -e '[.cases[] | select(.workload == "full record read") | .match_count] == [1000]' \
        <<<"$output"
    jq -e 'any(.cases[]; .results_differ) | not' <<<"$output"
    # what each write left was read back: in all places the same records as the reading cases found
    jq -e '[.cases[] | select(.workload != "filtered query") | .series[].runs[].sum] |
        unique | length == 1 and .[0] > 0 and .[0] < 9007199254740992' <<<"$output"
    jq -e '[.cases[].series[].runs | length] | unique == [6, 7]' <<<"$output"
    [ -z "$(left_behind)" ]
}
