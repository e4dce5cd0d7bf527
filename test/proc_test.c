/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"
#include "base/proc.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LARGE (4 << 20)
#define THREADS 4

static const struct proc_limits usual = {
    .in = {"", 0}, .out_max = 1 << 20, .err_max = 1 << 20, .timeout_ms = 20000};

static size_t descriptors(void)
{
    size_t n = 0;

    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

/* A spec for a shell script; its argv is stored in `argv`. */
static struct proc_spec shell(const char *argv[4], const char *script)
{
    static const char *const env[] = {"PATH=/usr/bin:/bin", NULL};

    argv[0] = "/bin/sh";
    argv[1] = "-c";
    argv[2] = script;
    argv[3] = NULL;
    return (struct proc_spec){.argv = argv, .env = env};
}

TEST(proc_run_tells_how_a_program_ended)
{
    static const struct {
        const char *script, *out, *err, *status;
        bool ok;
    } cases[] = {
        {"echo hello; echo oops >&2", "hello\n", "oops\n", "exited with 0", true},
        {"exit 3", "", "", "exited with 3", false},
        {"kill -KILL $$", "", "", "killed by SIGKILL", false},
        {"kill -TERM $$", "", "", "killed by SIGTERM", false},
        {"cat", "", "", "exited with 0", true},
        {"exec 1>&- 2>&-; cat; exit 5", "", "", "exited with 5", false},
        {"sleep 100 & echo left behind", "left behind\n", "", "exited with 0", true},
    };
    size_t before = descriptors();

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *argv[4], *script = cases[i].script;
        struct proc_spec spec = shell(argv, script);
        char text[PROC_STATUS_SIZE];
        struct proc_result r;
        struct err e;

        CHECK_F(proc_run(&spec, &usual, &r, &e), "%s: %s", script, e.text);
        CHECK_STR(buf_str(&r.out), cases[i].out);
        CHECK_STR(buf_str(&r.err), cases[i].err);
        CHECK_STR(proc_status_text(r.status, text), cases[i].status);
        CHECK(proc_status_ok(r.status) == cases[i].ok);
        proc_result_release(&r);
    }
    CHECK_INT(descriptors(), before);
}

TEST(proc_run_does_not_hang_on_full_pipes)
{
    static const struct {
        const char *script;
        size_t out, err;
    } cases[] = {
        {"cat", LARGE, 0},
        {"cat >&2", 0, LARGE},
        {"head -c 1000000 /dev/zero; head -c 1000000 /dev/zero >&2; cat", LARGE + 1000000, 1000000},
        {"true", 0, 0}, /* reads none of its input */
        {"exec 0<&-; echo x; exit 0", 2, 0},
    };
    struct proc_limits limits = {.out_max = 8 << 20, .err_max = 8 << 20, .timeout_ms = 60000};
    char *large = base_alloc(LARGE);

    signal(SIGPIPE, SIG_IGN);
    memset(large, 'x', LARGE);
    limits.in = (str){large, LARGE};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *argv[4];
        struct proc_spec spec = shell(argv, cases[i].script);
        struct proc_result r;
        struct err e;

        CHECK_F(proc_run(&spec, &limits, &r, &e), "%s: %s", cases[i].script, e.text);
        CHECK_INT(r.out.n, cases[i].out);
        CHECK_INT(r.err.n, cases[i].err);
        CHECK(proc_status_ok(r.status));
        proc_result_release(&r);
    }
    free(large);
}

TEST(proc_run_keeps_its_ceilings_and_its_time)
{
    static const struct {
        const char *script;
        struct proc_limits limits;
        enum err_code code;
        const char *text;
    } cases[] = {
        {"yes", {{"", 0}, 1000, 1000, 20000}, ERR_LIMIT, "/bin/sh: stdout: larger than 1000 bytes"},
        {"yes >&2", {{"", 0}, 1000, 9, 20000}, ERR_LIMIT, "/bin/sh: stderr: larger than 9 bytes"},
        {"sleep 100", {{"", 0}, 9, 9, 20}, ERR_TIMEOUT, "/bin/sh: still running after 20 ms"},
        {"exec 1>&- 2>&-; sleep 100",
         {{"", 0}, 9, 9, 20},
         ERR_TIMEOUT,
         "/bin/sh: still running after 20 ms"},
        {"trap '' TERM; while :; do :; done",
         {{"", 0}, 9, 9, 20},
         ERR_TIMEOUT,
         "/bin/sh: still running after 20 ms"},
    };
    size_t before = descriptors();

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *argv[4];
        struct proc_spec spec = shell(argv, cases[i].script);
        struct proc_result r;
        struct err e;

        CHECK(!proc_run(&spec, &cases[i].limits, &r, &e));
        CHECK_INT(e.code, cases[i].code);
        CHECK_STR(str_c(e.text), cases[i].text);
    }
    CHECK_INT(descriptors(), before);
}

