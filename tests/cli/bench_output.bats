#!/usr/bin/env bats
# sqlpack bench: what it prints and writes, from results that need no measuring.

load helper

# make_result FILE [JQ]: a result in JSON with made-up times; JQ changes it. Random reads warm and
# cold, full reads; the pack takes 10 us an operation, files 19 us, in eleven rounds.
make_result() {
    jq -n '
        def run(us): {is_done: true, is_proven: true, op_count: 100000,
            elapsed_ns: (us * 100000000 | round), bytes: 1000000000};
        def series(name; side; us): {label: name, side: side, layout: "asis", published: "",
            missing: "", runs: [range(11) | run(us + . / 100)],
            summary: {round_count: 11, median_us: us, min_us: us, max_us: us, mad_us: 0.01,
                cv: 0.01, p50_us: us, p90_us: us, p99_us: (2 * us), p999_us: -1, max_op_us: 99,
                bytes_per_second: 1000000000},
            hist: {count: 110, sum: 110000, min: 500, max: 2000, bucket_ns: [502, 1004, 2008],
                bucket_count: [10, 90, 10]}};
        def effect(pair; ratio; words): {pair: pair, files: 0, pack: 1, round_count: 11,
            ratio: ratio, interval_low: (ratio * 0.99), interval_high: (ratio * 1.01),
            interval_coverage: 0.98828125, verdict: words};
        def question(workload; state): {workload: workload, state: state, durability: "",
            threads: 1, wanted_ops: 1000, round_count: 11, verdict: "pack faster",
            series: [series("F-path"; "files"; 19), series("S-naive"; "pack"; 10)],
            effects: [effect("drop-in"; 1.9; "pack faster")]};
        {schema: "sqlpack-bench/1", preset: "default", use: "mixed", seed: 7, round_count: 11,
         started: 1796000000, ended: 1796000100, clock_ns: 25, overhead_ns: 30,
         advice: "MIGRATE", reason: "SPACE 29.9 to 30.0 % freed",
         environment: {processor: "A <processor>", processor_count: 2, kernel: "Linux 6.1",
            file_system: "ext4", sqlite_version: "3.40.1", memory_total_bytes: 4294967296},
         corpus: {file_count: 1000, bytes: 10000000, tree_allocated_bytes: 14000000,
            folder_allocated_bytes: 4096, pack_bytes: 10500000, pack_allocated_bytes: 10500000,
            page_bytes: 4096, size_min: 1, size_p50: 10000, size_max: 20000},
         lines: [{is_known: true, verdict: "no verdict", text: "frees a lot"},
            {is_known: true, verdict: "pack faster", text: "pack faster x1.90"}],
         notes: ["a note"],
         cases: [question("random read"; "warm"), question("random read"; "data cold"),
            question("full read"; "warm")]}' | jq -c "${2:-.}" >"$1"
}

@test "bench: a result is printed within 80 columns, with every case, caveat and the advice" {
    need jq
    make_result r.json
    run_ok sqlpack bench --replot r.json
    [[ $output == *"files    1,000, 9.5 MiB; sizes 1 B to 19.5 KiB, median 9.8 KiB"* ]]
    [[ $output == *$'\nrandom read, data cold\n'* ]]
    [[ $output == *"  F-path   19.0 us  38.0 us  953.7 MiB/s"* ]]
    [[ $output == *"  drop-in  F-path/S-naive   1.90  1.88-1.92  pack faster x1.90"* ]]
    [[ $output == *$'\nSPACE             frees a lot\n'* ]]
    [[ $output == *$'\nRANDOM READ warm  pack faster x1.90\n'* ]]
    [[ $output == *$'\nTHREADS           not measured\n'* ]]
    [[ $output == *$'\n-   a note\n'* ]]
    [[ ${lines[-1]} == "MIGRATE: SPACE 29.9 to 30.0 % freed" ]]
    [ "$(awk 'length > 80' <<<"$output")" = "" ]
    run_ok sqlpack bench --replot r.json -q
    [ -z "$output" ]
}

@test "bench: a terminal gets bars, still within 80 columns" {
    need jq script
    make_result r.json '.cases[2].series[1].label = "a label that takes nearly all the columns"'
    script -qc "sqlpack bench --replot r.json" /dev/null | tr -d '\r' >got
    grep -qE '^  F-path .* 0%  #{20}$' got
    grep -qE '^  S-naive .* 0%  #{11}$' got
    [ "$(grep -c '##' got)" = 4 ]
    # no bar fits beside the long label
    run grep 'a label .*#' got
    [ "$status" -eq 1 ]
    sed '/^full read/,/^keep/d' got >narrow
    [ "$(awk 'length > 80' narrow)" = "" ]
}

