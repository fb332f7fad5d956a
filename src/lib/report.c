/* SPDX-License-Identifier: MIT */
/* The hooks of a long call, one caller at a time. */
#include "lib/internal.h"

void report_init(struct report *report, const struct sqlpack_hooks *hooks)
{
    *report = (struct report){.hooks = hooks};
    pthread_mutex_init(&report->mutex, NULL);
}

void report_release(struct report *report)
{
    pthread_mutex_destroy(&report->mutex);
}

int report_progress(struct report *report, uint64_t entries, uint64_t bytes,
                    struct sqlpack_error *err)
{
    int stop = 0;
    pthread_mutex_lock(&report->mutex);
    report->progress.entry_count += entries;
    report->progress.bytes += bytes;
    if (report->hooks->progress)
        stop = report->hooks->progress(report->hooks->user, &report->progress);
    pthread_mutex_unlock(&report->mutex);
    return stop ? fail(err, SQLPACK_CANCELLED, "stopped on request") : 0;
}

void report_problem(struct report *report, const struct sqlpack_problem *problem)
{
    pthread_mutex_lock(&report->mutex);
    switch (problem->kind) {
    case SQLPACK_NOTE:
        report->note_count++;
        break;
    case SQLPACK_LOSS:
        report->loss_count++;
        break;
    case SQLPACK_DIFFERENCE:
        report->difference_count++;
        break;
    case SQLPACK_SKIPPED:
        break;
    }
    if (report->hooks->problem)
        report->hooks->problem(report->hooks->user, problem);
    pthread_mutex_unlock(&report->mutex);
}
