/* SPDX-License-Identifier: MIT */
/* One table a command: parses its options, prints --help, answers --list-options. */
#include "cli/opt.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/notice.h"
#include "cli/text.h"
#include "sqlpack.h"
#include "util/auto.h"
#include "util/buf.h"
#include "util/file.h"

#define OPT_MAX      64
#define HELP_COLUMNS 80
#define HELP_INDENT  28 /* where the help texts begin */

const char *const opt_progress_choices[] = {"auto", "always", "never", NULL};

/* What every command takes besides its own table. */
enum built_in { HELP, VERSION, LIST_OPTIONS, BUILT_IN_COUNT };
static const struct opt built_in[BUILT_IN_COUNT] = {
    [HELP] = {.kind = OPT_KIND_FLAG, .letter = 'h', .name = "help", .help = "print this help"},
    [VERSION] = {.kind = OPT_KIND_FLAG, .name = "version", .help = "print the version"},
    [LIST_OPTIONS] = {.kind = OPT_KIND_FLAG, .name = "list-options"}, /* for completions: hidden */
};

/* getopt's codes: above every letter, then one a row of the table. */
#define CODE_BUILT_IN 256
#define CODE_FIRST    (CODE_BUILT_IN + BUILT_IN_COUNT)

int opt_list_add(struct opt_list *list, const char *item)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 16;
        const char **items = reallocarray(list->items, capacity, sizeof(*items));
        if (!items)
            return -1;
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = item;
    return 0;
}

void opt_list_release(struct opt_list *list)
{
    for (size_t i = 0; i < list->owned_count; i++)
        free(list->owned[i]);
    free(list->owned);
    free(list->items);
    *list = (struct opt_list){0};
}

struct choices {
    char text[256];
};

/* All values of a choice in one text. */
static struct choices join_choices(const struct opt *opt, const char *between)
{
    struct choices all = {""};
    size_t size = 0;
    for (size_t i = 0; opt->choices[i] && size < sizeof(all.text); i++)
        size += (size_t)snprintf(all.text + size, sizeof(all.text) - size, "%s%s", i ? between : "",
                                 opt->choices[i]);
    return all;
}

/* -- help --------------------------------------------------------------------------------- */

/* Prints a help text in its column, the cursor being there, wrapped at the last one. */
static void print_wrapped(const char *text)
{
    size_t column = HELP_INDENT;
    for (bool is_first = true; *text; is_first = false) {
        size_t size = strcspn(text, " ");
        if (!is_first && column + 1 + size > HELP_COLUMNS) {
            printf("\n%*s", HELP_INDENT, "");
            column = HELP_INDENT;
        } else if (!is_first) {
            putchar(' ');
            column++;
        }
        printf("%.*s", (int)size, text);
        column += size;
        text += size + (text[size] == ' ');
    }
    putchar('\n');
}

static void print_option_help(const struct opt *opt)
{
    char left[64];
    char letter[8] = "    ";
    if (opt->letter)
        snprintf(letter, sizeof(letter), "-%c, ", opt->letter);
    snprintf(left, sizeof(left), "  %s--%s%s%s", letter, opt->name, opt->value ? " " : "",
             opt->value ? opt->value : "");
    int size = (int)strlen(left);
    if (size > HELP_INDENT - 2)
        printf("%s\n%*s", left, HELP_INDENT, "");
    else
        printf("%-*s", HELP_INDENT, left);
    print_wrapped(opt->help);
}

static void print_help(const struct command *self, const struct opt *opts)
{
    printf("usage: sqlpack %s [OPTION...]%s%s\n\n", self->name, *self->arguments ? " " : "",
           self->arguments);
    printf("%s\n\n", self->summary);
    for (const struct opt *opt = opts; opt->kind != OPT_KIND_END; opt++) {
        if (opt->kind == OPT_KIND_HEAD)
            printf("%s%s\n", opt == opts ? "" : "\n", opt->help);
        else
            print_option_help(opt);
    }
    print_option_help(&built_in[HELP]);
    print_option_help(&built_in[VERSION]);
    if (self->details)
        printf("\n%s", self->details);
}

/* One spelling a line: the option, a tab, what its value is, a tab, its help. */
static void list_option(const struct opt *opt)
{
    struct choices choices;
    const char *value = opt->value ? opt->value : "";
    if (opt->kind == OPT_KIND_CHOICE) {
        choices = join_choices(opt, "|");
        value = choices.text;
    }
    if (opt->letter)
        printf("-%c\t%s\t%s\n", opt->letter, value, opt->help);
    printf("--%s\t%s\t%s\n", opt->name, value, opt->help);
}

