/* orders_help.c - see orders_help.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "orders_help.h"

#include "agent/work.h"

#define CALLS_MAX 80

void lane_begin(struct lane *t)
{
    struct err e;

    memset(t, 0, sizeof *t);
    CHECK_F(menu_parse(STR(SMALL_MENU), "small", &t->menu, &e), "%s", e.text);
    arena_init(&t->arena, (size_t)64 << 20);
    order_init(&t->order, STR("o"), &t->arena);
    buf_init(&t->messages, (size_t)8 << 20);
    buf_init(&t->last, (size_t)1 << 20);
    buf_add_c(&t->messages, '[');
}

void lane_end(struct lane *t)
{
    buf_release(&t->messages);
    buf_release(&t->last);
    arena_release(&t->arena);
    menu_free(t->menu);
}

static void comma(struct lane *t)
{
    if (t->messages.n > 1)
        buf_add_c(&t->messages, ',');
}

void lane_customer(struct lane *t)
{
    comma(t);
    buf_add(&t->messages, STR("{\"role\":\"user\",\"content\":\"...\"}"));
}

static str whole(struct lane *t)
{
    return arena_join(&t->arena, buf_str(&t->messages), STR("]"), STR(""));
}

static size_t calls_of(const char *text, struct ask_call *out)
{
    size_t n = 0;

    while (*text) {
        const char *end = strchr(text, '\n'), *space;
        str line = {text, end ? (size_t)(end - text) : strlen(text)};

        space = memchr(line.p, ' ', line.n);
        CHECK(space && n < CALLS_MAX);
        out[n++] = (struct ask_call){STR("c"),
                                     {line.p, (size_t)(space - line.p)},
                                     {space + 1, line.n - (size_t)(space + 1 - line.p)}};
        text = end ? end + 1 : text + line.n;
    }
    return n;
}

/* Executes the calls as the agent loop would. */
static void lane_act(struct lane *t, struct tools_state *s, struct agent_done *done)
{
    struct agent_options o = {.run = STR("lane"), .app = STR("orders"), .clock = &clock_real};
    struct agent_result result;
    struct agent_work *w;
    struct err e;

    o.tools = toolbox_new(&clock_real);
    CHECK_F(tools_add(o.tools, s, &e), "%s", e.text);
    CHECK(agent_work_begin(&o, &t->arena, &result, &w, &e));
    CHECK(agent_work_act(w, s->batch, s->count, done));
    CHECK_F(agent_work_end(w, STR(""), &e), "%s", e.text);
    toolbox_free(o.tools);
}

void lane_batch(struct lane *t, const char *text)
{
    struct ask_call calls[CALLS_MAX];
    struct agent_done done[CALLS_MAX];
    struct tools_state s = {.menu = t->menu,
                            .order = &t->order,
                            .batch = calls,
                            .limits = t->limits,
                            .arena = &t->arena};
    struct facts f;
    struct json doc;
    struct err e;

    s.count = calls_of(text, calls);
    comma(t);
    buf_add(&t->messages, STR("{\"role\":\"assistant\",\"tool_calls\":[]}"));
    json_init(&doc);
    CHECK(json_parse(&doc, whole(t), &e) && facts_read(&f, &doc, &t->arena, &e));
    s.facts = &f;
    lane_act(t, &s, done);
    buf_reset(&t->last);
    for (size_t i = 0; i < s.count; i++) {
        CHECK(done[i].ok == !str_starts(done[i].result, STR("{\"error\":")));
        buf_add(&t->last, done[i].result);
        buf_add_c(&t->last, '\n');
        buf_printf(&t->messages,
                   ",{\"role\":\"tool\",\"name\":\"" STR_FMT "\",\"content\":",
                   STR_ARG(calls[i].name));
        (void)json_quote(&t->messages, done[i].result);
        buf_add_c(&t->messages, '}');
    }
    facts_release(&f);
    json_release(&doc);
}

bool lane_says(const struct lane *t, const char *text)
{
    return str_find(buf_str(&t->last), str_c(text)) != STR_NONE;
}
