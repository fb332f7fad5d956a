/* SPDX-License-Identifier: MIT */
/* Runs one function on several threads at once. */
#ifndef UTIL_WORKERS_H
#define UTIL_WORKERS_H

/* No call uses more threads than this, whatever it is asked for. */
#define WORKERS_MAX 64

/* How many threads `jobs` stands for: 0 is one a usable processor. From 1 to WORKERS_MAX. */
unsigned workers_default(unsigned jobs);

/*
 * Calls work(arg) on `jobs` threads and waits until all have returned. They share
 * `arg`, so each takes its share from there; the system may give fewer threads
 * than asked for, and one alone must be able to finish. The threads block all
 * signals and have a stack of 512 KiB; with one job, and where the system gives no
 * thread at all, work runs in the calling thread. Returns 0, or -1 with the errno
 * of the first call that returned -1.
 */
int workers_run(unsigned jobs, int (*work)(void *arg), void *arg);

#endif
