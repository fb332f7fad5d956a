#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# tests/setup: what it finds missing, what it runs to bring it, and what it says where it cannot.
#
# Every program it can find is a stub in $bin; libdeflate is missing until $state/installed exists.
# shellcheck disable=SC2016 # the stubs' scripts expand their variables themselves

bats_require_minimum_version 1.5.0

setup() {
    bin=$BATS_TEST_TMPDIR/bin
    state=$BATS_TEST_TMPDIR/state
    mkdir "$bin" "$state"
    for tool in cat env mktemp rm tail touch; do
        ln -s "$(command -v $tool)" "$bin/$tool"
    done
    for tool in cc make bats prove sqlite3 python3 strace getfattr setfacl rsync setpriv jq \
        mkfs.ext4; do
        stub $tool 'exit 0'
    done
    stub id 'echo 0'
    stub pkg-config 'case $2 in libdeflate) [ -e "$state/installed" ] ;; esac'
}

# stub NAME SCRIPT: a program that notes its arguments in $state/NAME and then runs SCRIPT.
stub() {
    {
        echo '#!/bin/sh'
        echo "state='$state'"
        echo "echo \"\$*\" >>\"\$state/$1\""
        echo "$2"
    } >"$bin/$1"
    chmod +x "$bin/$1"
}

run_setup() {
    run --separate-stderr env -i PATH="$bin" CC="${compiler-cc}" \
        /bin/sh "$BATS_TEST_DIRNAME/../setup" "$@"
}

# The packages of the last call of a package manager whose options are no packages.
packages_for() {
    tail -n 1 "$state/$1" | sed 's/.* -\S*recommends //'
}

@test "setup: nothing missing is silent and runs no package manager" {
    touch "$state/installed"
    stub apt-get 'exit 1'
    run_setup check
    [ "$status" -eq 0 ]
    [ -z "$output$stderr" ]
    [ ! -e "$state/apt-get" ]
}

@test "setup: what is missing, and no more, is installed by apt-get" {
    stub apt-get 'touch "$state/installed"'
    run_setup build
    [ "$status" -eq 0 ]
    [ "$(packages_for apt-get)" = libdeflate-dev ]
    [ "$(wc -l <"$state/apt-get")" -eq 1 ]
}

@test "setup: a compiler that is named but missing counts as missing" {
    touch "$state/installed"
    stub apt-get 'exit 0'
    compiler='no-such-cc -O2' run_setup build
    [ "$status" -eq 1 ]
    [ "$(packages_for apt-get)" = "gcc libc6-dev linux-libc-dev" ]
    [[ $stderr == *"missing: no-such-cc stdlib.h linux/fs.h (they are still not found"* ]]
}

@test "setup: lists of packages are fetched once where the installation fails" {
    stub apt-get 'case $1 in
        update) touch "$state/lists" ;;
        *) [ -e "$state/lists" ] && touch "$state/installed" ;;
        esac'
    run_setup build
    [ "$status" -eq 0 ]
    [ "$(cut -d ' ' -f 1 "$state/apt-get" | tr '\n' ' ')" = "-o update -o " ]
}

@test "setup: a failing package manager is quoted, and the line to run is printed" {
    stub apt-get 'echo "E: no space" >&2; exit 100'
    run_setup build
    [ "$status" -eq 1 ]
    [[ $stderr == *"E: no space"*"missing: libdeflate (apt-get failed)"* ]]
    [[ $stderr == *"run this as root: apt-get "*" install "*" libdeflate-dev" ]]
}

@test "setup: a user without sudo gets the line, and nothing is run" {
    stub id 'echo 1000'
    stub apt-get 'exit 0'
    run_setup build
    [ "$status" -eq 1 ]
    [[ $stderr == *"run this as root: apt-get "*" libdeflate-dev" ]]
    [ ! -e "$state/apt-get" ]
}

@test "setup: a user with sudo installs through it, and is not asked where no terminal is" {
    stub id 'echo 1000'
    stub apt-get 'touch "$state/installed"'
    stub sudo 'shift; exec "$@"'
    run_setup build
    [ "$status" -eq 0 ]
    [[ $(cat "$state/sudo") == "-n env DEBIAN_FRONTEND=noninteractive apt-get "*" libdeflate-dev" ]]
}

@test "setup: each package manager gets its own names" {
    for line in 'dnf libdeflate-devel' 'pacman libdeflate' 'apk libdeflate-dev' \
        'brew libdeflate'; do
        local manager=${line% *}
        rm -f "$state/installed"
        stub "$manager" 'touch "$state/installed"'
        run_setup build
        [ "$status" -eq 0 ]
        [[ $(cat "$state/$manager") == *" ${line#* }" ]]
        rm "$bin/$manager"
    done
}

@test "setup: without a package manager the names are printed" {
    run_setup build
    [ "$status" -eq 1 ]
    [[ $stderr == *"the names are Debian's): libdeflate-dev" ]]
}

@test "setup: an unknown task is wrong usage" {
    run_setup everything
    [ "$status" -eq 2 ]
    [[ $stderr == *"usage: tests/setup build|check|lint|perf" ]]
}
