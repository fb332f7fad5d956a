#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# tests/demo: ends well on a good tree, tells a bad result, leaves nothing behind.

load helper

# A folder to show, and an empty one for the scratch files of the demo.
make_stage() {
    mkdir -p tree/sub/empty scratch
    chmod 1777 scratch
    seq 1 3000 >tree/numbers
    head -c 20000 /dev/urandom >tree/sub/noise
    : >tree/sub/nothing
    ln -s sub/noise tree/link
    export TMPDIR=$PWD/scratch
}

# A build folder whose sqlpack runs SCRIPT after each command of the real one.
make_build() {
    mkdir fake
    printf '#!/bin/sh\n"%s/sqlpack" "$@" || exit\n%s\n' "$(cd "$BUILD" && pwd)" "$1" >fake/sqlpack
    chmod +x fake/sqlpack
}

@test "demo: a tree goes in and comes out equal, and nothing is left behind" {
    need cc pkg-config
    make_stage
    run_ok "$ROOT/tests/demo" tree
    [ "$(grep -cx equal <<<"$output")" -eq 2 ]
    [[ $output == *"== audit"*padding*"== pack"*saved*"== bench"*"random read, warm"*S-naive* ]]
    [ -z "$(ls -A scratch)" ]
}

@test "demo: a user without privilege gets the same" {
    need_root
    need cc pkg-config setpriv
    make_stage
    mkdir -p project/tests project/build
    cp -r "$ROOT/tests/demo" "$ROOT/tests/perf" project/tests
    cp "$BUILD/sqlpack" project/build
    chmod 777 project/build
    run_ok as_nobody env BUILD=build "$PWD/project/tests/demo" tree
    [ "$(grep -cx equal <<<"$output")" -eq 2 ]
    [ -z "$(ls -A scratch)" ]
}

# shellcheck disable=SC2016 # the fake program expands its arguments itself
@test "demo: a tree that comes out changed is found by sqlpack" {
    make_stage
    make_build '[ "$1" != unpack ] || echo more >>"$3/numbers"'
    BUILD=$PWD/fake run "$ROOT/tests/demo" tree
    [ "$status" -eq 1 ]
    [[ $output == *"by sqlpack verify"*"NOT equal" ]]
    [ -z "$(ls -A scratch)" ]
}

# shellcheck disable=SC2016
@test "demo: a tree that comes out changed is found by diff where sqlpack is blind" {
    make_stage
    make_build '[ "$1" != unpack ] || echo more >>"$3/numbers"'
    sed -i '2i [ "$1" != verify ] || exit 0' fake/sqlpack
    BUILD=$PWD/fake run "$ROOT/tests/demo" tree
    [ "$status" -eq 1 ]
    [[ $output == *"by diff"*"numbers"*"NOT equal" ]]
}

@test "demo: a program that is not built and a folder that is missing are told" {
    BUILD=$PWD/none run_fails 2 "$ROOT/tests/demo" .
    # shellcheck disable=SC2154 # bats sets $stderr
    [[ $stderr == *"not built; make builds it"* ]]
    make_build ''
    BUILD=$PWD/fake run_fails 2 "$ROOT/tests/demo" ./none
    [[ $stderr == *"'./none': no such folder"* ]]
}
