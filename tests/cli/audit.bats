#!/usr/bin/env bats
# sqlpack audit: where space goes, what a pack would take, what the move frees; against du, stat,
# pack itself and file systems of many kinds.

load helper

PAGE_SIZES="512 1024 2048 4096 8192 16384 32768 65536"

# value KEY [FILE]: a figure of the report, from the JSON in audit.json or another.
value() {
    jq -r ".$1" "${2:-audit.json}"
}

audit_json() {
    run_ok sqlpack audit --json "$@"
    printf '%s\n' "$output" >audit.json
}

# same_as_pack TREE: the forecast of every page size is the size of the pack, to the byte.
same_as_pack() {
    local page want
    audit_json -l 0 "$1"
    for page in $PAGE_SIZES; do
        sqlpack pack -qf --no-sync -l 0 --page-size "$page" "$1" exact.db
        want=$(stat -c %s exact.db)
        [ "$(value "pages[] | select(.page_bytes == $page).raw_bytes")" = "$want" ] ||
            { echo "pages of $page: $want, not $(jq -c '[.pages[].raw_bytes]' audit.json)" >&2 &&
                return 1; }
    done
}

# make_files DIR COUNT PERL: files whose sizes an expression tells, of $i and rand.
make_files() {
    mkdir -p "$1"
    perl -e 'srand 7; my ($dir, $count, $size) = @ARGV; my $noise = join "", map { chr rand 256 } 1 .. 262144;
        for my $i (1 .. $count) { my $n = int eval $size; my $at = int rand(262144 - 100000);
            mkdir sprintf "%s/%02x", $dir, $i % 23;
            open my $f, ">", sprintf "%s/%02x/%s%d.dat", $dir, $i % 23, "x" x ($i * 13 % 97), $i or die;
            print $f substr $noise, $at, $n; close $f or die }' "$@"
}

# -- the forecast -------------------------------------------------------------------------------

@test "audit: foretells a pack of five kinds of trees to the byte, at every page size" {
    need jq
    make_files tiny 1500 'rand 60'
    make_files even 300 '8000 + rand 4000'
    make_files skewed 1000 '(1 - rand) ** -1.1 * 300 > 90000 ? 90000 : (1 - rand) ** -1.1 * 300'
    # shellcheck disable=SC2016 # perl expands it
    make_files edges 400 '(1, 477, 478, 1024, 4061, 4096, 16349, 65501, 65502)[$i % 9] + $i % 3'
    make_files large 40 '30000 + rand 70000'
    local tree
    for tree in tiny even skewed edges large; do same_as_pack "$tree"; done
}

@test "audit: foretells packs of real trees to the byte" {
    need jq
    local tree copied=0
    for tree in /usr/include/linux /usr/share/perl5 /usr/share/icons/hicolor /usr/share/zoneinfo; do
        [ -d "$tree" ] && [ "$(du -sm "$tree" | cut -f1)" -lt 40 ] || continue
        copied=$((copied + 1))
        same_as_pack "$tree"
    done
    [ "$copied" -gt 0 ] || skip "no real tree of a fitting size"
}

@test "audit: foretells awkward trees: links, holes, attributes, closed folders, odd names" {
    need jq
    local i
    make_tree tree
    truncate -s 9M tree/sparse
    printf x | dd of=tree/sparse bs=1 seek=5000000 conv=notrunc status=none
    ln tree/sparse tree/sparse2
    # enough of each for pages of their own: pieces between holes, links, folders that come late
    perl -e 'open my $f, ">", "tree/holes" or die;
        for (1 .. 400) { seek $f, $_ * 65536, 0; print $f "x" } close $f or die'
    mkdir -p tree/links/from/here tree/late
    for i in $(seq 200); do
        ln tree/a/b.json "tree/links/from/here/$i"
        mkdir -p "tree/late/$i"
        chmod 500 "tree/late/$i"
    done
    head -c 5000000 /dev/urandom >tree/five
    mkdir -p tree/shut/within && echo x >tree/shut/within/f && chmod 500 tree/shut tree/shut/within
    setfattr -n user.key -v value tree/a/b.json 2>/dev/null || true
    setfattr -n user.long -v "$(printf '%03000d' 0)" tree/five 2>/dev/null || true
    touch -h -d '2 days ago' tree/link tree/five
    mkdir "tree/$(printf '%0200d' 0)"
    seq -f "tree/$(printf '%0200d' 0)/%0150g" 300 | xargs -d '\n' touch
    same_as_pack tree
    mkdir empty
    same_as_pack empty
}

