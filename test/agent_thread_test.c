/* agent_thread_test.c - checkpoints are read back unchanged, also after forks and pruning.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/thread.h"

#include <pthread.h>

#include "store_help.h"

struct world {
    struct place place;
    struct threads *t;
    struct arena arena;
    struct thread_asker who;
};

static void begin(struct world *w)
{
    struct err e;

    place_init(&w->place);
    CHECK_F(threads_open(str_c(w->place.url), &w->t, &e), "%s", e.text);
    arena_init(&w->arena, (size_t)1 << 30);
    w->who = (struct thread_asker){.key = STR("alice"), .now_us = 1000};
}

static void finish(struct world *w)
{
    threads_close(w->t);
    arena_release(&w->arena);
    place_release(&w->place);
}

/* A checkpoint with channel a at a version, and with its value unless that is NULL. */
static void put(struct world *w, const char *id, const char *parent, int version, const char *value)
{
    struct thread_value v = {.channel = STR("a"), .type = STR("json"), .bytes = str_c(value)};
    struct thread_tuple t = {.thread = STR("t"),
                             .ns = STR(""),
                             .id = str_c(id),
                             .parent = str_c(parent),
                             .metadata = STR("{\"source\":\"loop\",\"step\":1}"),
                             .values = &v,
                             .value_count = value != NULL};
    struct err e;

    w->who.now_us++;
    t.checkpoint = arena_printf(&w->arena, "{\"v\":4,\"channel_versions\":{\"a\":%d}}", version);
    CHECK_F(threads_put(w->t, &w->who, &t, &e), "%s", e.text);
}

static str value(struct world *w, const char *id)
{
    struct thread_tuple t;
    struct err e;

    if (!threads_get(
            w->t, &w->who, (struct thread_key){STR("t"), STR(""), str_c(id)}, &w->arena, &t, &e))
        return STR("none");
    return t.value_count ? t.values[0].bytes : STR("empty");
}

TEST(a_checkpoint_has_its_parents_values)
{
    struct world w;

    begin(&w);
    put(&w, "1", "", 1, "[1]");
    put(&w, "2", "1", 1, NULL);
    put(&w, "3", "2", 2, "[1,2]");
    CHECK_STR(value(&w, "1"), "[1]");
    CHECK_STR(value(&w, "2"), "[1]");
    CHECK_STR(value(&w, "3"), "[1,2]");
    CHECK_STR(value(&w, ""), "[1,2]");
    CHECK_STR(value(&w, "4"), "none");
    finish(&w);
}

TEST(two_children_that_count_alike_do_not_see_each_others_values)
{
    struct world w;

    begin(&w);
    put(&w, "1", "", 1, "[1]");
    put(&w, "2", "1", 2, "[1,2]");
    put(&w, "3", "1", 2, "[1,3]");
    put(&w, "4", "2", 2, NULL);
    put(&w, "5", "3", 2, NULL);
    CHECK_STR(value(&w, "4"), "[1,2]");
    CHECK_STR(value(&w, "5"), "[1,3]");
    finish(&w);
}

/* A list that grows by one item per checkpoint; returns the last value. */
static str grow(struct world *w, size_t steps)
{
    struct buf b;
    char id[16], parent[16] = "";
    str last;

    buf_init(&b, 1 << 20);
    buf_add(&b, STR("[0"));
    for (size_t i = 1; i <= steps; i++) {
        buf_printf(&b, ",\"this is the step number %zu of a list\"]", i);
        (void)snprintf(id, sizeof id, "%08zu", i);
        put(w, id, parent, (int)i, arena_dup(&w->arena, buf_str(&b)).p);
        b.n--;
        memcpy(parent, id, sizeof id);
    }
    buf_add_c(&b, ']');
    last = arena_dup(&w->arena, buf_str(&b));
    buf_release(&b);
    return last;
}

TEST(what_is_stored_of_a_growing_list_grows_no_faster_than_it)
{
    struct world w;
    long long stored;
    str last;

    begin(&w);
    last = grow(&w, 1000);
    CHECK(str_eq(value(&w, ""), last));
    CHECK_STR(value(&w, "00000001"), "[0,\"this is the step number 1 of a list\"]");
    stored = ask(&w.place, "SELECT sum(length(value)) FROM thread_values");
    CHECK_F(stored < 4 * (long long)last.n, "%lld for %zu", stored, last.n);
    finish(&w);
}

