/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "base/log.h"
#include "base/utf8.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <unistd.h>

#define HEAD "time=2023-11-14T22:13:20.000Z level="
#define THREADS 4
#define LINES_EACH 2000

/* A log that writes to a file. */
struct fixture {
    struct clock clock;
    struct log log;
    struct log_scope scope;
    struct arena arena;
    int fd;
};

static void fixture_init(struct fixture *f, enum log_level level)
{
    f->fd = open("/tmp", O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
    CHECK(f->fd >= 0);
    arena_init(&f->arena, 16 << 20);
    clock_fake_init(&f->clock, 1700000000000);
    log_init(&f->log, f->fd, level, &f->clock);
    log_scope_enter(&f->scope, &f->log, STR(""));
}

static str fixture_read(struct fixture *f)
{
    struct err e;
    str got;

    CHECK(lseek(f->fd, 0, SEEK_SET) == 0);
    CHECK(file_read_fd(&f->arena, f->fd, 8 << 20, &got, &e));
    CHECK(ftruncate(f->fd, 0) == 0);
    return got;
}

static void fixture_release(struct fixture *f)
{
    log_scope_leave(&f->scope);
    arena_release(&f->arena);
    close(f->fd);
}

TEST(log_writes_a_line_of_typed_fields)
{
    struct err e;
    struct fixture f;

    fixture_init(&f, LOG_DEBUG);
    log_info("started");
    CHECK_STR(fixture_read(&f), HEAD "info msg=started\n");
    log_debug("call done", LOG_STR("model", STR("gpt-5")), LOG_U64("tokens", UINT64_MAX));
    CHECK_STR(fixture_read(&f),
              HEAD "debug msg=\"call done\" model=gpt-5 tokens=18446744073709551615\n");
    log_warn("odd", LOG_I64("n", INT64_MIN), LOG_F64("cost", 0.0125), LOG_BOOL("yes", true));
    CHECK_STR(fixture_read(&f), HEAD "warn msg=odd n=-9223372036854775808 cost=0.0125 yes=true\n");
    err_set(&e, ERR_TIMEOUT, "no answer in %d s", 30);
    log_error("failed", LOG_ERR(&e), LOG_TEXT("none", NULL));
    CHECK_STR(fixture_read(&f),
              HEAD "error msg=failed code=timeout why=\"no answer in 30 s\" none=\"\"\n");
    log_info("odd", LOG_F64("a", NAN), LOG_F64("b", INFINITY), LOG_F64("c", -INFINITY));
    CHECK_STR(fixture_read(&f), HEAD "info msg=odd a=nan b=inf c=-inf\n");
    fixture_release(&f);
}

TEST(log_values_stay_one_value_on_one_line)
{
    static const struct {
        const char *value, *shown;
    } cases[] = {
        {"plain-1.5/x", "plain-1.5/x"},
        {"", "\"\""},
        {"two words", "\"two words\""},
        {"a=b", "\"a=b\""},
        {"say \"hi\"", "\"say \\\"hi\\\"\""},
        {"back\\slash", "\"back\\\\slash\""},
        {"x\nlevel=error msg=forged", "\"x\\nlevel=error msg=forged\""},
        {"\r\t", "\"\\r\\t\""},
        {"\x1b[31mred\x07", "\"\\u001b[31mred\\u0007\""},
        {"\x7f", "\"\\u007f\""},
        {"\xC2\x9Bx", "\"\\u009bx\""},     /* the terminal's other escape introducer */
        {"\xE2\x80\xAEx", "\"\\u202ex\""}, /* right to left */
        {"\xE2\x80\xA8x", "\"\\u2028x\""}, /* a line separator */
        {"caf\xC3\xA9", "\"caf\xC3\xA9\""},
        {"\xFF\xE2\x82z", "\"\xEF\xBF\xBD\xEF\xBF\xBDz\""},
    };
    struct fixture f;

    fixture_init(&f, LOG_INFO);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        str want = arena_printf(&f.arena, HEAD "info msg=x v=%s\n", cases[i].shown);

        log_info("x", LOG_TEXT("v", cases[i].value));
        CHECK_STR(fixture_read(&f), want.p);
    }
    fixture_release(&f);
}

TEST(log_evaluates_nothing_when_the_level_is_off)
{
    struct fixture f;
    int looked = 0;

    fixture_init(&f, LOG_WARN);
    log_info("x", LOG_I64("n", ++looked));
    CHECK_INT(looked, 0);
    log_warn("x", LOG_I64("n", ++looked));
    CHECK_INT(looked, 1);
    f.log.level = LOG_ERROR;
    log_warn("x", LOG_I64("n", ++looked));
    CHECK_INT(looked, 1);
    CHECK_STR(fixture_read(&f), HEAD "warn msg=x n=1\n");
    fixture_release(&f);
}

