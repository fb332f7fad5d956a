/* SPDX-License-Identifier: MIT */
/* Owner, attributes, mode and times of an entry on disk. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "lib/restore.h"

#define SET_ID_BITS (S_ISUID | S_ISGID)
#define UNKNOWN_ID  UINT32_MAX

void policy_loss(struct policy *policy, const char *name, int os_errno, const char *format, ...)
{
    char what[600]; /* an attribute's name has up to 255 bytes */
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    report_problem(policy->report, &(struct sqlpack_problem){SQLPACK_LOSS, name, what, os_errno});
}

/* -- what an entry gets -------------------------------------------------------------------- */

/* The set-id bits of an entry that gets its owner here: all, or those that are its own. */
static mode_t rightful_bits(const struct policy *policy, const struct sqlpack_entry *entry)
{
    mode_t bits = entry->mode & SET_ID_BITS;
    uint32_t uid = owners_map(&policy->owners, false, entry->uid);
    uint32_t gid = owners_map(&policy->owners, true, entry->gid);
    if (policy->options->untrusted)
        return 0;
    if (uid == UNKNOWN_ID || (!policy->sets_owner && uid != policy->uid))
        bits &= (mode_t)~S_ISUID;
    if (gid == UNKNOWN_ID || (!policy->sets_owner && gid != policy->gid))
        bits &= (mode_t)~S_ISGID;
    return bits;
}

struct meta_plan meta_plan(const struct policy *policy, const struct sqlpack_entry *entry)
{
    struct meta_plan plan = {.uid = (uid_t)-1, .gid = (gid_t)-1};
    plan.mode = entry->mode & 07777;
    if (plan.mode & SET_ID_BITS)
        plan.mode = (plan.mode & ~(mode_t)SET_ID_BITS) | rightful_bits(policy, entry);
    if (policy->sets_owner) {
        plan.uid = owners_map(&policy->owners, false, entry->uid);
        plan.gid = owners_map(&policy->owners, true, entry->gid);
        plan.sets_owner = policy->is_careful ||
                          (plan.uid != UNKNOWN_ID && plan.uid != policy->uid) ||
                          (plan.gid != UNKNOWN_ID && plan.gid != policy->gid);
    }
    plan.sets_attrs = entry->xattr_bytes > 0 && !policy->options->no_xattrs;
    /* with attributes the mode comes after them: without write permission none can be set */
    plan.sets_mode =
        policy->is_careful || plan.sets_attrs || (plan.mode & (policy->umask | 07000)) != 0;
    return plan;
}

/* -- attributes ---------------------------------------------------------------------------- */

static bool has_prefix(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/*
 * Attributes that mean something only on the system they come from. Leaving them
 * out is told once each, at the first entry.
 */
static bool is_left_out(struct policy *policy, const char *name, const struct attr *attr)
{
    static const char *const kinds[] = {"security.selinux", "security.ima", "security.evm",
                                        "trusted.overlay."};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!has_prefix(attr->name, kinds[i]))
            continue;
        if (atomic_fetch_or(&policy->told, 1U << i) & 1U << i)
            return true;
        char what[600];
        snprintf(what, sizeof(what), "attribute '%s' is not restored, here and elsewhere",
                 show(attr->name).text);
        report_problem(policy->report, &(struct sqlpack_problem){SQLPACK_NOTE, name, what, 0});
        return true;
    }
    /* a capability is as good as a set-uid bit; the rest of them is for the system, too */
    return policy->options->untrusted &&
           (has_prefix(attr->name, "security.") || has_prefix(attr->name, "trusted."));
}

static int set_attr(const struct subject *subject, const struct attr *attr)
{
    if (subject->fd >= 0)
        return fsetxattr(subject->fd, attr->name, attr->value, attr->size, 0);
    char path[64 + NAME_MAX];
    snprintf(path, sizeof(path), "/proc/self/fd/%d/%s", subject->folder, subject->leaf);
    return lsetxattr(path, attr->name, attr->value, attr->size, 0);
}

/*
 * Attributes are set in this order: most of them while the mode still allows to
 * write; ACLs, which change the mode; and, once the mode is set, the capability,
 * which any of that would take away.
 */
enum attr_turn { TURN_MOST, TURN_ACL, TURN_CAPABILITY };

static enum attr_turn turn_of(const char *name)
{
    if (has_prefix(name, "system.posix_acl_"))
        return TURN_ACL;
    return strcmp(name, "security.capability") == 0 ? TURN_CAPABILITY : TURN_MOST;
}