@test "audit: chooses the page size that it foretells best, and min the smallest of all" {
    need jq
    # so few that pack, too, looks at all of them
    make_files tree 300 '(1 - rand) ** -1.1 * 900 > 60000 ? 60000 : (1 - rand) ** -1.1 * 900'
    audit_json -l 0 --page-size min tree
    [ "$(value pack_bytes)" = "$(value 'pages | map(.raw_bytes) | min')" ]
    audit_json -l 0 tree
    sqlpack pack -q -l 0 tree auto.db
    [ "$(sqlpack info --json auto.db | jq .page_bytes)" = "$(value page_bytes)" ]
    [ "$(stat -c %s auto.db)" = "$(value pack_bytes)" ]
    audit_json -l 0 --page-size 512 tree
    [ "$(value page_bytes)" = 512 ]
}

@test "audit: with compression the truth is within the range, from a sample too" {
    need jq
    mkdir -p tree/text tree/noise
    local i
    for i in $(seq 120); do
        seq "$i" $((i * 37 + 200)) >"tree/text/$i.txt"
        head -c $((i * 150)) /dev/urandom >"tree/noise/$i.bin"
    done
    local sample page
    for page in 4096 16384; do
        sqlpack pack -qf --page-size $page tree t.db
        for sample in 100% 30% 60; do
            audit_json --sample "$sample" --page-size $page tree
            jq -e --argjson real "$(stat -c %s t.db)" --argjson page $page \
                '[.pages[] | select(.page_bytes == $page)][0].error_bytes as $error |
                (.pack_bytes - $real | fabs) <= $error + $page' audit.json >/dev/null ||
                { echo "$page, $sample: $(value pack_bytes), not $(stat -c %s t.db)" >&2 && return 1; }
        done
    done
    [ "$(value sample_count)" = 60 ]
    [ "$(value stored_bytes)" -lt "$(value content_bytes)" ]
}

@test "audit: holes are not compressed: neither leading, trailing, between nor alone" {
    need jq
    local i kind page
    for kind in lead trail all between noise; do
        mkdir "$kind"
        for i in $(seq 20); do
            seq "$i" $((i * 150)) >"$kind/$i.txt"
            head -c 6000 /dev/urandom >"$kind/$i.bin"
        done
    done
    truncate -s 3M lead/h.txt && seq 40000 >>lead/h.txt
    seq 40000 >trail/h.txt && truncate -s 40M trail/h.txt
    truncate -s 3M all/h.txt && truncate -s 5000 all/h
    perl -e 'srand 1; my $noise = join "", map { chr rand 256 } 1 .. 60000;
        for my $k (1 .. 6) { open my $f, ">", "between/$k" or die;
            for (1 .. 300) { seek $f, $_ * 65536 + $k * 1048576, 0; print $f "text $_ " x (500 + $k * 1000) }
            close $f or die }
        open my $f, ">", "noise/n" or die;
        for (1 .. 200) { seek $f, $_ * 99 * 4096, 0; print $f $_ % 2 ? $noise : "abc" x 1365 }
        close $f or die'
    for kind in lead trail all between noise; do
        same_as_pack $kind
        for page in 1024 4096 16384; do
            sqlpack pack -qf --no-sync --page-size $page $kind t.db
            audit_json --sample 100% --page-size $page $kind
            jq -e --argjson real "$(stat -c %s t.db)" --argjson page $page \
                '(.pages[] | select(.page_bytes == $page).error_bytes) as $error |
                (.pack_bytes - $real | fabs) <= $error and $error <= .pack_bytes / 2' audit.json ||
                { echo "$kind, $page: $(value pack_bytes), not $(stat -c %s t.db)" >&2 && return 1; }
        done
    done
}