TEST(log_scopes_nest_and_put_in_the_id)
{
    struct log_scope request, step;
    struct fixture f;

    fixture_init(&f, LOG_INFO);
    log_scope_enter(&request, NULL, STR("r-1"));
    log_info("a");
    log_scope_enter(&step, NULL, STR(""));
    log_info("b");
    log_scope_leave(&step);
    log_scope_enter(&step, NULL, STR("s 2"));
    log_info("c");
    log_scope_leave(&step);
    log_scope_leave(&request);
    log_info("d");
    CHECK_STR(fixture_read(&f),
              HEAD "info msg=a id=r-1\n" HEAD "info msg=b id=r-1\n" HEAD
                   "info msg=c id=\"s 2\"\n" HEAD "info msg=d\n");
    fixture_release(&f);
}

/* A value of n bytes is printed whole up to the limit, then truncated at a character. */
TEST(log_cuts_long_values_at_a_character)
{
    struct fixture f;
    char long_text[LOG_VALUE_MAX + 40];

    fixture_init(&f, LOG_INFO);
    memset(long_text, 'a', sizeof long_text);
    log_info("x", LOG_STR("v", (str){long_text, LOG_VALUE_MAX}));
    CHECK(!str_ends(fixture_read(&f), STR("\xE2\x80\xA6\"\n")));
    log_info("x", LOG_STR("v", (str){long_text, LOG_VALUE_MAX + 1}));
    CHECK(str_ends(fixture_read(&f), STR("aaa\xE2\x80\xA6\"\n")));
    for (size_t shift = 1; shift <= 4; shift++) {
        memcpy(long_text + LOG_VALUE_MAX - shift, "\xF0\x9F\x8C\x88", 4);
        log_info("x", LOG_STR("v", (str){long_text, sizeof long_text}));
        CHECK(utf8_valid(fixture_read(&f)));
        memset(long_text, 'a', sizeof long_text);
    }
    fixture_release(&f);
}

TEST(log_lines_never_pass_their_ceiling)
{
    struct fixture f;
    char bad[LOG_VALUE_MAX];

    fixture_init(&f, LOG_INFO);
    for (size_t n = 0; n < sizeof bad; n++) {
        str v = {bad, n}, line;

        memset(bad, '\x01', sizeof bad); /* six bytes each when escaped */
        log_info("x", LOG_STR("a", v), LOG_STR("b", v), LOG_STR("c", v), LOG_U64("n", n));
        line = fixture_read(&f);
        CHECK(line.n <= LOG_LINE_MAX && line.p[line.n - 1] == '\n' && utf8_valid(line));
        CHECK(str_find(line, STR(" n=")) != STR_NONE);
        CHECK(str_ends(line, STR(" cut=true\n")) == (str_find(line, STR(" c=")) == STR_NONE));
    }
    fixture_release(&f);
}

