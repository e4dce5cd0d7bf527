/* The vault on disk: what a restarted process reads back from an intact or damaged file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/vault_file.h"

#include "base/file.h"
#include "test.h"

#include <sys/stat.h>
#include <unistd.h>

#define HOUR_MS ((uint64_t)3600 * 1000)

static const uint8_t secret[VAULT_SECRET_SIZE] = "a secret of thirty-two bytes...";

struct place {
    char dir[64], path[80], old[80];
    struct clock clock;
    struct vault *v;
    struct vault_file *f;
    struct arena a;
};

static void place_open(struct place *p, const uint8_t *with)
{
    p->v = vault_new(&p->clock, 1 << 20);
    p->f = vault_file_open(p->dir, with, &p->clock, p->v);
}

static void place_close(struct place *p)
{
    vault_file_close(p->f);
    vault_free(p->v);
}

static void place_restart(struct place *p)
{
    place_close(p);
    place_open(p, secret);
}

static void place_init(struct place *p)
{
    snprintf(p->dir, sizeof p->dir, "%s/vault_file.XXXXXX", test_tmp());
    CHECK(mkdtemp(p->dir));
    snprintf(p->path, sizeof p->path, "%s/vault", p->dir);
    snprintf(p->old, sizeof p->old, "%s/vault.old", p->dir);
    clock_fake_init(&p->clock, 1700000000000);
    arena_init(&p->a, 64 << 20);
    place_open(p, secret);
}

static void place_release(struct place *p)
{
    place_close(p);
    arena_release(&p->a);
    (void)unlink(p->path);
    (void)unlink(p->old);
    CHECK_INT(rmdir(p->dir), 0);
}

/* A reply with one call and two fragments. */
static void add_reply(struct place *p, const char *id, str second)
{
    uint64_t reply = vault_reply(p->v);
    struct vault_fragment f[] = {
        {{.id = str_c(id), .reply = reply}, STR("o"), STR("text"), STR("one thought")},
        {{.id = str_c(id), .reply = reply}, STR("o"), STR("signature"), second}};

    vault_file_add(p->f, f, COUNT_OF(f));
}

/* The last fragment of the call in the vault, or ""; a call has two fragments or none. */
static str second_of(struct place *p, const char *id)
{
    struct vault_call call = {.id = str_c(id)};
    struct wire_kept kept[4];
    size_t n = vault_find(p->v, STR("o"), &call, &p->a, kept, COUNT_OF(kept));

    CHECK(n == 0 || n == 2);
    CHECK(n == 0 || str_eq(kept[0].text, STR("one thought")));
    return n ? kept[1].text : STR("");
}

static str bytes_of(struct place *p, const char *path)
{
    struct err e;
    str all;

    return file_read(&p->a, path, VAULT_FILE_MAX, &all, &e) ? all : STR("");
}

TEST(fragments_are_there_after_a_restart_byte_for_byte)
{
    struct place p;
    str any = {"s\0\xff\n", 4};

    place_init(&p);
    add_reply(&p, "a", any);
    add_reply(&p, "b", STR("second"));
    place_restart(&p);
    CHECK(str_eq(second_of(&p, "a"), any));
    CHECK(str_eq(second_of(&p, "b"), STR("second")));
    add_reply(&p, "c", STR("third"));
    place_restart(&p);
    CHECK(str_eq(second_of(&p, "a"), any));
    CHECK(str_eq(second_of(&p, "c"), STR("third")));
    place_release(&p);
}

TEST(the_later_reply_at_a_place_counts_also_if_another_process_wrote_the_first)
{
    struct place p;

    place_init(&p);
    add_reply(&p, "a", STR("first"));
    place_restart(&p);
    add_reply(&p, "a", STR("again"));
    place_restart(&p);
    CHECK(str_eq(second_of(&p, "a"), STR("again")));
    place_release(&p);
}