static void list_options(const struct opt *opts)
{
    for (const struct opt *opt = opts; opt->kind != OPT_KIND_END; opt++)
        if (opt->kind != OPT_KIND_HEAD)
            list_option(opt);
    list_option(&built_in[HELP]);
    list_option(&built_in[VERSION]);
}

/* -- parsing ------------------------------------------------------------------------------ */

/* The table as getopt_long wants it. */
struct forms {
    char letters[2 * OPT_MAX + 8];
    struct option names[OPT_MAX + BUILT_IN_COUNT + 1];
};

static void make_forms(const struct opt *opts, struct forms *ret_forms)
{
    char *letter = ret_forms->letters;
    struct option *form = ret_forms->names;
    *letter++ = ':'; /* tell a missing value from an unknown option */
    *letter++ = built_in[HELP].letter;
    for (int i = 0; i < BUILT_IN_COUNT; i++, form++)
        *form = (struct option){.name = built_in[i].name, .val = CODE_BUILT_IN + i};
    for (int i = 0; opts[i].kind != OPT_KIND_END; i++) {
        if (opts[i].kind == OPT_KIND_HEAD)
            continue;
        bool has_value = opts[i].kind != OPT_KIND_FLAG;
        *form = (struct option){.name = opts[i].name, .val = CODE_FIRST + i};
        form->has_arg = has_value ? required_argument : no_argument;
        form++;
        if (!opts[i].letter)
            continue;
        *letter++ = opts[i].letter;
        if (has_value)
            *letter++ = ':';
    }
}

/* The row that one of getopt's codes stands for. */
static const struct opt *find_opt(const struct opt *opts, int code)
{
    if (code >= CODE_FIRST)
        return &opts[code - CODE_FIRST];
    if (code >= CODE_BUILT_IN)
        return &built_in[code - CODE_BUILT_IN];
    for (const struct opt *opt = opts; opt->kind != OPT_KIND_END; opt++)
        if (opt->letter && opt->letter == code)
            return opt;
    return &built_in[HELP];
}

static bool take_choice(const struct opt *opt, const char *value)
{
    for (int i = 0; opt->choices[i]; i++) {
        if (strcmp(opt->choices[i], value) == 0) {
            *opt->target.choice = i;
            return true;
        }
    }
    return false;
}

/* Stores a value; false where it is none of this kind. */
static bool take(const struct opt *opt, const char *value)
{
    switch (opt->kind) {
    case OPT_KIND_FLAG:
        *opt->target.flag = true;
        return true;
    case OPT_KIND_TEXT:
        *opt->target.text = value;
        return true;
    case OPT_KIND_NUMBER:
        return text_parse_number(value, opt->min, opt->max, opt->target.number);
    case OPT_KIND_BYTES:
        return text_parse_bytes(value, opt->target.bytes);
    case OPT_KIND_PERCENT:
        return text_parse_percent(value, opt->target.percent);
    case OPT_KIND_CHOICE:
        return take_choice(opt, value);
    case OPT_KIND_LIST:
        return opt_list_add(opt->target.list, value) == 0;
    case OPT_KIND_HEAD:
    case OPT_KIND_END:
        break;
    }
    return false;
}

static int refuse_value(const struct command *self, const struct opt *opt, const char *value)
{
    struct notice_name shown = notice_name(value);
    switch (opt->kind) {
    case OPT_KIND_NUMBER:
        return notice_usage(self, "--%s takes a number from %lld to %lld, not '%s'", opt->name,
                            (long long)opt->min, (long long)opt->max, shown.text);
    case OPT_KIND_BYTES:
        return notice_usage(self, "--%s takes a size such as 4096, 64K or 1.5G, not '%s'",
                            opt->name, shown.text);
    case OPT_KIND_PERCENT:
        return notice_usage(self, "--%s takes a share from 0%% to 100%%, not '%s'", opt->name,
                            shown.text);
    case OPT_KIND_CHOICE:
        return notice_usage(self, "--%s takes one of %s, not '%s'", opt->name,
                            join_choices(opt, ", ").text, shown.text);
    default:
        return notice_fail(self, EXIT_SYSTEM, "out of memory");
    }
}

/* The long option nearest to what was written, NULL: none is near. */
static const char *nearest(const struct opt *opts, const char *written)
{
    const char *best = NULL;
    unsigned best_distance = 3;
    for (const struct opt *opt = opts; opt->kind != OPT_KIND_END; opt++) {
        unsigned distance = opt->name ? text_distance(opt->name, written) : best_distance;
        if (distance < best_distance) {
            best_distance = distance;
            best = opt->name;
        }
    }
    return best;
}

