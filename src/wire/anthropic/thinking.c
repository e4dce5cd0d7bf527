/* thinking.c - the thinking parameters of each model, and how the thinking of a body is changed.
 *
 * Models up to Claude 4.5 take a budget. From 4.6 on the model adapts and takes an effort, and
 * later ones refuse a budget. Fable, Mythos, and Opus from 5.5 on refuse to turn thinking off.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/anthropic/anthropic.h"

#include "base/ctype.h"

#define BUDGET_TOKENS_MIN 1024
#define ANSWER_TOKENS_MIN 1024 /* room that stays for the answer */
#define MAX_TOKENS_OLD 4096    /* every model allows this */

/* Properties of a family of models from a version on. The first matching row applies. */
static const struct {
    const char *family; /* a word in the name; "" for any */
    int from;           /* version times 100, or 0 for any */
    struct anthropic_model is;
} models[] = {
    {"fable", 0, {ANTHROPIC_ALWAYS, 32000, .xhigh = true, .no_sampling = true, .omits = true}},
    {"mythos", 0, {ANTHROPIC_ALWAYS, 32000, .xhigh = true, .no_sampling = true, .omits = true}},
    {"opus", 505, {ANTHROPIC_ALWAYS, 32000, .xhigh = true, .no_sampling = true, .omits = true}},
    {"claude", 407, {ANTHROPIC_ADAPTIVE, 32000, .xhigh = true, .no_sampling = true, .omits = true}},
    {"claude", 406, {ANTHROPIC_ADAPTIVE, 32000, .xhigh = false}},
    {"claude", 307, {ANTHROPIC_BUDGET, 32000, .xhigh = false}},
    {"claude", 1, {ANTHROPIC_NEVER, MAX_TOKENS_OLD, .xhigh = false}},
    /* An alias without a number is new. Other makers with this API know budgets. */
    {"claude", 0, {ANTHROPIC_ADAPTIVE, 32000, .xhigh = true}},
    {"", 0, {ANTHROPIC_BUDGET, MAX_TOKENS_OLD, .unknown = true}},
};

/* A run of one or two digits at *at, or -1: longer runs are dates. */
static int anthropic_thinking_small_number(str s, size_t *at)
{
    size_t from = *at;
    int n = 0;

    assert(*at <= s.n);
    while (*at < s.n && char_is_digit(s.p[*at]))
        n = *at - from < 3 ? n * 10 + (s.p[*at] - '0') : n, (*at)++;
    return *at > from && *at - from <= 2 ? n : -1;
}

/* claude-3-7-sonnet-20250219: 307; claude-opus-4-5@20251101: 405; anthropic.claude-sonnet-5: 500.
 * The numbers come after "claude". 0 if there are none. */
static int anthropic_thinking_version_of(str model)
{
    size_t at = str_find(model, STR("claude"));

    if (at == STR_NONE)
        return 0;
    for (at += 6; at < model.n; at++) {
        int major, minor;

        if (!char_is_digit(model.p[at]))
            continue;
        major = anthropic_thinking_small_number(model, &at);
        if (major < 0)
            continue;
        if (at >= model.n || (model.p[at] != '-' && model.p[at] != '.'))
            return major * 100;
        at++;
        minor = at < model.n && char_is_digit(model.p[at])
                    ? anthropic_thinking_small_number(model, &at)
                    : -1;
        return major * 100 + (minor > 0 ? minor : 0);
    }
    return 0;
}

struct anthropic_model anthropic_model_of(str model)
{
    int version = anthropic_thinking_version_of(model);

    for (size_t i = 0; i < COUNT_OF(models); i++)
        if (str_find(model, str_c(models[i].family)) != STR_NONE && version >= models[i].from)
            return models[i].is;
    return models[COUNT_OF(models) - 1].is;
}

/* Whether the client asks its model in the new way: it knows what the model takes. */
static bool anthropic_asks_adaptive(const struct json *doc)
{
    const struct json_node *thinking = json_find(doc, json_root(doc), STR("thinking"));
    const struct json_node *config = json_find(doc, json_root(doc), STR("output_config"));

    return json_get_is(doc, thinking, "type", "adaptive") || json_find(doc, config, STR("effort"));
}

