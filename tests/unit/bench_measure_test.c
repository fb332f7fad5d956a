/* SPDX-License-Identifier: MIT */
/* The rounds of the bench, with arms that tell made-up times: no clock decides here. */
#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "bench/run.h"
#include "tap.h"

#define ROUNDS 15u
#define KEYS   500u

static char names[KEYS][8];
static struct bench_key keys[KEYS];
static uint32_t by_id[KEYS];
static struct bench_tree trees[BENCH_LAYOUTS];
static int stop_after = -1; /* ticks until the hooks ask to stop; -1: never */

/* A stub's time: noise of 3 % either way, so that a sleepy machine cannot tell. */
static uint64_t noisy_ns(const struct bench_task *task, double ns)
{
    struct bench_random random;
    bench_random_seed(&random, task->seed ^ bench_hash(task->series->label, 8));
    return (uint64_t)(ns * (0.97 + 0.06 * bench_random_unit(&random)));
}

/* Tells the order it got as its sum. */
static int run_stub(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
                    struct sqlpack_error *err)
{
    double each = *(const double *)task->series->arm->detail;
    (void)err;
    ret_run->op_count = task->order_count;
    ret_run->elapsed_ns = noisy_ns(task, each * (double)task->order_count);
    ret_run->sum = bench_hash(task->order, task->order_count * sizeof(*task->order));
    hist_add(hist, (uint64_t)each);
    return 0;
}

static int run_failing(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
                       struct sqlpack_error *err)
{
    (void)ret_run;
    (void)hist;
    return bench_fail(err, SQLPACK_IO, "cannot do %s", task->series->label);
}

static int run_dying(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
                     struct sqlpack_error *err)
{
    (void)task;
    (void)ret_run;
    (void)hist;
    (void)err;
    raise(SIGKILL);
    return 0;
}

static int run_odd(const struct bench_task *task, struct bench_run *ret_run, struct hist *hist,
                   struct sqlpack_error *err)
{
    int status = run_stub(task, ret_run, hist, err);
    ret_run->sum++;
    return status;
}

static const double slow_ns = 12000, plain_ns = 10000;
static const struct bench_arm plain = {.name = "plain", .detail = &plain_ns, .run = run_stub};
static const struct bench_arm slow = {
    .name = "slow", .side = BENCH_PACK, .detail = &slow_ns, .run = run_stub};
static const struct bench_arm failing = {.name = "failing", .run = run_failing};
static const struct bench_arm dying = {.name = "dying", .run = run_dying};
static const struct bench_arm odd = {.name = "odd", .detail = &plain_ns, .run = run_odd};

static int on_progress(void *user, const struct sqlpack_progress *progress)
{
    (void)user;
    (void)progress;
    return stop_after >= 0 && stop_after-- == 0;
}

static int measure(struct bench_result *result, uint64_t seed, struct sqlpack_error *err)
{
    static const struct sqlpack_hooks hooks = {.progress = on_progress};
    const struct bench_pace pace = {
        .hooks = &hooks, .started_ns = bench_now(), .budget_ns = 1000000000};
    const struct bench_data data = {.keys = keys,
                                    .key_count = KEYS,
                                    .size_max = 1,
                                    .trees = trees,
                                    .by_id = by_id,
                                    .pack = "/dev/null",
                                    .concat = "/dev/null",
                                    .scratch = "."};
    struct bench_case *question = &result->cases[0];
    const struct measure how = {.data = &data,
                                .pace = &pace,
                                .round_count = result->round_count,
                                .round_limit = result->round_count,
                                .memory_bytes = -1,
                                .seed = seed};
    return measure_case(&how, question, 100000000000, err);
}

/* A case of two arms that are compared. Release the result. */
static struct bench_result make_case(enum bench_state state, size_t rounds,
                                     const struct bench_arm *left, const struct bench_arm *right)
{
    struct bench_result result = {.round_count = rounds};
    struct sqlpack_error err;
    struct bench_case *question = plan_case(&result, BENCH_READ_RANDOM, state, &err);
    need(question && plan_series(question, left, BENCH_LAYOUT_ASIS, "left arm", &err) == 0);
    need(plan_series(question, right, BENCH_LAYOUT_ASIS, "right arm", &err) == 0);
    need(plan_effect(question, BENCH_DROP_IN, "left arm", "right arm", &err) == 0);
    return result;
}

static struct bench_result make(const struct bench_arm *left, const struct bench_arm *right)
{
    return make_case(BENCH_STATELESS, ROUNDS, left, right);
}

