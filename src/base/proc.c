/* Why no signal can reach another process: the system reuses a pid, and with it the number of the
 * group that the child leads, only after the parent has waited for the child. So we check whether
 * the child has ended without waiting for it (poll on the pidfd), signal its group while it is at
 * most a zombie, and only then wait. Only proc_reap_child() does this; `pidfd < 0` means that it is
 * done.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/proc.h"

#include "base/proc_confine.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_SIZE 65536
#define BY_PIDFD ((idtype_t)3) /* P_PIDFD, which glibc before 2.36 does not name */

/* The child's descriptors 0, 1 and 2 while it is started; -1: not from us. */
struct ends {
    int fd[3];
};

static void proc_close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Where our own 0, 1 or 2 is closed, a new descriptor may get that number, and then setting up the
 * child's would overwrite it. */
static bool proc_move_up(int *fd)
{
    int higher;

    assert(*fd >= 0);
    if (*fd > STDERR_FILENO)
        return true;
    higher = fcntl(*fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    if (higher < 0)
        return false;
    close(*fd);
    *fd = higher;
    return true;
}

/* One of the three: `ours` becomes non-blocking, `theirs` stays as programs expect it. */
static bool proc_open_end(int target, enum proc_io io, int *ours, int *theirs, struct err *e)
{
    bool child_reads = target == STDIN_FILENO;
    int pair[2];

    if (io == PROC_INHERIT)
        return true;
    if (io == PROC_NULL) {
        *theirs = open("/dev/null", (child_reads ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
        if (*theirs < 0 || !proc_move_up(theirs))
            return err_sys(e, "open /dev/null");
        return true;
    }
    if (pipe2(pair, O_CLOEXEC) < 0)
        return err_sys(e, "pipe");
    *theirs = pair[child_reads ? 0 : 1];
    *ours = pair[child_reads ? 1 : 0];
    if (!proc_move_up(theirs) || !proc_move_up(ours) || fcntl(*ours, F_SETFL, O_NONBLOCK) < 0)
        return err_sys(e, "pipe");
    return true;
}

/* Both objects only grow on the heap, so that failing is a crash like any other allocation. */
static void proc_die_on_error(int result, const char *what)
{
    if (result != 0)
        base_die("%s: %s", what, strerrordesc_np(result));
}

static void proc_set_actions(posix_spawn_file_actions_t *fa, const struct proc_spec *spec,
                             const struct ends *theirs)
{
    proc_die_on_error(posix_spawn_file_actions_init(fa), "posix_spawn_file_actions_init");
    for (int i = 0; i < 3; i++)
        if (theirs->fd[i] >= 0)
            proc_die_on_error(posix_spawn_file_actions_adddup2(fa, theirs->fd[i], i), "adddup2");
    if (spec->cwd)
        proc_die_on_error(posix_spawn_file_actions_addchdir_np(fa, spec->cwd), "addchdir_np");
    proc_die_on_error(posix_spawn_file_actions_addclosefrom_np(fa, STDERR_FILENO + 1),
                      "addclosefrom_np");
}

static void proc_set_attributes(posix_spawnattr_t *attr)
{
    sigset_t none, all;

    sigemptyset(&none);
    sigfillset(&all);
    proc_die_on_error(posix_spawnattr_init(attr), "posix_spawnattr_init");
    proc_die_on_error(posix_spawnattr_setsigmask(attr, &none), "setsigmask");
    proc_die_on_error(posix_spawnattr_setsigdefault(attr, &all), "setsigdefault");
    proc_die_on_error(posix_spawnattr_setflags(attr,
                                               POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                                   POSIX_SPAWN_SETSID),
                      "setflags");
}

/* Why a folder cannot be run in, or 0. */
static int proc_folder_errno(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        return errno;
    if (!S_ISDIR(st.st_mode))
        return ENOTDIR;
    return access(path, X_OK) < 0 ? errno : 0;
}

/* posix_spawn gives one number for all that can go wrong in the child; look which it was. */
static bool proc_spawn_failed(const struct proc_spec *spec, int why, struct err *e)
{
    const char *program = spec->argv[0];
    int folder_why = spec->cwd ? proc_folder_errno(spec->cwd) : 0;

    if (folder_why != 0) {
        errno = why = folder_why;
        err_sys(e, "run %s in %s", program, spec->cwd);
    } else if (why == ENOENT && program[0] == '/' && access(program, F_OK) == 0) {
        err_set(e, ERR_NOT_FOUND, "run %s: the interpreter that it names does not exist", program);
    } else {
        errno = why;
        err_sys(e, "run %s", program);
    }
    if (why == ENOENT)
        e->code = ERR_NOT_FOUND;
    else if (why == EACCES || why == ENOEXEC || why == ENOTDIR || why == E2BIG)
        e->code = ERR_INPUT;
    return false;
}

static bool proc_start(struct proc *p, const struct proc_spec *spec, const struct ends *theirs,
                       struct err *e)
{
    static const char *const nothing[] = {NULL};
    const char *const *env = spec->env ? spec->env : nothing;
    posix_spawn_file_actions_t fa;
    posix_spawnattr_t attr;
    int why;

    if (spec->confine) {
        why = proc_confine_start(&p->pid, spec, theirs->fd, env);
    } else {
        proc_set_actions(&fa, spec, theirs);
        proc_set_attributes(&attr);
        /* The strings are not changed; the prototype is older than const. */
        why = posix_spawnp(&p->pid,
                           spec->argv[0],
                           &fa,
                           &attr,
                           (char *const *)(uintptr_t)spec->argv,
                           (char *const *)(uintptr_t)env);
        posix_spawnattr_destroy(&attr);
        posix_spawn_file_actions_destroy(&fa);
    }
    if (why != 0)
        return proc_spawn_failed(spec, why, e);

    p->pidfd = (int)syscall(SYS_pidfd_open, p->pid, 0);
    if (p->pidfd >= 0)
        return true;
    err_sys(e, "pidfd_open for %s", spec->argv[0]);
    kill(-p->pid, SIGKILL);
    waitid(P_PID, (id_t)p->pid, &(siginfo_t){0}, WEXITED);
    return false;
}

bool proc_spawn(struct proc *p, const struct proc_spec *spec, struct err *e)
{
    struct ends theirs = {{-1, -1, -1}};
    struct proc made = {.pid = -1, .pidfd = -1, .in = -1, .out = -1, .err = -1};
    bool ok;

    assert(spec->argv && spec->argv[0]);
    ok = proc_open_end(STDIN_FILENO, spec->in, &made.in, &theirs.fd[0], e) &&
         proc_open_end(STDOUT_FILENO, spec->out, &made.out, &theirs.fd[1], e) &&
         proc_open_end(STDERR_FILENO, spec->err, &made.err, &theirs.fd[2], e) &&
         proc_start(&made, spec, &theirs, e);
    for (size_t i = 0; i < COUNT_OF(theirs.fd); i++)
        proc_close_one(&theirs.fd[i]);
    if (ok) {
        assert(made.pid > 1 && made.pidfd >= 0);
        *p = made;
        return true;
    }
    proc_close_one(&made.in);
    proc_close_one(&made.out);
    proc_close_one(&made.err);
    return false;
}

void proc_close_in(struct proc *p)
{
    proc_close_one(&p->in);
}

void proc_signal(struct proc *p, int number)
{
    assert(p->pidfd < 0 || p->pid > 1); /* kill(-1) would reach every process */
    if (p->pidfd >= 0)
        kill(-p->pid, number);
}

/* The child has ended and is a zombie, or is about to be killed here. Where the program around us
 * took its status away, it stays unknown. */
static void proc_reap_child(struct proc *p)
{
    siginfo_t info = {.si_code = CLD_EXITED};
    int n;

    assert(p->pidfd >= 0);
    assert(p->pid > 1);
    kill(-p->pid, SIGKILL);
    do
        n = waitid(BY_PIDFD, (id_t)p->pidfd, &info, WEXITED);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        info.si_status = PROC_STATUS_UNKNOWN;
    p->status = (struct proc_status){
        .signaled = info.si_code != CLD_EXITED,
        .code = info.si_status,
    };
    proc_close_one(&p->pidfd);
}

/* Whether the child has ended by a deadline. */
static bool proc_ended(const struct proc *p, uint64_t deadline_ns)
{
    struct pollfd ready = {.fd = p->pidfd, .events = POLLIN};
    int n;

    do
        n = poll(&ready, 1, clock_left_ms(&clock_real, deadline_ns));
    while ((n < 0 && errno == EINTR) || (n == 0 && clock_left_ms(&clock_real, deadline_ns) != 0));
    return n > 0;
}

bool proc_wait(struct proc *p, int timeout_ms, struct proc_status *out, struct err *e)
{
    if (p->pidfd >= 0 && !proc_ended(p, clock_deadline_ns(&clock_real, timeout_ms)))
        return err_set(e, ERR_TIMEOUT, "still running after %d ms", timeout_ms);
    if (p->pidfd >= 0)
        proc_reap_child(p);
    *out = p->status;
    return true;
}

void proc_stop(struct proc *p, int grace_ms, struct proc_status *out)
{
    assert(grace_ms >= 0);
    if (p->pidfd >= 0) {
        proc_signal(p, SIGTERM);
        proc_signal(p, SIGCONT); /* one that was stopped cannot hear */
        (void)proc_ended(p, clock_deadline_ns(&clock_real, grace_ms));
        proc_reap_child(p);
    }
    if (out)
        *out = p->status;
}

void proc_release(struct proc *p)
{
    if (p->pidfd >= 0)
        proc_reap_child(p);
    proc_close_one(&p->in);
    proc_close_one(&p->out);
    proc_close_one(&p->err);
}

str proc_status_text(struct proc_status status, char out[PROC_STATUS_SIZE])
{
    const char *name = status.signaled ? sigabbrev_np(status.code) : NULL;
    int n;

    if (!status.signaled)
        n = snprintf(out, PROC_STATUS_SIZE, "exited with %d", status.code);
    else if (name)
        n = snprintf(out, PROC_STATUS_SIZE, "killed by SIG%s", name);
    else
        n = snprintf(out, PROC_STATUS_SIZE, "killed by signal %d", status.code);
    assert(n > 0 && n < PROC_STATUS_SIZE);
    return (str){out, (size_t)n};
}

bool proc_status_ok(struct proc_status status)
{
    return !status.signaled && status.code == 0;
}

/* Reads the available bytes, up to b's limit. End of file closes the descriptor. */
static bool proc_take(int *fd, struct buf *b, const char *what, struct err *e)
{
    char bytes[READ_SIZE];

    assert(*fd >= 0);
    for (;;) {
        ssize_t n = read(*fd, bytes, sizeof bytes);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return true;
        if (n < 0)
            return err_sys(e, "read its %s", what);
        if (n == 0) {
            proc_close_one(fd);
            return true;
        }
        buf_add(b, (str){bytes, (size_t)n});
        if (!buf_ok(b, what, e))
            return false;
    }
}

/* Writes as much as fits now. Closes the pipe when all is written or the child has closed its
 * input. */
static void proc_give(struct proc *p, str *in)
{
    ssize_t n = 0;

    assert(p->in >= 0);
    while (in->n > 0) {
        n = write(p->in, in->p, in->n);
        if (n >= 0)
            *in = str_slice(*in, (size_t)n, in->n);
        else if (errno != EINTR)
            break;
    }
    if (n >= 0 || errno != EAGAIN)
        proc_close_in(p);
}

/* Reads until the child has ended. The pipes then have all of its output, even if a grandchild
 * keeps them open. */
static bool proc_pump(struct proc *p, const struct proc_limits *limits, struct proc_result *r,
                      struct err *e)
{
    uint64_t deadline_ns = clock_deadline_ns(&clock_real, limits->timeout_ms);
    str in = limits->in;

    while (p->pidfd >= 0) {
        struct pollfd ready[] = {
            {.fd = p->pidfd, .events = POLLIN},
            {.fd = p->in, .events = POLLOUT},
            {.fd = p->out, .events = POLLIN},
            {.fd = p->err, .events = POLLIN},
        };
        int n = poll(ready, COUNT_OF(ready), clock_left_ms(&clock_real, deadline_ns));

        if (n < 0 && errno != EINTR)
            return err_sys(e, "poll");
        if (clock_left_ms(&clock_real, deadline_ns) == 0 && (n <= 0 || !ready[0].revents))
            return err_set(e, ERR_TIMEOUT, "still running after %d ms", limits->timeout_ms);
        if (n <= 0)
            continue;
        if (ready[0].revents)
            proc_reap_child(p);
        if (p->in >= 0 && ready[1].revents)
            proc_give(p, &in);
        if (p->out >= 0 && !proc_take(&p->out, &r->out, "stdout", e))
            return false;
        if (p->err >= 0 && !proc_take(&p->err, &r->err, "stderr", e))
            return false;
    }
    return true;
}

bool proc_run(const struct proc_spec *spec, const struct proc_limits *limits,
              struct proc_result *out, struct err *e)
{
    struct proc_result r = {.status = {.signaled = false}};
    struct proc p;
    bool ok;

    if (!proc_spawn(&p, spec, e))
        return false;
    buf_init(&r.out, limits->out_max);
    buf_init(&r.err, limits->err_max);
    if (p.in >= 0 && limits->in.n == 0)
        proc_close_in(&p);
    ok = proc_pump(&p, limits, &r, e) || err_prefix(e, "%s: ", spec->argv[0]);
    proc_release(&p);
    r.status = p.status;
    if (ok)
        *out = r;
    else
        proc_result_release(&r);
    return ok;
}

void proc_result_release(struct proc_result *r)
{
    buf_release(&r->out);
    buf_release(&r->err);
}
