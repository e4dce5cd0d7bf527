/* patch.c - the gateway's wishes, as edits of a body of generateContent.
 *
 * Gemini 2.5 takes a budget of tokens, from 3 on a level; older models take neither. A model
 * whose name says nothing gets a level, and a budget if its provider has refused that.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/gemini/gemini.h"

#define ANSWER_TOKENS_MIN 1024
#define KEPT_MAX 16
/* The value that Google defines for calls of other models, which have no signature. */
#define NO_SIGNATURE "\"skip_thought_signature_validator\""

enum think { THINK_NOT, THINK_BUDGET, THINK_LEVEL };

/* The first row whose words are all in the name holds. */
static const struct {
    const char *family, *size;
    enum think think;
    int64_t min, max; /* of a budget */
    bool always;      /* it cannot be off */
    bool no_minimal, no_medium;
} models[] = {
    {"gemini-2.5", "pro", THINK_BUDGET, 128, 32768, .always = true},
    {"gemini-2.5", "lite", THINK_BUDGET, 512, 24576, .always = false},
    {"gemini-2.5", "", THINK_BUDGET, 0, 24576, .always = false},
    {"gemini-1", "", THINK_NOT, 0, 0, .always = false},
    {"gemini-2", "", THINK_NOT, 0, 0, .always = false},
    {"gemini-3-pro", "", THINK_LEVEL, 0, 0, .no_minimal = true, .no_medium = true},
    {"gemini", "pro", THINK_LEVEL, 0, 0, .no_minimal = true},
    {"gemini", "", THINK_LEVEL, 0, 0, .always = false},
    {"", "", THINK_LEVEL, 0, 24576, .always = false},
};

static size_t gemini_patch_model_row(str model)
{
    size_t i = 0;

    while (str_find(model, str_c(models[i].family)) == STR_NONE ||
           str_find(model, str_c(models[i].size)) == STR_NONE) {
        i++;
        assert(i < COUNT_OF(models)); /* the last row holds for every name */
    }
    return i;
}

/* Which of two parameters a model gets: the usual one, or the other if that was refused. */
static enum think gemini_patch_think_way(const struct wire_plan *plan)
{
    enum think usual = models[gemini_patch_model_row(plan->model)].think;

    if (!plan->other_way || usual == THINK_NOT)
        return usual;
    return usual == THINK_LEVEL ? THINK_BUDGET : THINK_LEVEL;
}

static str gemini_patch_text_part(struct arena *a, str text)
{
    return json_format(a, "{'text':%q}", text);
}

/* ---- generationConfig ---- */

static void gemini_patch_set_config(const struct json *doc, const char *camel, str with,
                                    struct json_edits *ed)
{
    const struct json_node *root = json_root(doc);
    str path[2];

    assert(json_is_object(root));
    path[0] = gemini_key(doc, root, "generationConfig", ed->arena);
    path[1] = gemini_key(doc, json_find(doc, root, path[0]), camel, ed->arena);
    json_edit_set_path(ed, root, path, 2, with);
}

static void gemini_patch_set_thinking(const struct json *doc, const char *camel, str with,
                                      struct json_edits *ed)
{
    const struct json_node *root = json_root(doc), *now;
    str path[3];

    assert(json_is_object(root));
    path[0] = gemini_key(doc, root, "generationConfig", ed->arena);
    now = json_find(doc, root, path[0]);
    path[1] = gemini_key(doc, now, "thinkingConfig", ed->arena);
    now = json_find(doc, now, path[1]);
    path[2] = gemini_key(doc, now, camel, ed->arena);
    json_edit_set_path(ed, root, path, 3, with);
}

static void gemini_patch_drop_config(const struct json *doc, const struct json_node *object,
                                     const char *camel, struct json_edits *ed)
{
    if (json_is_object(object))
        json_edit_remove(ed, object, gemini_key(doc, object, camel, ed->arena));
}

static bool gemini_patch_is_off(const struct wire_plan *plan)
{
    return plan->level == CHAT_LEVEL_NONE || plan->budget_tokens == 0;
}

static int64_t gemini_patch_budget_of(const struct wire_plan *plan, size_t row)
{
    int64_t n = plan->budget_tokens > 0 ? plan->budget_tokens : wire_level_tokens(plan->level);

    assert(row < COUNT_OF(models));
    if (gemini_patch_is_off(plan))
        return models[row].always ? models[row].min : 0;
    if (n < models[row].min)
        n = models[row].min;
    return models[row].max && n > models[row].max ? models[row].max : n;
}

