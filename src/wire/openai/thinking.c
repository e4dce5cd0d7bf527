/* thinking.c - how much to think, said in the way of each host.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/openai.h"

/* All that some client may have asked in; kwargs are members of chat_template_kwargs. */
static const char *const members[] = {"reasoning_effort",
                                      "reasoning",
                                      "thinking",
                                      "think",
                                      "enable_thinking",
                                      "thinking_budget",
                                      "thinking_token_budget",
                                      "thinking_budget_tokens",
                                      "reasoning_budget_tokens",
                                      "include_reasoning",
                                      "reasoning_format",
                                      "prompt_mode"};
static const char *const kwargs[] = {
    "enable_thinking", "thinking", "thinking_budget", "reasoning_effort"};

static void openai_thinking_drop(const struct json *doc, struct json_edits *ed,
                                 const char *const *names, size_t n)
{
    const struct json_node *root = json_root(doc);
    const struct json_node *template = json_find(doc, root, STR("chat_template_kwargs"));
    const struct json_node *custom = json_find(doc, root, STR("custom_params"));

    for (size_t i = 0; i < n; i++)
        json_edit_remove(ed, root, str_c(names[i]));
    for (size_t i = 0; i < COUNT_OF(kwargs) && json_is_object(template); i++)
        json_edit_remove(ed, template, str_c(kwargs[i]));
    if (json_is_object(custom))
        json_edit_remove(ed, custom, STR("thinking_budget"));
}

void openai_drop_thinking(const struct json *doc, struct json_edits *edits)
{
    openai_thinking_drop(doc, edits, members, COUNT_OF(members));
}

/* ---- the wish ---- */

struct wish {
    const struct json *doc;
    struct json_edits *ed;
    enum chat_level level; /* never ON */
    int64_t budget;
    bool off; /* of an engine's template: the level is none, or in place of it */
};

static void openai_thinking_set(struct wish *w, const char *member, const char *inner, str json)
{
    str path[2] = {str_c(member), str_c(inner ? inner : "")};

    json_edit_set_path(w->ed, json_root(w->doc), path, inner ? 2 : 1, json);
}

static void openai_thinking_set_word(struct wish *w, const char *member, const char *inner,
                                     const char *word)
{
    openai_thinking_set(w, member, inner, arena_printf(w->ed->arena, "\"%s\"", word));
}

static void openai_thinking_set_budget(struct wish *w, const char *member, const char *inner)
{
    if (w->budget >= 0)
        openai_thinking_set(w, member, inner, json_format(w->ed->arena, "%d", w->budget));
}

/* Qwen's templates ask for one name, DeepSeek's and Granite's for the other. */
static void openai_thinking_set_template(struct wish *w)
{
    str on = w->off ? STR("false") : STR("true");

    if (w->level == CHAT_LEVEL_NOT_GIVEN)
        return;
    openai_thinking_set(w, "chat_template_kwargs", "enable_thinking", on);
    openai_thinking_set(w, "chat_template_kwargs", "thinking", on);
}

/* The table of all dialects; hosts of this one know nothing above high. */
static enum chat_level openai_thinking_level_of(int64_t budget)
{
    enum chat_level level;

    if (budget <= 0)
        return budget < 0 ? CHAT_LEVEL_NOT_GIVEN : CHAT_LEVEL_NONE;
    level = wire_tokens_level(budget);
    return level > CHAT_LEVEL_HIGH ? CHAT_LEVEL_HIGH : level;
}

/* ---- each host's way ---- */

static void openai_thinking_think_default(struct wish *w)
{
    enum chat_level level = w->level ? w->level : openai_thinking_level_of(w->budget);

    if (level)
        openai_thinking_set_word(w, "reasoning_effort", NULL, wire_level_effort(level));
}

static void openai_thinking_think_deepseek(struct wish *w)
{
    static const char *const words[CHAT_LEVEL_COUNT] = {[CHAT_LEVEL_MINIMAL] = "low",
                                                        [CHAT_LEVEL_LOW] = "low",
                                                        [CHAT_LEVEL_MEDIUM] = "high",
                                                        [CHAT_LEVEL_HIGH] = "high",
                                                        [CHAT_LEVEL_XHIGH] = "max",
                                                        [CHAT_LEVEL_MAX] = "max"};
    enum chat_level level = w->level ? w->level : openai_thinking_level_of(w->budget);

    if (level == CHAT_LEVEL_NOT_GIVEN)
        return;
    openai_thinking_set_word(
        w, "thinking", "type", level == CHAT_LEVEL_NONE ? "disabled" : "enabled");
    if (words[level])
        openai_thinking_set_word(w, "reasoning_effort", NULL, words[level]);
}