TEST(log_counts_the_lines_it_could_not_write)
{
    char full[65536], got[8192];
    struct log_scope scope;
    struct clock clock;
    struct log log;
    int ends[2];
    ssize_t n;

    CHECK(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
    memset(full, '.', sizeof full);
    while (write(ends[1], full, sizeof full) > 0)
        ;
    clock_fake_init(&clock, 1700000000000);
    log_init(&log, ends[1], LOG_INFO, &clock);
    log_scope_enter(&scope, &log, STR(""));
    errno = ENOENT;
    log_info("lost");
    log_info("lost too");
    CHECK_INT(errno, ENOENT);
    while (read(ends[0], full, sizeof full) > 0)
        ;
    log_info("back");
    log_info("again");
    n = read(ends[0], got, sizeof got);
    CHECK_STR(((str){got, (size_t)n}), HEAD "info msg=back dropped=2\n" HEAD "info msg=again\n");
    log_scope_leave(&scope);
    close(ends[0]);
    close(ends[1]);
}

TEST(log_counts_the_lines_of_a_batch_that_is_lost_and_those_it_told_of)
{
    char full[65536], got[8192];
    struct log_scope scope;
    struct log_batch batch;
    struct clock clock;
    struct log log;
    int ends[2];
    ssize_t n;

    CHECK(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
    memset(full, '.', sizeof full);
    while (write(ends[1], full, sizeof full) > 0)
        ;
    clock_fake_init(&clock, 1700000000000);
    log_init(&log, ends[1], LOG_INFO, &clock);
    log_scope_enter(&scope, &log, STR(""));
    log_scope_batch(&scope, &batch);
    log_warn("lost"); /* warnings are written at once, not batched */
    log_warn("lost too");
    log_info("tells of two, and is lost"); /* in the batch */
    log_info("the fourth");
    log_flush();
    while (read(ends[0], full, sizeof full) > 0)
        ;
    log_warn("back");
    n = read(ends[0], got, sizeof got);
    CHECK_STR(((str){got, (size_t)n}), HEAD "warn msg=back dropped=4\n");
    log_scope_leave(&scope);
    close(ends[0]);
    close(ends[1]);
}

static void *write_lines(void *arg)
{
    struct fixture *f = arg;
    struct log_scope scope;
    char id[32];

    snprintf(id, sizeof id, "%p", (void *)&scope);
    log_scope_enter(&scope, &f->log, str_c(id));
    for (uint64_t i = 0; i < LINES_EACH; i++) {
        log_info("line", LOG_U64("i", i), LOG_STR("again", str_c(id)));
        clock_fake_advance_ms(&f->clock, 0);
    }
    log_scope_leave(&scope);
    return NULL;
}

TEST(log_lines_of_many_threads_do_not_mix)
{
    pthread_t threads[THREADS];
    struct fixture f;
    size_t lines = 0;
    str all;

    fixture_init(&f, LOG_INFO);
    for (size_t t = 0; t < THREADS; t++)
        CHECK(pthread_create(&threads[t], NULL, write_lines, &f) == 0);
    for (size_t t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    all = fixture_read(&f);
    while (all.n > 0) {
        size_t n = str_find(all, STR("\n"));
        char id[32], again[32];
        unsigned long long i;

        CHECK(sscanf(all.p, HEAD "info msg=line id=%31s i=%llu again=%31s", id, &i, again) == 3);
        CHECK(strcmp(id, again) == 0 && i < LINES_EACH);
        all = str_slice(all, n + 1, all.n);
        lines++;
    }
    CHECK_INT(lines, THREADS * LINES_EACH);
    fixture_release(&f);
}

TEST(log_without_a_scope_goes_to_stderr_from_info_on)
{
    struct fixture f;
    int before = dup(STDERR_FILENO);

    fixture_init(&f, LOG_INFO);
    log_scope_leave(&f.scope);
    CHECK(dup2(f.fd, STDERR_FILENO) >= 0);
    log_debug("hidden");
    log_info("seen");
    CHECK(dup2(before, STDERR_FILENO) >= 0);
    log_scope_enter(&f.scope, &f.log, STR(""));
    CHECK(str_ends(fixture_read(&f), STR("Z level=info msg=seen\n")));
    close(before);
    fixture_release(&f);
}

TEST(log_quotes_what_needs_it_wherever_it_stands)
{
    static const char signs[] = {' ', '"', '=', '\\', '\x1F', '\x7F', '\x80', '\xFF'};
    struct fixture f;
    char text[40];

    fixture_init(&f, LOG_INFO);
    for (size_t n = 1; n <= sizeof text; n++) {
        memset(text, '~', sizeof text);
        log_info("x", LOG_STR("t", (str){text, n}));
        CHECK(str_find(fixture_read(&f), STR("\"")) == STR_NONE);
        for (size_t at = 0; at < n; at++)
            for (size_t i = 0; i < sizeof signs; i++) {
                text[at] = signs[i];
                log_info("x", LOG_STR("t", (str){text, n}));
                CHECK(str_find(fixture_read(&f), STR(" t=\"")) != STR_NONE);
                text[at] = '!';
            }
    }
    fixture_release(&f);
}

TEST(log_lines_of_a_batch_have_each_its_time)
{
    static const uint64_t steps[] = {0, 1, 98, 900, 0, 1, 3600000, 999, 86400000};
    struct log_batch batch;
    struct fixture f;
    struct buf want;
    int64_t now = 0;

    fixture_init(&f, LOG_INFO);
    buf_init(&want, 4096);
    log_scope_batch(&f.scope, &batch);
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        char text[CLOCK_TEXT_SIZE];

        clock_fake_advance_ms(&f.clock, steps[i]);
        now = clock_wall_ms(&f.clock);
        log_info("x");
        buf_printf(&want, "time=" STR_FMT " level=info msg=x\n", STR_ARG(clock_format(now, text)));
    }
    log_flush();
    CHECK(str_eq(fixture_read(&f), buf_str(&want)));
    buf_release(&want);
    fixture_release(&f);
}

TEST_MAIN(T(log_writes_a_line_of_typed_fields), T(log_values_stay_one_value_on_one_line),
          T(log_evaluates_nothing_when_the_level_is_off), T(log_scopes_nest_and_put_in_the_id),
          T(log_cuts_long_values_at_a_character), T(log_lines_never_pass_their_ceiling),
          T(log_counts_the_lines_it_could_not_write),
          T(log_counts_the_lines_of_a_batch_that_is_lost_and_those_it_told_of),
          T(log_lines_of_many_threads_do_not_mix),
          T(log_without_a_scope_goes_to_stderr_from_info_on),
          T(log_quotes_what_needs_it_wherever_it_stands),
          T(log_lines_of_a_batch_have_each_its_time))