static const char *gemini_patch_level_of(const struct wire_plan *plan, size_t row)
{
    enum chat_level level = plan->level;

    assert(row < COUNT_OF(models) && level < CHAT_LEVEL_COUNT);
    if (gemini_patch_is_off(plan))
        level = CHAT_LEVEL_MINIMAL;
    else if (level <= CHAT_LEVEL_ON && plan->budget_tokens > 0)
        level = wire_tokens_level(plan->budget_tokens);
    else if (level <= CHAT_LEVEL_ON)
        level = CHAT_LEVEL_MEDIUM;
    if (level == CHAT_LEVEL_MINIMAL)
        return models[row].no_minimal ? "LOW" : "MINIMAL";
    if (level == CHAT_LEVEL_LOW)
        return "LOW";
    return level == CHAT_LEVEL_MEDIUM && !models[row].no_medium ? "MEDIUM" : "HIGH";
}

/* Thinking counts as output: room for the answer stays. */
static void gemini_patch_keep_room(const struct json *doc, const struct wire_plan *plan,
                                   int64_t budget, struct json_edits *ed)
{
    const struct json_node *config = gemini_find(doc, json_root(doc), "generationConfig");
    int64_t max = -1;
    uint64_t limit;

    if (!json_i64(doc, gemini_find(doc, config, "maxOutputTokens"), &max))
        max = -1;
    if (str_u64(plan->max_tokens, &limit) && limit < INT64_MAX / 4)
        max = (int64_t)limit;
    if (max > 0 && max < INT64_MAX / 4 && budget > 0 && max < budget + ANSWER_TOKENS_MIN)
        gemini_patch_set_config(
            doc, "maxOutputTokens", json_format(ed->arena, "%d", max + budget), ed);
}

/* The reasoning_params as they fit the body: thinkingConfig is a member of generationConfig, where
 * it is looked for by those who write it at the top. */
static str gemini_patch_merge_of(const struct wire_plan *plan, struct json *from, struct arena *a)
{
    const struct json_node *config;
    struct json_edits ed;
    struct buf out;
    struct err e;
    str path[2], inside;

    if (!plan->merge.n || !json_parse(from, plan->merge, &e))
        return STR("");
    config = gemini_find(from, json_root(from), "thinkingConfig");
    if (!config)
        return plan->merge;
    inside = json_raw(from, config);
    json_edits_init(&ed, from, a);
    json_edit_remove(&ed, json_root(from), gemini_key(from, json_root(from), "thinkingConfig", a));
    path[0] = gemini_key(from, json_root(from), "generationConfig", a);
    path[1] = STR("thinkingConfig");
    json_edit_set_path(&ed, json_root(from), path, 2, inside);
    buf_init(&out, JSON_SIZE_MAX);
    json_edits_apply(&ed, &out);
    inside = arena_move_buf(a, &out);
    return inside;
}

/* A level and a budget exclude each other: the configured one holds, and ours goes. */
static bool gemini_patch_merge_says_amount(const struct json *from)
{
    const struct json_node *config = gemini_find(from, json_root(from), "generationConfig");

    config = gemini_find(from, config, "thinkingConfig");
    return gemini_find(from, config, "thinkingBudget") ||
           gemini_find(from, config, "thinkingLevel");
}

static void gemini_patch_set_amount(const struct json *doc, const struct wire_plan *plan,
                                    struct json_edits *ed)
{
    size_t row = gemini_patch_model_row(plan->model);

    assert(plan->set_level);
    if (gemini_patch_think_way(plan) == THINK_BUDGET) {
        int64_t budget = gemini_patch_budget_of(plan, row);

        gemini_patch_set_thinking(doc, "thinkingBudget", json_format(ed->arena, "%d", budget), ed);
        gemini_patch_keep_room(doc, plan, budget, ed);
    } else {
        gemini_patch_set_thinking(
            doc,
            "thinkingLevel",
            arena_printf(ed->arena, "\"%s\"", gemini_patch_level_of(plan, row)),
            ed);
    }
}

/* merged: the configured reasoning_params say how much themselves. */
static void gemini_patch_thinking(const struct json *doc, const struct wire_plan *plan, bool merged,
                                  struct json_edits *ed)
{
    const struct json_node *root = json_root(doc);
    const struct json_node *config = gemini_find(doc, root, "generationConfig");
    const struct json_node *now = gemini_find(doc, config, "thinkingConfig");
    const struct json_node *shown = gemini_find(doc, now, "includeThoughts");
    bool hidden = shown && shown->kind == JSON_FALSE;
    bool set = plan->set_level && plan->think != WIRE_THINK_NONE;