TEST(the_file_has_no_readable_text_and_only_its_owner_can_open_it)
{
    struct place p;
    struct stat st;
    str all;

    place_init(&p);
    add_reply(&p, "call_0123", STR("second"));
    all = bytes_of(&p, p.path);
    CHECK(all.n > 0 && str_find(all, STR("thought")) == STR_NONE);
    CHECK(str_find(all, STR("second")) == STR_NONE && str_find(all, STR("call_")) == STR_NONE);
    CHECK_INT(stat(p.path, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0600);
    place_release(&p);
}

TEST(with_another_secret_nothing_is_found)
{
    static const uint8_t other[VAULT_SECRET_SIZE] = "another one";
    struct place p;

    place_init(&p);
    add_reply(&p, "a", STR("first"));
    place_close(&p);
    place_open(&p, other);
    CHECK(str_eq(second_of(&p, "a"), STR("")));
    place_release(&p);
}

static void write_file(const char *path, str bytes)
{
    struct err e;

    CHECK_F(file_write_atomic(path, bytes, 0600, &e), "%s", e.text);
}

TEST(every_cut_of_the_file_leaves_the_whole_replies_before_it)
{
    struct place p;
    size_t first;
    str all;

    place_init(&p);
    add_reply(&p, "a", STR("first"));
    first = bytes_of(&p, p.path).n;
    add_reply(&p, "b", STR("second"));
    all = bytes_of(&p, p.path);
    for (size_t cut = 0; cut <= all.n; cut++) {
        write_file(p.path, str_slice(all, 0, cut));
        place_restart(&p);
        CHECK(str_eq(second_of(&p, "a"), cut >= first ? STR("first") : STR("")));
        CHECK(str_eq(second_of(&p, "b"), cut == all.n ? STR("second") : STR("")));
        add_reply(&p, "c", STR("third"));
        place_restart(&p);
        CHECK(str_eq(second_of(&p, "c"), STR("third")));
    }
    place_release(&p);
}

TEST(a_changed_byte_loses_the_whole_reply)
{
    struct place p;
    str all;

    place_init(&p);
    add_reply(&p, "a", STR("first"));
    all = bytes_of(&p, p.path);
    for (size_t i = 0; i < all.n; i++) {
        char *bytes = (char *)(uintptr_t)arena_dup(&p.a, all).p;

        bytes[i] = (char)(bytes[i] ^ 1);
        write_file(p.path, (str){bytes, all.n});
        place_restart(&p);
        CHECK(str_eq(second_of(&p, "a"), STR("")));
    }
    place_release(&p);
}

TEST(what_is_older_than_a_day_is_neither_found_nor_on_disk)
{
    struct place p;

    place_init(&p);
    add_reply(&p, "a", STR("first"));
    clock_fake_advance_ms(&p.clock, 13 * HOUR_MS);
    add_reply(&p, "b", STR("second"));
    CHECK(file_exists(p.old));
    place_restart(&p);
    CHECK(str_eq(second_of(&p, "a"), STR("first")));
    clock_fake_advance_ms(&p.clock, 13 * HOUR_MS);
    place_restart(&p);
    CHECK(str_eq(second_of(&p, "a"), STR("")));
    CHECK(str_eq(second_of(&p, "b"), STR("second")));
    CHECK(!file_exists(p.old));
    clock_fake_advance_ms(&p.clock, 25 * HOUR_MS);
    place_restart(&p);
    CHECK(!file_exists(p.path));
    place_release(&p);
}

TEST(the_files_stay_within_their_size)
{
    static char large[1 << 20];
    struct place p;

    place_init(&p);
    memset(large, 'x', sizeof large);
    for (size_t i = 0; i < 70; i++)
        add_reply(&p, "a", (str){large, sizeof large - i});
    CHECK(bytes_of(&p, p.path).n <= VAULT_FILE_MAX);
    place_close(&p);
    arena_reset(&p.a);
    CHECK(bytes_of(&p, p.old).n <= VAULT_FILE_MAX);
    p.v = vault_new(&p.clock, 64 << 20);
    p.f = vault_file_open(p.dir, secret, &p.clock, p.v);
    CHECK_INT(second_of(&p, "a").n, sizeof large - 69);
    place_release(&p);
}

TEST(after_an_erasure_only_later_replies_are_on_disk)
{
    struct place p;

    place_init(&p);
    add_reply(&p, "a", STR("first"));
    vault_file_forget(p.f);
    CHECK(!file_exists(p.path) && !file_exists(p.old));
    add_reply(&p, "b", STR("second"));
    place_restart(&p);
    CHECK(str_eq(second_of(&p, "a"), STR("")));
    CHECK(str_eq(second_of(&p, "b"), STR("second")));
    place_release(&p);
}

TEST(a_folder_that_cannot_be_written_loses_nothing_in_memory_and_is_tried_again)
{
    struct place p;

    place_init(&p);
    CHECK_INT(rmdir(p.dir), 0);
    add_reply(&p, "a", STR("first"));
    CHECK_INT(mkdir(p.dir, 0700), 0);
    add_reply(&p, "b", STR("second"));
    place_restart(&p);
    CHECK(str_eq(second_of(&p, "b"), STR("second")));
    place_release(&p);
}

TEST(none_is_allowed)
{
    struct vault_fragment f = {.origin = STR("o")};

    vault_file_add(NULL, &f, 1);
    vault_file_forget(NULL);
    vault_file_close(NULL);
}

TEST_MAIN(T(fragments_are_there_after_a_restart_byte_for_byte),
          T(the_later_reply_at_a_place_counts_also_if_another_process_wrote_the_first),
          T(the_file_has_no_readable_text_and_only_its_owner_can_open_it),
          T(with_another_secret_nothing_is_found),
          T(every_cut_of_the_file_leaves_the_whole_replies_before_it),
          T(a_changed_byte_loses_the_whole_reply),
          T(what_is_older_than_a_day_is_neither_found_nor_on_disk),
          T(the_files_stay_within_their_size), T(after_an_erasure_only_later_replies_are_on_disk),
          T(a_folder_that_cannot_be_written_loses_nothing_in_memory_and_is_tried_again),
          T(none_is_allowed))