@test "bench: what is too short, unproven, missing or drifting is marked" {
    need jq
    make_result r.json '.cases[0].series[0].summary.is_too_short = true |
        .cases[0].series[1].runs[3].is_proven = false |
        .cases[1].missing = "tmpfs is memory" |
        .cases[2].series[1] += {runs: [], missing: "no io_uring here"} |
        .cases[2].series[0].summary.has_drift = true | .cases[2].series[0].summary.outlier_count = 3'
    run_ok sqlpack bench -v --replot r.json
    [[ $output == *"  F-path   19.0 us+ "* ]]
    [[ $output == *"  S-naive  10.0 us? "* ]]
    [[ $output == *$'data cold\n  not measured: tmpfs is memory\n'* ]]
    [[ $output == *"S-naive: no io_uring here"* ]]
    grep -qE '^  F-path .* 3  yes$' <<<"$output"
    grep -qE '^A/A +not known$' <<<"$output"
}

@test "bench: JSON goes in and comes out as it was" {
    need jq
    make_result r.json
    run_ok sqlpack bench --replot r.json --json two.json
    run_ok sqlpack bench --replot two.json --json three.json
    cmp two.json three.json
    # what went in stands there, numbers to six decimals
    jq -n --slurpfile in r.json --slurpfile out two.json '
        [$in[0] | paths(scalars)][] as $p | ($in[0] | getpath($p)) as $a |
        ($out[0] | getpath($p)) as $b | select($a != $b and (($a | type) != "number" or
            ($a - $b | fabs) > 0.000001)) | [$p, $a, $b]' -c >lost
    [ ! -s lost ] || { cat lost >&2 && return 1; }
}

@test "bench: JSON is strict where numbers are not finite" {
    need jq python3
    make_result r.json '.cases[0].effects[0].interval_low = null'
    run_ok sqlpack bench --replot r.json --json out.json
    jq -e '.cases[0].effects[0].interval_low == null' out.json
    python3 -c 'import json,sys; json.load(open("out.json"), parse_constant=lambda c: sys.exit(1))'
    run_ok sqlpack bench --replot out.json
    grep -qE '^  drop-in .* 1.90 +-  pack faster' <<<"$output"
}

@test "bench: CSV has a line a run, and a quoted label" {
    need jq python3
    make_result r.json '.cases[0].series[0].label = "a \"b\", c"'
    run_ok sqlpack bench -q --replot r.json --csv out.csv
    python3 - <<'PY'
import csv
rows = list(csv.DictReader(open("out.csv")))
assert len(rows) == 3 * 2 * 12, len(rows)
assert all(None not in row and None not in row.values() for row in rows)
assert rows[0]["label"] == 'a "b", c' and rows[0]["round"] == "0" and rows[1]["round"] == "1"
assert rows[1]["elapsed_ns"] == "1900000000" and rows[1]["is_proven"] == "1"
PY
}

@test "bench: the HTML page is one file, well formed, with its charts" {
    need jq python3
    make_result r.json '.cases[0].series[0].label = "<script>alert(1)</script>" |
        .corpus.choices = [{page_bytes: 4096, entry_bytes: 10400, read_us: 4, read_pages: 3}] |
        .corpus.entry_count = 1000'
    run_ok sqlpack bench -q --replot r.json --html out.html
    python3 - <<'PY'
import html.parser, re
page = open("out.html", encoding="utf-8").read()
stack = []
class Check(html.parser.HTMLParser):
    def handle_starttag(self, tag, attrs):
        if tag not in ("meta", "br", "link"):
            stack.append(tag)
    def handle_startendtag(self, tag, attrs):
        pass
    def handle_endtag(self, tag):
        assert stack.pop() == tag, tag
Check().feed(page)
assert not stack, stack
assert "<script" not in page and "&lt;script&gt;" in page
assert not re.search(r'(src|href)\s*=', page) and "url(" not in page and "@import" not in page
assert page.count("<svg") >= 8, page.count("<svg")  # ratios, two a case, bars
for text in ("MIGRATE", "random read, data cold", "A &lt;processor&gt;", "4.0 KiB pages", "a note"):
    assert text in page, text
PY
}

