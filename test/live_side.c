/* SPDX-License-Identifier: Apache-2.0 */
#include "live_side.h"

#include "test.h"

static const char *const deltas[] = {"reasoning_delta", "answer_delta", "tool_delta"};

/* Characters of these texts have one or two UTF-16 units; counts units up to `at`. */
static size_t bytes_of(str text, int64_t units)
{
    size_t at = 0;

    while (units > 0 && at < text.n) {
        unsigned char c = (unsigned char)text.p[at];

        units -= c >= 0xF0 ? 2 : 1;
        at += c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    }
    return units > 0 ? STR_NONE : at;
}

static void take_text(struct seen *s, size_t kind, const struct json *doc,
                      const struct json_node *data)
{
    struct buf *to = &s->text[kind];
    struct arena a;
    int64_t units;
    size_t at;
    str text;

    arena_init(&a, 4 << 20);
    CHECK(json_i64(doc, json_find(doc, data, STR("at")), &units));
    CHECK(json_text(doc, json_find(doc, data, STR("text")), &a, &text));
    at = bytes_of(buf_str(to), units);
    s->torn |= at == STR_NONE;
    if (at != STR_NONE)
        to->n = at;
    buf_add(to, text);
    s->count[kind]++;
    arena_release(&a);
}

static void on_send(void *ctx, const struct hub_message *m)
{
    struct seen *s = ctx;
    struct json doc;
    const struct json_node *data, *type;
    uint64_t mark;
    struct err e;

    json_init(&doc);
    CHECK(json_parse(&doc, hub_message_json(m), &e));
    CHECK(json_find(&doc, json_root(&doc), STR("timestamp_us")) != NULL);
    CHECK(str_ends(hub_message_frame(m), hub_message_json(m)));
    data = json_find(&doc, json_root(&doc), STR("data"));
    type = json_find(&doc, data, STR("type"));
    s->messages++;
    mark = hub_viewer_mark(s->viewer, m);
    CHECK(!mark || mark >= s->last);
    s->last = mark ? mark : s->last;
    for (size_t i = 0; i < 3; i++)
        if (json_is(&doc, type, str_c(deltas[i])))
            take_text(s, i, &doc, data);
    if (json_is(&doc, type, STR("gap"))) {
        s->gaps++;
        if (!json_i64(&doc, json_find(&doc, data, STR("missed")), &s->missed))
            s->missed = -1;
    }
    s->started += json_is(&doc, type, STR("llm_started"));
    if (json_is(&doc, type, STR("llm_interaction"))) {
        s->ended++;
        s->wrong += s->expect.n && !str_eq(buf_str(&s->text[HUB_ANSWER]), s->expect);
    }
    buf_add(&s->all, hub_message_json(m));
    buf_add_c(&s->all, '\n');
    json_release(&doc);
}

static bool on_full(void *ctx)
{
    return ((struct seen *)ctx)->full;
}

static const struct hub_viewer_ops ops = {HUB_BY_SOCKET, on_send, on_full, NULL, NULL, NULL};

void seen_begin(struct seen *s, struct hub_port *p, const struct hub_scope *scope)
{
    *s = (struct seen){0};
    buf_init(&s->all, (size_t)64 << 20);
    for (size_t i = 0; i < 3; i++)
        buf_init(&s->text[i], (size_t)16 << 20);
    s->viewer = hub_viewer_new(p, scope, &ops, s);
    CHECK(s->viewer != NULL);
}

void seen_end(struct seen *s)
{
    hub_viewer_free(s->viewer);
    buf_release(&s->all);
    for (size_t i = 0; i < 3; i++)
        buf_release(&s->text[i]);
}

bool seen_has(const struct seen *s, const char *what)
{
    return str_find(buf_str(&s->all), str_c(what)) != STR_NONE;
}

static void stop(void *ctx)
{
    loop_stop(ctx);
}

void side_turn(struct loop *l)
{
    for (int i = 0; i < 4; i++) { /* a deferred task may defer another */
        struct loop_task task;

        loop_task_init(&task, stop, l);
        loop_defer(l, &task);
        loop_run(l);
    }
}

struct hub_begin side_begin(const char *id, const char *session, const char *key)
{
    return (struct hub_begin){.id = str_c(id),
                              .session = str_c(session),
                              .key = str_c(key),
                              .subject = STR(""),
                              .dialect = STR("openai"),
                              .model = STR("m"),
                              .provider = STR("p"),
                              .level = STR("low"),
                              .asked = STR("why?"),
                              .cap = 256,
                              .stream = true,
                              .thoughts = true,
                              .started_us = 1};
}

struct hub_end side_end(void)
{
    return (struct hub_end){.success = true,
                            .status = 200,
                            .provider = STR("p"),
                            .model = STR("up"),
                            .step = STR("model call"),
                            .stop = STR("end"),
                            .error_message = STR(""),
                            .decision = STR("[DIRECT] because"),
                            .decision_thought = true,
                            .reasoning_state = STR("complete"),
                            .duration_ms = 5,
                            .thinking_ms = 2,
                            .ended_us = 6,
                            .input_tokens = 1,
                            .output_tokens = 2,
                            .reasoning_tokens = -1,
                            .cost_usd = -1};
}