# -- what is there ------------------------------------------------------------------------------

@test "audit: figures are those of du and stat, each file once" {
    need jq
    make_tree tree
    mkdir other
    ln tree/a/zeros other/zeros
    sync -f tree
    audit_json tree
    [ "$(value tree_allocated_bytes)" = "$(du -sB1 tree | cut -f1)" ]
    [ "$(value file_count)" = 10 ]
    [ "$(value hard_link_count)" = 1 ]
    [ "$(value symlink_count)" = 2 ]
    [ "$(value special_count)" = 1 ]
    [ "$(value folder_count)" = "$(find tree -mindepth 1 -type d -printf x | wc -c)" ]
    [ "$(value content_bytes)" = "$(find tree -type f ! -name 'hard link' -printf '%s\n' |
        awk '{ s += $1 } END { print s }')" ]
    [ "$(value 'classes | map(.content_bytes) | add')" = "$(value content_bytes)" ]
    [ "$(value outside_count)" = 1 ]
    [ "$(value outside_allocated_bytes)" = "$(($(stat -c %b tree/a/zeros) * 512))" ]
    # content and padding, less what is not in blocks, is what files take
    jq -e '.content_bytes + .padding_bytes - .hole_bytes - .thin_bytes == .file_allocated_bytes' \
        audit.json
    [ "$(value empty_count)" = 1 ]
    # pack tells the same
    sqlpack pack --json tree t.db >pack.json
    local key
    for key in file_count folder_count symlink_count special_count hard_link_count content_bytes \
        tree_allocated_bytes; do
        [ "$(value $key)" = "$(value $key pack.json)" ]
    done
    [ "$(value inode_count)" = "$(value tree_inode_count pack.json)" ]
    [ "$(value freed_inode_count)" = "$(($(find tree -printf '%i\n' | sort -u | wc -l) - 2))" ]
}

@test "audit: folders and suffixes of most padding, wide folders, other blocks" {
    need jq
    mkdir -p tree/one tree/two tree/empty
    seq -f 'tree/one/%g.A' 50 | xargs touch
    local i
    for i in $(seq 5); do printf x >"tree/two/$i.txt"; done
    printf x >tree/one/x.a
    sync -f tree
    audit_json --top 1 --what-if 512,64K tree
    [ "$(value 'folders | length')" = 1 ]
    [ "$(value 'folders[0].name')" = two ]
    [ "$(value 'suffixes[0].name')" = .txt ]
    [ "$(value 'suffixes[0].file_count')" = 5 ]
    # 6 files and 4 folders, a block each; the folder with 51 names has two blocks of 512
    [ "$(value 'blocks[1].tree_bytes')" = $((10 * 65536)) ]
    [ "$(value 'blocks[0].tree_bytes')" = $((6 * 512 + 3 * 512 + 1024)) ]
    audit_json tree
    [ "$(value 'suffixes[] | select(.name == ".a").file_count')" = 51 ]
    [ "$(value 'wide | length')" = 0 ]
}

@test "audit: a folder with more than 100,000 names is named" {
    need jq
    mkdir tree tree/wide
    (cd tree/wide && seq 100001 | xargs touch)
    audit_json -l 0 tree
    [ "$(value 'wide[0].name')" = wide ]
    [ "$(value 'wide[0].file_count')" = 100001 ]
    run_ok sqlpack audit -l 0 tree
    [[ $output == *'more than 100,000 names'*'100,001'*'wide'* ]]
}