@test "bench: a verdict that is withheld says why; --strict makes it the exit status" {
    need jq
    make_result r.json '.advice = "VERDICT WITHHELD" | .reason = "load: 4 at the start" |
        .gates = [{outcome: "passed"}, {outcome: "passed"}, {outcome: "not known"},
            {outcome: "failed", detail: "4 at the start"}]'
    run_ok sqlpack bench --replot r.json
    [[ ${lines[-1]} == "VERDICT WITHHELD: load: 4 at the start" ]]
    [[ $output == *"pack faster x1.90"* ]]
    run_ok sqlpack bench -v --replot r.json
    [[ $output == *"load              failed: 4 at the start"* ]]
    run sqlpack bench --strict --replot r.json
    [ "$status" -eq 3 ]
    [[ $output == *"VERDICT WITHHELD"* ]]
    make_result fine.json
    run_ok sqlpack bench -q --strict --replot fine.json
}

@test "bench: the published figures of kvtest stand beside this machine's" {
    need jq
    make_result r.json '.preset = "kvtest" | .cases = [.cases[0]] | .cases[0] |= (
        .workload = "kvtest read" | .series[0].label = "(direct file access)" |
        .series[0].published = "direct" | .series[1].label = "--mmap 1G --blob-api --random" |
        .series[1].published = "mmap blob random" | .effects[0].pair = "row")'
    run_ok sqlpack bench --replot r.json
    grep -qE '^  kvtest arguments +Win7 +Win10 +MacPro +Ubuntu +Android +here$' <<<"$output"
    grep -qE '^  \(direct file access\) +100 +46.0 +7.90 +3.20 +145 +19.0$' <<<"$output"
    grep -qE '^  --mmap 1G --blob-api --random +13.0 +4.40 +4.70 +2.20 +78.0 +10.0$' <<<"$output"
    [ "$(awk 'length > 80' <<<"$output")" = "" ]
}

@test "bench: the published seconds of the CSV benchmark stand beside this machine's" {
    need jq
    make_result r.json '.preset = "csv" | .cases = [.cases[0]] | .cases[0] |= (
        .workload = "filtered query" | .state = "warm" | .series[0].label = "CSV file" |
        .series[0].published = "CSV file" | .series[1].label = "SQLite" |
        .series[1].published = "SQLite" | .series[0].summary.median_us = 20000)'
    run_ok sqlpack bench --replot r.json
    grep -qE '^  filtered query +CSV file +0.0188 +0.0200$' <<<"$output"
    grep -qE '^  filtered query +SQLite +0.0028 +0.0000$' <<<"$output"
    sqlpack bench -q --replot r.json --html out.html
    grep -q '>filtered query</th><td>CSV file</td><td>0.0188</td><td>0.0200</td>' out.html
}

@test "bench: the CSV benchmark's write, which nobody published, is no zero" {
    need jq
    make_result r.json '.preset = "csv" | .cases = [.cases[0]] | .cases[0] |= (
        .workload = "sequential write" | .state = "" | .series[0].label = "CSV file" |
        .series[0].published = "CSV file" | .series[1].label = "SQLite" |
        .series[1].published = "SQLite" | .series[0].summary.median_us = 20000 |
        .series[1] += {runs: [], missing: "no room"})'
    run_ok sqlpack bench --replot r.json
    [[ $output == *"published (of 100,000; none for the write) and here"* ]]
    grep -qE '^  sequential write +CSV file +- +0.0200$' <<<"$output"
    grep -qE '^  sequential write +SQLite +- +-$' <<<"$output"
    sqlpack bench -q --replot r.json --html out.html
    grep -q '>sequential write</th><td>CSV file</td><td>not published</td><td>0.0200</td>' out.html
    grep -q '>sequential write</th><td>SQLite</td><td>not published</td><td>-</td>' out.html
}

@test "bench: two results are compared case by case" {
    need jq
    make_result a.json
    make_result b.json '.environment.kernel = "Linux 6.5" |
        .cases[0].series[1].runs[].elapsed_ns |= . * 2 |
        .cases[1].series[1].runs[].elapsed_ns |= (. / 2 | round) |
        .cases[2].series[1].runs[].elapsed_ns |= (. * 1.01 | round) |
        .cases[0].effects[0] += {ratio: 0.95, verdict: "inconclusive"}'
    run_ok sqlpack bench --compare a.json b.json
    grep -qE '^  kernel +Linux 6.1 +Linux 6.5$' <<<"$output"
    grep -qE '^  S-naive .* 2.00 +1.99-2.01 +slower$' <<<"$output"
    grep -qE '^  S-naive .* 0.50 +0.50-0.50 +faster$' <<<"$output"
    grep -qE '^  S-naive .* 1.01 +1.01-1.01 +no practical difference$' <<<"$output"
    grep -qE '^  drop-in +pack faster x1.90 +inconclusive, try --rounds 22 +changed' <<<"$output"
    run_ok sqlpack bench --compare a.json a.json
    [[ $output != *changed* && $output != *kernel* ]]
}

