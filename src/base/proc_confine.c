/* proc_confine.c - see proc_confine.h.
 *
 * posix_spawn cannot limit the child before it runs, so this file creates the child in the same
 * way: it shares our memory, and we wait until it has become the program. Until then it only makes
 * system calls, with all signals blocked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/proc_confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_SIZE ((size_t)256 << 10)
#define PATH_SIZE 4096
#define FILES_MAX 64
#define X32_BIT 0x40000000

/* ThreadSanitizer intercepts clone as if it were fork, and aborts because this child shares our
 * memory. Under its other name the function is not intercepted. */
#if BUILD_THREAD_SANITIZER
int __clone(int (*fn)(void *), void *stack, int flags, void *arg, ...);
#define clone __clone
#endif

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "which AUDIT_ARCH is this?"
#endif

#define DENY(nr)                                                                                   \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1),                                               \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))

/* The same if the low half of an argument meets the jump; both machines are little-endian. */
#define DENY_IF(call, arg, jump)                                                                   \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 4), LOAD(args[arg]), jump,                      \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM), LOAD(nr)
#define NOT_ZERO BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0)
#define WRITES BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC, 0, 1)

static struct sock_filter confine_filter[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    LOAD(nr),
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    DENY(SYS_socket),
    DENY(SYS_socketpair),
    DENY(SYS_connect),
    DENY(SYS_bind),
    DENY(SYS_clone),
    DENY(SYS_clone3),
    DENY(SYS_kill),
    DENY(SYS_tkill),
    DENY(SYS_tgkill),
    DENY(SYS_rt_sigqueueinfo),
    DENY(SYS_rt_tgsigqueueinfo),
    DENY(SYS_ptrace),
    DENY(SYS_process_vm_readv),
    DENY(SYS_process_vm_writev),
    DENY(SYS_pidfd_open),
    DENY(SYS_pidfd_getfd),
    DENY(SYS_pidfd_send_signal),
    DENY_IF(SYS_prlimit64, 0, NOT_ZERO), /* those of another process */
    DENY(SYS_setpriority),
    DENY(SYS_ioprio_set),
    DENY(SYS_sched_setaffinity),
    DENY(SYS_sched_setattr),
    DENY(SYS_sched_setparam),
    DENY(SYS_sched_setscheduler),
    DENY(SYS_migrate_pages),
    DENY(SYS_move_pages),
    DENY(SYS_setns),
    DENY(SYS_unshare),
    DENY(SYS_mount),
    DENY(SYS_umount2),
    DENY(SYS_pivot_root),
    DENY(SYS_chroot),
    DENY(SYS_bpf),
    DENY(SYS_perf_event_open),
    DENY(SYS_userfaultfd),
    DENY(SYS_io_uring_setup),
    DENY(SYS_keyctl),
    DENY(SYS_add_key),
    DENY(SYS_request_key),
    DENY(SYS_open_by_handle_at),
    DENY_IF(SYS_openat, 2, WRITES),
    DENY(SYS_openat2), /* its flags are in memory */
    DENY(SYS_unlinkat),
    DENY(SYS_renameat),
    DENY(SYS_renameat2),
    DENY(SYS_mkdirat),
    DENY(SYS_linkat),
    DENY(SYS_symlinkat),
    DENY(SYS_mknodat),
    DENY(SYS_fchmod),
    DENY(SYS_fchmodat),
    DENY(SYS_fchown),
    DENY(SYS_fchownat),
    DENY(SYS_utimensat),
    DENY(SYS_setxattr),
    DENY(SYS_lsetxattr),
    DENY(SYS_fsetxattr),
    DENY(SYS_removexattr),
    DENY(SYS_lremovexattr),
    DENY(SYS_fremovexattr),
    DENY(SYS_truncate),
#ifdef SYS_fchmodat2
    DENY(SYS_fchmodat2),
#endif
#if defined(__x86_64__)
    DENY(SYS_fork),
    DENY(SYS_vfork),
    DENY(SYS_unlink),
    DENY(SYS_rmdir),
    DENY(SYS_rename),
    DENY(SYS_mkdir),
    DENY(SYS_link),
    DENY(SYS_symlink),
    DENY(SYS_mknod),
    DENY(SYS_chmod),
    DENY(SYS_chown),
    DENY(SYS_lchown),
    DENY(SYS_utime),
    DENY(SYS_utimes),
    DENY(SYS_futimesat),
    DENY_IF(SYS_open, 1, WRITES),
    DENY(SYS_creat),
#endif
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

/* All that the child needs; only `why` is written by it. */
struct confine_child {
    const struct proc_spec *spec;
    const int *fds;
    const char *const *env;
    const char *path;
    int landlock; /* a descriptor; -1: the kernel does not support it */
    int why;
};

/* ---- in the child ---- */

static bool confine_limit(const struct proc_confine *c)
{
    const struct {
        int what;
        rlim_t max;
    } rows[] = {{RLIMIT_AS, c->memory_max},
                {RLIMIT_CPU, c->cpu_s},
                {RLIMIT_FSIZE, 0},
                {RLIMIT_CORE, 0},
                {RLIMIT_NOFILE, FILES_MAX}};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        __rlimit_resource_t what = (__rlimit_resource_t)rows[i].what;
        struct rlimit now;

        if (getrlimit(what, &now) < 0)
            return false;
        now.rlim_max = rows[i].max < now.rlim_max ? rows[i].max : now.rlim_max;
        now.rlim_cur = now.rlim_max;
        if (setrlimit(what, &now) < 0)
            return false;
    }
    return true;
}