@test "audit: equal contents are found, whatever their names" {
    need jq
    mkdir tree
    seq 5000 >tree/a
    cp tree/a tree/b
    cp tree/a tree/c
    ln tree/a tree/again
    seq 2 5001 | head -c "$(stat -c %s tree/a)" >tree/same-size
    printf z | tee tree/z1 >tree/z2
    audit_json --duplicates tree
    [ "$(value duplicate_count)" = 3 ]
    [ "$(value 'duplicates | length')" = 2 ]
    [ "$(value 'duplicates[0].name')" = a ]
    [ "$(value 'duplicates[0].file_count')" = 3 ]
    [ "$(value duplicate_content_bytes)" = $((2 * $(stat -c %s tree/a) + 1)) ]
}

@test "audit: what is left out is not counted" {
    need jq
    make_tree tree
    audit_json --max-file 100K -x a/b tree
    [ "$(value skipped_count)" = 1 ]
    [ "$(value skipped_bytes)" = 300000 ]
    sqlpack pack -q -l 0 --page-size 4096 --max-file 100K -x a/b tree t.db
    [ "$(value 'pages[3].raw_bytes')" = "$(stat -c %s t.db)" ]
    audit_json --no-xattrs -l 0 tree
    sqlpack pack -qf -l 0 --page-size 4096 --no-xattrs tree t.db
    [ "$(value 'pages[3].raw_bytes')" = "$(stat -c %s t.db)" ]
}

# -- bad input ----------------------------------------------------------------------------------

@test "audit: what cannot be read is named, and figures are lower bounds" {
    need jq setpriv
    mkdir tree tree/shut
    echo x >tree/open
    echo x >tree/closed
    echo x >tree/shut/f
    chmod 000 tree/closed tree/shut
    chmod 777 . tree
    run --separate-stderr as_nobody "$(command -v sqlpack)" audit --json -l 0 tree
    [ "$status" -eq 1 ] || skip "nobody cannot run sqlpack here"
    printf '%s\n' "$output" >audit.json
    [[ $stderr == *"'closed'"*'Permission denied'* ]]
    [[ $stderr == *"'shut'"*'Permission denied'* ]]
    [ "$(value loss_count)" = 2 ]
    [[ "$(value 'caveats[0]')" == *'lower bounds'* ]]
    # the pack would have the losses too
    as_nobody "$(command -v sqlpack)" pack -q -l 0 --page-size 1024 tree t.db 2>/dev/null || true
    [ "$(value 'pages[1].raw_bytes')" = "$(stat -c %s t.db)" ]
}

@test "audit: neither a folder nor a pack" {
    echo x >file
    mkfifo fifo
    run_fails 4 sqlpack audit file
    run_fails 4 timeout 10 sqlpack audit fifo
    run_fails 2 sqlpack audit .  .
    run_fails 2 sqlpack audit --html p.html file
    run_fails 2 sqlpack audit --sample 0 .
    run_fails 2 sqlpack audit --sample x% .
    run_fails 2 sqlpack audit --what-if 0 .
    run_fails 2 sqlpack audit --page-size 3000 .
    run --separate-stderr sqlpack audit none
    [ "$status" -ge 2 ] && [[ $stderr == *"'none'"* ]]
}

@test "audit: 10,000 levels, /proc, an empty tree: it ends with an answer" {
    need jq
    perl -e 'mkdir "deep"; chdir "deep"; for (1 .. 10000) { mkdir "d"; chdir "d" } open my $f, ">", "f"'
    audit_json deep
    [ "$(value folder_count)" = 10000 ]
    rm -rf deep
    mkdir void
    run_ok sqlpack audit void
    run grep -iwE -e '-?nan|-?inf' <<<"$output"
    [ "$status" -eq 1 ]
    run timeout 50 sqlpack audit -q -l 0 /proc/self
    [ "$status" -le 1 ]
}

