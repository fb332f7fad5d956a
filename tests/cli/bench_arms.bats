#!/usr/bin/env bats
# sqlpack bench: arms that need more than files and a pack.

load helper

# make_files DIR COUNT: small files in two folders.
make_files() {
    mkdir -p "$1"/{a,b}
    local i
    for ((i = 0; i < $2; i++)); do
        head -c $((i % 7 * 1500 + i)) /dev/zero | tr '\0' "$((i % 10))" >"$1/a/$i"
        printf '%s' "$i" >"$1/b/$i.txt"
    done
}

@test "bench: a first read is one of a program that is started anew, not of a copy" {
    need jq strace
    make_files tree 10
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
    make_files tree 3
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
