/* SPDX-License-Identifier: Apache-2.0 */
#include "base/file.h"
#include "test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    struct arena arena;
    char dir[64];
};

static void place_init(struct place *p)
{
    arena_init(&p->arena, 4 << 20);
    snprintf(p->dir, sizeof p->dir, "/tmp/file_test.XXXXXX");
    CHECK(mkdtemp(p->dir));
}

static const char *in(struct place *p, const char *name)
{
    return arena_printf(&p->arena, "%s/%s", p->dir, name).p;
}

static void place_release(struct place *p)
{
    const char *rm = arena_printf(&p->arena, "rm -rf %s", p->dir).p;

    CHECK_INT(system(rm), 0);
    arena_release(&p->arena);
}

static size_t descriptors(void)
{
    size_t n = 0;

    for (int fd = 0; fd < 256; fd++)
        n += fcntl(fd, F_GETFD) >= 0;
    return n;
}

TEST(file_read_gives_back_what_was_written)
{
    static const str texts[] = {
        {"", 0},
        {"one line\n", 9},
        {"a\0b", 3},
    };
    size_t open_before = descriptors();
    struct place p;
    struct err e;
    str got;

    place_init(&p);
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const char *path = in(&p, "text");

        CHECK_F(file_write_atomic(path, texts[i], 0640, &e), "%s", e.text);
        CHECK_F(file_read(&p.arena, path, 100, &got, &e), "%s", e.text);
        CHECK(str_eq(got, texts[i]) && got.p[got.n] == '\0');
    }
    CHECK_INT(descriptors(), open_before);
    place_release(&p);
}