    if (plan->drop_reasoning || (plan->set_level && gemini_patch_think_way(plan) == THINK_NOT)) {
        gemini_patch_drop_config(doc, config, "thinkingConfig", ed);
        return;
    }
    if (set || merged) {
        gemini_patch_drop_config(doc, now, "thinkingBudget", ed);
        gemini_patch_drop_config(doc, now, "thinkingLevel", ed);
    }
    if (!set)
        return;
    if (!merged)
        gemini_patch_set_amount(doc, plan, ed);
    gemini_patch_set_thinking(doc,
                              "includeThoughts",
                              gemini_patch_is_off(plan) || hidden ? STR("false") : STR("true"),
                              ed);
}

static void gemini_patch_config(const struct json *doc, const struct wire_plan *plan, bool merged,
                                struct json_edits *ed)
{
    const struct json_node *config = gemini_find(doc, json_root(doc), "generationConfig");

    if (plan->drop_temperature)
        gemini_patch_drop_config(doc, config, "temperature", ed);
    if (plan->drop_top_p)
        gemini_patch_drop_config(doc, config, "topP", ed);
    if (plan->temperature.n && !gemini_find(doc, config, "temperature"))
        gemini_patch_set_config(doc, "temperature", plan->temperature, ed);
    if (plan->top_p.n && !gemini_find(doc, config, "topP"))
        gemini_patch_set_config(doc, "topP", plan->top_p, ed);
    if (plan->max_tokens.n)
        gemini_patch_set_config(doc, "maxOutputTokens", plan->max_tokens, ed);
    gemini_patch_thinking(doc, plan, merged, ed);
}

/* ---- texts ---- */

static void gemini_patch_add_system(const struct json *doc, str extra, struct json_edits *ed)
{
    const struct json_node *root = json_root(doc);
    const struct json_node *system = gemini_find(doc, root, "systemInstruction");
    const struct json_node *parts = gemini_find(doc, system, "parts");
    str part = gemini_patch_text_part(ed->arena, extra);

    assert(extra.n > 0);
    if (json_is_array(parts))
        json_edit_insert(ed, parts, NULL, part);
    else if (json_is_object(parts))
        json_edit_replace(ed, parts, json_format(ed->arena, "[%j,%j]", json_raw(doc, parts), part));
    else if (system && system->kind == JSON_STRING)
        json_edit_replace(
            ed,
            system,
            json_format(ed->arena, "{'parts':[{'text':%j},%j]}", json_raw(doc, system), part));
    else
        json_edit_set(ed,
                      root,
                      gemini_key(doc, root, "systemInstruction", ed->arena),
                      json_format(ed->arena, "{'parts':[%j]}", part));
}

/* The parts that a text of the user can be added to: those of the last content, or NULL. */
static const struct json_node *gemini_patch_last_parts(const struct json *doc,
                                                       const struct json_node *contents)
{
    const struct json_node *last = json_is_object(contents) ? contents : NULL, *parts;

    JSON_FOREACH_ITEM(c, doc, contents)
        last = c;
    parts = gemini_find(doc, last, "parts");
    return json_is_array(parts) && !json_is(doc, gemini_find(doc, last, "role"), STR("model"))
               ? parts
               : NULL;
}

static void gemini_patch_add_tails(const struct json *doc, const struct wire_plan *plan,
                                   struct json_edits *ed)
{
    const struct json_node *contents = gemini_find(doc, json_root(doc), "contents");
    const struct json_node *parts = gemini_patch_last_parts(doc, contents);
    str list;

    assert(plan->tail_count == 0 || plan->tails);
    if (!json_is_array(contents) && !json_is_object(contents))
        return;
    list = json_raw(doc, contents); /* of a single content: it becomes a list */
    for (size_t i = 0; i < plan->tail_count; i++) {
        const struct wire_tail *t = &plan->tails[i];
        str part, content;

        if (t->prefill || t->role == CHAT_ASSISTANT || t->text.n == 0)
            continue;
        part = gemini_patch_text_part(ed->arena, t->text);
        content = json_format(ed->arena, "{'role':'user','parts':[%j]}", part);
        if (parts)
            json_edit_insert(ed, parts, NULL, part);
        else if (contents->kind == JSON_ARRAY)
            json_edit_insert(ed, contents, NULL, content);
        else
            list = arena_join(ed->arena, list, STR(","), content);
    }
    if (contents->kind == JSON_OBJECT && list.n > contents->size)
        json_edit_replace(ed, contents, json_format(ed->arena, "[%j]", list));
}

static void gemini_patch_drop_tools(const struct json *doc, struct json_edits *ed)
{
    const struct json_node *root = json_root(doc);
    const struct json_node *config;
    str path[3];

    if (!gemini_find(doc, root, "tools"))
        return;
    path[0] = gemini_key(doc, root, "toolConfig", ed->arena);
    config = json_find(doc, root, path[0]);
    path[1] = gemini_key(doc, config, "functionCallingConfig", ed->arena);
    config = json_find(doc, config, path[1]);
    if (gemini_find(doc, config, "allowedFunctionNames"))
        json_edit_set_path(ed, root, path, 2, STR("{\"mode\":\"NONE\"}"));
    else {
        path[2] = STR("mode");
        json_edit_set_path(ed, root, path, 3, STR("\"NONE\""));
    }
}

