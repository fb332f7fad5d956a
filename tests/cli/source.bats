#!/usr/bin/env bats
# The rules of the house that a compiler does not check: layers, names, what a file begins with.

load helper

# finds_nothing [-v] PATTERN FILE...: no line matches; a missing file is a failure, no success.
finds_nothing() {
    run grep -nE "$@"
    [ "$status" -eq 1 ] || { printf '%s\n' "$output" >&2 && return 1; }
}

@test "source: the library includes nothing of the commands" {
    finds_nothing '#include "(cli|cmd)/' "$ROOT"/src/lib/*.[ch] "$ROOT"/src/util/*.[ch] \
        "$ROOT/src/sqlpack.h"
}

@test "source: util includes nothing but util" {
    finds_nothing '#include "(lib|cli|cmd|sqlpack)' "$ROOT"/src/util/*.[ch]
}

@test "source: commands and their layer reach packs through sqlpack.h only" {
    finds_nothing '#include ("lib/|<sqlite3|<zlib|<libdeflate|<xxhash)' \
        "$ROOT"/src/cli/*.[ch] "$ROOT"/src/cmd/*.[ch] "$ROOT/src/main.c"
    finds_nothing '#include "cmd/' "$ROOT"/src/cli/*.[ch]
}

@test "source: bench reads packs as any program would, and knows nothing of the commands" {
    finds_nothing '#include "(lib|cli|cmd)/' "$ROOT"/src/bench/*.[ch]
    finds_nothing '\<(stdout|stderr|perror|exit)\>' "$ROOT"/src/bench/*.c
}

@test "source: the library prints nothing and never exits" {
    finds_nothing '\<(printf|puts|putchar|perror|exit|_exit|abort|err|errx|warn)\(' \
        "$ROOT"/src/lib/*.c "$ROOT"/src/util/*.c
    finds_nothing '\<(stdout|stderr)\>' "$ROOT"/src/lib/*.c "$ROOT"/src/util/*.c
}

@test "source: stderr belongs to notice.c" {
    finds_nothing 'stderr|perror' "$ROOT"/src/cmd/*.c "$ROOT"/src/cli/{opt,out,text}.c
}

@test "source: no goto" {
    finds_nothing '\<goto\>' "$ROOT"/src/*.c "$ROOT"/src/*/*.c
}

@test "source: every file begins with its licence and its duty" {
    local file
    for file in "$ROOT"/src/*.[ch] "$ROOT"/src/*/*.[ch] "$ROOT"/tests/*/*.[ch]; do
        [ "$(sed -n 1p "$file")" = '/* SPDX-License-Identifier: MIT */' ] ||
            { echo "$file: line 1" >&2 && return 1; }
        [[ $(sed -n 2p "$file") == '/*'* ]] || { echo "$file: line 2" >&2 && return 1; }
    done
}

@test "source: every file of tests can be run, as make check does" {
    run_ok find "$ROOT"/tests/cli -name '*.bats' ! -perm -100
    [ -z "$output" ]
}

@test "source: no file is longer than 500 lines" {
    local long
    long=$(wc -l "$ROOT"/src/*.c "$ROOT"/src/*/*.c "$ROOT"/src/{cli,cmd,util}/*.h |
        awk '$2 != "total" && $1 > 500')
    [ -z "$long" ] || { echo "$long" >&2 && return 1; }
}

@test "source: every header compiles alone" {
    local header
    for header in "$ROOT"/src/sqlpack.h "$ROOT"/src/*/*.h; do
        echo "#include \"${header#"$ROOT"/src/}\"" >alone.c
        ${CC:-cc} -std=c17 -D_GNU_SOURCE -I"$ROOT/src" -Wall -Wextra -Werror -fsyntax-only alone.c
    done
}

@test "source: the public header serves C++ and strict C99" {
    need c++
    echo '#include <sqlpack.h>' | tee public.c >public.cc
    ${CC:-cc} -std=c99 -I"$ROOT/src" -Wall -Wextra -Wpedantic -Werror -fsyntax-only public.c
    c++ -std=c++11 -I"$ROOT/src" -Wall -Wextra -Werror -fsyntax-only public.cc
}

# defined_names FILE [OPTION]: what a library gives to those who link it.
defined_names() {
    nm --defined-only --extern-only "$@" | awk 'NF == 3 && $2 != "w" { print $3 }' | sort -u
}

@test "source: libraries export sqlpack_* and nothing else" {
    defined_names "$BUILD/libsqlpack.a" | grep -v -e __odr_asan -e __asan >static
    defined_names "$BUILD/libsqlpack.so" -D | grep -v -e __odr_asan -e __asan >shared
    finds_nothing -v '^sqlpack_' static shared
    grep -oE '\<sqlpack_[a-z_]+\(' "$ROOT/src/sqlpack.h" | tr -d '(' | sort -u >public
    diff public static
    diff public shared
}

@test "source: the shared library has its version in its name" {
    need readelf
    run_ok readelf -d "$BUILD/libsqlpack.so"
    local major
    major=$(sed -n 's/^#define SQLPACK_VERSION "\([0-9]*\)\..*/\1/p' "$ROOT/src/sqlpack.h")
    [[ $output == *"soname: [libsqlpack.so.$major]"* ]]
}

@test "source: the static library is the same whenever it is made" {
    run_ok ar tvO "$BUILD/libsqlpack.a"
    [[ $output == *" 0/0 "*"1970 "* ]]
}

@test "source: what is installed is complete, works, and goes away again" {
    need pkg-config man
    need_plain_build
    run make -s -C "$ROOT" BUILD="$BUILD" PREFIX="$PWD/usr" install
    [ "$status" -eq 0 ] || { printf '%s\n' "$output" >&2 && return 1; }
    run_ok usr/bin/sqlpack --version
    cat >program.c <<'C'
#include <sqlpack.h>

int main(void)
{
    return puts(sqlpack_version()) < 0;
}
C
    export PKG_CONFIG_PATH=$PWD/usr/lib/pkgconfig LD_LIBRARY_PATH=$PWD/usr/lib
    # shellcheck disable=SC2046
    ${CC:-cc} -o program program.c $(pkg-config --cflags --libs sqlpack)
    run_ok ./program
    [ "$output" = "$(pkg-config --modversion sqlpack)" ]
    local page
    for page in 1 3 5; do
        run man -M "$PWD/usr/share/man" -w "$page" sqlpack
        [ "$output" = "$PWD/usr/share/man/man$page/sqlpack.$page" ]
    done
    run make -s -C "$ROOT" BUILD="$BUILD" PREFIX="$PWD/usr" uninstall
    [ "$status" -eq 0 ]
    [ -z "$(find usr ! -type d)" ]
}

@test "source: make help lists the targets" {
    run_ok make -s -C "$ROOT" help
    local target
    for target in all check lint install demo perf torture; do
        grep -q "^$target: " <<<"$output"
        grep -q "^$target:" "$ROOT/Makefile"
    done
}

@test "source: what is committed names no private place" {
    cd -- "$ROOT"
    git rev-parse 2>/dev/null || skip "no git here"
    run git grep -nE -e '\.\./sha''red|/wo''rk/'
    [ "$status" -eq 1 ] || { printf '%s\n' "$output" >&2 && return 1; }
}