TEST(proc_gives_the_child_what_was_said_and_nothing_else)
{
    static const char *const env[] = {"A=1", "B=two words", NULL};
    static const struct {
        const char *argv[3];
        const char *cwd, *out;
        bool with_env;
    } cases[] = {
        {{"/usr/bin/env", NULL}, NULL, "A=1\nB=two words\n", true},
        {{"/usr/bin/env", NULL}, NULL, "", false},
        {{"pwd", NULL}, "/usr", "/usr\n", false},
        {{"ls", "/proc/self/fd", NULL}, NULL, "0\n1\n2\n3\n", false}, /* 3: ls reads the folder */
    };
    int ours = open("/dev/null", O_RDONLY); /* inherited on exec unless proc closes it */

    CHECK(ours >= 0);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct proc_spec spec = {.argv = cases[i].argv,
                                 .env = cases[i].with_env ? env : NULL,
                                 .cwd = cases[i].cwd,
                                 .in = PROC_NULL};
        struct proc_result r;
        struct err e;

        CHECK_F(proc_run(&spec, &usual, &r, &e), "%s", e.text);
        CHECK_STR(buf_str(&r.out), cases[i].out);
        proc_result_release(&r);
    }
    close(ours);
}

/* The number after a name in the child's output, which ends in NUL. */
static unsigned long long number_after(const char *text, const char *name, int base)
{
    const char *at = strstr(text, name);

    CHECK_F(at, "%s", name);
    return strtoull(at + strlen(name), NULL, base);
}

TEST(proc_begins_with_signals_as_they_come_and_a_session_of_its_own)
{
    static const char *const argv[] = {"cat", "/proc/self/status", "/proc/self/stat", NULL};
    /* glibc ignores its two internal signals, 32 and 33, in every process. */
    unsigned long long glibc_own = 3ULL << 31, pid, group, session;
    struct proc_spec spec = {.argv = argv};
    sigset_t some, before;
    struct proc_result r;
    struct err e;

    signal(SIGPIPE, SIG_IGN);
    sigemptyset(&some);
    sigaddset(&some, SIGTERM);
    sigaddset(&some, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &some, &before);
    CHECK(proc_run(&spec, &usual, &r, &e));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    buf_add_c(&r.out, '\0');
    CHECK_INT(number_after(r.out.p, "SigBlk:", 16), 0);
    CHECK_INT(number_after(r.out.p, "SigIgn:", 16) & ~glibc_own, 0);
    pid = number_after(r.out.p, "\nPid:", 10);
    CHECK(sscanf(strstr(r.out.p, " (cat) "), " (cat) %*c %*d %llu %llu", &group, &session) == 2);
    CHECK(group == pid && session == pid);
    proc_result_release(&r);
}

TEST(proc_spawn_says_why_a_program_cannot_be_run)
{
    static const struct {
        const char *program, *cwd;
        enum err_code code;
        const char *text;
    } cases[] = {
        {"no-such-program-here",
         NULL,
         ERR_NOT_FOUND,
         "run no-such-program-here: No such file or directory"},
        {"/no/such/program",
         NULL,
         ERR_NOT_FOUND,
         "run /no/such/program: No such file or directory"},
        {"/etc/passwd", NULL, ERR_INPUT, "run /etc/passwd: Permission denied"},
        {"/tmp", NULL, ERR_INPUT, "run /tmp: Permission denied"},
        {"cat",
         "/no/such/folder",
         ERR_NOT_FOUND,
         "run cat in /no/such/folder: No such file or directory"},
        {"cat", "/etc/passwd", ERR_INPUT, "run cat in /etc/passwd: Not a directory"},
    };
    size_t before = descriptors();

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *argv[] = {cases[i].program, NULL};
        struct proc p;
        struct err e;

        CHECK(!proc_spawn(&p, &(struct proc_spec){.argv = argv, .cwd = cases[i].cwd}, &e));
        CHECK_STR(str_c(e.text), cases[i].text);
        CHECK_INT(e.code, cases[i].code);
        CHECK_INT(descriptors(), before);
    }
}