TEST(file_read_stops_at_its_ceiling_and_not_before)
{
    struct place p;
    struct err e;
    str got = STR("untouched");
    int ends[2];

    place_init(&p);
    CHECK(file_write_atomic(in(&p, "ten"), STR("0123456789"), 0600, &e));
    CHECK(file_read(&p.arena, in(&p, "ten"), 10, &got, &e));
    got = STR("untouched");
    CHECK(!file_read(&p.arena, in(&p, "ten"), 9, &got, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK(str_ends(str_c(e.text), STR("ten: 10 bytes, the limit is 9")));

    CHECK(pipe(ends) == 0 && write(ends[1], "0123456789", 10) == 10);
    CHECK(!file_read_fd(&p.arena, ends[0], 9, &got, &e));
    CHECK_STR(str_c(e.text), "more than 9 bytes, which is the limit");
    CHECK_STR(got, "untouched");
    close(ends[0]);
    close(ends[1]);
    place_release(&p);
}

TEST(file_read_takes_files_that_say_they_are_empty)
{
    struct place p;
    struct err e;
    str got;

    place_init(&p);
    CHECK_F(file_read(&p.arena, "/proc/self/status", 1 << 16, &got, &e), "%s", e.text);
    CHECK(str_starts(got, STR("Name:")));
    CHECK_F(file_read(&p.arena, "/dev/null", 0, &got, &e), "%s", e.text);
    CHECK_INT(got.n, 0);
    CHECK(!file_read(&p.arena, "/dev/zero", 100000, &got, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    place_release(&p);
}

TEST(file_errors_name_the_path_and_tell_missing_from_broken)
{
    static const struct {
        const char *path;
        enum err_code code;
        const char *text;
    } cases[] = {
        {"/nowhere/x", ERR_NOT_FOUND, "open /nowhere/x: No such file or directory"},
        {"", ERR_NOT_FOUND, "open \"\": No such file or directory"},
        {"/dev/null/x", ERR_SYSTEM, "open /dev/null/x: Not a directory"},
        {"/tmp", ERR_SYSTEM, "/tmp: read: Is a directory"},
    };
    struct place p;
    struct err e;
    str got;

    place_init(&p);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        CHECK(!file_read(&p.arena, cases[i].path, 1 << 20, &got, &e));
        CHECK_INT(e.code, cases[i].code);
        CHECK_STR(str_c(e.text), cases[i].text);
    }
    CHECK(!file_read_fd(&p.arena, -1, 100, &got, &e));
    CHECK_STR(str_c(e.text), "stat: Bad file descriptor");
    CHECK(!file_write_atomic("/nowhere/x", STR("x"), 0600, &e));
    CHECK_STR(str_c(e.text), "create a file beside /nowhere/x: No such file or directory");
    place_release(&p);
}

static size_t entries(struct place *p)
{
    str count = STR("");
    struct err e;

    CHECK_INT(system(arena_printf(&p->arena, "ls -A %s | wc -l > %s.n", p->dir, p->dir).p), 0);
    CHECK(file_read(&p->arena, arena_printf(&p->arena, "%s.n", p->dir).p, 100, &count, &e));
    unlink(arena_printf(&p->arena, "%s.n", p->dir).p);
    return (size_t)strtoul(count.p, NULL, 10);
}

TEST(file_write_atomic_replaces_sets_the_mode_and_leaves_nothing_behind)
{
    mode_t before = umask(077);
    struct place p;
    struct stat st;
    struct err e;
    str got;

    place_init(&p);
    CHECK(file_write_atomic(in(&p, "x"), STR("old"), 0600, &e));
    CHECK(file_write_atomic(in(&p, "x"), STR("new"), 0644, &e));
    CHECK(file_read(&p.arena, in(&p, "x"), 100, &got, &e));
    CHECK_STR(got, "new");
    CHECK(stat(in(&p, "x"), &st) == 0);
    CHECK_INT(st.st_mode & 07777, 0644);

    CHECK(file_mkdirs(in(&p, "folder"), 0700, &e));
    CHECK(!file_write_atomic(in(&p, "folder"), STR("x"), 0600, &e));
    CHECK(str_starts(str_c(e.text), STR("replace ")));
    CHECK_INT(entries(&p), 2);
    umask(before);
    place_release(&p);
}

TEST(file_remove_unfinished_takes_only_what_a_killed_writer_left)
{
    static const char *const others[] = {
        "x", "x.backup", "x.part", "x.new-1234567", "yx.new-abcdef", "y.new-abcdef"};
    struct place p;
    struct err e;

    place_init(&p);
    for (size_t i = 0; i < COUNT_OF(others); i++)
        CHECK(file_write_atomic(in(&p, others[i]), STR("stays"), 0600, &e));
    CHECK(file_write_atomic(in(&p, "x.new-aB3dEf"), STR("goes"), 0600, &e));
    CHECK(file_write_atomic(in(&p, "x.new-zzzzzz"), STR("goes"), 0600, &e));
    file_remove_unfinished(in(&p, "x"));
    CHECK_INT(entries(&p), COUNT_OF(others));
    file_remove_unfinished(in(&p, "nowhere/x"));
    place_release(&p);
}

TEST(file_write_atomic_refuses_a_path_with_no_room_for_its_neighbour)
{
    char path[FILE_PATH_MAX];
    struct err e;

    memset(path, 'x', sizeof path);
    path[sizeof path - 1] = '\0';
    CHECK(!file_write_atomic(path, STR("x"), 0600, &e));
    CHECK_INT(e.code, ERR_INPUT);
}

TEST(file_mkdirs_makes_what_is_missing_and_takes_what_is_there)
{
    static const struct {
        const char *path;
        bool ok;
    } cases[] = {
        {"a/b/c", true},
        {"a/b/c", true},
        {"a//b/d/", true},
        {"./e", true},
        {"file", false},
        {"file/below", false},
    };
    struct place p;
    struct err e;

    place_init(&p);
    CHECK(file_write_atomic(in(&p, "file"), STR(""), 0600, &e));
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *path = in(&p, cases[i].path);

        CHECK_F(file_mkdirs(path, 0755, &e) == cases[i].ok, "%s", path);
        CHECK(file_exists(path) == (cases[i].ok || i == 4));
    }
    CHECK(file_mkdirs("/", 0755, &e));
    CHECK(!file_mkdirs("", 0755, &e));
    place_release(&p);
}

TEST(file_out_writes_small_and_large_in_order)
{
    char large[3 * FILE_OUT_SIZE];
    struct file_out out;
    struct place p;
    struct err e;
    size_t want = 0;
    str got;
    int fd;

    place_init(&p);
    memset(large, 'L', sizeof large);
    fd = open(in(&p, "out"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    file_out_init(&out, fd);
    for (int i = 0; i < 1000; i++) {
        file_out_printf(&out, "%d\n", i % 10);
        want += 2;
    }
    CHECK_INT(lseek(fd, 0, SEEK_END), 0);
    for (size_t n = FILE_OUT_SIZE - 2; n < FILE_OUT_SIZE + 2; n++) {
        file_out_add(&out, (str){large, n});
        want += n;
    }
    file_out_add(&out, (str){large, sizeof large});
    file_out_printf(&out, "%01000d", 7);
    want += sizeof large + 1000;
    CHECK(file_out_finish(&out, "out", &e));
    close(fd);
    CHECK(file_read(&p.arena, in(&p, "out"), 1 << 20, &got, &e));
    CHECK_INT(got.n, want);
    CHECK(str_starts(got, STR("0\n1\n2\n")) && str_ends(got, STR("0007")));
    place_release(&p);
}

TEST(file_out_remembers_its_first_error_and_ignores_the_rest)
{
    struct file_out out;
    struct err e;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

    file_out_init(&out, full);
    file_out_add(&out, STR("x"));
    file_out_flush(&out);
    out.fd = -1; /* a second failure would have another error */
    file_out_printf(&out, "%d", 7);
    CHECK(!file_out_finish(&out, "stdout", &e));
    CHECK_STR(str_c(e.text), "write stdout: No space left on device");
    CHECK(!file_out_gone(&out));
    close(full);
}

TEST(file_out_tells_a_reader_who_left_from_a_failure)
{
    struct file_out out;
    struct err e;
    int ends[2];

    signal(SIGPIPE, SIG_IGN);
    CHECK(pipe(ends) == 0);
    close(ends[0]);
    file_out_init(&out, ends[1]);
    file_out_add(&out, STR("x"));
    CHECK(!file_out_gone(&out));
    CHECK(!file_out_finish(&out, "stdout", &e));
    CHECK(file_out_gone(&out));
    close(ends[1]);
}

static void *write_much(void *fd)
{
    char piece[1000];
    struct file_out out;
    struct err e;
    bool ok;

    memset(piece, 'x', sizeof piece);
    file_out_init(&out, *(int *)fd);
    for (int i = 0; i < 1000; i++)
        file_out_add(&out, (str){piece, sizeof piece});
    ok = file_out_finish(&out, "pipe", &e);
    close(*(int *)fd);
    return ok ? fd : NULL;
}

/* Both ends are non-blocking and the data exceed a pipe's capacity, so each side has to wait for
 * the other. */
TEST(file_waits_for_a_descriptor_that_is_not_ready)
{
    struct place p;
    struct err e;
    pthread_t writer;
    void *done;
    int ends[2];
    str got;

    place_init(&p);
    CHECK(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
    CHECK(pthread_create(&writer, NULL, write_much, &ends[1]) == 0);
    CHECK_F(file_read_fd(&p.arena, ends[0], 1000000, &got, &e), "%s", e.text);
    CHECK_INT(got.n, 1000000);
    CHECK(pthread_join(writer, &done) == 0 && done);
    close(ends[0]);
    place_release(&p);
}

TEST(file_part_has_its_name_once_it_is_whole)
{
    size_t open_before = descriptors();
    struct file_part f, other;
    const char *path, *part;
    struct place p;
    struct stat st;
    struct err e;
    str got;

    place_init(&p);
    path = in(&p, "out");
    part = in(&p, "out.part");
    CHECK(file_write_atomic(path, STR("the old one"), 0644, &e));
    CHECK(file_write_atomic(part, STR("left by a process that was killed"), 0644, &e));
    CHECK_F(file_part_open(&f, path, &e), "%s", e.text);
    CHECK(!file_part_open(&other, path, &e) && e.code == ERR_LIMIT);
    CHECK_INT(write(f.fd, "new", 3), 3);
    CHECK(file_read(&p.arena, path, 100, &got, &e));
    CHECK_STR(got, "the old one");
    CHECK_F(file_part_keep(&f, &e), "%s", e.text);
    CHECK(file_read(&p.arena, path, 100, &got, &e));
    CHECK_STR(got, "new");
    CHECK(stat(path, &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(!file_exists(part));
    CHECK_F(file_part_open(&f, path, &e), "%s", e.text);
    file_part_drop(&f);
    CHECK(!file_exists(part) && file_exists(path));
    CHECK(symlink(path, part) == 0);
    CHECK(!file_part_open(&f, path, &e)); /* must not follow a link */
    CHECK(!file_part_open(&f, in(&p, "none/out"), &e) && e.code == ERR_NOT_FOUND);
    CHECK(!file_part_open(&f, arena_printf(&p.arena, "%04095d", 1).p, &e) && e.code == ERR_INPUT);
    CHECK_INT(descriptors(), open_before);
    place_release(&p);
}

TEST_MAIN(T(file_part_has_its_name_once_it_is_whole), T(file_read_gives_back_what_was_written),
          T(file_read_stops_at_its_ceiling_and_not_before),
          T(file_read_takes_files_that_say_they_are_empty),
          T(file_errors_name_the_path_and_tell_missing_from_broken),
          T(file_write_atomic_replaces_sets_the_mode_and_leaves_nothing_behind),
          T(file_remove_unfinished_takes_only_what_a_killed_writer_left),
          T(file_write_atomic_refuses_a_path_with_no_room_for_its_neighbour),
          T(file_mkdirs_makes_what_is_missing_and_takes_what_is_there),
          T(file_out_writes_small_and_large_in_order),
          T(file_out_remembers_its_first_error_and_ignores_the_rest),
          T(file_out_tells_a_reader_who_left_from_a_failure),
          T(file_waits_for_a_descriptor_that_is_not_ready))