/* Tells why getopt did not take an option: `word` is the argument that it stands in. */
static int refuse_option(const struct command *self, const struct opt *opts, const char *word)
{
    bool is_long = strncmp(word, "--", 2) == 0;
    if (!is_long)
        return notice_usage(self, "unknown option '-%s'",
                            notice_name((char[]){(char)optopt, 0}).text);
    if (optopt >= CODE_BUILT_IN)
        return notice_usage(self, "--%s takes no value", find_opt(opts, optopt)->name);
    const char *near = nearest(opts, word + 2);
    return notice_usage(self, "unknown option '%s'%s%s%s", notice_name(word).text,
                        near ? "; did you mean --" : "", near ? near : "", near ? "?" : "");
}

/* Checks the number of arguments against words such as "PACK [DIR] [PATH...]". */
static int check_arguments(const struct command *self, int count, char **arguments)
{
    int words = 0;
    for (const char *at = self->arguments; *at;) {
        size_t size = strcspn(at, " ");
        if (words++ >= count && *at != '[')
            return notice_usage(self, "missing argument: %.*s", (int)size, at);
        if (memmem(at, size, "...", 3))
            return 0;
        at += size + (at[size] == ' ');
    }
    if (count <= words)
        return 0;
    return notice_usage(self, "too many arguments, from '%s' on",
                        notice_name(arguments[words]).text);
}

int opt_parse(const struct command *self, const struct opt *opts, int argc, char **argv,
              int *ret_status)
{
    struct forms forms = {0};
    make_forms(opts, &forms);
    opterr = 0;
    optind = 0; /* glibc and musl: begin anew */
    *ret_status = 0;
    for (int code; (code = getopt_long(argc, argv, forms.letters, forms.names, NULL)) != -1;) {
        const char *word = argv[optind - 1];
        if (code == '?')
            *ret_status = refuse_option(self, opts, word);
        else if (code == ':')
            *ret_status = notice_usage(self, "option '%s' needs a value", notice_name(word).text);
        else if (code == 'h' || code == CODE_BUILT_IN + HELP)
            print_help(self, opts);
        else if (code == CODE_BUILT_IN + VERSION)
            printf("sqlpack %s\n", sqlpack_version());
        else if (code == CODE_BUILT_IN + LIST_OPTIONS)
            list_options(opts);
        else if (take(find_opt(opts, code), optarg))
            continue;
        else
            *ret_status = refuse_value(self, find_opt(opts, code), optarg);
        return -1;
    }
    *ret_status = check_arguments(self, argc - optind, argv + optind);
    return *ret_status ? -1 : optind;
}

/* -- name lists --------------------------------------------------------------------------- */

/* Reads all there is behind a descriptor. Returns 0, or -1 with errno. */
static int read_all(int fd, struct buf *buf)
{
    const size_t piece = (size_t)64 << 10;
    for (;;) {
        if (buf_reserve(buf, piece) < 0)
            return -1;
        ssize_t n = file_read(fd, buf->data + buf->size, piece);
        if (n < 0)
            return -1;
        buf->size += (size_t)n;
        if ((size_t)n < piece)
            return buf_terminate(buf);
    }
}

/* Hands the bytes over to the list, which frees them. */
static int own(struct opt_list *list, struct buf *buf)
{
    char **owned = reallocarray(list->owned, list->owned_count + 1, sizeof(*owned));
    if (!owned)
        return -1;
    list->owned = owned;
    owned[list->owned_count++] = buf->data;
    *buf = (struct buf){0};
    return 0;
}

static int add_names(struct opt_list *list, char *data, size_t size, char end)
{
    for (size_t at = 0; at < size;) {
        char *stop = memchr(data + at, end, size - at);
        size_t next = stop ? (size_t)(stop - data) : size;
        data[next] = '\0'; /* buf_terminate made room behind the last */
        if (next > at && opt_list_add(list, data + at) < 0)
            return -1;
        at = next + 1;
    }
    return 0;
}

int opt_read_names(const struct command *self, const char *path, bool nul, struct opt_list *list)
{
    bool is_stdin = strcmp(path, "-") == 0;
    auto_close int opened = is_stdin ? -1 : open(path, O_RDONLY | O_CLOEXEC);
    auto_release(buf_release) struct buf buf = {0};
    if ((!is_stdin && opened < 0) || read_all(is_stdin ? STDIN_FILENO : opened, &buf) < 0)
        return notice_fail(self, errno == ENOENT || errno == EISDIR ? EXIT_USAGE : EXIT_SYSTEM,
                           "cannot read '%s': %s", notice_name(path).text, strerror(errno));
    if (!nul && memchr(buf.data, '\0', buf.size))
        return notice_usage(self, "'%s' holds NUL bytes: is --null missing?",
                            notice_name(path).text);
    char *data = buf.data;
    size_t size = buf.size;
    if (own(list, &buf) < 0 || add_names(list, data, size, nul ? '\0' : '\n') < 0)
        return notice_fail(self, EXIT_SYSTEM, "out of memory");
    return 0;
}