TEST(proc_spawn_tells_a_missing_interpreter_from_a_missing_program)
{
    char path[] = "/tmp/proc_test.XXXXXX";
    const char *argv[] = {path, NULL};
    struct proc p;
    struct err e;
    int fd = mkostemp(path, O_CLOEXEC);

    CHECK(fd >= 0 && fchmod(fd, 0700) == 0);
    CHECK(write(fd, "#!/no/such/interpreter\n", 23) == 23);
    close(fd);
    CHECK(!proc_spawn(&p, &(struct proc_spec){.argv = argv}, &e));
    CHECK(str_ends(str_c(e.text), STR(": the interpreter that it names does not exist")));
    unlink(path);
}

/* Each step that opens a descriptor fails once. */
TEST(proc_spawn_leaves_nothing_behind_when_descriptors_run_out)
{
    const char *argv[4];
    struct proc_spec spec = shell(argv, "exit 0");
    size_t before = descriptors(), failures = 0;
    struct rlimit limit, less;
    struct proc p;
    struct err e;

    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    for (rlim_t n = 3; n < 100; n++) {
        bool ok;

        less = (struct rlimit){n, limit.rlim_max};
        CHECK(setrlimit(RLIMIT_NOFILE, &less) == 0);
        ok = proc_spawn(&p, &spec, &e);
        CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        if (ok)
            break;
        failures++;
        CHECK_INT(e.code, ERR_SYSTEM);
        CHECK_INT(descriptors(), before);
    }
    CHECK(failures >= 6);
    proc_release(&p);
    CHECK_INT(descriptors(), before);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

TEST(proc_pipes_do_not_block_and_end_when_the_child_does)
{
    const char *argv[4];
    struct proc_spec spec = shell(argv, "read line; echo got $line; exit 7");
    struct proc_status status;
    struct pollfd ready;
    struct proc p;
    struct err e;
    char got[100];
    ssize_t n;

    CHECK(proc_spawn(&p, &spec, &e));
    CHECK(read(p.out, got, sizeof got) < 0 && errno == EAGAIN);
    CHECK(!proc_wait(&p, 0, &status, &e));
    CHECK_INT(e.code, ERR_TIMEOUT);
    CHECK(write(p.in, "hello\n", 6) == 6);
    ready = (struct pollfd){.fd = p.out, .events = POLLIN};
    CHECK(poll(&ready, 1, 20000) == 1);
    n = read(p.out, got, sizeof got);
    CHECK_STR(((str){got, (size_t)n}), "got hello\n");
    CHECK(proc_wait(&p, 20000, &status, &e));
    CHECK(!status.signaled && status.code == 7);
    CHECK(read(p.out, got, sizeof got) == 0);
    status.code = 0;
    CHECK(proc_wait(&p, 0, &status, &e) && status.code == 7);
    proc_signal(&p, SIGKILL); /* the child is gone: no other process gets the signal */
    proc_stop(&p, 0, &status);
    CHECK_INT(status.code, 7);
    proc_release(&p);
    CHECK_INT(p.in, -1);
}

/* Waits for the first line that a child writes. */
static str first_line(struct proc *p, char *out, size_t size)
{
    struct pollfd ready = {.fd = p->out, .events = POLLIN};
    ssize_t n;

    CHECK(poll(&ready, 1, 20000) == 1);
    n = read(p->out, out, size - 1);
    CHECK(n > 0);
    out[n] = '\0';
    return (str){out, (size_t)n};
}

TEST(proc_stop_asks_first_and_then_kills)
{
    static const struct {
        const char *script;
        int grace_ms;
        const char *status;
    } cases[] = {
        {"trap 'exit 9' TERM; echo ready; while :; do sleep 0.01; done", 20000, "exited with 9"},
        {"echo ready; sleep 100", 20000, "killed by SIGTERM"},
        {"trap '' TERM; echo ready; while :; do sleep 100; done", 20, "killed by SIGKILL"},
        {"echo ready; kill -STOP $$; sleep 100", 20000, "killed by SIGTERM"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *argv[4];
        struct proc_spec spec = shell(argv, cases[i].script);
        char text[PROC_STATUS_SIZE], line[100];
        struct proc_status status;
        struct proc p;
        struct err e;

        CHECK(proc_spawn(&p, &spec, &e));
        CHECK_STR(first_line(&p, line, sizeof line), "ready\n");
        proc_stop(&p, cases[i].grace_ms, &status);
        CHECK_STR(proc_status_text(status, text), cases[i].status);
        proc_release(&p);
    }
}

TEST(proc_takes_its_grandchildren_with_it)
{
    static const char *const ways[] = {"stop", "release", "wait"};

    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        const char *argv[4];
        struct proc_spec spec = shell(argv, "sleep 100 & echo $!; read line");
        struct pollfd ready = {.events = POLLIN};
        struct proc_status status;
        struct proc p;
        struct err e;
        char line[100];
        int pid;

        CHECK(proc_spawn(&p, &spec, &e));
        CHECK(sscanf(first_line(&p, line, sizeof line).p, "%d", &pid) == 1);
        ready.fd = (int)syscall(SYS_pidfd_open, pid, 0);
        CHECK(ready.fd >= 0 && poll(&ready, 1, 0) == 0);
        if (i == 0)
            proc_stop(&p, 20000, NULL);
        if (i == 2) {
            proc_close_in(&p);
            CHECK(proc_wait(&p, 20000, &status, &e));
        }
        proc_release(&p);
        CHECK_F(poll(&ready, 1, 20000) == 1, "%s", ways[i]);
        close(ready.fd);
    }
}

/* Closes 0, 1 and 2 in all combinations, so that the child's pipes get these numbers. */
TEST(proc_sets_up_the_child_when_our_own_descriptors_are_closed)
{
    int saved[3];

    for (int fd = 0; fd < 3; fd++)
        saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
    for (int closed = 0; closed < 8; closed++) {
        const char *argv[4];
        struct proc_spec spec = shell(argv, "cat; cat <&0 >&2; echo err >&2");
        struct proc_limits limits = usual;
        struct proc_result r = {.status = {true, 0}};
        struct err e;
        bool ok;

        limits.in = STR("through");
        for (int fd = 0; fd < 3; fd++)
            if (closed >> fd & 1)
                close(fd);
        ok = proc_run(&spec, &limits, &r, &e);
        for (int fd = 0; fd < 3; fd++)
            dup2(saved[fd], fd);
        CHECK_F(ok, "%s", e.text);
        CHECK(proc_status_ok(r.status));
        CHECK_STR(buf_str(&r.out), "through");
        CHECK_STR(buf_str(&r.err), "err\n");
        proc_result_release(&r);
    }
    for (int fd = 0; fd < 3; fd++)
        close(saved[fd]);
}

TEST(a_confined_child_can_use_little)
{
    static const struct proc_confine confine = {(size_t)512 << 20, 1};
    char kept[] = "/tmp/proc_test.XXXXXX", script[400];
    const struct {
        const char *script, *out;
        bool ok;
    } cases[] = {
        {"read x; echo got $x", "got it\n", true},
        {script, "", false}, /* must not be able to write a file */
        {"/bin/true; echo a process", "", false},
        {"exec python3 -c 'import socket; socket.socket(); print(1)'", "", false},
        {"exec python3 -c 'x = bytearray(1 << 30); print(len(x))'", "", false},
        {"while :; do :; done", "", false},
    };
    int fd = mkstemp(kept);

    CHECK(fd >= 0);
    (void)signal(SIGPIPE, SIG_IGN); /* some children do not read their input */
    (void)snprintf(script, sizeof script, "echo changed > %s && echo written", kept);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *argv[4];
        struct proc_spec spec = shell(argv, cases[i].script);
        struct proc_limits limits = usual;
        struct proc_result r;
        struct err e;

        spec.confine = &confine;
        limits.in = STR("it\n");
        limits.timeout_ms = 120000; /* the last child needs a second of CPU time */
        CHECK_F(proc_run(&spec, &limits, &r, &e), "%s: %s", cases[i].script, e.text);
        CHECK_F(str_eq(buf_str(&r.out), str_c(cases[i].out)),
                "%s: " STR_FMT,
                cases[i].script,
                STR_ARG(buf_str(&r.out)));
        CHECK_F(proc_status_ok(r.status) == cases[i].ok, "%s", cases[i].script);
        proc_result_release(&r);
    }
    CHECK(lseek(fd, 0, SEEK_END) == 0);
    close(fd);
    (void)unlink(kept);
}

