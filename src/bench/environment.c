/* SPDX-License-Identifier: MIT */
/* The machine that was measured on, and whether it was quiet meanwhile. */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>

#include "bench/bench.h"
#include "bench/run.h"
#include "util/auto.h"
#include "util/file.h"

#define CPU "/sys/devices/system/cpu/"

/* The start of a small file; "" where it cannot be read. */
struct words {
    char text[16384];
};

static void read_words(const char *path, struct words *words)
{
    auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? 0 : file_read(fd, words->text, sizeof(words->text) - 1);
    words->text[size < 0 ? 0 : size] = '\0';
}

static void copy_line(const char *from, char *to, size_t size)
{
    snprintf(to, size, "%.*s", (int)strcspn(from, "\n"), from);
}

static void read_line(const char *path, char *to, size_t size)
{
    struct words words;
    read_words(path, &words);
    copy_line(words.text, to, size);
}

/* What stands behind "name" and its colon or blanks. */
static void find_line(const struct words *words, const char *name, char *to, size_t size)
{
    const char *at = strstr(words->text, name);
    if (at) {
        at += strlen(name);
        copy_line(at + strspn(at, " \t:"), to, size);
    }
}

static double find_number(const struct words *words, const char *name)
{
    char line[64] = "";
    find_line(words, name, line, sizeof(line));
    return *line ? strtod(line, NULL) : -1;
}

/* -- processor and memory ----------------------------------------------------------------- */

static void look_at_processor(struct bench_environment *to)
{
    struct words words;
    read_words("/proc/cpuinfo", &words);
    find_line(&words, "model name", to->processor, sizeof(to->processor));
    if (strstr(words.text, " hypervisor")) {
        read_line("/sys/class/dmi/id/sys_vendor", to->virtualisation, sizeof(to->virtualisation));
        if (!*to->virtualisation)
            strcpy(to->virtualisation, "virtual machine");
    }
    to->processor_count = (int)sysconf(_SC_NPROCESSORS_ONLN);
    read_line(CPU "cpu0/cpufreq/scaling_governor", to->governor, sizeof(to->governor));
    read_line(CPU "cpufreq/boost", to->boost, sizeof(to->boost));
    read_line(CPU "smt/control", to->smt, sizeof(to->smt));
    read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", to->clock_source,
              sizeof(to->clock_source));
    read_words("/proc/cmdline", &words);
    const char *at = strstr(words.text, "mitigations=");
    if (at)
        snprintf(to->mitigations, sizeof(to->mitigations), "%.*s", (int)strcspn(at + 12, " \n"),
                 at + 12);
}

static void look_at_memory(struct bench_environment *to)
{
    struct words words;
    read_words("/proc/meminfo", &words);
    double total = find_number(&words, "MemTotal"), available = find_number(&words, "MemAvailable");
    to->memory_total_bytes = total < 0 ? -1 : total * 1024;
    to->memory_available_bytes = available < 0 ? -1 : available * 1024;
}

static double load_now(void)
{
    double load;
    return getloadavg(&load, 1) == 1 ? load : -1;
}

/* -- file system and device ---------------------------------------------------------------- */

/* mountinfo: "36 35 98:0 /root /mount options tags - type source options" (proc(5)). */
static void take_mount(char *line, struct bench_environment *to)
{
    char *words[6] = {NULL};
    char *rest = line;
    for (size_t i = 0; i < 6 && rest; i++)
        words[i] = strsep(&rest, " ");
    char *type = rest && strncmp(rest, "- ", 2) == 0 ? rest - 1 : NULL;
    if (rest && !type)
        type = strstr(rest, " - ");
    if (!words[5] || !type)
        return;
    type += 3;
    snprintf(to->file_system, sizeof(to->file_system), "%.*s", (int)strcspn(type, " "), type);
    snprintf(to->mount_point, sizeof(to->mount_point), "%s", words[4]);
    snprintf(to->mount_options, sizeof(to->mount_options), "%s", words[5]);
}

static void look_at_mount(dev_t device, struct bench_environment *to)
{
    char wanted[32];
    snprintf(wanted, sizeof(wanted), " %u:%u ", major(device), minor(device));
    FILE *mounts = fopen("/proc/self/mountinfo", "re");
    auto_free char *line = NULL;
    size_t room = 0;
    while (mounts && getline(&line, &room, mounts) > 0) {
        if (!strstr(line, wanted))
            continue;
        line[strcspn(line, "\n")] = '\0';
        take_mount(line, to);
        break;
    }
    if (mounts)
        fclose(mounts);
}

/* A file of the device's queue; a partition has it one folder up. */
static void read_queue(dev_t device, const char *leaf, char *to, size_t size)
{
    char path[128];
    snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/queue/%s", major(device), minor(device),
             leaf);
    read_line(path, to, size);
    if (*to)
        return;
    snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/../queue/%s", major(device), minor(device),
             leaf);
    read_line(path, to, size);
}

