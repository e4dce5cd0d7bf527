/* registry_test.c - versions of prompts: their texts never change, their states do.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/registry.h"

#include "store_help.h"

#include <pthread.h>

static const struct prompt_part parts[] = {{"system_prompt", "Say what holds."},
                                           {"finish", "Ends it."}};
static const struct prompt_built_in built_in = {"policy", parts, COUNT_OF(parts)};

struct world {
    struct place place;
    struct registry *r;
    struct clock clock;
    struct arena arena;
    struct err e;
};

static void begin(struct world *w)
{
    place_init(&w->place);
    clock_fake_init(&w->clock, 1700000000000);
    CHECK_F(registry_open(str_c(w->place.url), &w->clock, &w->r, &w->e), "%s", w->e.text);
    arena_init(&w->arena, (size_t)1 << 30);
}

static void finish(struct world *w)
{
    registry_close(w->r);
    arena_release(&w->arena);
    place_release(&w->place);
}

static str put(struct world *w, const char *components)
{
    struct prompt_new p = {.name = STR("policy"),
                           .components = str_c(components),
                           .parent = STR(""),
                           .run_id = STR("run-1"),
                           .scores = STR("{\"citation\":0.9}"),
                           .who = STR("me")};
    str id = STR("");

    clock_fake_advance_ms(&w->clock, 1);
    CHECK_F(registry_put(w->r, &p, &w->arena, &id, &w->e), "%s", w->e.text);
    return id;
}

static bool refused(struct world *w, const char *name, const char *components)
{
    struct prompt_new p = {.name = str_c(name),
                           .components = str_c(components),
                           .parent = STR(""),
                           .run_id = STR(""),
                           .scores = STR(""),
                           .who = STR("")};
    str id;

    return !registry_put(w->r, &p, &w->arena, &id, &w->e);
}

static bool move(struct world *w, str id, enum prompt_state to)
{
    return registry_move(w->r, id, to, STR("ann"), &w->e);
}

static enum prompt_state state_in(struct world *w, str id)
{
    struct prompt p;

    CHECK_F(registry_get(w->r, id, &w->arena, &p, &w->e), "%s", w->e.text);
    return p.state;
}

static str active(struct world *w)
{
    struct prompt p;

    return registry_active(w->r, STR("policy"), &w->arena, &p, &w->e) ? p.id : STR("none");
}

TEST(the_same_texts_are_the_same_version_however_they_are_written)
{
    struct world w;
    str a, b;

    begin(&w);
    a = put(&w, "{\"system_prompt\":\"Go\\u0021\",\"finish\":\"x\"}");
    b = put(&w, " { \"finish\" : \"x\", \"system_prompt\":\"Go!\" } ");
    CHECK(str_eq(a, b) && a.n == strlen("policy@") + 12 && str_starts(a, STR("policy@")));
    CHECK(!str_eq(a, put(&w, "{\"system_prompt\":\"Go\",\"finish\":\"x\"}")));
    CHECK_INT(ask(&w.place, "SELECT count(*) FROM prompts"), 2);
    CHECK(!str_eq(put(&w, "{\"user\":\"a\"}"), put(&w, "{\"user\":\"b\"}")));
    finish(&w);
}

TEST(a_version_is_kept_whole_with_what_it_came_from)
{
    struct world w;
    struct prompt p;
    str id;

    begin(&w);
    id = put(&w, "{\"system_prompt\":\"l\\u00e4ngs\\n\\\"so\\\"\"}");
    CHECK(registry_get(w.r, id, &w.arena, &p, &w.e));
    CHECK_STR(prompt_text(&p, NULL, "system_prompt", &w.arena), "l\xc3\xa4ngs\n\"so\"");
    CHECK_STR(p.run_id, "run-1");
    CHECK_STR(p.scores, "{\"citation\":0.9}");
    CHECK_STR(p.created_by, "me");
    CHECK(p.state == PROMPT_DRAFT && p.approved_us == 0 && p.created_us == 1700000000001000);
    CHECK(!registry_get(w.r, STR("policy@000000000000"), &w.arena, &p, &w.e) &&
          w.e.code == ERR_NOT_FOUND);
    finish(&w);
}

TEST(the_newest_is_not_used_until_it_is_approved_and_activated)
{
    struct world w;
    struct prompt p;
    str id;

    begin(&w);
    id = put(&w, "{\"system_prompt\":\"new\"}");
    registry_in_force(w.r, &built_in, &w.arena, &p);
    CHECK(p.built_in && str_starts(p.id, STR("policy@")));
    CHECK_STR(prompt_text(&p, &built_in, "finish", &w.arena), "Ends it.");
    CHECK(!move(&w, id, PROMPT_ACTIVE) && w.e.code == ERR_INPUT);
    CHECK(move(&w, id, PROMPT_APPROVED));
    CHECK_STR(active(&w), "none");
    CHECK(move(&w, id, PROMPT_ACTIVE));
    registry_in_force(w.r, &built_in, &w.arena, &p);
    CHECK(!p.built_in && str_eq(p.id, id));
    CHECK_STR(p.approved_by, "ann");
    /* Components that a version lacks come from the built-in prompt. */
    CHECK_STR(prompt_text(&p, &built_in, "finish", &w.arena), "Ends it.");
    CHECK_STR(prompt_text(&p, &built_in, "system_prompt", &w.arena), "new");
    finish(&w);
}