struct anthropic_model anthropic_model_for(const struct json *doc, const struct wire_plan *plan)
{
    const struct json_node *root = json_root(doc), *name = json_find(doc, root, STR("model"));
    bool ours = plan->model.n || !name;
    struct anthropic_model m =
        anthropic_model_of(ours ? plan->model : json_raw(doc, name)); /* quotes do not matter */

    if (m.unknown && !plan->set_stream && anthropic_asks_adaptive(doc))
        m.think = ANTHROPIC_ADAPTIVE;
    if (plan->other_way && m.think != ANTHROPIC_NEVER)
        m.think = m.think == ANTHROPIC_BUDGET ? ANTHROPIC_ADAPTIVE : ANTHROPIC_BUDGET;
    return m;
}

static int64_t anthropic_thinking_max_tokens_of(const struct json *doc,
                                                const struct wire_plan *plan)
{
    int64_t now = json_get_count(doc, json_root(doc), "max_tokens");
    uint64_t limit;

    if (str_u64(plan->max_tokens, &limit) && limit < INT64_MAX / 4)
        return (int64_t)limit;
    return now > 0 && now < INT64_MAX / 4 ? now : MAX_TOKENS_OLD;
}

static void anthropic_thinking_set_budget(const struct json *doc, const struct wire_plan *plan,
                                          struct json_edits *ed)
{
    int64_t max = anthropic_thinking_max_tokens_of(doc, plan);
    int64_t budget = plan->budget_tokens > 0 ? plan->budget_tokens : wire_level_tokens(plan->level);

    if (budget < BUDGET_TOKENS_MIN)
        budget = BUDGET_TOKENS_MIN;
    if (budget > INT64_MAX / 4)
        budget = INT64_MAX / 4;
    json_edit_set(ed,
                  json_root(doc),
                  STR("thinking"),
                  json_format(ed->arena, "{'type':'enabled','budget_tokens':%d}", budget));
    if (max < budget + ANSWER_TOKENS_MIN)
        json_edit_set(
            ed, json_root(doc), STR("max_tokens"), json_format(ed->arena, "%d", budget + max));
}

/* The effort for a level, or for a budget without a level. */
static const char *anthropic_thinking_effort_of(const struct wire_plan *plan,
                                                struct anthropic_model m)
{
    enum chat_level level = plan->level;

    if (level <= CHAT_LEVEL_ON && plan->budget_tokens > 0)
        level = wire_tokens_level(plan->budget_tokens);
    if (level == CHAT_LEVEL_NONE || level == CHAT_LEVEL_MINIMAL)
        level = CHAT_LEVEL_LOW;
    if (level == CHAT_LEVEL_XHIGH && !m.xhigh)
        level = CHAT_LEVEL_HIGH;
    return chat_level_name(level <= CHAT_LEVEL_ON ? CHAT_LEVEL_MEDIUM : level);
}

static void anthropic_thinking_set_effort(const struct json *doc, const struct wire_plan *plan,
                                          struct anthropic_model m, struct json_edits *ed)
{
    static const str path[] = {STR_INIT("output_config"), STR_INIT("effort")};

    json_edit_set_path(ed,
                       json_root(doc),
                       path,
                       COUNT_OF(path),
                       arena_printf(ed->arena, "\"%s\"", anthropic_thinking_effort_of(plan, m)));
}

/* The client's own words on whether it wants to see the thoughts stay. */
static void anthropic_thinking_set_adaptive(const struct json *doc, const struct wire_plan *plan,
                                            struct anthropic_model m, struct json_edits *ed)
{
    const struct json_node *root = json_root(doc);
    const struct json_node *display =
        json_find(doc, json_find(doc, root, STR("thinking")), STR("display"));
    str shown = display ? json_raw(doc, display) : m.omits ? STR("\"summarized\"") : STR("");

    json_edit_set(
        ed,
        root,
        STR("thinking"),
        json_format(
            ed->arena, "{'type':'adaptive'%j%j}", shown.n ? STR(",\"display\":") : STR(""), shown));
    anthropic_thinking_set_effort(doc, plan, m, ed);
}

static void anthropic_thinking_remove_effort(const struct json *doc, struct json_edits *ed)
{
    const struct json_node *root = json_root(doc);
    const struct json_node *config = json_find(doc, root, STR("output_config"));

    if (config && json_find(doc, config, STR("effort")) && json_count(doc, config) == 1)
        json_edit_remove(ed, root, STR("output_config"));
    else if (config)
        json_edit_remove(ed, config, STR("effort"));
}