TEST(pruning_keeps_what_is_reachable)
{
    struct world w;
    size_t removed;
    struct err e;
    str last;

    begin(&w);
    last = grow(&w, 300);
    put(&w, "00000301", "00000300", 300, NULL);
    CHECK_F(threads_prune(w.t, &w.who, STR("t"), 1, &removed, &e), "%s", e.text);
    CHECK_INT(removed, 300);
    CHECK(str_eq(value(&w, "00000301"), last));
    CHECK_STR(value(&w, "00000300"), "none");
    CHECK_INT(ask(&w.place, "SELECT count(*) FROM thread_checkpoints"), 1);
    CHECK(ask(&w.place, "SELECT count(*) FROM thread_values") < 300);
    finish(&w);
}

static void put_write(struct world *w, const char *id, const char *channel, const char *bytes)
{
    struct thread_write x = {.task = STR("task"),
                             .idx = thread_special(str_c(channel), 0),
                             .channel = str_c(channel),
                             .type = STR("json"),
                             .bytes = str_c(bytes)};
    struct thread_tuple t = {
        .thread = STR("t"), .ns = STR(""), .id = str_c(id), .writes = &x, .write_count = 1};
    struct err e;

    CHECK_F(threads_put_writes(w->t, &w->who, &t, &e), "%s", e.text);
}

TEST(pruning_keeps_ancestors_whose_writes_stand_for_a_value)
{
    struct world w;
    size_t removed;
    struct err e;

    begin(&w);
    put(&w, "1", "", 1, "[0]");
    put(&w, "2", "1", 2, "[1]");
    put_write(&w, "2", "a", "[2]");
    put(&w, "3", "2", 3, NULL);
    put_write(&w, "3", "a", "[3]");
    put(&w, "4", "3", 4, NULL);
    CHECK_STR(value(&w, "4"), "empty");
    CHECK_F(threads_prune(w.t, &w.who, STR("t"), 1, &removed, &e), "%s", e.text);
    CHECK_INT(removed, 1);
    CHECK_STR(value(&w, "2"), "[1]");
    CHECK_INT(ask(&w.place, "SELECT count(*) FROM thread_writes"), 2);
    finish(&w);
}

TEST(a_write_put_twice_stays_and_a_special_one_is_replaced)
{
    struct world w;
    struct thread_tuple t;
    struct err e;

    begin(&w);
    put(&w, "1", "", 1, "[0]");
    put_write(&w, "1", "a", "1");
    put_write(&w, "1", "a", "2");
    put_write(&w, "1", "__interrupt__", "3");
    put_write(&w, "1", "__interrupt__", "4");
    CHECK(threads_get(
        w.t, &w.who, (struct thread_key){STR("t"), STR(""), STR("1")}, &w.arena, &t, &e));
    CHECK_INT(t.write_count, 2);
    CHECK_INT(t.writes[0].idx, -3);
    CHECK_STR(t.writes[0].bytes, "4");
    CHECK_STR(t.writes[1].bytes, "1");
    finish(&w);
}

TEST(a_thread_is_its_keys_alone_and_operators_see_it)
{
    struct thread_filter f = {
        .thread = STR(""), .before = STR(""), .metadata = STR(""), .count_max = 10};
    struct world w;
    struct thread_list list;
    struct err e;

    begin(&w);
    put(&w, "1", "", 1, "[1]");
    w.who.key = STR("bob");
    CHECK_STR(value(&w, "1"), "none");
    CHECK(!threads_delete(w.t, &w.who, STR("t"), &e));
    CHECK(e.code == ERR_NOT_FOUND);
    CHECK(threads_list(w.t, &w.who, &f, &w.arena, &list, &e));
    CHECK_INT(list.count, 0);
    w.who.all = true;
    CHECK_STR(value(&w, "1"), "[1]");
    CHECK(threads_list(w.t, &w.who, &f, &w.arena, &list, &e));
    CHECK_INT(list.count, 1);
    CHECK(threads_delete(w.t, &w.who, STR("t"), &e));
    CHECK_STR(value(&w, "1"), "none");
    CHECK_INT(ask(&w.place, "SELECT count(*) FROM thread_values"), 0);
    finish(&w);
}

