/* proc.h - child processes that leave nothing behind.
 *
 *     const char *argv[] = {"npx", "some-mcp-server", NULL};
 *     struct proc p;
 *     if (!proc_spawn(&p, &(struct proc_spec){.argv = argv, .env = env}, e))
 *         return false;
 *     write(p.in, ...); read(p.out, ...); epoll on p.out, p.err, p.pidfd ...
 *     proc_stop(&p, 2000, &status);
 *     proc_release(&p);
 *
 * Or, for a program that is fed, read and waited for:
 *
 *     if (!proc_run(&spec, &(struct proc_limits){.timeout_ms = 5000, .out_max = 1 << 20}, &r, e))
 *         return false;
 *     use(r.status, buf_str(&r.out), buf_str(&r.err));
 *     proc_result_release(&r);
 *
 * The child is made with posix_spawn, which costs the same however much memory we hold. It is the
 * first of a session of its own, begins with every signal at its default and none blocked, and has
 * no descriptor of ours but 0, 1 and 2. When it has ended, whatever is left of its process group is
 * killed; a grandchild that made a session of its own escapes that, and nothing else does.
 *
 * Promises:
 *   - A failed call leaves no descriptor and no process behind, and neither does a release.
 *   - No signal goes to a stranger: the child's pid is ours until it is waited for, and after that
 *     it is not used any more. SIGCHLD must not be ignored; nobody else may wait for the child.
 *   - proc_run cannot hang on a full pipe, whatever the child does or does not read.
 *
 * Any thread may spawn; one struct proc belongs to one thread at a time. SIGPIPE is expected to be
 * ignored, as the whole house has it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <sys/types.h>

#define PROC_STATUS_SIZE 40 /* "killed by SIGKILL", "exited with 1", and a NUL */

#define PROC_STATUS_UNKNOWN (-1) /* the code if somebody else waited for the child */

/* A pipe to us, /dev/null, or the same as our own. */
enum proc_io { PROC_PIPE, PROC_NULL, PROC_INHERIT };

struct proc_spec {
    const char *const *argv; /* ends in NULL; without a / the name is looked up in our PATH */
    const char *const *env;  /* "NAME=value" and a NULL at the end; NULL is empty */
    const char *cwd;         /* or NULL: our own */
    enum proc_io in, out, err;
};

struct proc_status {
    bool signaled;
    int code; /* what it exited with, or the number of the signal that ended it */
};

struct proc {
    pid_t pid;
    int pidfd;        /* readable when the child has ended; -1 once it was waited for */
    int in, out, err; /* our ends, non-blocking, -1 if there is none */
    struct proc_status status;
};

/* ERR_NOT_FOUND: no such program or folder. ERR_INPUT: there, but cannot be run. */
bool proc_spawn(struct proc *p, const struct proc_spec *spec, struct err *e) MUST_USE;

/* The child reads the end of its input. */
void proc_close_in(struct proc *p);

/* To the whole group; nothing happens if the child was already waited for. */
void proc_signal(struct proc *p, int number);

/* Waits for the child to end: not at all for 0, for ever for -1. ERR_TIMEOUT if it has not. Once it
 * has, its status is given again and again. */
bool proc_wait(struct proc *p, int timeout_ms, struct proc_status *out, struct err *e) MUST_USE;

/* TERM to the group; what has not ended after the grace is killed. Returns when the child has been
 * waited for. out may be NULL. */
void proc_stop(struct proc *p, int grace_ms, struct proc_status *out);

/* Closes our ends; a child that still runs is killed and waited for. */
void proc_release(struct proc *p);

/* "exited with 1", "killed by SIGKILL"; the text returned is the one in out. */
str proc_status_text(struct proc_status status, char out[PROC_STATUS_SIZE]);
bool proc_status_ok(struct proc_status status);

struct proc_limits {
    str in;                  /* what the child reads, if spec->in is a pipe; {0} is nothing */
    size_t out_max, err_max; /* more than that is ERR_LIMIT, and the child is killed */
    int timeout_ms;          /* ERR_TIMEOUT, and likewise; -1 is for ever */
};

struct proc_result {
    struct proc_status status;
    struct buf out, err;
};

/* True if the program could be run, whatever its status is. A child that does not read all of its
 * input is no failure. */
bool proc_run(const struct proc_spec *spec, const struct proc_limits *limits,
              struct proc_result *out, struct err *e) MUST_USE;
void proc_result_release(struct proc_result *r);
