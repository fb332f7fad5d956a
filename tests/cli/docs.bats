#!/usr/bin/env bats
# What is told twice is the same: options in program, manual and completions; calls in header and
# manual; examples and what they print.

load helper

commands() {
    sqlpack help --names | cut -f1
}

# manual_options SECTION: the options that sqlpack(1) gives under .Ss SECTION, one spelling a line.
manual_options() {
    awk -v section=".Ss $1" '
        /^\.S[hs]/ { inside = $0 == section }
        inside && $1 == ".It" {
            for (i = 2; i <= NF; i++)
                if ($i == "Fl" || $i ~ /^-/) { word = $i == "Fl" ? $(i + 1) : $i; print "-" word }
        }' "$ROOT/man/sqlpack.1" | sort -u
}

@test "docs: every command has its section in sqlpack(1), and no other has" {
    diff <(commands | sort) <(sed -n '/^\.Sh COMMANDS/,/^\.Sh /s/^\.Ss \([a-z]*\)$/\1/p' \
        "$ROOT/man/sqlpack.1" | sort)
}

@test "docs: options are the same in the program and in sqlpack(1)" {
    local command common
    common=$(manual_options 'common options')
    for command in $(commands); do
        diff -u --label "$command in the manual" --label "$command in the program" \
            <(printf '%s\n%s\n' "$common" "$(manual_options "$command")" | grep . | sort -u) \
            <({ sqlpack "$command" --list-options | cut -f1; echo "$common"; } | sort -u)
    done
}

@test "docs: the common options of sqlpack(1) exist somewhere" {
    local option
    for command in $(commands); do sqlpack "$command" --list-options | cut -f1; done | sort -u >all
    for option in $(manual_options 'common options'); do
        grep -qxe "$option" all || { echo "no command has $option" >&2 && return 1; }
    done
}

@test "docs: sqlpack(1) tells the usage of every command as the program does" {
    local command usage
    for command in $(commands); do
        usage=$(sqlpack "$command" --help | sed -n '1s/^usage: //p')
        grep -qxF ".Dl $usage" "$ROOT/man/sqlpack.1" ||
            { echo "sqlpack.1 lacks: .Dl $usage" >&2 && return 1; }
    done
}

# manual_section COMMAND: its text in sqlpack(1).
manual_section() {
    awk -v section=".Ss $1" '/^\.S[hs]/ { inside = $0 == section } inside' "$ROOT/man/sqlpack.1"
}

@test "docs: sqlpack(1) has every key of every JSON" {
    need jq
    make_tree tree
    mkfifo -m 0 tree/shut
    ln -s $'\xff' tree/odd
    sqlpack pack --json tree t.db >pack.json
    sqlpack unpack --json t.db out >unpack.json 2>/dev/null || [ $? -eq 1 ]
    sqlpack ls --json t.db >ls.json
    sqlpack info --json t.db >info.json
    sqlpack audit --json --duplicates --verify-freed tree >audit.json 2>/dev/null || [ $? -eq 1 ]
    sqlpack audit --json t.db tree >>audit.json 2>/dev/null || [ $? -eq 1 ]
    echo x >out/new
    sqlpack verify --json t.db out >verify.json 2>/dev/null || [ $? -eq 1 ]
    sqlpack digest --json t.db >digest.json
    sqlpack bench --json --rounds 1 tree >bench.json 2>/dev/null || [ $? -eq 1 ]
    local command key
    for command in $(commands); do
        sqlpack "$command" --list-options | grep -q '^--json' || continue
        manual_section "$command" | sed -n '/^JSON:/,$p' >section
        while read -r key; do
            grep -qw "${key%_base64}" section ||
                { echo "$command: no $key in sqlpack(1)" >&2 && return 1; }
        done < <(jq -r '.. | objects | keys[]' "$command.json" | sort -u)
    done
}

@test "docs: bash completes commands, options, values" {
    # shellcheck source=completions/sqlpack.bash
    source "$ROOT/completions/sqlpack.bash"
    completes() { # WANT WORD...
        local want=$1
        shift
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        _sqlpack
        [ "${COMPREPLY[*]}" = "$want" ] || { echo "'$*': ${COMPREPLY[*]}" >&2 && return 1; }
    }
    completes "$(commands | tr '\n' ' ' | sed 's/ $//')" sqlpack ''
    completes verify sqlpack ver
    completes pack sqlpack help pac
    completes --reproducible sqlpack pack tree --rep
    completes "auto always never" sqlpack pack --progress ''
    completes always sqlpack pack --progress = al
    completes "auto always never" sqlpack pack --progress =
    completes '' sqlpack pack --exclude-from --
    completes '' sqlpack pack tre
    local command
    for command in $(commands); do
        completes "$(sqlpack "$command" --list-options | cut -f1 | tr '\n' ' ' | sed 's/ $//')" \
            sqlpack "$command" -
    done
}

