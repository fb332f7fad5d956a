#!/usr/bin/env bats
# The program as a whole: help, wrong usage, the streams, the exit status.

load helper

commands() {
    sqlpack help --names | cut -f1
}

@test "help: lists the commands" {
    run_ok sqlpack help
    local command
    for command in $(commands); do
        grep -qE "^  $command +[a-z]" <<<"$output"
    done
    local all=$output
    run_ok sqlpack --help
    [ "$output" = "$all" ]
}

@test "help: every file of src/cmd is a command, every command has its file" {
    diff <(commands | sort) \
        <(grep -l '^const struct command cmd_' "$ROOT"/src/cmd/*.c | sed 's,.*/,,; s,\.c$,,' | sort)
}

@test "help: every command prints its own, to stdout, in 80 columns" {
    local command
    for command in $(commands); do
        run_ok sqlpack "$command" --help
        [[ $output == "usage: sqlpack $command "* ]]
        [ -z "$(awk 'length > 80' <<<"$output")" ]
        local own=$output
        run_ok sqlpack help "$command"
        [ "$output" = "$own" ]
        run_ok sqlpack "$command" -h
        [ "$output" = "$own" ]
    done
}

@test "help: a summary is one line without a full stop" {
    run_ok sqlpack help --names
    [ -n "$output" ]
    run grep -vP '^[a-z]+\t[a-z][^\t]*[^.]$' <<<"$output"
    [ "$status" -eq 1 ]
}

@test "help: the version" {
    local version
    version=$(sed -n 's/^#define SQLPACK_VERSION "\(.*\)"/\1/p' "$ROOT/src/sqlpack.h")
    run_ok sqlpack --version
    [ "$output" = "sqlpack $version" ]
    run_ok sqlpack help --version
    [ "$output" = "sqlpack $version" ]
}

@test "help: without a command, 2 and a hint" {
    run_fails 2 sqlpack
    [ "$stderr" = "sqlpack: missing command
  hint: 'sqlpack --help' tells the usage" ]
    [ -z "$output" ]
}

@test "help: an unknown command is named, and the nearest one" {
    run_fails 2 sqlpack pakc a b
    [[ $stderr == "sqlpack: unknown command 'pakc'; did you mean 'pack'?"* ]]
    run_fails 2 sqlpack frobnicate
    [[ $stderr == "sqlpack: unknown command 'frobnicate'
"* ]]
    run_fails 2 sqlpack help frobnicate
    [[ $stderr == "sqlpack help: no such command: 'frobnicate'"* ]]
}

@test "help: commands are not abbreviated" {
    run_fails 2 sqlpack pac a b
    run_fails 2 sqlpack Pack a b
}

@test "help: an unknown option is named, and nothing is done" {
    mkdir tree
    run_fails 2 sqlpack pack --forse tree t.db
    [[ $stderr == "sqlpack pack: unknown option '--forse'; did you mean --force?"* ]]
    run_fails 2 sqlpack pack tree t.db -Z
    [[ $stderr == "sqlpack pack: unknown option '-Z'"* ]]
    run_fails 2 sqlpack --frob
    [ ! -e t.db ]
}

@test "help: what is odd in an argument does not reach the terminal" {
    run_fails 2 sqlpack $'\e[31mred\n'
    [[ $stderr == *"'\\033[31mred\\n'"* ]]
}

@test "help: output that cannot be written is a failure" {
    [ -c /dev/full ] || skip "no /dev/full"
    local command
    for command in help "pack --help"; do
        # shellcheck disable=SC2016,SC2086
        run --separate-stderr bash -c 'sqlpack "$@" >/dev/full' - $command
        [ "$status" -eq 3 ]
        [ "$stderr" = "sqlpack: cannot write to standard output: No space left on device" ]
    done
}

@test "help: output to a closed descriptor is a failure" {
    run --separate-stderr bash -c 'sqlpack help >&-'
    [ "$status" -eq 3 ]
    [ "$stderr" = "sqlpack: cannot write to standard output: Bad file descriptor" ]
}

@test "help: closed descriptors are not given to the pack" {
    mkdir tree
    echo hello >tree/file
    bash -c 'sqlpack pack -q tree t.db <&- >&- 2>&-'
    run_ok sqlpack verify -q t.db tree
    run bash -c 'sqlpack pack -q none t2.db <&- >&- 2>&-'
    [ "$status" -eq 2 ]
    [ ! -e t2.db ]
}

@test "help: a reader that goes away ends the program quietly" {
    run --separate-stderr bash -c 'set -o pipefail; (sleep 0.2; sqlpack help) | true'
    [ "$status" -eq 141 ]
    [ -z "$stderr" ]
}

# -- hints: what to do, and that it works -------------------------------------------------------

# follow_hint: runs the command that the last message names.
follow_hint() {
    local hint=${stderr##*hint: }
    hint=${hint%% ends the WAL mode*}
    hint=${hint##*if none is running, }
    hint=${hint%% completes or undoes*}
    bash -c "$hint" >/dev/null
}

@test "help: the way out of WAL mode is told, and works" {
    need sqlite3
    mkdir tree
    echo hello >tree/file
    sqlpack pack -q tree "it's.db"
    sqlite3 "it's.db" 'PRAGMA journal_mode=WAL' >/dev/null
    local command
    for command in ls info verify unpack; do
        run_fails 4 sqlpack "$command" "it's.db"
        [[ $stderr == *"hint: sqlite3 'it'\\''s.db' 'PRAGMA journal_mode=DELETE' ends the WAL mode" ]]
    done
    [ ! -e "it's" ]
    follow_hint
    run_ok sqlpack verify -q "it's.db" tree
}

@test "help: the way out of a change half done is told, and works" {
    need sqlite3
    mkdir tree
    seq 1 20000 >tree/file
    sqlpack pack -q -l 0 tree t.db
    sqlite3 t.db >/dev/null <<'SQL'
PRAGMA cache_size = 1;
BEGIN;
UPDATE sqlar SET data = zeroblob(length(data));
.system cp t.db hot.db && cp t.db-journal hot.db-journal
ROLLBACK;
SQL
    sha256sum hot.db hot.db-journal >before
    local command
    for command in ls info verify; do
        run_fails 5 sqlpack "$command" hot.db
        [[ $stderr == *"if none is running, sqlite3 hot.db 'PRAGMA user_version' completes or"* ]]
    done
    sha256sum -c --quiet before
    follow_hint
    run_ok sqlpack verify -q hot.db tree
}

@test "help: a pack of a later format is refused, and that is said" {
    need sqlite3
    mkdir tree
    sqlpack pack -q tree t.db
    sqlite3 t.db "UPDATE sqlpack_info SET value = 2 WHERE key = 'format'"
    run_fails 4 sqlpack ls t.db
    [[ $stderr == *"hint: a later sqlpack reads it" ]]
}