TEST(one_of_a_name_is_active_and_the_former_one_retires_with_it)
{
    struct world w;
    str a, b;

    begin(&w);
    a = put(&w, "{\"s\":\"a\"}");
    b = put(&w, "{\"s\":\"b\"}");
    CHECK(move(&w, a, PROMPT_APPROVED) && move(&w, a, PROMPT_ACTIVE));
    CHECK(move(&w, b, PROMPT_APPROVED) && move(&w, b, PROMPT_ACTIVE));
    CHECK(state_in(&w, a) == PROMPT_RETIRED && state_in(&w, b) == PROMPT_ACTIVE);
    CHECK(str_eq(active(&w), b));
    /* An approved version may become active again. */
    CHECK(move(&w, a, PROMPT_ACTIVE) && str_eq(active(&w), a));
    CHECK(state_in(&w, b) == PROMPT_RETIRED);
    CHECK(move(&w, a, PROMPT_RETIRED));
    CHECK_STR(active(&w), "none");
    CHECK_INT(ask(&w.place, "SELECT count(*) FROM prompts WHERE state = 'active'"), 0);
    finish(&w);
}

TEST(only_the_ways_there_are_can_be_gone)
{
    static const struct {
        enum prompt_state from, to;
        bool ok;
    } cases[] = {
        {PROMPT_DRAFT, PROMPT_ACTIVE, false},
        {PROMPT_DRAFT, PROMPT_RETIRED, true},
        {PROMPT_APPROVED, PROMPT_DRAFT, false},
        {PROMPT_APPROVED, PROMPT_RETIRED, true},
        {PROMPT_ACTIVE, PROMPT_DRAFT, false},
        {PROMPT_ACTIVE, PROMPT_APPROVED, false},
        {PROMPT_RETIRED, PROMPT_DRAFT, false},
        {PROMPT_RETIRED, PROMPT_APPROVED, false},
        {PROMPT_APPROVED, PROMPT_APPROVED, true},
        {PROMPT_ACTIVE, PROMPT_ACTIVE, true},
    };
    struct world w;

    begin(&w);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        str id = put(&w, arena_printf(&w.arena, "{\"s\":\"%zu\"}", i).p);

        for (int s = PROMPT_APPROVED; s <= (int)cases[i].from; s++)
            CHECK(move(&w, id, (enum prompt_state)s));
        CHECK_F(move(&w, id, cases[i].to) == cases[i].ok, "case %zu", i);
    }
    /* A version that was never approved cannot become active after it was retired. */
    {
        str id = put(&w, "{\"s\":\"never\"}");

        CHECK(move(&w, id, PROMPT_RETIRED) && !move(&w, id, PROMPT_ACTIVE));
    }
    finish(&w);
}

TEST(what_another_process_activates_is_seen_soon_and_without_asking_each_time)
{
    struct world w;
    struct registry *other;
    str id;

    begin(&w);
    CHECK(registry_open(str_c(w.place.url), &w.clock, &other, &w.e));
    id = put(&w, "{\"s\":\"a\"}");
    CHECK_STR(active(&w), "none");
    CHECK(registry_move(other, id, PROMPT_APPROVED, STR("x"), &w.e));
    CHECK(registry_move(other, id, PROMPT_ACTIVE, STR("x"), &w.e));
    CHECK_STR(active(&w), "none");
    clock_fake_advance_ms(&w.clock, REGISTRY_FRESH_MS + 1);
    CHECK(str_eq(active(&w), id));
    registry_close(other);
    finish(&w);
}

TEST(bad_versions_are_refused_with_a_reason)
{
    static const struct {
        const char *name, *components, *why;
    } cases[] = {
        {"Policy", "{\"a\":\"b\"}", "lower case"},
        {"", "{\"a\":\"b\"}", "name"},
        {"a@b", "{\"a\":\"b\"}", "name"},
        {"p", "[]", "object"},
        {"p", "{}", "1 to"},
        {"p", "{\"a\":1}", "a: must be a text"},
        {"p", "{\"a\":\"b\",\"a\":\"c\"}", "twice"},
        {"p", "{\"a b\":\"c\"}", "component"},
        {"p", "{\"a\":\"\\u0000\"}", "NUL"},
        {"p", "{", ""},
    };
    struct world w;

    begin(&w);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        CHECK_F(refused(&w, cases[i].name, cases[i].components) && strstr(w.e.text, cases[i].why),
                "case %zu: %s",
                i,
                w.e.text);
    finish(&w);
}

