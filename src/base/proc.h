/* proc.h - child processes that leave no process or descriptor.
 *
 *     const char *argv[] = {"npx", "some-mcp-server", NULL};
 *     struct proc p;
 *     if (!proc_spawn(&p, &(struct proc_spec){.argv = argv, .env = env}, e))
 *         return false;
 *     write(p.in, ...); read(p.out, ...); epoll on p.out, p.err, p.pidfd ...
 *     proc_stop(&p, 2000, &status);
 *     proc_release(&p);
 *
 * Or, to feed, read and wait for a program in one call:
 *
 *     if (!proc_run(&spec, &(struct proc_limits){.timeout_ms = 5000, .out_max = 1 << 20}, &r, e))
 *         return false;
 *     use(r.status, buf_str(&r.out), buf_str(&r.err));
 *     proc_result_release(&r);
 *
 * The child is created with posix_spawn, whose cost does not depend on our memory. It leads a new
 * session, starts with default handling of all signals and none blocked, and inherits only the
 * descriptors 0, 1 and 2. When it has ended, the rest of its process group is killed; only a
 * grandchild that started a new session survives.
 *
 * Promises:
 *   - A failed call leaves no descriptor and no process, and neither does proc_release.
 *   - No signal goes to another process: the child's pid is reserved until we wait for it, and
 *     unused afterwards. SIGCHLD must not be ignored; no other code may wait for the child.
 *   - proc_run cannot hang on a full pipe, even if the child does not read.
 *
 * Any thread may spawn; one struct proc belongs to one thread at a time. The process must ignore
 * SIGPIPE, as the whole program does.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"

#include <sys/types.h>

#define PROC_STATUS_SIZE 40 /* "killed by SIGKILL", "exited with 1", and a NUL */

#define PROC_STATUS_UNKNOWN (-1) /* the code if other code waited for the child */

/* A pipe to us, /dev/null, or our own descriptor. */
enum proc_io { PROC_PIPE, PROC_NULL, PROC_INHERIT };

/* What a child that reads hostile input may use. It can write no file, open no socket, start no
 * process and touch no other one; where the kernel has Landlock, it can read only programs,
 * libraries and their settings. */
struct proc_confine {
    size_t memory_max; /* bytes of address space */
    unsigned cpu_s;
};

struct proc_spec {
    const char *const *argv; /* ends in NULL; a name without / is looked up in our PATH */
    const char *const *env;  /* "NAME=value" and a NULL at the end; NULL is empty */
    const char *cwd;         /* or NULL: our own */
    enum proc_io in, out, err;
    const struct proc_confine *confine; /* NULL: the child has all our rights */
};

struct proc_status {
    bool signaled;
    int code; /* the exit code, or the number of the signal that ended it */
};

struct proc {
    pid_t pid;
    int pidfd;        /* readable when the child has ended; -1 once it was waited for */
    int in, out, err; /* our ends, non-blocking; -1 without a pipe */
    struct proc_status status;
};

/* ERR_NOT_FOUND: no such program or folder. ERR_INPUT: the program exists, but cannot be
 * executed. */
bool proc_spawn(struct proc *p, const struct proc_spec *spec, struct err *e) MUST_USE;

/* Closes the child's input: it reads end of file. */
void proc_close_in(struct proc *p);

/* Sends a signal to the whole group; does nothing after the child was waited for. */
void proc_signal(struct proc *p, int number);

/* Waits for the child to end; 0 does not wait, -1 waits for ever. ERR_TIMEOUT if it still runs.
 * After it has ended, each call returns its status. */
bool proc_wait(struct proc *p, int timeout_ms, struct proc_status *out, struct err *e) MUST_USE;

/* Sends TERM to the group and kills it after the grace period. Returns when the child has been
 * waited for. out may be NULL. */
void proc_stop(struct proc *p, int grace_ms, struct proc_status *out);

/* Closes our ends; a child that still runs is killed and waited for. */
void proc_release(struct proc *p);

/* "exited with 1", "killed by SIGKILL"; the text returned is the one in out. */
str proc_status_text(struct proc_status status, char out[PROC_STATUS_SIZE]);
bool proc_status_ok(struct proc_status status);

struct proc_limits {
    str in;                  /* the child's input, if spec->in is a pipe; {0}: none */
    size_t out_max, err_max; /* more output is ERR_LIMIT, and the child is killed */
    int timeout_ms;          /* then ERR_TIMEOUT, and the child is killed; -1: no timeout */
};

struct proc_result {
    struct proc_status status;
    struct buf out, err;
};

/* True if the program could be run, whatever its status is. It is not an error if the child does
 * not read all of its input. */
bool proc_run(const struct proc_spec *spec, const struct proc_limits *limits,
              struct proc_result *out, struct err *e) MUST_USE;
void proc_result_release(struct proc_result *r);