/* Without the filter most of these calls succeed: they signal or limit the test process itself. */
TEST(a_confined_child_cannot_reach_other_processes_or_write_files)
{
    static const struct proc_confine confine = {(size_t)512 << 20, 10};
    static const struct {
        const char *what;
        long call;
        const char *args; /* "me" is the test process */
        bool denied;
    } cases[] = {
        {"kill", SYS_kill, "me,0", true},
        {"tkill", SYS_tkill, "me,0", true},
        {"tgkill", SYS_tgkill, "me,me,0", true},
        {"rt_sigqueueinfo", SYS_rt_sigqueueinfo, "me,0,info", true},
        {"rt_tgsigqueueinfo", SYS_rt_tgsigqueueinfo, "me,me,0,info", true},
        {"prlimit64 of another", SYS_prlimit64, "me,7,0,info", true},
        {"prlimit64 of its own", SYS_prlimit64, "0,7,0,info", false},
        {"setpriority", SYS_setpriority, "0,me,19", true},
        {"openat to write", SYS_openat, "-100,path,1", true},
        {"openat to read and write", SYS_openat, "-100,path,2", true},
        {"openat to make", SYS_openat, "-100,path,64,384", true},
        {"openat to read", SYS_openat, "-100,path,0", false},
        {"openat2", SYS_openat2, "-100,path,info,24", true},
        {"utimensat", SYS_utimensat, "-100,path,0,0", true},
        {"fchmod", SYS_fchmod, "0,511", true},
#ifdef SYS_open
        {"open to write", SYS_open, "path,1", true},
        {"open to read", SYS_open, "path,0", false},
#endif
    };

    (void)signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char script[600];
        const char *argv[4];
        struct proc_spec spec = shell(argv, script);
        struct proc_result r;
        struct err e;

        (void)snprintf(script,
                       sizeof script,
                       "exec python3 -c 'import ctypes; me = %d; path = b\"/etc/passwd\";"
                       " info = ctypes.create_string_buffer(128);"
                       " lib = ctypes.CDLL(None, use_errno=True);"
                       " print(lib.syscall(%ld, %s) < 0 and ctypes.get_errno() == 1)'",
                       (int)getpid(),
                       cases[i].call,
                       cases[i].args);
        spec.confine = &confine;
        CHECK_F(proc_run(&spec, &usual, &r, &e), "%s: %s", cases[i].what, e.text);
        CHECK_F(str_eq(buf_str(&r.out), cases[i].denied ? STR("True\n") : STR("False\n")),
                "%s: " STR_FMT STR_FMT,
                cases[i].what,
                STR_ARG(buf_str(&r.out)),
                STR_ARG(buf_str(&r.err)));
        proc_result_release(&r);
    }
}