@test "docs: fish completes commands, options, values" {
    need fish
    completes() { # WANT LINE
        local got
        got=$(HOME=$PWD fish -c "source '$ROOT/completions/sqlpack.fish'; complete -C '$2'" |
            cut -f1 | sort | tr '\n' ' ')
        [ "$got" = "$1 " ] || { echo "'$2': $got" >&2 && return 1; }
    }
    completes "$(commands | sort | tr '\n' ' ' | sed 's/ $//')" 'sqlpack '
    completes verify 'sqlpack ver'
    completes pack 'sqlpack help pac'
    completes --reproducible 'sqlpack pack tree --rep'
    completes 'always auto never' 'sqlpack pack --progress '
}

@test "docs: zsh completes commands, options, values" {
    need zsh
    zsh -fc 'zmodload zsh/zpty' 2>/dev/null || skip "zsh has no zpty here"
    cat >init.zsh <<'ZSH'
PS1= fpath=($ROOT/completions $fpath)
autoload -Uz compinit && compinit -u -D
bindkey '^I' complete-word
tell() { zle -I; print -r -- "made:$BUFFER."; BUFFER= }
zle -N tell && bindkey '^X' tell
zle-line-init() { print ready }
zle -N zle-line-init
ZSH
    cat >complete.zsh <<'ZSH'
# complete.zsh LINE: what stands on the line after a tab
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'source ./init.zsh'
while zpty -r shell line; do [[ $line == *ready* ]] && break; done
zpty -n -w shell $1$'\t\C-x'
while zpty -r shell line; do [[ $line == *made:* ]] && print -r -- ${${line#*made:}%%[[:space:]]#.*} && break; done
ZSH
    completes() { # WANT LINE
        local got
        got=$(ROOT=$ROOT timeout 60 zsh -f -o extendedglob complete.zsh "$2")
        [ "$got" = "$1" ] || { echo "'$2': $got" >&2 && return 1; }
    }
    completes 'sqlpack verify' 'sqlpack ver'
    completes 'sqlpack help pack' 'sqlpack help pac'
    completes 'sqlpack pack tree --reproducible' 'sqlpack pack tree --rep'
    completes 'sqlpack pack --progress always' 'sqlpack pack --progress al'
    completes 'sqlpack pack --progress=always' 'sqlpack pack --progress=al'
}

# -- sqlpack(3) ---------------------------------------------------------------------------------

header_prototypes() {
    perl -0777 -pe 's,/\*.*?\*/,,gs; s/^\s*#.*\n//mg; s/\s+/ /g; s/;/;\n/g' "$ROOT/src/sqlpack.h" |
        sed -n 's/^.*SQLPACK_\(API\|CHECK\) \(.*\);$/\2/p' | sort
}

manual_prototypes() {
    perl -ne 'BEGIN { $/ = undef } s/^.*?^\.Sh SYNOPSIS\n//ms; s/^\.Sh .*//ms;
        s/"\n\.Fa "/, /g; s/^\.Fo (\S+)\n\.Fa "(.*)"\n\.Fc$/$1($2)/mg;
        s/^\.Fn (\S+) "?(.*?)"?$/$1($2)/mg; s/^\.Ft (.*)\n/$1 /mg; s/\* sqlpack/*sqlpack/g;
        print "$_\n" for grep /^[a-z]/, split /\n/' "$ROOT/man/sqlpack.3" | sort
}

@test "docs: sqlpack(3) has every call of the header, as it is there" {
    [ -n "$(manual_prototypes)" ]
    diff -u --label header --label manual <(header_prototypes) <(manual_prototypes)
}

@test "docs: sqlpack(3) explains every constant of the header" {
    local name
    while read -r name; do
        grep -qE "\b$name\b" "$ROOT/man/sqlpack.3" || { echo "no $name" >&2 && return 1; }
    done < <(grep -oE '\bSQLPACK_[A-Z_]+' "$ROOT/src/sqlpack.h" | sort -u |
        grep -vxE 'SQLPACK_(H|API|CHECK)')
}

# manual_programs PAGE: the C programs in it, as example1.c, example2.c ...
manual_programs() {
    awk '/^\.Bd -literal/ { block = ""; inside = 1; next }
        /^\.Ed/ { if (block ~ /int main/) printf "%s", block > ("example" ++n ".c"); inside = 0 }
        inside { gsub(/\\e/, "\\"); block = block $0 "\n" }' "$1"
}

@test "docs: the programs in sqlpack(3) compile and run" {
    need_plain_build
    manual_programs "$ROOT/man/sqlpack.3"
    [ -f example1.c ] && [ -f example2.c ]
    local n
    for n in 1 2; do
        ${CC:-cc} -std=c11 -Wall -Wextra -Werror -I"$ROOT/src" -o "example$n" "example$n.c" \
            -L"$BUILD" -lsqlpack
    done
    mkdir thumbs
    echo hello >thumbs/a.txt
    ln -s "$BUILD/libsqlpack.so" "$(readelf -d example1 | sed -n 's/.*NEEDED.*\[\(libsqlpack.*\)\]/\1/p')"
    export LD_LIBRARY_PATH=$PWD
    run_ok ./example2
    [[ $output == *" bytes on disk became "*", with 0 losses" ]]
    run_ok ./example1 thumbs.db a.txt
    [ "$output" = "a.txt, 6 bytes
hello" ]
}

# -- sqlpack(5) ---------------------------------------------------------------------------------

@test "docs: sqlpack(5) has the tables as the program makes them" {
    need sqlite3
    mkdir tree
    sqlpack pack -q tree t.db
    diff <(sqlite3 t.db 'SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL' | sort) \
        <(awk '/^\.Ss The database/ { on = 1 } on && /^CREATE/ { text = "" }
            on { sub(/^ +/, " "); text = text $0 }
            on && /;$/ { sub(/;$/, "", text); print text; text = "" }
            /^\.Ss sqlar/ { exit }' "$ROOT/man/sqlpack.5" | grep -o 'CREATE.*' | sort)
}

@test "docs: a reader written from sqlpack(5) alone agrees with the program" {
    need python3
    make_tree tree
    touch -d '2 minutes ago' tree/a/b.json
    truncate -s 3M tree/sparse
    printf x | dd of=tree/sparse bs=1 seek=2000000 conv=notrunc status=none
    setfattr -n user.key -v value tree/a/b.json 2>/dev/null || true
    ln tree/sparse tree/sparse2
    sqlpack pack -q tree t.db
    python3 "$ROOT/tests/cli/format.py" t.db "$ROOT/man/sqlpack.5" >got || {
        [ $? -eq 77 ] && skip "python3 finds no libxxhash here"
        return 1
    }
    [ "$(cat got)" = "$(sqlpack digest --json t.db | sed 's/.*"root_digest":"\([0-9a-f]*\)".*/\1/')" ]
}

# -- README.md ----------------------------------------------------------------------------------

# A small tree with the names that README.md speaks of.
make_thumbs() {
    mkdir -p thumbs/00 thumbs/01
    local i
    for i in 00000 00256 00512; do head -c "4${i:3}" /dev/urandom >"thumbs/00/$i.jpg"; done
    seq 1 3000 >thumbs/01/numbers.txt
}

# Figures, times and digests differ from tree to tree: the words around them do not.
without_figures() {
    sed -E 's/[0-9a-f]{32}/DIGEST/; s/-?[0-9][0-9.,:%]*/N/g; s/[KMG]iB/B/g; s/ +/ /g' "$@"
}

# readme_block LANGUAGE: the first block of code in it.
readme_block() {
    awk -v fence="\`\`\`$1" '$0 == "```" && inside { exit } inside; $0 == fence { inside = 1 }' \
        "$ROOT/README.md"
}

@test "docs: the session in README.md runs as it is told" {
    make_thumbs
    readme_block console >session
    [ -s session ]
    while IFS= read -r line; do
        printf '%s\n' "$line"
        [[ $line != '$ '* ]] || bash -ec "${line#'$ '}" </dev/null
    done < <(grep '^\$ ' session) >got
    diff <(without_figures session) <(without_figures got)
    cmp one.jpg thumbs/00/00256.jpg
    diff -r thumbs copy
}

# report_words: the labels, headings and heads of tables in a report, without figures and rows.
report_words() {
    sed -nE '/^- /,$d; /^[a-z ]{2}[a-z]/ { s/  +[-0-9].*//; s/ {2,}/ /g; p }' | grep -vE '^ to '
}

@test "docs: the report of audit in README.md is as the program makes it" {
    make_thumbs
    readme_block text | grep -v '^\$ ' | report_words >words
    [ "$(wc -l <words)" -gt 20 ]
    sqlpack audit --top 3 --what-if 4K,64K thumbs | report_words >got
    # what only some trees or file systems have
    diff <(grep -vE '^(symlinks|file system|inodes$|special)' words) \
        <(grep -vE '^(symlinks|file system|inodes$|special)' got)
}

@test "docs: README.md lists every command but help" {
    diff <(commands | grep -vx help | sort) \
        <(sed -n 's/^    sqlpack \([a-z]*\) .*/\1/p' "$ROOT/README.md" | sort)
}

@test "docs: README.md has the published figures of kvtest as the program tells them" {
    need jq
    jq -n '{schema: "sqlpack-bench/1", preset: "kvtest", cases: [{workload: "kvtest read",
        state: "warm", durability: "", threads: 1, effects: [], series:
            (["direct", "plain", "blob", "blob random", "mmap", "mmap blob random"] |
            map({label: ., published: ., side: "files", layout: "asis", missing: ""}))}]}' >r.json
    columns() { awk -F '|' '{ for (i = 3; i <= 7; i++) printf "%s ", $i; print "" }' | tr -s ' '; }
    sqlpack bench --replot r.json |
        awk '/^  kvtest arguments/ { on = 1; next } /^$/ { on = 0 } on' |
        sed 's/^  //; s/   */ | /g; s/^/| /' | columns >want
    [ "$(wc -l <want)" -eq 6 ]
    grep -A 100 '^| kvtest arguments |' "$ROOT/README.md" | sed -n '3,/^$/p' |
        columns | grep '[0-9]' >got
    diff want got
}