static void set_attrs(struct policy *policy, const struct subject *subject,
                      const struct sqlpack_entry *entry, enum attr_turn turn)
{
    struct attr attr;
    size_t at = 0;
    int more;
    while ((more = attr_next(entry->xattr, entry->xattr_bytes, &at, &attr)) > 0) {
        if (turn_of(attr.name) != turn || is_left_out(policy, entry->name, &attr))
            continue;
        if (set_attr(subject, &attr) < 0)
            policy_loss(policy, entry->name, errno, "attribute '%s' cannot be set",
                        show(attr.name).text);
    }
    if (more < 0 && turn == TURN_MOST)
        policy_loss(policy, entry->name, 0, "its attributes are malformed");
}

/* -- owner, mode, times -------------------------------------------------------------------- */

static int set_owner(const struct subject *subject, const struct meta_plan *plan)
{
    if (subject->fd >= 0)
        return fchown(subject->fd, plan->uid, plan->gid);
    return fchownat(subject->folder, subject->leaf, plan->uid, plan->gid, AT_SYMLINK_NOFOLLOW);
}

static int set_mode(const struct subject *subject, mode_t mode)
{
    if (subject->fd >= 0)
        return fchmod(subject->fd, mode);
    return fchmodat(subject->folder, subject->leaf, mode, AT_SYMLINK_NOFOLLOW);
}

static int read_stat(const struct subject *subject, struct stat *ret_stat)
{
    if (subject->fd >= 0)
        return fstat(subject->fd, ret_stat);
    return fstatat(subject->folder, subject->leaf, ret_stat, AT_SYMLINK_NOFOLLOW);
}

static int set_times(const struct subject *subject, const struct timespec times[2])
{
    if (subject->fd >= 0)
        return futimens(subject->fd, times);
    return utimensat(subject->folder, subject->leaf, times, AT_SYMLINK_NOFOLLOW);
}

static void apply_times(struct policy *policy, const struct subject *subject,
                        const struct sqlpack_entry *entry)
{
    if (entry->mtime == SQLPACK_NO_TIME)
        return;
    const struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = entry->mtime, .tv_nsec = entry->mtime_ns},
    };
    if (set_times(subject, times) < 0) {
        policy_loss(policy, entry->name, errno, "its time cannot be set");
        return;
    }
    if (entry->mtime >= 0 && entry->mtime <= INT32_MAX)
        return;
    struct stat stat;
    if (read_stat(subject, &stat) == 0 &&
        (stat.st_mtim.tv_sec != entry->mtime || stat.st_mtim.tv_nsec != (long)entry->mtime_ns))
        policy_loss(policy, entry->name, 0, "its time is beyond what this file system keeps");
}

/* The mode after an owner could not be set: without the bits that would mean another one. */
static mode_t apply_owner(struct policy *policy, const struct subject *subject,
                          const struct sqlpack_entry *entry, const struct meta_plan *plan)
{
    if (!plan->sets_owner || set_owner(subject, plan) == 0)
        return plan->mode;
    policy_loss(policy, entry->name, errno, "its owner cannot be set");
    return plan->mode & ~(mode_t)SET_ID_BITS;
}

void meta_apply(struct policy *policy, const struct subject *subject,
                const struct sqlpack_entry *entry, const struct meta_plan *plan)
{
    mode_t mode = apply_owner(policy, subject, entry, plan);
    if (plan->sets_attrs) {
        set_attrs(policy, subject, entry, TURN_MOST);
        set_attrs(policy, subject, entry, TURN_ACL);
    }
    if (plan->sets_mode && !S_ISLNK(entry->mode) && set_mode(subject, mode) < 0)
        policy_loss(policy, entry->name, errno, "its mode cannot be set");
    if (plan->sets_attrs)
        set_attrs(policy, subject, entry, TURN_CAPABILITY);
    apply_times(policy, subject, entry);
}

/* -- what a run knows ---------------------------------------------------------------------- */

/* The umask, without changing it for other threads; all bits where it cannot be known. */
static mode_t read_umask(void)
{
    mode_t umask = 0777;
    FILE *status = fopen("/proc/self/status", "re");
    char line[256];
    while (status && fgets(line, sizeof(line), status))
        if (has_prefix(line, "Umask:"))
            umask = (mode_t)strtoul(line + 6, NULL, 8);
    if (status)
        fclose(status);
    return umask;
}

int policy_init(struct policy *policy, struct sqlpack *pack,
                const struct sqlpack_unpack_options *options, struct report *report,
                struct sqlpack_error *err)
{
    *policy = (struct policy){
        .options = options,
        .report = report,
        .uid = geteuid(),
        .gid = getegid(),
        .umask = read_umask(),
        .sets_owner = (geteuid() == 0 || options->same_owner) && !options->untrusted,
    };
    return options->numeric_owner ? 0 : owners_load(&policy->owners, pack, err);
}

void policy_release(struct policy *policy)
{
    owners_release(&policy->owners);
}