static bool confine_child_set_up(const struct confine_child *c)
{
    const struct sock_fprog filter = {COUNT_OF(confine_filter), confine_filter};
    struct sigaction normal = {.sa_handler = SIG_DFL};
    sigset_t none;

    if (setsid() < 0 || (c->spec->cwd && chdir(c->spec->cwd) < 0))
        return false;
    for (int i = 0; i < 3; i++)
        if (c->fds[i] >= 0 && dup2(c->fds[i], i) < 0)
            return false;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return false;
    if (c->landlock >= 0 && syscall(SYS_landlock_restrict_self, c->landlock, 0) < 0)
        return false;
    if (close_range(STDERR_FILENO + 1, ~0U, 0) < 0 || !confine_limit(c->spec->confine))
        return false;
    for (int i = 1; i < NSIG; i++)
        (void)sigaction(i, &normal, NULL); /* two cannot be set, and need not */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static int confine_child_run(void *arg)
{
    struct confine_child *c = arg;

    if (confine_child_set_up(c))
        execve(c->path, (char *const *)(uintptr_t)c->spec->argv, (char *const *)(uintptr_t)c->env);
    c->why = errno;
    _exit(127);
}

/* ---- before it ---- */

/* Reading and running below a folder; one that is not there needs no rule. */
static void confine_allow(int ruleset, const char *folder)
{
    struct landlock_path_beneath_attr rule = {.allowed_access = LANDLOCK_ACCESS_FS_EXECUTE |
                                                                LANDLOCK_ACCESS_FS_READ_FILE |
                                                                LANDLOCK_ACCESS_FS_READ_DIR,
                                              .parent_fd = open(folder, O_PATH | O_CLOEXEC)};

    if (rule.parent_fd < 0)
        return;
    (void)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(rule.parent_fd);
}

/* The folders of programs and libraries, and the program's own. -1: the kernel has no Landlock. */
static int confine_landlock(const char *program)
{
    static const char *const folders[] = {
        "/usr", "/bin", "/lib", "/lib64", "/lib32", "/etc", "/opt", "/nix/store"};
    const struct landlock_ruleset_attr all = {.handled_access_fs =
                                                  (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1};
    char own[PATH_SIZE];
    char *slash;
    int fd = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);

    if (fd < 0)
        return -1;
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        confine_allow(fd, folders[i]);
    snprintf(own, sizeof own, "%s", program);
    slash = strrchr(own, '/');
    if (slash && slash > own) {
        *slash = 0;
        confine_allow(fd, own);
    }
    return fd;
}

/* The program as execvp would find it; false: it is not there. */
static bool confine_find(const char *name, char out[PATH_SIZE])
{
    const char *path = getenv("PATH");

    if (strchr(name, '/')) {
        snprintf(out, PATH_SIZE, "%s", name);
        return access(out, X_OK) == 0;
    }
    for (path = path && *path ? path : "/usr/bin:/bin"; *path;) {
        int n = (int)strcspn(path, ":");

        if (n > 0 && snprintf(out, PATH_SIZE, "%.*s/%s", n, path, name) < PATH_SIZE &&
            access(out, X_OK) == 0)
            return true;
        path += n + (path[n] == ':');
    }
    errno = ENOENT;
    return false;
}

int proc_confine_start(pid_t *pid, const struct proc_spec *spec, const int fds[3],
                       const char *const *env)
{
    char path[PATH_SIZE];
    struct confine_child c = {.spec = spec, .fds = fds, .env = env, .path = path};
    sigset_t all, before;
    char *stack;

    if (!confine_find(spec->argv[0], path))
        return errno;
    stack = mmap(
        NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return errno;
    c.landlock = confine_landlock(path);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    *pid = clone(confine_child_run, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK | SIGCHLD, &c);
    if (*pid < 0)
        c.why = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (*pid > 0 && c.why != 0)
        waitid(P_PID, (id_t)*pid, &(siginfo_t){0}, WEXITED);
    if (c.landlock >= 0)
        close(c.landlock);
    munmap(stack, STACK_SIZE);
    return c.why;
}
