/* SPDX-License-Identifier: MIT */
/* Tests of cli/opt: one table parses, prints its help, lists itself; name lists are read exactly.
 */
#include <fcntl.h>
#include <unistd.h>

#include "cli/notice.h"
#include "cli/opt.h"
#include "tap.h"

/* What one command line left behind. */
struct result {
    bool flag, other;
    const char *text;
    int64_t number;
    uint64_t bytes;
    double percent;
    int choice;
    struct opt_list list;
    struct opt_common common;
    int first, status;
    char out[8192], err[2048]; /* what was printed */
};

static const char *const colours[] = {"red", "green", NULL};

/* Reads back a file that stood in for a standard stream. */
static void collect(FILE *file, char *ret_text, size_t size)
{
    rewind(file);
    size_t n = fread(ret_text, 1, size - 1, file);
    ret_text[n] = '\0';
    fclose(file);
}

/* Points a standard stream to a temporary file; returns what to restore it from. */
static int divert(int fd, FILE **ret_file)
{
    int saved = dup(fd);
    *ret_file = tmpfile();
    need(saved >= 0 && *ret_file && dup2(fileno(*ret_file), fd) == fd);
    return saved;
}

static void restore(int fd, int saved)
{
    need(dup2(saved, fd) == fd);
    close(saved);
}

static const struct command demo = {
    .name = "demo",
    .arguments = "PACK [PATH...]",
    .summary = "show how options are parsed",
    .details = "Details are printed as they are.\n",
};

static void parse_as(const struct command *command, struct result *result, int argc, char **argv)
{
    const struct opt opts[] = {
        OPT_HEAD("Options:"),
        OPT_FLAG('f', "flag", &result->flag, "set the flag"),
        OPT_FLAG(0, "other", &result->other, "set the other flag"),
        OPT_TEXT('t', "text", "TEXT", &result->text, "a text"),
        OPT_NUMBER('n', "number", "N", &result->number, 0, 12, "a number"),
        OPT_BYTES(0, "bytes", "SIZE", &result->bytes, "a size"),
        OPT_PERCENT(0, "percent", "SHARE", &result->percent, "a share"),
        OPT_LIST('x', "list", "ITEM", &result->list, "one more"),
        OPT_CHOICE(0, "a-rather-long-name-of-an-option", "COLOUR", &result->choice, colours,
                   "a help text that is so long that it does not fit into the line behind the "
                   "option and is wrapped"),
        OPT_COMMON(&result->common),
        OPT_PROGRESS(&result->common),
        OPT_JOBS(&result->common),
        OPT_END,
    };
    fflush(stdout);
    FILE *out;
    FILE *err;
    int saved_out = divert(STDOUT_FILENO, &out);
    int saved_err = divert(STDERR_FILENO, &err);
    result->first = opt_parse(command, opts, argc, argv, &result->status);
    fflush(stdout);
    fflush(stderr);
    restore(STDOUT_FILENO, saved_out);
    restore(STDERR_FILENO, saved_err);
    collect(out, result->out, sizeof(result->out));
    collect(err, result->err, sizeof(result->err));
}

/* Parses words that stand in one text, a space between. */
static struct result parse(const struct command *command, const char *line)
{
    static char words[512];
    static char *argv[64];
    int argc = 0;
    struct result result = {0};
    snprintf(words, sizeof(words), "demo %s", line);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    parse_as(command, &result, argc, argv);
    if (result.first >= 0)
        result.text = result.text ? result.text : argv[result.first];
    return result;
}

static void takes_values(void)
{
    struct result r = parse(&demo, "p -f --text=a -n 12 --bytes 4K --percent 5% -x 1 --list=2 -x3 "
                                   "--a-rather-long-name-of-an-option green -j4 --progress never");
    is_int(r.status, 0, "a whole line of options is taken");
    ok(r.flag && !r.other, "flags");
    is_text(r.text, "a", "a text");
    is_int(r.number, 12, "a number");
    is_int(r.bytes, 4096, "a size");
    ok(r.percent == 5, "a share");
    is_int(r.choice, 1, "a choice");
    ok(r.list.count == 3 && strcmp(r.list.items[2], "3") == 0, "a list, in its order");
    ok(r.common.jobs == 4 && r.common.progress == NOTICE_PROGRESS_NEVER, "common options");
    is_text(r.out, "", "nothing is printed");
    opt_list_release(&r.list);
}