@test "docs: sqlite3 reads a pack as README.md says" {
    need sqlite3
    make_thumbs
    sqlpack pack -q thumbs thumbs.db
    readme_block sh >example.sh
    run_ok sh -e example.sh
    [[ $output == *"00/00512.jpg|"* ]]
    cmp one.jpg thumbs/00/00256.jpg
}

# reads_packs COMMAND...: an example with its last lines reads both files of a pack exactly.
reads_packs() {
    "$@" 00/00256.jpg >one.jpg
    "$@" 01/numbers.txt >numbers.txt
    cmp one.jpg thumbs/00/00256.jpg
    cmp numbers.txt thumbs/01/numbers.txt
}

@test "docs: Python reads a pack as README.md says" {
    need python3
    make_thumbs
    sqlpack pack -q thumbs thumbs.db
    { readme_block python; echo 'import sys; sys.stdout.buffer.write(read(sys.argv[1]))'; } >read.py
    reads_packs python3 read.py
}

@test "docs: Node.js reads a pack as README.md says" {
    need node
    make_thumbs
    sqlpack pack -q thumbs thumbs.db
    { readme_block js; echo 'process.stdout.write(read(process.argv[2]));'; } >read.js
    if ! node -e "require('node:sqlite')" 2>/dev/null; then
        node -e "require('better-sqlite3')" 2>/dev/null || skip "no node:sqlite, no better-sqlite3"
        sed -i "s/^.*node:sqlite.*/const Database = require('better-sqlite3');/
            s/new DatabaseSync('thumbs.db', { readOnly: true })/new Database('thumbs.db', { readonly: true })/" read.js
        grep -qF "new Database('thumbs.db', { readonly: true })" "$ROOT/README.md"
    fi
    reads_packs node --no-warnings read.js
}