static void test_rounds(void)
{
    struct sqlpack_error err;
    struct bench_result result = make(&plain, &plain);
    need(measure(&result, 1, &err) == 0);
    const struct bench_case *question = &result.cases[0];
    bool are_done = question->round_count == ROUNDS, are_same = true, differ = true;
    for (size_t i = 0; i < ROUNDS; i++) {
        const struct bench_run *left = &question->series[0].runs[i];
        const struct bench_run *right = &question->series[1].runs[i];
        are_done = are_done && left->is_done && right->is_done;
        are_same = are_same && left->sum == right->sum;
        differ = differ && (i == 0 || left->sum != question->series[0].runs[i - 1].sum);
    }
    ok(are_done, "every arm runs once in every round");
    ok(are_same, "the arms of a round get the same order");
    ok(differ, "every round has another one");
    ok(!question->results_differ, "nothing differs");
    is_int(question->series[0].hist->count, ROUNDS, "latencies of all rounds are gathered");
    ok(question->series[0].warm_up.is_done, "there was a warm-up");
    bench_result_release(&result);
}

static void test_slow_arm(void)
{
    size_t found = 0, invented = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct sqlpack_error err;
        struct bench_result result = make(&plain, &slow);
        need(measure(&result, seed, &err) == 0 && bench_judge(&result, &err) == 0);
        found += result.cases[0].effects[0].verdict == BENCH_FILES_FASTER;
        bench_result_release(&result);
        result = make(&plain, &plain);
        need(measure(&result, seed, &err) == 0 && bench_judge(&result, &err) == 0);
        enum bench_verdict verdict = result.cases[0].effects[0].verdict;
        invented += verdict == BENCH_FILES_FASTER || verdict == BENCH_PACK_FASTER;
        bench_result_release(&result);
    }
    is_int(found, 20, "an arm that is slower by 20 % is found in 20 of 20 runs");
    is_int(invented, 0, "an arm against itself is never called different");
}

static void test_labels(void)
{
    static const struct bench_arm slow_files = {
        .name = "slow files", .detail = &slow_ns, .run = run_stub};
    struct sqlpack_error err;
    struct bench_result result = make(&plain, &slow_files);
    need(measure(&result, 1, &err) == 0 && bench_judge(&result, &err) == 0);
    struct bench_words words = bench_effect_words(&result.cases[0], &result.cases[0].effects[0]);
    ok(strncmp(words.text, "left arm faster x1.", 19) == 0,
       "two arms of one side go by their labels");
    bench_result_release(&result);
}

static void test_failures(void)
{
    struct sqlpack_error err;
    struct bench_result result = make(&plain, &failing);
    is_int(measure(&result, 1, &err), 0, "an arm that fails ends nothing but itself");
    is_text(result.cases[0].series[1].missing, "cannot do right arm", "and tells why");
    ok(result.cases[0].series[0].runs[ROUNDS - 1].is_done, "the other goes on");
    bench_result_release(&result);
    result = make(&plain, &dying);
    need(measure(&result, 1, &err) == 0);
    is_text(result.cases[0].series[1].missing, "cannot measure right arm: its process was killed",
            "one that is killed is told");
    bench_result_release(&result);
    result = make(&plain, &odd);
    need(measure(&result, 1, &err) == 0);
    ok(result.cases[0].results_differ, "other results are noticed");
    bench_result_release(&result);
}

/* -- arms that read, in turns --------------------------------------------------------------- */

static int open_stub(const struct bench_task *task, void **ret_state, struct sqlpack_error *err)
{
    *ret_state = (void *)task;
    return task->series->arm->detail ? bench_fail(err, SQLPACK_IO, "cannot open it") : 0;
}

/* A different byte for every key, so that the sum tells which were read. */
static ssize_t read_stub(void *state, size_t key, void *buffer, size_t capacity)
{
    (void)state;
    (void)capacity;
    *(unsigned char *)buffer = (unsigned char)(key * key);
    return 1;
}

static ssize_t read_half(void *state, size_t key, void *buffer, size_t capacity)
{
    static size_t count;
    if (count++ == KEYS / 2)
        raise(SIGKILL);
    return read_stub(state, key, buffer, capacity);
}

static ssize_t read_wrong(void *state, size_t key, void *buffer, size_t capacity)
{
    read_stub(state, key == 7 ? 8 : key, buffer, capacity);
    return 1;
}

static ssize_t read_grown(void *state, size_t key, void *buffer, size_t capacity)
{
    return read_stub(state, key, buffer, capacity) + (key == 7);
}