/* One of effort and max_tokens; a client's `exclude` stays. */
static void openai_thinking_think_openrouter(struct wish *w)
{
    const struct json_node *given = json_find(w->doc, json_root(w->doc), STR("reasoning"));

    if (json_is_object(given)) {
        json_edit_remove(w->ed, given, STR("effort"));
        json_edit_remove(w->ed, given, STR("max_tokens"));
        json_edit_remove(w->ed, given, STR("enabled"));
    }
    if (w->level == CHAT_LEVEL_NONE)
        openai_thinking_set_word(w, "reasoning", "effort", "none");
    else if (w->budget >= 0)
        openai_thinking_set_budget(w, "reasoning", "max_tokens");
    else if (w->level)
        openai_thinking_set_word(w, "reasoning", "effort", wire_level_effort(w->level));
}

static void openai_thinking_think_vllm(struct wish *w)
{
    if (w->level)
        openai_thinking_set_word(w, "reasoning_effort", NULL, chat_level_name(w->level));
    openai_thinking_set_template(w);
    if (!w->off)
        openai_thinking_set_budget(w, "thinking_token_budget", NULL);
}

static void openai_thinking_think_sglang(struct wish *w)
{
    static const char *const words[CHAT_LEVEL_COUNT] = {[CHAT_LEVEL_MINIMAL] = "low",
                                                        [CHAT_LEVEL_LOW] = "low",
                                                        [CHAT_LEVEL_MEDIUM] = "medium",
                                                        [CHAT_LEVEL_HIGH] = "high",
                                                        [CHAT_LEVEL_XHIGH] = "high",
                                                        [CHAT_LEVEL_MAX] = "high"};

    if (words[w->level])
        openai_thinking_set_word(w, "reasoning_effort", NULL, words[w->level]);
    openai_thinking_set_template(w);
    if (!w->off)
        openai_thinking_set_budget(w, "custom_params", "thinking_budget");
}

static void openai_thinking_think_llamacpp(struct wish *w)
{
    if (w->level)
        openai_thinking_set_word(w, "reasoning_effort", NULL, chat_level_name(w->level));
    if (w->level)
        openai_thinking_set(
            w, "chat_template_kwargs", "enable_thinking", w->off ? STR("false") : STR("true"));
    if (w->off)
        return;
    openai_thinking_set_budget(w, "thinking_budget_tokens", NULL);
    openai_thinking_set_budget(w, "reasoning_budget_tokens", NULL);
}

static void openai_thinking_think_none(struct wish *w)
{
    (void)w;
}

static void openai_thinking_think_mistral(struct wish *w)
{
    enum chat_level level = w->level ? w->level : openai_thinking_level_of(w->budget);

    if (level)
        openai_thinking_set_word(
            w, "reasoning_effort", NULL, level == CHAT_LEVEL_NONE ? "none" : "high");
}

void openai_patch_thinking(const struct json *doc, const struct wire_plan *plan, bool mistral,
                           struct json_edits *edits)
{
    static void (*const ways[])(struct wish *) = {
        [WIRE_THINK_DEFAULT] = openai_thinking_think_default,
        [WIRE_THINK_DEEPSEEK] = openai_thinking_think_deepseek,
        [WIRE_THINK_OPENROUTER] = openai_thinking_think_openrouter,
        [WIRE_THINK_VLLM] = openai_thinking_think_vllm,
        [WIRE_THINK_SGLANG] = openai_thinking_think_sglang,
        [WIRE_THINK_LLAMACPP] = openai_thinking_think_llamacpp,
        [WIRE_THINK_NONE] = openai_thinking_think_none};
    struct wish w = {doc,
                     edits,
                     plan->level,
                     plan->budget_tokens,
                     plan->least || plan->level == CHAT_LEVEL_NONE};

    assert((size_t)plan->think < COUNT_OF(ways));
    if (plan->control)
        openai_thinking_set(&w, "reasoning_control", NULL, STR("true"));
    else if (plan->drop_reasoning)
        json_edit_remove(edits, json_root(doc), STR("reasoning_control"));
    if (plan->drop_reasoning) {
        openai_drop_thinking(doc, edits);
        return;
    }
    if (!plan->set_level)
        return;
    if (w.level == CHAT_LEVEL_ON)
        w.level = CHAT_LEVEL_MEDIUM;
    if (plan->think == WIRE_THINK_OPENROUTER && !mistral) {
        static const char *const kept[] = {
            "reasoning_effort", "thinking", "think", "enable_thinking"};

        openai_thinking_drop(doc, edits, kept, COUNT_OF(kept));
    } else {
        /* Parameters that show or hide reasoning do not request it. */
        openai_thinking_drop(doc, edits, members, COUNT_OF(members) - 3);
    }
    if (mistral)
        openai_thinking_think_mistral(&w);
    else
        ways[plan->think](&w);
}