@test "docs: PHP reads a pack as README.md says" {
    need php
    php -r 'exit(class_exists("SQLite3") && function_exists("gzuncompress") ? 0 : 1);' ||
        skip "no SQLite3 or zlib in this PHP"
    make_thumbs
    sqlpack pack -q thumbs thumbs.db
    # shellcheck disable=SC2016
    { readme_block php; echo 'echo read($pack, $argv[1]);'; } >read.php
    reads_packs php read.php
}

@test "docs: Go reads a pack as README.md says" {
    need go
    make_thumbs
    sqlpack pack -q thumbs thumbs.db
    readme_block go | sed 's/^	"io"$/	"io"\n	"os"/' >read.go
    cat >>read.go <<'GO'

func main() {
	pack, err := sql.Open("sqlite3", "file:thumbs.db?mode=ro")
	if err != nil {
		panic(err)
	}
	data, err := read(pack, os.Args[1])
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(data)
}
GO
    GOFLAGS=-mod=mod GOPROXY=off go mod init read 2>/dev/null
    GOFLAGS=-mod=mod GOPROXY=off go build -o read . 2>/dev/null || skip "go-sqlite3 is not here"
    reads_packs ./read
}

@test "docs: the map in src/README.md names no file that is not there" {
    local name
    # shellcheck disable=SC2016
    while read -r name; do
        compgen -G "$ROOT/src/$name" >/dev/null || compgen -G "$ROOT/src/*/$name" >/dev/null ||
            { echo "no $name" >&2 && return 1; }
    done < <(grep -oE '`[^` ]*[a-z*]\.[ch]`' "$ROOT/src/README.md" | tr -d '\140')
}