/* ---- signatures ---- */

/* The vault's entry for a call, quoted; empty without one. */
static str gemini_patch_kept_for(const struct json *doc, const struct json_node *call,
                                 const struct wire_plan *plan, struct arena *a)
{
    struct wire_kept kept[KEPT_MAX];
    str id = json_get_text(doc, call, "id", a);
    size_t n;

    if (!plan->vault || plan->foreign_kept || id.n == 0)
        return STR("");
    n = plan->vault->find(plan->vault->ctx, id, kept, KEPT_MAX);
    for (size_t i = 0; i < n && i < KEPT_MAX; i++)
        if (str_eq(kept[i].name, STR("thoughtSignature")))
            return json_quoted(a, kept[i].text);
    return STR("");
}

/* Whether a signature is one of Google's placeholders, plain or as the base64 that some SDKs make
 * of it. */
static bool gemini_patch_stands_in(str signature)
{
    return str_eq(signature, STR("skip_thought_signature_validator")) ||
           str_eq(signature, STR("c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=")) ||
           str_eq(signature, STR("context_engineering_is_the_way_to_go")) ||
           str_eq(signature, STR("Y29udGV4dF9lbmdpbmVlcmluZ19pc190aGVfd2F5X3RvX2dv"));
}

/* Removes signatures that must not be sent; a call that needs a signature gets it, also instead of
 * a placeholder. Of parallel calls only the first has one. */
static void gemini_patch_part(const struct json *doc, const struct json_node *part, bool first_call,
                              const struct wire_plan *plan, struct json_edits *ed)
{
    const struct json_node *call = gemini_find(doc, part, "functionCall");
    const struct json_node *signature = gemini_find(doc, part, "thoughtSignature");
    bool needs = gemini_patch_think_way(plan) == THINK_LEVEL;
    str text = STR(""), with;
    bool given = signature && json_text(doc, signature, ed->arena, &text);
    bool stand_in = given && gemini_patch_stands_in(text);

    assert(part->kind == JSON_OBJECT);
    with = call ? gemini_patch_kept_for(doc, call, plan, ed->arena) : STR("");
    if (given && !stand_in && !wire_signature_ours(text) && !plan->foreign_kept)
        return;
    if (with.n == 0 && call && first_call && needs && !stand_in)
        with = STR(NO_SIGNATURE);
    if (with.n)
        json_edit_set(ed, part, gemini_key(doc, part, "thoughtSignature", ed->arena), with);
    else if (signature && !stand_in)
        json_edit_remove(ed, part, gemini_key(doc, part, "thoughtSignature", ed->arena));
}

static void gemini_patch_history(const struct json *doc, const struct wire_plan *plan,
                                 struct json_edits *ed)
{
    const struct json_node *contents = gemini_find(doc, json_root(doc), "contents");

    assert(plan->vault || plan->foreign_kept);
    JSON_FOREACH_ITEM(c, doc, contents) {
        const struct json_node *parts = gemini_find(doc, c, "parts");
        bool first = true;

        if (!json_is_array(parts) || !json_is(doc, gemini_find(doc, c, "role"), STR("model")))
            continue;
        JSON_FOREACH(p, doc, parts) {
            if (p->kind == JSON_OBJECT)
                gemini_patch_part(doc, p, first, plan, ed);
            first = first && !gemini_find(doc, p, "functionCall");
        }
    }
}

void gemini_patch(const struct json *doc, const struct wire_plan *plan, struct json_edits *ed)
{
    const struct json_node *root = json_root(doc);
    struct json from;
    struct err e;
    str merge;

    if (!json_is_object(root))
        return;
    json_init(&from);
    merge = gemini_patch_merge_of(plan, &from, ed->arena);
    if (merge.n && !json_parse(&from, merge, &e))
        merge = STR("");
    if (plan->system_extra.n)
        gemini_patch_add_system(doc, plan->system_extra, ed);
    gemini_patch_config(doc, plan, merge.n && gemini_patch_merge_says_amount(&from), ed);
    if (plan->vault || plan->foreign_kept)
        gemini_patch_history(doc, plan, ed);
    if (plan->tail_count)
        gemini_patch_add_tails(doc, plan, ed);
    if (plan->drop_tools)
        gemini_patch_drop_tools(doc, ed);
    if (merge.n)
        json_edit_merge(ed, root, &from, json_root(&from));
    json_release(&from);
}