# -- what the move frees, on file systems of many kinds -------------------------------------------

# on_image SIZE MKFS...: a file system of its own in the folder mnt; skips where that is not possible.
on_image() {
    need_root
    local size=$1
    shift
    need "$1"
    truncate -s "$size" image
    "$@" image >/dev/null 2>&1 || skip "$1 makes no file system here"
    mkdir -p mnt
    mount -o loop image mnt 2>/dev/null || skip "no loop devices here"
}

teardown() {
    umount "$BATS_TEST_TMPDIR/here/mnt" 2>/dev/null || true
    rm -f "$BATS_TEST_TMPDIR/here/image"
    chmod -R u+rwX -- "$BATS_TEST_TMPDIR" 2>/dev/null || true
}

free_bytes() {
    sync -f mnt
    sync -f mnt
    stat -f -c '%f %S' mnt | awk '{ print $1 * $2 }'
}

# frees_as_foretold [AUDIT-OPTION...]: packs mnt/tree, deletes it, and finds what came back inside
# the range that audit told.
frees_as_foretold() {
    make_files mnt/tree 1200 '(1 - rand) ** -1.1 * 700 > 60000 ? 60000 : (1 - rand) ** -1.1 * 700'
    make_files mnt/tree/tiny 300 'rand 150'
    ln -s target mnt/tree/link
    sync -f mnt
    [ "$(sqlpack audit --json -l 0 mnt/tree | jq .tree_allocated_bytes)" = "$(du -sB1 mnt/tree | cut -f1)" ]
    audit_json "$@" mnt/tree
    local before after
    before=$(free_bytes)
    sqlpack pack -q -l "${level:-0}" --page-size "$(value page_bytes)" mnt/tree mnt/t.db
    rm -rf mnt/tree
    after=$(free_bytes)
    jq -e --argjson freed $((after - before)) '.freed_low <= $freed and $freed <= .freed_high' \
        audit.json || { echo "freed $((after - before)), foretold $(value freed_low) to" \
        "$(value freed_high), tree $(value tree_allocated_bytes)" >&2 && return 1; }
}

@test "audit: ext4 with blocks of 4K frees what was foretold, in a range below 2 %" {
    need jq
    on_image 96M mkfs.ext4 -q -b 4096
    frees_as_foretold -l 0
    jq -e '(.freed_high - .freed_low) <= 0.02 * .tree_allocated_bytes' audit.json
    [ "$(value file_system)" = ext4 ]
}

@test "audit: ext4 with blocks of 1K" {
    need jq
    on_image 96M mkfs.ext4 -q -b 1024 -N 8192
    frees_as_foretold -l 0
    jq -e '(.freed_high - .freed_low) <= 0.02 * .tree_allocated_bytes' audit.json
}

@test "audit: ext4 with files in their inodes" {
    need jq
    on_image 96M mkfs.ext4 -q -I 256 -O inline_data
    frees_as_foretold -l 0
    [ "$(value inline_count)" -gt 100 ]
}

@test "audit: xfs frees what was foretold" {
    need jq
    on_image 300M mkfs.xfs -q
    frees_as_foretold -l 0
    [ "$(value file_system)" = xfs ]
}

@test "audit: btrfs frees what was foretold" {
    need jq
    on_image 256M mkfs.btrfs -q
    frees_as_foretold -l 0
    [ "$(value file_system)" = btrfs ]
}

@test "audit: tmpfs frees what was foretold, compressed too" {
    need_root
    need jq
    mkdir mnt
    mount -t tmpfs -o size=96M tmpfs mnt 2>/dev/null || skip "no tmpfs can be mounted here"
    level=6 frees_as_foretold --sample 100%
    [ "$(value file_system)" = tmpfs ]
}

