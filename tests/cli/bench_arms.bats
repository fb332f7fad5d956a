#!/usr/bin/env bats
# sqlpack bench: arms that need more than files and a pack.

load helper

@test "bench: a first read is one of a program that is started anew, not of a copy" {
    need jq strace
    make_small_files tree 10
    run_ok strace -f -o log -e trace=execve,clone,clone3,fork,vfork -e signal=none \
        sqlpack bench --json --rounds 1 --budget 1 tree
    jq -e '.cases[] | select(.workload == "first read") | .missing == "" and
        ([.series[].label] == ["F-path", "S-naive", "S-imm", "S-lib"]) and
        all(.series[].runs[]; .is_done and .setup_ns > 0 and .setup_ns < .elapsed_ns) and
        (.results_differ | not)' <<<"$output"
    local arm
    for arm in F-path S-naive S-imm S-lib; do
        grep -q "execve(\"/proc/self/exe\", \\[\"sqlpack\", \"bench\", \"--first-read\", \"$arm\"" log
    done
    [ "$(grep -c CLONE_VFORK log)" -ge "$(grep -c '"--first-read"' log)" ]
}

@test "bench: what starts for a first read takes nothing but what bench gives it" {
    make_small_files tree 3
    sqlpack pack -q tree t.db
    # when it began, the size and the sum of what it touched, no errno
    sqlpack bench --first-read F-path tree/b/2.txt b/2.txt 0 1 0 >out
    [ "$(od -An -tu8 -j8 -N16 out | tr -s ' ')" = " 1 $((1 + 50))" ]
    [ "$(od -An -td4 -j24 -N4 out | tr -d ' ')" = 0 ]
    sqlpack bench --first-read S-naive t.db b/2.txt 0 1 0 >out
    [ "$(od -An -tu8 -j8 -N16 out | tr -s ' ')" = " 1 $((1 + 50))" ]
    sqlpack bench --first-read F-path tree/none none 0 1 0 >out
    [ "$(od -An -td4 -j24 -N4 out | tr -d ' ')" = 2 ]
    local words
    for words in "" "F-path" "F-odd x x 0 1 0" "F-path x x 0 1 0 0" "F-path x x a 1 0" \
        "F-path x x 0 -1 0" "F-path x x 0 1K 0" "F-path x x 0 99999999999999999999 0" \
        "F-path x x 0 1 1" "F-path x x 0 1 -1"; do
        # shellcheck disable=SC2086 # words, one an argument
        run_fails 2 sqlpack bench --first-read $words
    done
    run sqlpack bench --help
    [[ $output != *first-read* ]]
    run sqlpack bench --list-options
    [[ $output != *first-read* ]]
}

# case_of WORKLOAD STATE: that case of the JSON on standard input.
case_of() {
    jq --arg workload "$1" --arg state "$2" \
        '.cases[] | select(.workload == $workload and .state == $state and .threads == 1)'
}

@test "bench: a mounted pack is read beside the files, and only read" {
    need jq
    make_small_files tree 20
    cp -r tree mount
    "$BUILD/unit/treedump" mount >before
    run_ok sqlpack bench --json --rounds 1 --budget 1 --mount mount tree
    "$BUILD/unit/treedump" mount >after
    diff before after
    jq -e '.environment.mounted_file_system | length > 0' <<<"$output"
    jq -e '.notes | any(test("mounted on .mount. .*, where M-path and M-walk read"))' <<<"$output"
    local arm='.missing == "" and .side == "pack" and .layout == "mount" and all(.runs[]; .is_done)'
    case_of "random read" warm <<<"$output" | jq -e ".series[] | select(.label == \"M-path\") | $arm"
    case_of "full read" warm <<<"$output" | jq -e ".series[] | select(.label == \"M-walk\") | $arm"
    case_of "random read" warm <<<"$output" | jq -e '. as $case | any(.effects[]; .pair == "other" and
        $case.series[.files].label == "F-path" and $case.series[.pack].label == "M-path")'
    jq -e 'any(.cases[]; .results_differ) | not' <<<"$output"
    [ "$(stat -f -c %T .)" != tmpfs ] || return 0
    case_of "random read" "data cold" <<<"$output" | jq -e ".series[] | select(.label == \"M-path\") |
        $arm and all(.runs[]; .storage_read_bytes > 0)"
}