static void takes_any_order(void)
{
    struct result r = parse(&demo, "pack -f path --other");
    ok(r.first == 3 && r.flag && r.other, "options between and behind the arguments");
    is_text(r.text, "pack", "the arguments are in their order");
    r = parse(&demo, "-f -- --other -n");
    ok(r.first == 3 && !r.other && strcmp(r.text, "--other") == 0, "'--' ends the options");
    r = parse(&demo, "-");
    ok(r.first == 1 && strcmp(r.text, "-") == 0, "a dash is an argument");
    r = parse(&demo, "-ft- p");
    is_text(r.text, "-", "letters in one word, the last with its value");
}

static void refuses(const char *line, const char *want)
{
    struct result r = parse(&demo, line);
    char message[2048];
    snprintf(message, sizeof(message),
             "sqlpack demo: %s\n  hint: 'sqlpack demo --help' tells the usage\n", want);
    is_int(r.status, 2, "wrong usage ends with 2");
    is_text(r.err, message, line);
    ok(r.first == -1 && !*r.out, "and prints nothing else");
    opt_list_release(&r.list);
}

static void refuses_wrong_usage(void)
{
    refuses("", "missing argument: PACK");
    refuses("-f", "missing argument: PACK");
    refuses("p --flog", "unknown option '--flog'; did you mean --flag?");
    refuses("p --nothing-like-it", "unknown option '--nothing-like-it'");
    refuses("p -fz", "unknown option '-z'");
    refuses("p --flag=1", "--flag takes no value");
    refuses("p --text", "option '--text' needs a value");
    refuses("p -t", "option '-t' needs a value");
    refuses("p -n 13", "--number takes a number from 0 to 12, not '13'");
    refuses("p --number=x\x1b", "--number takes a number from 0 to 12, not 'x\\033'");
    refuses("p --bytes 8k8", "--bytes takes a size such as 4096, 64K or 1.5G, not '8k8'");
    refuses("p --percent 101%", "--percent takes a share from 0% to 100%, not '101%'");
    refuses("p --progress=loud", "--progress takes one of auto, always, never, not 'loud'");
    refuses("p -j 0", "--jobs takes a number from 1 to 1024, not '0'");
}

static void counts_arguments(void)
{
    struct command two = demo;
    two.arguments = "DIR PACK [PATH]";
    is_int(parse(&two, "a").status, 2, "one of two");
    is_int(parse(&two, "a b").status, 0, "two of two");
    is_int(parse(&two, "a b c").status, 0, "one that may be");
    struct result r = parse(&two, "a b c d e");
    ok(r.status == 2 && strstr(r.err, "too many arguments, from 'd' on"), "one too many is named");
    r = parse(&two, "a");
    ok(strstr(r.err, "missing argument: PACK") != NULL, "the missing one is named");
    two.arguments = "PACK PATH...";
    is_int(parse(&two, "a").status, 2, "at least one of many");
    is_int(parse(&two, "a b c d e f").status, 0, "many");
    two.arguments = "";
    is_int(parse(&two, "").status, 0, "none");
    is_int(parse(&two, "a").status, 2, "none wanted");
}

static void prints_help(void)
{
    struct result r = parse(&demo, "--help");
    is_int(r.status, 0, "--help is no failure");
    ok(r.first == -1 && !*r.err, "and ends the command");
    const char *want = "usage: sqlpack demo [OPTION...] PACK [PATH...]\n\n"
                       "show how options are parsed\n\n"
                       "Options:\n"
                       "  -f, --flag                set the flag\n"
                       "      --other               set the other flag\n"
                       "  -t, --text TEXT           a text\n";
    ok(strncmp(r.out, want, strlen(want)) == 0, "usage, summary, options");
    ok(strstr(r.out,
              "\n      --a-rather-long-name-of-an-option COLOUR\n"
              "                            a help text that is so long that it does not fit\n"
              "                            into the line behind the option and is wrapped\n"),
       "long ones are wrapped");
    ok(strstr(r.out, "\n\nDetails are printed as they are.\n"), "the details come last");
    size_t widest = 0;
    for (const char *at = r.out; *at; at += strcspn(at, "\n") + 1)
        widest = strcspn(at, "\n") > widest ? strcspn(at, "\n") : widest;
    ok(widest <= 80, "%zu columns", widest);
    is_text(parse(&demo, "-h").out, r.out, "-h is the same");
    is_text(parse(&demo, "p -f --help").out, r.out, "wherever it stands");
    is_text(parse(&demo, "--version").out, "sqlpack " SQLPACK_VERSION "\n", "--version");
}