TEST(a_confined_program_that_is_not_there_is_not_found)
{
    static const char *const argv[] = {"no-such-program-here", NULL};
    static const struct proc_confine confine = {(size_t)512 << 20, 1};
    const struct proc_spec spec = {.argv = argv, .confine = &confine};
    size_t before = descriptors();
    struct proc_result r;
    struct err e;

    CHECK(!proc_run(&spec, &usual, &r, &e));
    CHECK_INT(e.code, ERR_NOT_FOUND);
    CHECK_INT(descriptors(), before);
}

static void *run_some(void *arg)
{
    static const char *const argv[] = {"cat", NULL};
    struct proc_limits limits = usual;
    size_t *good = arg;

    limits.in = STR("hello");
    for (int i = 0; i < 10; i++) {
        struct proc_result r;
        struct err e;

        if (!proc_run(&(struct proc_spec){.argv = argv}, &limits, &r, &e))
            continue;
        *good += str_eq(buf_str(&r.out), STR("hello")) && proc_status_ok(r.status);
        proc_result_release(&r);
    }
    return NULL;
}

/* If another thread's child inherited a pipe's write end, cat would wait for the end of its
 * input. */
TEST(proc_spawn_from_many_threads_shares_no_pipes)
{
    size_t good[THREADS] = {0}, before = descriptors();
    pthread_t threads[THREADS];

    for (size_t t = 0; t < THREADS; t++)
        CHECK(pthread_create(&threads[t], NULL, run_some, &good[t]) == 0);
    for (size_t t = 0; t < THREADS; t++) {
        pthread_join(threads[t], NULL);
        CHECK_INT(good[t], 10);
    }
    CHECK_INT(descriptors(), before);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

TEST_MAIN(T(proc_run_tells_how_a_program_ended), T(proc_run_does_not_hang_on_full_pipes),
          T(proc_run_keeps_its_ceilings_and_its_time),
          T(proc_gives_the_child_what_was_said_and_nothing_else),
          T(proc_begins_with_signals_as_they_come_and_a_session_of_its_own),
          T(proc_spawn_says_why_a_program_cannot_be_run),
          T(proc_spawn_tells_a_missing_interpreter_from_a_missing_program),
          T(proc_spawn_leaves_nothing_behind_when_descriptors_run_out),
          T(proc_pipes_do_not_block_and_end_when_the_child_does),
          T(proc_stop_asks_first_and_then_kills), T(proc_takes_its_grandchildren_with_it),
          T(proc_sets_up_the_child_when_our_own_descriptors_are_closed),
          T(proc_spawn_from_many_threads_shares_no_pipes), T(a_confined_child_can_use_little),
          T(a_confined_child_cannot_reach_other_processes_or_write_files),
          T(a_confined_program_that_is_not_there_is_not_found))