@test "bench: what is mounted is compared with the pack before the clock starts" {
    make_small_files tree 5
    cp -r tree mount
    printf 'X' >mount/b/3.txt
    rm mount/b/4.txt
    run_fails 1 sqlpack bench --preset quick --mount mount tree
    [[ $stderr == *"'b/3.txt': is not the same where the pack is mounted"* ]]
    [[ $stderr == *"'b/4.txt': is not the same where the pack is mounted"* ]]
    [ "$(wc -l <<<"$stderr")" -eq 2 ]
    [[ $output == *"VERDICT WITHHELD"* && $output != *"random read"* ]]
    [ -z "$(find . -name '.sqlpack-*')" ]
}

@test "bench: what cannot be a mounted pack is refused before anything is made" {
    make_small_files tree 5
    ln -s tree link
    echo file >file
    local folder
    for folder in tree link tree/ ./tree/../tree; do
        run_fails 2 sqlpack bench --mount "$folder" tree
        [[ $stderr == *"cannot read a mounted pack in "*": it is the tree itself"* ]]
    done
    run_fails 2 sqlpack bench --mount file tree
    [[ $stderr == *"cannot read a mounted pack in 'file': it is not a folder"* ]]
    run_fails 2 sqlpack bench --mount missing tree
    run_fails 2 sqlpack bench --mount tree --synthetic 10:fixed:1K
    run_fails 2 sqlpack bench --layout mount tree
    [ -z "$(find . -name '.sqlpack-*')" ]
}

@test "bench: a mount by FUSE is read, and said not to be cold" {
    need jq bindfs unshare
    need_mounts
    [ -c /dev/fuse ] || skip "no /dev/fuse here"
    make_small_files tree 20
    cp -r tree shown
    mkdir mount
    cat >inside <<'SH'
bindfs shown mount || exit 9
sqlpack bench --json --rounds 1 --budget 1 --mount mount tree
status=$?
umount mount
exit $status
SH
    run_ok unshare -m bash inside
    jq -e '.environment.mounted_file_system | startswith("fuse")' <<<"$output"
    case_of "random read" warm <<<"$output" | jq -e '.series[] | select(.label == "M-path") |
        .missing == "" and all(.runs[]; .is_done and (.proof == "unverified" or .proof == "no reads"))'
    case_of "random read" "data cold" <<<"$output" | jq -e '.missing != "" or (.series[] |
        select(.label == "M-path") | .missing == "a FUSE file system has caches of its own")'
}

@test "bench: --drop-caches is refused at the start to those who may not" {
    need_root
    make_small_files tree 5
    chmod 555 . # with another order it would be refused for its scratch
    run_fails 3 as_nobody sqlpack bench --drop-caches tree
    [ "$stderr" = "sqlpack bench: cannot drop the machine's caches: Permission denied" ]
    [ -z "$output" ]
}

@test "bench: --drop-caches asks the kernel before each run, and takes its word for nothing" {
    need jq
    need_root
    need_mounts
    [ "$(stat -f -c %T .)" != tmpfs ] || skip "nothing is cold on tmpfs"
    make_small_files tree 40
    # no test drops the caches of the machine: a file stands in for the kernel
    : >kernel
    cat >inside <<'SH'
mount --bind kernel /proc/sys/vm/drop_caches || exit 9
sqlpack bench --json --preset quick --rounds 2 --budget 1 --drop-caches tree
SH
    run_ok unshare -m bash inside
    [ "$(cat kernel)" = 3 ]
    case_of "random read" "full cold" <<<"$output" | jq -e '.missing == "" and
        all(.series[]; .missing == "" and all(.runs[]; .is_done and (.is_proven | not)))'
    chmod 444 kernel
    cat >inside <<'SH'
mount --bind -o ro kernel /proc/sys/vm/drop_caches && mount -o remount,bind,ro /proc/sys/vm/drop_caches || exit 9
sqlpack bench --preset quick --drop-caches tree
SH
    run_fails 3 unshare -m bash inside
    [[ $stderr == *"cannot drop the machine's caches: Read-only file system"* ]]
    [ -z "$(find . -name '.sqlpack-*')" ]
}