@test "audit: --verify-freed tries it, and leaves nothing behind" {
    need jq
    on_image 96M mkfs.ext4 -q -b 4096
    make_files mnt/tree 500 'rand 9000'
    audit_json -l 0 --verify-freed mnt/tree
    jq -e '.tried_low <= .tried_bytes and .tried_bytes <= .tried_high and .tried_bytes > 0' audit.json
    [ "$(ls -A mnt)" = "lost+found
tree" ]
    run_ok sqlpack audit -l 0 --verify-freed mnt/tree
    [[ $output == *'within the range'* ]]
    dd if=/dev/zero of=mnt/fill bs=1M count=200 2>/dev/null || true
    run_fails 3 sqlpack audit -l 0 --verify-freed mnt/tree
    [[ $stderr == *'no room'* ]]
}

# -- reports ------------------------------------------------------------------------------------

@test "audit: the report fits 80 columns" {
    make_tree tree
    rm "tree/"$'not utf8 \xff\xfe'
    run_ok sqlpack audit --duplicates tree
    [ -z "$(awk 'length > 79' <<<"$output")" ] || { awk 'length > 79' <<<"$output" >&2 && return 1; }
    [[ $output == *'padding'*'as a pack'*'saved'*'page sizes'* ]]
}

@test "audit: the page is whole, and shows names as text" {
    mkdir -p 'tree/<b>&"'
    printf x >'tree/<b>&"/<script>.<i>'
    run_ok sqlpack audit -q --html page.html tree
    [ -z "$output" ]
    grep -q '&lt;b&gt;&amp;' page.html
    run grep -ciE '<script|http:|https:|<b>&' page.html
    [ "$output" = 0 ]
    tail -n 1 page.html | grep -qx '</html>'
    run_fails 3 sqlpack audit -q --html none/page.html tree
}

@test "audit: of a pack, all parts are the whole, and the forecast is told" {
    need jq sqlite3
    make_tree tree
    make_files tree/more 400 'rand 9000'
    sqlpack pack -q --page-size 1024 tree t.db
    audit_json t.db
    jq -e '.stored_bytes + .metadata_bytes + .name_bytes + .format_bytes + .unused_bytes +
        .free_bytes == .pack_bytes' audit.json
    jq -e '([.tables[].page_count] | add) * .page_bytes + .free_bytes == .pack_bytes' audit.json
    [ "$(value 'tables[] | select(.name == "sqlar").row_count')" = "$(sqlite3 t.db 'SELECT count(*) FROM sqlar')" ]
    audit_json t.db tree
    jq -e '(.forecast_bytes - .pack_bytes | fabs) <= .forecast_error_bytes + 4096' audit.json
    run_ok sqlpack audit t.db tree
    [[ $output == *'foretold'* ]]
    # SQLite's own count of pages, where its library has it
    sqlite3 t.db "SELECT name, count(*), sum(unused) FROM dbstat GROUP BY name ORDER BY name" \
        >dbstat 2>/dev/null || skip "this sqlite3 has no dbstat"
    diff dbstat <(jq -r '.tables | sort_by(.name)[] | "\(.name)|\(.page_count)|\(.unused_bytes)"' audit.json)
}

@test "audit: a pack with free pages, of another program, damaged" {
    need jq sqlite3
    make_files tree 300 'rand 9000'
    sqlpack pack -q --page-size 1024 tree t.db
    sqlite3 t.db 'DELETE FROM sqlar WHERE id % 3 = 0'
    audit_json t.db
    [ "$(value free_bytes)" -gt 100000 ]
    jq -e '([.tables[].page_count] | add) * .page_bytes + .free_bytes == .pack_bytes' audit.json
    (cd tree && sqlite3 ../a.db -Ac .)
    audit_json a.db
    [ "$(value 'tables | length')" = 3 ]
    [ "$(value name_bytes)" -gt 1000 ]
    cp t.db bad.db
    flip_byte bad.db $((20 * 1024))
    run sqlpack audit bad.db
    [ "$status" -eq 4 ] || [ "$status" -eq 0 ]
}