static void anthropic_thinking_set_off(const struct json *doc, const struct wire_plan *plan,
                                       struct anthropic_model m, struct json_edits *ed)
{
    const struct json_node *root = json_root(doc);

    if (m.think == ANTHROPIC_ALWAYS) {
        json_edit_remove(ed, root, STR("thinking"));
        anthropic_thinking_set_effort(doc, plan, m, ed);
    } else if (m.think == ANTHROPIC_NEVER) {
        json_edit_remove(ed, root, STR("thinking"));
    } else {
        json_edit_set(ed, root, STR("thinking"), STR("{\"type\":\"disabled\"}"));
        if (!plan->tail_count) /* a second call answers with the effort that was asked for */
            anthropic_thinking_remove_effort(doc, ed);
    }
}

/* Anthropic refuses this edit of the history in a body without thinking; the other edits stay. */
static void anthropic_thinking_drop_thinking_edits(const struct json *doc, struct json_edits *ed)
{
    const struct json_node *root = json_root(doc);
    const struct json_node *management = json_find(doc, root, STR("context_management"));
    const struct json_node *edits = json_find(doc, management, STR("edits"));
    size_t dropped = 0;

    if (!json_is_array(edits))
        return;
    JSON_FOREACH(v, doc, edits)
        if (json_get_is(doc, v, "type", "clear_thinking_20251015")) {
            json_edit_drop(ed, edits, v);
            dropped++;
        }
    if (dropped && dropped == json_count(doc, edits)) {
        if (json_count(doc, management) == 1)
            json_edit_remove(ed, root, STR("context_management"));
        else
            json_edit_remove(ed, management, STR("edits"));
    }
}

/* A client that forces a call depends on it; with a budget Anthropic takes only one of the two. */
bool anthropic_forced(const struct json *doc, const struct wire_plan *plan)
{
    const struct json_node *choice = json_find(doc, json_root(doc), STR("tool_choice"));
    const struct json_node *type = json_find(doc, choice, STR("type"));

    return !plan->drop_tools && (json_is(doc, type, STR("any")) || json_is(doc, type, STR("tool")));
}

void anthropic_patch_thinking(const struct json *doc, const struct wire_plan *plan,
                              struct json_edits *ed)
{
    struct anthropic_model m = anthropic_model_for(doc, plan);

    if (plan->drop_reasoning) {
        json_edit_remove(ed, json_root(doc), STR("thinking"));
        anthropic_thinking_remove_effort(doc, ed);
        anthropic_thinking_drop_thinking_edits(doc, ed);
        return;
    }
    if (!plan->set_level || plan->think == WIRE_THINK_NONE)
        return;
    if (!anthropic_will_think(doc, plan) || m.think == ANTHROPIC_NEVER)
        anthropic_thinking_drop_thinking_edits(doc, ed);
    if (plan->level == CHAT_LEVEL_NONE || plan->budget_tokens == 0 ||
        (m.think == ANTHROPIC_BUDGET && anthropic_forced(doc, plan)))
        anthropic_thinking_set_off(doc, plan, m, ed);
    else if (m.think == ANTHROPIC_BUDGET) {
        anthropic_thinking_set_budget(doc, plan, ed);
        anthropic_thinking_remove_effort(doc, ed);
    } else if (m.think != ANTHROPIC_NEVER)
        anthropic_thinking_set_adaptive(doc, plan, m, ed);
}

bool anthropic_will_think(const struct json *doc, const struct wire_plan *plan)
{
    const struct json_node *thinking = json_find(doc, json_root(doc), STR("thinking"));

    if (plan->drop_reasoning)
        return false;
    if (plan->set_level && plan->think != WIRE_THINK_NONE)
        return !anthropic_thinking_disabled(doc, plan);
    return thinking && !json_get_is(doc, thinking, "type", "disabled");
}

bool anthropic_thinking_disabled(const struct json *doc, const struct wire_plan *plan)
{
    const struct json_node *thinking = json_find(doc, json_root(doc), STR("thinking"));

    if (plan->drop_reasoning)
        return true;
    if (plan->set_level && plan->think != WIRE_THINK_NONE)
        return plan->level == CHAT_LEVEL_NONE || plan->budget_tokens == 0 ||
               (anthropic_model_for(doc, plan).think == ANTHROPIC_BUDGET &&
                anthropic_forced(doc, plan));
    return json_get_is(doc, thinking, "type", "disabled");
}