TEST(lists_are_newest_first_and_filtered)
{
    struct thread_filter f = {.thread = STR("t"), .before = STR("3"), .count_max = 10};
    struct world w;
    struct thread_list list;
    struct err e;

    begin(&w);
    put(&w, "1", "", 1, "[1]");
    put(&w, "2", "1", 2, "[2]");
    put(&w, "3", "2", 3, "[3]");
    f.metadata = STR("{\"step\":1.0,\"source\":\"loop\"}");
    CHECK(threads_list(w.t, &w.who, &f, &w.arena, &list, &e));
    CHECK_INT(list.count, 2);
    CHECK_STR(list.items[0].id, "2");
    f.metadata = STR("{\"source\":\"input\"}");
    CHECK(threads_list(w.t, &w.who, &f, &w.arena, &list, &e));
    CHECK_INT(list.count, 0);
    f.metadata = STR("");
    f.before = STR("");
    f.newest = true;
    CHECK(threads_list(w.t, &w.who, &f, &w.arena, &list, &e));
    CHECK_INT(list.count, 1);
    CHECK_STR(list.items[0].id, "3");
    CHECK(str_find(list.items[0].metadata, STR("loop")) != STR_NONE);
    f.metadata = STR("[]");
    CHECK(!threads_list(w.t, &w.who, &f, &w.arena, &list, &e));
    finish(&w);
}

/* Metadata come from clients: a list of many large ones must fit into a request's arena. */
TEST(large_metadata_are_left_out_of_lists)
{
    struct thread_filter f = {.thread = STR("t"), .before = STR(""), .count_max = THREAD_LIST_MAX};
    struct thread_tuple t = {.thread = STR("t"),
                             .ns = STR(""),
                             .parent = STR(""),
                             .checkpoint = STR("{\"channel_versions\":{}}")};
    struct thread_list list;
    struct arena small;
    struct buf metadata;
    struct world w;
    struct err e;

    begin(&w);
    buf_init(&metadata, (size_t)32 << 20);
    buf_add(&metadata, STR("{\"source\":\"loop\",\"m\":\""));
    while (metadata.n < (size_t)20 << 20)
        buf_add(&metadata, STR("0123456789012345678901234567890123456789"));
    buf_add(&metadata, STR("\"}"));
    t.metadata = buf_str(&metadata);
    for (int i = 0; i < 4; i++) {
        t.id = arena_u64(&w.arena, (uint64_t)i);
        CHECK_F(threads_put(w.t, &w.who, &t, &e), "%s", e.text);
    }
    f.metadata = STR("{\"source\":\"loop\"}");
    arena_init(&small, THREAD_TUPLE_MAX);
    CHECK_F(threads_list(w.t, &w.who, &f, &small, &list, &e), "%s", e.text);
    CHECK_INT(list.count, 4);
    CHECK_STR(list.items[0].id, "3");
    CHECK_STR(list.items[0].metadata, "{}");
    arena_release(&small);
    buf_release(&metadata);
    finish(&w);
}

