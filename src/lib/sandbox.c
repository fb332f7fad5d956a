/* SPDX-License-Identifier: MIT */
/* Confines the process with Landlock: what a hostile pack may do at worst ends at the target. */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "lib/restore.h"

/* What the system's own header may be too old to know. */
#define ACCESS_TRUNCATE  (UINT64_C(1) << 14) /* from version 3 of the interface */
#define ACCESS_IOCTL_DEV (UINT64_C(1) << 15) /* 5 */
#define ACCESS_NET       UINT64_C(3)         /* 4: bind and connect */
#define SCOPE_ALL        UINT64_C(3)         /* 6: abstract sockets, signals */

struct ruleset {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
};

#define ACCESS_READ    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define ACCESS_FOLDERS (LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR)
#define ACCESS_CHANGE                                                                              \
    (ACCESS_FOLDERS | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |             \
     LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_FIFO |   \
     LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER |      \
     ACCESS_TRUNCATE)
#define ACCESS_ALL                                                                                 \
    (ACCESS_READ | ACCESS_CHANGE | LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_MAKE_SOCK |     \
     ACCESS_IOCTL_DEV)

#define ACCESS_TEMPORARY                                                                           \
    (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |                                \
     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG | ACCESS_TRUNCATE)

/* What the C library may read on its way: time zones, messages, the state of its own process. */
static const struct {
    const char *path;
    uint64_t access;
} system_paths[] = {
    {"/etc", ACCESS_READ},
    {"/usr/share", ACCESS_READ},
    {"/usr/lib", ACCESS_READ},
    {"/proc/self", ACCESS_READ},
    {"/dev/urandom", LANDLOCK_ACCESS_FS_READ_FILE},
};

static int allow(int rules, int fd, uint64_t access)
{
    const struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};
    return (int)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
}

/* What is not there needs no rule. */
static int allow_path(int rules, const char *path, uint64_t access)
{
    auto_close int fd = open(path, O_PATH | O_CLOEXEC);
    return fd < 0 ? 0 : allow(rules, fd, access);
}

/* The folder that SQLite takes for its temporary files. */
static const char *find_temporary(void)
{
    const char *const folders[] = {getenv("SQLITE_TMPDIR"), getenv("TMPDIR"), "/var/tmp",
                                   "/usr/tmp", "/tmp"};
    struct stat folder;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        if (folders[i] && stat(folders[i], &folder) == 0 && S_ISDIR(folder.st_mode) &&
            access(folders[i], W_OK | X_OK) == 0)
            return folders[i];
    return ".";
}

static int add_rules(int rules, const struct sandbox *sandbox, uint64_t handled)
{
    if (allow(rules, sandbox->target, (ACCESS_READ | ACCESS_CHANGE) & handled) < 0)
        return -1;
    if (sandbox->parent >= 0 && allow(rules, sandbox->parent, ACCESS_FOLDERS) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(system_paths) / sizeof(system_paths[0]); i++)
        if (allow_path(rules, system_paths[i].path, system_paths[i].access) < 0)
            return -1;
    if (sandbox->sorts && allow_path(rules, find_temporary(), ACCESS_TEMPORARY & handled) < 0)
        return -1;
    return allow_path(rules, sandbox->pack, LANDLOCK_ACCESS_FS_READ_FILE);
}

int sandbox_enter(const struct sandbox *sandbox, struct sqlpack_error *err)
{
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 2)
        return 0; /* the first version forbids to move a file from one folder to another */
    struct ruleset set = {.handled_access_fs = ACCESS_ALL};
    if (version < 3)
        set.handled_access_fs &= ~ACCESS_TRUNCATE;
    if (version < 5)
        set.handled_access_fs &= ~ACCESS_IOCTL_DEV;
    set.handled_access_net = version < 4 ? 0 : ACCESS_NET;
    set.scoped = version < 6 ? 0 : SCOPE_ALL;
    auto_close int rules = (int)syscall(SYS_landlock_create_ruleset, &set, sizeof(set), 0);
    if (rules < 0 || add_rules(rules, sandbox, set.handled_access_fs) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_landlock_restrict_self, rules, 0) < 0)
        return fail_errno(err, "cannot confine the process");
    return 1;
}