static void look_at_device(dev_t device, struct bench_environment *to)
{
    char path[128], text[128] = "";
    struct words words;
    snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/uevent", major(device), minor(device));
    read_words(path, &words);
    find_line(&words, "DEVNAME=", to->device, sizeof(to->device));
    snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/device/model", major(device), minor(device));
    read_line(path, to->device_model, sizeof(to->device_model));
    read_queue(device, "rotational", text, sizeof(text));
    to->is_rotational = *text ? *text == '1' : -1;
    read_queue(device, "read_ahead_kb", text, sizeof(text));
    to->read_ahead_kib = *text ? atoi(text) : -1;
    read_queue(device, "scheduler", text, sizeof(text));
    const char *active = strchr(text, '[');
    if (active)
        snprintf(to->scheduler, sizeof(to->scheduler), "%.*s", (int)strcspn(active + 1, "]"),
                 active + 1);
    else
        copy_line(text, to->scheduler, sizeof(to->scheduler));
}

static void look_at_file_system(const char *path, struct bench_environment *to)
{
    struct stat stat_of;
    struct statvfs room;
    to->is_rotational = to->read_ahead_kib = -1;
    to->block_bytes = to->free_percent = -1;
    if (stat(path, &stat_of) < 0)
        return;
    look_at_mount(stat_of.st_dev, to);
    look_at_device(stat_of.st_dev, to);
    if (statvfs(path, &room) == 0 && room.f_blocks > 0) {
        to->block_bytes = (double)room.f_bsize;
        to->free_percent = 100 * (double)room.f_bavail / (double)room.f_blocks;
    }
}

void environment_mount(const char *path, struct bench_environment *environment)
{
    struct bench_environment at_path = {.file_system = "unknown"};
    struct stat stat_of;
    if (stat(path, &stat_of) == 0)
        look_at_mount(stat_of.st_dev, &at_path);
    memcpy(environment->mounted_file_system, at_path.file_system, sizeof(at_path.file_system));
}

/* -- quiet or not -------------------------------------------------------------------------- */

/* "cpu user nice system idle iowait irq softirq steal guest guest_nice", in ticks. */
static void take_counters(struct environment_start *start)
{
    struct words words;
    read_words("/proc/stat", &words);
    char *at = words.text + strcspn(words.text, " ");
    for (int i = 0; i < 8; i++) {
        uint64_t ticks = strtoull(at, &at, 10);
        start->cpu_total += ticks;
        start->cpu_steal = ticks;
    }
    read_words("/proc/pressure/cpu", &words);
    double pressure = find_number(&words, "total=");
    start->pressure_us = pressure < 0 ? UINT64_MAX : (uint64_t)pressure;
    start->at_ns = bench_now();
}

void environment_begin(struct environment_start *start, const char *path,
                       struct bench_environment *ret_environment)
{
    struct bench_environment *to = ret_environment;
    struct utsname name;
    *to = (struct bench_environment){0};
    if (uname(&name) == 0) {
        snprintf(to->kernel, sizeof(to->kernel), "%s %s", name.sysname, name.release);
        snprintf(to->machine, sizeof(to->machine), "%s", name.machine);
    }
    look_at_processor(to);
    look_at_memory(to);
    look_at_file_system(path, to);
    snprintf(to->sqlite_version, sizeof(to->sqlite_version), "%s", sqlite3_libversion());
    snprintf(to->sqlite_source, sizeof(to->sqlite_source), "%s", sqlite3_sourceid());
    to->load_start = load_now();
    to->load_end = to->steal_percent = to->psi_some_percent = -1;
    *start = (struct environment_start){0};
    take_counters(start);
    read_line(CPU "cpu0/cpufreq/scaling_governor", start->governor, sizeof(start->governor));
    read_line(CPU "cpu0/thermal_throttle/core_throttle_count", start->throttled,
              sizeof(start->throttled));
}

static void judge_clock(const struct environment_start *start, struct bench_gate *gate)
{
    char governor[32] = "", throttled[32] = "";
    read_line(CPU "cpu0/cpufreq/scaling_governor", governor, sizeof(governor));
    read_line(CPU "cpu0/thermal_throttle/core_throttle_count", throttled, sizeof(throttled));
    bool is_same =
        strcmp(governor, start->governor) == 0 && strcmp(throttled, start->throttled) == 0;
    gate->outcome = is_same ? BENCH_PASSED : BENCH_FAILED;
    if (!*governor && !*throttled)
        gate->outcome = BENCH_NOT_KNOWN;
    snprintf(gate->detail, sizeof(gate->detail), "%s",
             gate->outcome == BENCH_NOT_KNOWN ? "the processor's clock cannot be watched here"
             : is_same                        ? "no throttling, no change of the governor"
                       : "the processor was throttled, or its governor changed");
}

void environment_end(const struct environment_start *start, struct bench_result *result)
{
    struct environment_start now = {0};
    struct bench_environment *to = &result->environment;
    take_counters(&now);
    to->load_end = load_now();
    uint64_t ticks = now.cpu_total - start->cpu_total;
    if (ticks)
        to->steal_percent = 100 * (double)(now.cpu_steal - start->cpu_steal) / (double)ticks;
    uint64_t wall_us = (now.at_ns - start->at_ns) / 1000;
    if (now.pressure_us != UINT64_MAX && start->pressure_us != UINT64_MAX && wall_us)
        to->psi_some_percent =
            100 * (double)(now.pressure_us - start->pressure_us) / (double)wall_us;
    judge_clock(start, &result->gates[BENCH_GATE_CLOCK]);
}