TEST(without_a_store_what_is_compiled_in_is_in_force)
{
    struct registry *r;
    struct prompt p, q;
    struct arena a;
    struct err e;

    arena_init(&a, (size_t)64 << 20);
    CHECK(registry_open(STR("none"), &clock_real, &r, &e));
    registry_in_force(r, &built_in, &a, &p);
    registry_in_force(NULL, &built_in, &a, &q);
    CHECK(p.built_in && str_eq(p.id, q.id));
    CHECK(!registry_move(r, p.id, PROMPT_ACTIVE, STR(""), &e));
    registry_close(r);
    arena_release(&a);
}

struct racer {
    struct world *w;
    str id;
};

static void *activate(void *arg)
{
    struct racer *r = arg;
    struct err e;

    for (int i = 0; i < 20; i++)
        (void)!registry_move(r->w->r, r->id, PROMPT_ACTIVE, STR("t"), &e);
    return NULL;
}

TEST(many_who_activate_at_once_leave_one_active)
{
    pthread_t threads[4];
    struct racer racers[4];
    struct world w;

    begin(&w);
    for (int i = 0; i < 4; i++) {
        racers[i] = (struct racer){&w, put(&w, arena_printf(&w.arena, "{\"s\":\"%d\"}", i).p)};
        CHECK(move(&w, racers[i].id, PROMPT_APPROVED));
    }
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, activate, &racers[i]) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(ask(&w.place, "SELECT count(*) FROM prompts WHERE state = 'active'"), 1);
    finish(&w);
}

/* A version may have a megabyte of text, and a prompt thousands of versions. */
TEST(a_list_of_large_versions_has_their_ids_and_not_their_texts)
{
    enum { VERSIONS = 4, SIZE = 800000 };
    struct prompt *list;
    struct world w;
    struct arena small;
    struct buf text;
    size_t n;

    begin(&w);
    buf_init(&text, SIZE + 100);
    for (int i = 0; i < VERSIONS; i++) {
        buf_reset(&text);
        buf_printf(&text, "{\"system_prompt\":\"%d", i);
        while (text.n < SIZE)
            buf_add_c(&text, 'x');
        buf_add(&text, STR("\"}"));
        buf_add_c(&text, '\0');
        (void)put(&w, text.p);
    }
    arena_init(&small, (size_t)1 << 20);
    CHECK_F(registry_list(w.r, STR("policy"), &small, &list, &n, &w.e), "%s", w.e.text);
    CHECK_INT(n, VERSIONS);
    CHECK_INT(list[0].components.n, 0);
    CHECK_STR(list[0].scores, "{\"citation\":0.9}");
    CHECK(registry_list(w.r, STR("nobodys"), &small, &list, &n, &w.e) && n == 0);
    CHECK(registry_list(w.r, STR(""), &small, &list, &n, &w.e) && n == VERSIONS);
    arena_release(&small);
    buf_release(&text);
    finish(&w);
}

TEST(each_move_is_in_the_audit_log)
{
    struct world w;
    struct store *s;
    str id;

    begin(&w);
    s = open_store(&w.place);
    registry_audit(w.r, s);
    id = put(&w, "{\"s\":\"a\"}");
    CHECK(move(&w, id, PROMPT_APPROVED) && move(&w, id, PROMPT_ACTIVE));
    CHECK(move(&w, id, PROMPT_ACTIVE)); /* no change, so no audit entry */
    settle(s);
    CHECK_INT(ask(&w.place, "SELECT count(*) FROM audit_log WHERE action = 'prompt'"), 2);
    store_close(s);
    finish(&w);
}

TEST_MAIN(T(the_same_texts_are_the_same_version_however_they_are_written),
          T(a_version_is_kept_whole_with_what_it_came_from),
          T(the_newest_is_not_used_until_it_is_approved_and_activated),
          T(one_of_a_name_is_active_and_the_former_one_retires_with_it),
          T(only_the_ways_there_are_can_be_gone),
          T(what_another_process_activates_is_seen_soon_and_without_asking_each_time),
          T(bad_versions_are_refused_with_a_reason),
          T(without_a_store_what_is_compiled_in_is_in_force),
          T(many_who_activate_at_once_leave_one_active),
          T(a_list_of_large_versions_has_their_ids_and_not_their_texts),
          T(each_move_is_in_the_audit_log))