static void lists_options(void)
{
    struct result r = parse(&demo, "--list-options");
    const char *want = "-f\t\tset the flag\n"
                       "--flag\t\tset the flag\n"
                       "--other\t\tset the other flag\n"
                       "-t\tTEXT\ta text\n";
    ok(strncmp(r.out, want, strlen(want)) == 0, "a spelling a line, its value, its help");
    ok(strstr(r.out, "\n--a-rather-long-name-of-an-option\tred|green\t"),
       "choices are spelled out");
    ok(strstr(r.out, "\n-h\t\tprint this help\n--help\t"), "with what every command takes");
    ok(!strstr(r.out, "list-options"), "but not itself");
}

/* Writes a list, reads it back and compares; `want` has the names with a '|' behind each. */
static void reads_list(const char *data, size_t size, bool nul, const char *want)
{
    char path[] = "/tmp/opt_test.XXXXXX";
    int fd = mkstemp(path);
    need(fd >= 0 && write(fd, data, size) == (ssize_t)size && close(fd) == 0);
    struct opt_list list = {0};
    char got[256] = "";
    size_t got_bytes = 0;
    is_int(opt_read_names(&demo, path, nul, &list), 0, "a list is read");
    for (size_t i = 0; i < list.count && got_bytes < sizeof(got); i++)
        got_bytes +=
            (size_t)snprintf(got + got_bytes, sizeof(got) - got_bytes, "%s|", list.items[i]);
    is_text(got, want, "its names");
    opt_list_release(&list);
    unlink(path);
}

static void reads_lists(void)
{
    reads_list("", 0, false, "");
    reads_list("a\nb c\n", 6, false, "a|b c|");
    reads_list("a\nb", 3, false, "a|b|");
    reads_list("\n\na\n\n", 5, false, "a|");
    reads_list(" a \r\n#b\n", 8, false, " a \r|#b|");
    reads_list("a\nb\0c", 5, true, "a\nb|c|");
    char path[] = "/tmp/opt_test.XXXXXX";
    int fd = mkstemp(path);
    need(fd >= 0 && write(fd, "a\0b\n", 4) == 4 && close(fd) == 0);
    struct opt_list list = {0};
    FILE *err;
    int saved = divert(STDERR_FILENO, &err);
    int nul = opt_read_names(&demo, path, false, &list);
    int missing = opt_read_names(&demo, "/nowhere/list", false, &list);
    int folder = opt_read_names(&demo, "/", false, &list);
    fflush(stderr);
    restore(STDERR_FILENO, saved);
    char text[1024];
    collect(err, text, sizeof(text));
    is_int(nul, 2, "NUL bytes where lines are expected are refused");
    is_int(missing, 2, "a missing list is wrong usage");
    is_int(folder, 2, "so is a folder");
    ok(strstr(text, "cannot read '/nowhere/list': No such file or directory\n"), "it is named");
    ok(strstr(text, "holds NUL bytes"), "and so is the NUL");
    is_int(list.count, 0, "nothing was added");
    opt_list_release(&list);
    unlink(path);
}

static void reads_a_large_list(void)
{
    FILE *file = fopen("/tmp/opt_test.large", "w");
    need(file);
    for (int i = 0; i < 300000; i++)
        fprintf(file, "folder/name-%d\n", i);
    need(fclose(file) == 0);
    struct opt_list list = {0};
    is_int(opt_read_names(&demo, "/tmp/opt_test.large", false, &list), 0, "a large list is read");
    is_int(list.count, 300000, "all of it");
    is_text(list.count ? list.items[list.count - 1] : NULL, "folder/name-299999", "to the last");
    opt_list_release(&list);
    unlink("/tmp/opt_test.large");
}

int main(void)
{
    unsetenv("POSIXLY_CORRECT");
    takes_values();
    takes_any_order();
    refuses_wrong_usage();
    counts_arguments();
    prints_help();
    lists_options();
    reads_lists();
    reads_a_large_list();
    return done();
}