# refuses TEXT JQ: a result changed so is refused with that text; exit status 2.
refuses() {
    make_result bad.json "$2"
    run_fails 2 sqlpack bench --replot bad.json
    [[ $stderr == "sqlpack bench: cannot read 'bad.json': "*"$1"* ]] ||
        { printf 'want %s, got %s\n' "$1" "$stderr" >&2 && return 1; }
}

@test "bench: JSON that is none of ours is refused" {
    need jq
    refuses "no result of sqlpack bench" '.schema = "sqlpack-bench/2"'
    refuses "no result of sqlpack bench" 'del(.schema)'
    refuses "it is no object" '[.]'
    refuses "it is no object" '"sqlpack-bench/1"'
    refuses "'round_count' has no fitting value" '.round_count = -1'
    refuses "'round_count' has no fitting value" '.round_count = 1.5'
    refuses "'round_count' has no fitting value" '.round_count = "11"'
    refuses "too many rounds" '.cases[0].round_count = 1000000000000'
    refuses "'workload' has no fitting value" '.cases[0].workload = "mining"'
    refuses "'is_done' has no fitting value" '.cases[0].series[0].runs[0].is_done = 1'
    refuses "'digest' has no fitting value" '.corpus.digest = "0g"'
    refuses "'label' has no fitting value" '.cases[0].series[0].label = 5'
    refuses "an effect compares what is not there" '.cases[0].effects[0].pack = 2'
    refuses "'pack' has no fitting value" '.cases[0].effects[0].pack = -1'
    refuses "its histogram is none" '.cases[0].series[0].hist.bucket_count += [1]'
    refuses "its histogram is none" '.cases[0].series[0].hist.bucket_ns = [range(3000)]'
    refuses "more than a bench ever does" '.cases[0].series[0].runs = [range(1000) | {}]'
    refuses "more than a bench ever does" '.cases = [range(1001) | {}]'
    refuses "more than a bench ever does" '.notes = [range(1001) | "n"]'
    refuses "'side' is none" '.cases[0].series[0].side = "left"'
}

@test "bench: a file that is no JSON is refused" {
    local i
    : >bad.json
    run_fails 2 sqlpack bench --replot bad.json
    for i in '{' '{"schema":"sqlpack-bench/1",' '{"schema":NaN}' $'\xff\xfe' $'{"a":"\x01' ']['; do
        printf '%s' "$i" >bad.json
        run_fails 2 sqlpack bench --replot bad.json
    done
    head -c 100000 /dev/urandom >bad.json
    run_fails 2 sqlpack bench --replot bad.json
    yes '[' | head -n 100000 >bad.json
    run_fails 2 sqlpack bench --replot bad.json
    run_fails 3 sqlpack bench --replot .
    run_fails 2 sqlpack bench --replot none.json
}

@test "bench: names with control bytes do not reach the terminal" {
    need jq
    make_result r.json '.environment.device = "\u001b[31mred" | .cases[0].series[0].label = "a\u001b[2Jb" |
        .notes = ["\u0007"] | .lines[0].text = "x\u001b]0;y" | .reason = "\u009b1m"'
    run sqlpack bench --replot r.json
    [ "$status" -eq 0 ]
    run grep $'[\x01-\x08\x0b-\x1f\x7f]' <<<"$output"
    [ "$status" -eq 1 ]
}

@test "bench: files that cannot be written are told" {
    need jq
    make_result r.json
    for file in --html=none/out.html --csv=none/out.csv; do
        run_fails 2 sqlpack bench -q --replot r.json "$file"
        [[ $stderr == "sqlpack bench: cannot write '${file#*=}': No such file or directory" ]]
    done
    run_fails 2 sqlpack bench -q --replot r.json --json none/out.json
    mkdir folder
    run_fails 3 sqlpack bench -q --replot r.json --csv folder
    run_fails 2 sqlpack bench --replot r.json tree
}

@test "bench: every caveat is explained in sqlpack(1)" {
    need jq
    local caveat
    make_result r.json
    sqlpack bench --replot r.json --json | jq -r '.caveats[]' >caveats
    [ "$(wc -l <caveats)" -ge 10 ]
    sed -n '/^\.Ss bench$/,/^\.Ss help/p' "$ROOT/man/sqlpack.1" | tr '\n' ' ' >section
    while read -r caveat; do
        grep -qF ".It $caveat " section || { echo "not in sqlpack(1): $caveat" >&2 && return 1; }
    done <caveats
}