static void close_stub(void *state)
{
    (void)state;
}

#define READER(id, how)                                                                            \
    static const struct bench_arm id = {                                                           \
        .name = #id, .side = BENCH_CONTROL, .open = open_stub, .read = (how), .close = close_stub}
READER(reader, read_stub);
READER(half, read_half);
READER(wrong, read_wrong);
READER(grown, read_grown);
static const struct bench_arm closed = {.name = "closed",
                                        .side = BENCH_CONTROL,
                                        .detail = "",
                                        .open = open_stub,
                                        .read = read_stub,
                                        .close = close_stub};

static void test_turns(void)
{
    struct sqlpack_error err;
    struct bench_result result = make_case(BENCH_WARM, 2, &reader, &reader);
    need(measure(&result, 1, &err) == 0);
    const struct bench_case *question = &result.cases[0];
    const struct bench_run *left = question->series[0].runs, *right = question->series[1].runs;
    ok(left[0].is_done && right[0].is_done && left[1].is_done && right[1].is_done, "all are done");
    ok(left[0].sum == right[0].sum && left[0].sum != 0, "turns read the same keys on both sides");
    ok(left[0].elapsed_ns > 100000000, "a run that would be too short gets more turns");
    is_int(left[0].bytes, left[0].op_count, "which count");
    ok(!question->results_differ, "but are no other result");
    is_int(question->series[0].hist->count, left[0].op_count + left[1].op_count, "latencies too");
    bench_result_release(&result);
    result = make_case(BENCH_WARM, 2, &reader, &wrong);
    need(measure(&result, 1, &err) == 0);
    ok(result.cases[0].results_differ, "other content is noticed");
    bench_result_release(&result);
}

/* One that has read its keys waits for the others, however often those go on. */
static ssize_t read_at_leisure(void *state, size_t key, void *buffer, size_t capacity)
{
    for (uint64_t began = bench_now(); bench_now() - began < 20000;)
        ;
    return read_stub(state, key, buffer, capacity);
}
READER(leisurely, read_at_leisure);

static void test_unequal_turns(void)
{
    struct sqlpack_error err;
    struct bench_result result = make_case(BENCH_WARM, 2, &leisurely, &reader);
    need(measure(&result, 1, &err) == 0);
    const struct bench_case *question = &result.cases[0];
    const struct bench_run *left = question->series[0].runs, *right = question->series[1].runs;
    ok(left[0].elapsed_ns > 100000000 && right[0].op_count > left[0].op_count,
       "the quick one has more turns");
    ok(left[0].op_count == left[1].op_count && right[0].op_count % left[0].op_count == 0,
       "of all keys again, and the other none");
    bench_result_release(&result);
}

static void test_lost_turns(void)
{
    static const struct {
        const struct bench_arm *arm;
        const char *reason;
    } lost[] = {
        {&half, "cannot measure right arm: its process was killed"},
        {&grown, "cannot measure right arm: the size of 'seven' has changed"},
        {&closed, "cannot open it"},
    };
    for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
        struct sqlpack_error err;
        struct bench_result result = make_case(BENCH_WARM, 2, &reader, lost[i].arm);
        ok(measure(&result, 1, &err) == 0, "%s: ends nothing but itself", lost[i].arm->name);
        is_text(result.cases[0].series[1].missing, lost[i].reason, "it tells why");
        ok(result.cases[0].series[0].runs[1].is_done, "the other goes on");
        bench_result_release(&result);
    }
}

static void test_stop(void)
{
    struct sqlpack_error err;
    struct bench_result result = make(&plain, &plain);
    stop_after = 3;
    is_int(measure(&result, 1, &err), -1, "the hooks stop it");
    is_int(err.status, SQLPACK_CANCELLED, "as cancelled");
    stop_after = 4;
    bench_result_release(&result);
    result = make_case(BENCH_WARM, 2, &reader, &reader);
    is_int(measure(&result, 1, &err), -1, "they stop turns");
    is_int(err.status, SQLPACK_CANCELLED, "as cancelled");
    stop_after = -1;
    bench_result_release(&result);
}

int main(void)
{
    for (uint32_t i = 0; i < KEYS; i++) {
        by_id[i] = i;
        snprintf(names[i], sizeof(names[i]), "%s", i == 7 ? "seven" : "other");
        keys[i] = (struct bench_key){.name = names[i], .size = 1};
    }
    test_rounds();
    test_slow_arm();
    test_labels();
    test_failures();
    test_turns();
    test_unequal_turns();
    test_lost_turns();
    test_stop();
    return done();
}