/* A put reads the parent of its checkpoint, so a checkpoint above the limit of reads is refused. */
TEST(a_checkpoint_that_its_child_could_not_read_is_refused)
{
    struct thread_tuple t = {.thread = STR("t"),
                             .ns = STR(""),
                             .id = STR("1"),
                             .parent = STR(""),
                             .metadata = STR("{}")};
    struct buf checkpoint;
    struct world w;
    struct err e;

    begin(&w);
    buf_init(&checkpoint, 2 * THREAD_TUPLE_MAX);
    buf_add(&checkpoint, STR("{\"channel_versions\":{},\"x\":\""));
    while (checkpoint.n <= THREAD_TUPLE_MAX)
        buf_add(&checkpoint, STR("0123456789012345678901234567890123456789"));
    buf_add(&checkpoint, STR("\"}"));
    t.checkpoint = buf_str(&checkpoint);
    CHECK(!threads_put(w.t, &w.who, &t, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    put(&w, "2", "1", 1, "[1]");
    buf_release(&checkpoint);
    finish(&w);
}

static str update(struct world *w, const char *from, const char *values, const char *reducers)
{
    struct thread_update u = {.thread = STR("t"),
                              .ns = STR(""),
                              .from = str_c(from),
                              .values = str_c(values),
                              .reducers = str_c(reducers),
                              .metadata = STR("{}")};
    struct err e;
    str id;

    CHECK_F(threads_update(w->t, &w->who, &u, &w->arena, &id, &e), "%s", e.text);
    return id;
}

TEST(updates_are_folded_by_reducers_that_are_remembered)
{
    struct world w;
    str first, fork;

    begin(&w);
    first = update(&w, "", "{\"a\":[\"one\"]}", "{\"a\":\"append\"}");
    update(&w, "", "{\"a\":[\"two\"]}", "{}");
    CHECK_STR(value(&w, ""), "[\"one\",\"two\"]");
    fork = update(&w, first.p, "{\"a\":[\"three\"]}", "{}");
    CHECK_STR(value(&w, fork.p), "[\"one\",\"three\"]");
    CHECK_STR(value(&w, first.p), "[\"one\"]");
    update(&w, "", "{\"a\":5}", "{\"a\":\"last\"}");
    CHECK_STR(value(&w, ""), "5");
    finish(&w);
}

/* ---- many at once ---- */

#define WRITERS 8
#define STEPS 20

struct writer {
    struct world *w;
    unsigned n, refused;
    pthread_t thread;
};

/* Writes checkpoints to the writer's own thread, and tries one of five also on bob's, which must be
 * refused. */
static void *write_steps(void *arg)
{
    struct writer *me = arg;
    char thread[16], id[16], parent[16] = "", checkpoint[80];
    struct err e;

    (void)snprintf(thread, sizeof thread, "t%u", me->n);
    for (int i = 1; i <= STEPS; i++) {
        struct thread_asker who = {.key = STR("alice"), .now_us = i};
        struct thread_value v = {.channel = STR("a"), .type = STR("json"), .bytes = STR("[1]")};
        struct thread_tuple t = {
            .thread = str_c(thread), .metadata = STR("{}"), .values = &v, .value_count = 1};

        (void)snprintf(id, sizeof id, "%04d", i);
        (void)snprintf(
            checkpoint, sizeof checkpoint, "{\"v\":4,\"channel_versions\":{\"a\":%d}}", i);
        t.id = str_c(id);
        t.parent = str_c(parent);
        t.checkpoint = str_c(checkpoint);
        CHECK_F(threads_put(me->w->t, &who, &t, &e), "%s", e.text);
        memcpy(parent, id, sizeof id);
        t.thread = STR("bobs");
        if (i % 5 == 0 && !threads_put(me->w->t, &who, &t, &e) && e.code == ERR_NOT_FOUND)
            me->refused++;
    }
    return NULL;
}

TEST(puts_at_once_are_each_what_they_are_alone)
{
    struct writer all[WRITERS];
    struct world w;

    begin(&w);
    w.who.key = STR("bob");
    put(&w, "1", "", 1, "[1]");
    do_sql(&w.place, "UPDATE threads SET thread_id = 'bobs'");
    for (unsigned i = 0; i < WRITERS; i++) {
        all[i] = (struct writer){.w = &w, .n = i};
        CHECK_INT(pthread_create(&all[i].thread, NULL, write_steps, &all[i]), 0);
    }
    for (unsigned i = 0; i < WRITERS; i++) {
        CHECK_INT(pthread_join(all[i].thread, NULL), 0);
        CHECK_INT(all[i].refused, STEPS / 5);
    }
    CHECK_INT(ask(&w.place, "SELECT count(*) FROM thread_checkpoints"), 1 + WRITERS * STEPS);
    CHECK_INT(ask(&w.place, "SELECT count(*) FROM thread_values"), 1 + WRITERS * STEPS);
    finish(&w);
}

TEST_MAIN(T(large_metadata_are_left_out_of_lists),
          T(a_checkpoint_that_its_child_could_not_read_is_refused),
          T(a_checkpoint_has_its_parents_values),
          T(two_children_that_count_alike_do_not_see_each_others_values),
          T(what_is_stored_of_a_growing_list_grows_no_faster_than_it),
          T(pruning_keeps_what_is_reachable),
          T(pruning_keeps_ancestors_whose_writes_stand_for_a_value),
          T(a_write_put_twice_stays_and_a_special_one_is_replaced),
          T(a_thread_is_its_keys_alone_and_operators_see_it),
          T(lists_are_newest_first_and_filtered),
          T(updates_are_folded_by_reducers_that_are_remembered),
          T(puts_at_once_are_each_what_they_are_alone))
