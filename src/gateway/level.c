/* level.c - the level of a call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/level.h"

#include <strings.h>

#include "wire/patch_plan.h"

#define ROOM_MAX 512

#define LEVELS                                                                                     \
    "- LOW: think in a bare outline, only the steps you cannot do without.\n"                      \
    "- MEDIUM: think briefly but completely, enough to justify the answer.\n"                      \
    "- HIGH: think thoroughly, in several steps and with the edge cases, without going in "        \
    "circles.\n"
#define LEVELS_ABOVE                                                                               \
    "- XHIGH: think exhaustively, compare alternatives and check each step.\n"                     \
    "- MAX: think for as long as the problem needs, and verify the result in a second way.\n"
#define THEN "Then give the final answer."

/* The block of low, medium and high names no others: recordings are found by its text. */
#define GUIDE LEVELS THEN
#define GUIDE_ABOVE LEVELS LEVELS_ABOVE THEN

static const struct {
    const char *name;
    str words;
} guides[] = {
    {"low", STR_INIT(LEVEL_MARK "\nCurrent reasoning effort: LOW.\n" GUIDE)},
    {"medium", STR_INIT(LEVEL_MARK "\nCurrent reasoning effort: MEDIUM.\n" GUIDE)},
    {"high", STR_INIT(LEVEL_MARK "\nCurrent reasoning effort: HIGH.\n" GUIDE)},
    {"xhigh", STR_INIT(LEVEL_MARK "\nCurrent reasoning effort: XHIGH.\n" GUIDE_ABOVE)},
    {"max", STR_INIT(LEVEL_MARK "\nCurrent reasoning effort: MAX.\n" GUIDE_ABOVE)},
};

#define CONVENTION_MARK "between <thinking> and </thinking>"
static const str convention =
    STR_INIT("Before you answer, write down your reasoning " CONVENTION_MARK
             ". Behind the closing tag give only the answer itself. Use the tags once, at the very "
             "beginning, and never mention them.");

static bool level_parse_suffix(str model, str *base, enum chat_level *level)
{
    size_t at = model.n;

    while (at > 0 && model.p[at - 1] != '-' && model.p[at - 1] != ':')
        at--;
    if (at < 2 || !chat_level_parse(str_slice(model, at, model.n), level))
        return false;
    if (*level < CHAT_LEVEL_LOW || *level > CHAT_LEVEL_XHIGH)
        return false; /* "-max" and "-minimal" are parts of real names */
    *base = str_slice(model, 0, at - 1);
    return true;
}

/* Whether a name that ends in a level is a model of a maker. */
static bool level_is_real_name(str model)
{
    static const str ends[] = {STR_INIT("mistral-medium"),
                               STR_INIT("magistral-medium"),
                               STR_INIT("devstral-medium"),
                               STR_INIT("openai/o3-mini-high"), /* OpenRouter's */
                               STR_INIT("openai/o4-mini-high")};

    for (size_t i = 0; i < COUNT_OF(ends); i++)
        if (str_ends(model, ends[i]))
            return true;
    return false;
}

/* The model as it is, if a provider lists it, or takes any name and the name is a maker's; else
 * without the level at its end, if that is known; else as it is, for a provider that takes any
 * name. */
static bool level_find_model(const struct config *c, const struct chat_request *r,
                             struct level *out, enum chat_level *by_name)
{
    bool found = config_find(c, r->model, &out->route);
    struct config_route without;
    str base;

    out->model = r->model;
    if (!(found && (out->route.provider->model_count || level_is_real_name(r->model))) &&
        level_parse_suffix(r->model, &base, by_name) && config_find(c, base, &without)) {
        out->model = base;
        out->route = without;
        return true;
    }
    *by_name = CHAT_LEVEL_NOT_GIVEN;
    return found;
}

static bool level_refuse_model(const struct config *c, str model, const struct config_key *key,
                               struct err *e)
{
    str near = config_nearest_model(c, key, model);

    if (near.n)
        return err_set(e,
                       ERR_NOT_FOUND,
                       "the model \"" STR_FMT "\" is not served here; did you mean \"" STR_FMT
                       "\"? /v1/models lists all",
                       STR_ARG(model),
                       STR_ARG(near));
    return err_set(e,
                   ERR_NOT_FOUND,
                   "the model \"" STR_FMT "\" is not served here; /v1/models lists those that are",
                   STR_ARG(str_slice(model, 0, 100)));
}

/* The least preset whose cap an amount of tokens is within; more than all of them is max. */
static enum chat_level level_weigh(const struct config *c, int64_t tokens)
{
    enum chat_level level = CHAT_LEVEL_LOW;

    while (level < CHAT_LEVEL_MAX && config_preset(c, level)->reasoning_max_tokens < tokens)
        level++;
    return level;
}

/* The level in the request's own words. An amount of tokens alone is the level that providers would
 * call it. "Think", without an amount, leaves the amount to the model's name; on /generate, which
 * always thinks, to the key and the provider, too. */
static enum chat_level level_requested(const struct chat_request *r, enum chat_level by_name)
{
    if (r->budget_tokens > 0 && (r->level == CHAT_LEVEL_NOT_GIVEN || r->level == CHAT_LEVEL_ON))
        return wire_tokens_level(r->budget_tokens);
    if (r->level == CHAT_LEVEL_ON &&
        (by_name != CHAT_LEVEL_NOT_GIVEN || r->dialect == CHAT_GENERATE))
        return CHAT_LEVEL_NOT_GIVEN;
    return r->level;
}

/* The highest level that the key may ask for; NOT_GIVEN: any. */
static enum chat_level level_highest(const struct config_key *key)
{
    enum chat_level level = CHAT_LEVEL_MAX;

    if (!key || !key->levels)
        return CHAT_LEVEL_NOT_GIVEN;
    while (level > CHAT_LEVEL_NONE && !(key->levels & (1u << level)))
        level--;
    return level;
}

/* The level of a call that asks for none. A key that may not use the provider's level, or the
 * medium of /generate, has its highest instead. */
static void level_by_default(const struct chat_request *r, const struct config_key *key,
                             struct level *out)
{
    enum chat_level by_provider = out->route.provider->level;

    if (key && key->level != CHAT_LEVEL_NOT_GIVEN) {
        out->source = LEVEL_BY_KEY;
        out->asked = key->level;
    } else if (by_provider != CHAT_LEVEL_NOT_GIVEN && level_allowed(key, by_provider)) {
        out->source = LEVEL_BY_PROVIDER;
        out->asked = by_provider;
    } else if (r->dialect == CHAT_GENERATE && level_allowed(key, CHAT_LEVEL_MEDIUM)) {
        out->source = LEVEL_BY_GENERATE;
        out->asked = CHAT_LEVEL_MEDIUM;
    } else if (level_highest(key) != CHAT_LEVEL_NOT_GIVEN) {
        out->source = LEVEL_BY_KEY;
        out->asked = level_highest(key);
    }
}

bool level_brings_preset(const struct config *c, enum level_source source)
{
    return source != LEVEL_BY_NOBODY &&
           (source != LEVEL_BY_REQUEST || c->presets_for == CONFIG_PRESETS_ALWAYS);
}

/* Sets the cap and the preset of the level, and its rank for a key's `levels`. */
static void level_measure(const struct config *c, const struct chat_request *r, struct level *out)
{
    bool by_words = out->source == LEVEL_BY_REQUEST || out->source == LEVEL_BY_GENERATE;
    bool amount = by_words && r->budget_tokens > 0;

    assert(out->asked < CHAT_LEVEL_COUNT);
    out->weight = r->level_unknown && out->source == LEVEL_BY_REQUEST ? CHAT_LEVEL_MAX : out->asked;
    out->preset = NULL;
    out->cap = -1;
    if (amount && (out->asked != r->level || level_weigh(c, r->budget_tokens) > out->weight))
        out->weight = level_weigh(c, r->budget_tokens);
    if (!level_brings_preset(c, out->source))
        return;
    if (amount) {
        out->cap = r->budget_tokens;
    } else if (out->asked > CHAT_LEVEL_NONE) {
        out->preset = config_preset(c, out->asked);
        out->cap = out->preset->reasoning_max_tokens;
    }
    out->cap = level_room(out->cap, r->max_tokens);
}

bool level_choose(const struct config *c, const struct chat_request *r, str header,
                  const struct config_key *key, struct level *out, struct err *e)
{
    enum chat_level by_name, by_body, by_header = CHAT_LEVEL_NOT_GIVEN;

    if (header.n && !chat_level_parse(header, &by_header))
        return err_input(e,
                         "the level \"" STR_FMT
                         "\" is not known: none, minimal, low, medium, high, "
                         "xhigh or max",
                         STR_ARG(header));
    if (!level_find_model(c, r, out, &by_name))
        return level_refuse_model(c, r->model, key, e);
    by_body = level_requested(r, by_name);
    out->source = LEVEL_BY_NOBODY;
    out->asked = CHAT_LEVEL_NOT_GIVEN;
    if (by_header != CHAT_LEVEL_NOT_GIVEN) {
        out->source = LEVEL_BY_HEADER;
        out->asked = by_header;
    } else if (by_body != CHAT_LEVEL_NOT_GIVEN) {
        out->source = r->dialect == CHAT_GENERATE ? LEVEL_BY_GENERATE : LEVEL_BY_REQUEST;
        out->asked = by_body == CHAT_LEVEL_ON ? CHAT_LEVEL_MEDIUM : by_body;
    } else if (by_name != CHAT_LEVEL_NOT_GIVEN) {
        out->source = LEVEL_BY_MODEL;
        out->asked = by_name;
    } else {
        level_by_default(r, key, out);
    }
    level_measure(c, r, out);
    return true;
}

void level_watch(const struct config_provider *p, const struct chat_request *r, struct level *out)
{
    enum chat_level asked = level_requested(r, CHAT_LEVEL_NOT_GIVEN);

    *out =
        (struct level){.asked = asked == CHAT_LEVEL_ON ? CHAT_LEVEL_MEDIUM : asked,
                       .source = asked == CHAT_LEVEL_NOT_GIVEN ? LEVEL_BY_NOBODY : LEVEL_BY_REQUEST,
                       .model = r->model,
                       .route = {.provider = p, .upstream = r->model},
                       .cap = -1};
    out->weight = out->asked;
}

int64_t level_room(int64_t cap, str max_tokens)
{
    uint64_t all;
    int64_t room;

    if (cap < 0 || !str_u64(max_tokens, &all) || all > INT32_MAX)
        return cap;
    room = (int64_t)all / 2 < ROOM_MAX ? (int64_t)all / 2 : ROOM_MAX;
    assert(room <= (int64_t)all);
    return cap < (int64_t)all - room ? cap : (int64_t)all - room;
}

bool level_allowed(const struct config_key *key, enum chat_level level)
{
    assert(level < CHAT_LEVEL_COUNT);
    return !key || !key->levels || (key->levels & (1u << level));
}

void level_set_refusal(const struct level *level, int64_t budget, const struct config_key *key,
                       struct err *e)
{
    const char *weight = chat_level_name(level->weight);
    char list[128] = "";
    size_t n = 0;

    for (unsigned i = CHAT_LEVEL_NONE; i < CHAT_LEVEL_COUNT && n < sizeof list; i++)
        if (key->levels & (1u << i))
            n += (size_t)snprintf(
                list + n, sizeof list - n, "%s%s", n ? ", " : "", chat_level_name(i));
    if (level->weight == level->asked || budget < 0)
        err_set(e,
                ERR_AUTH,
                "the key \"" STR_FMT "\" may not ask for the reasoning level %s; it allows %s",
                STR_ARG(key->name),
                weight,
                list);
    else
        err_set(e,
                ERR_AUTH,
                "%lld tokens of reasoning count as level %s; this key allows %s",
                (long long)budget,
                weight,
                list);
}

static bool level_system_has(const struct chat_request *r, str words)
{
    for (size_t i = 0; i < r->message_count; i++) {
        const struct chat_message *m = &r->messages[i];

        for (size_t k = 0; m->role == CHAT_SYSTEM && k < m->part_count; k++)
            if (m->parts[k].kind == CHAT_PART_TEXT && str_find(m->parts[k].text, words) != STR_NONE)
                return true;
    }
    return false;
}

str level_words(const struct chat_request *r, const struct config_preset *preset)
{
    if (preset && !level_system_has(r, STR(LEVEL_MARK)))
        for (size_t i = 0; i < COUNT_OF(guides); i++)
            if (str_eq(preset->name, str_c(guides[i].name)))
                return guides[i].words;
    return STR("");
}

str level_convention(const struct chat_request *r)
{
    return level_system_has(r, STR(CONVENTION_MARK)) ? STR("") : convention;
}

bool level_uncertain(str thought)
{
    static const char *const doubts[] = {"not sure",
                                         "unsure",
                                         "uncertain",
                                         "unclear",
                                         "ambiguous",
                                         "i don't know",
                                         "might be wrong",
                                         "but wait",
                                         "alternatively",
                                         "on the other hand",
                                         "contradict",
                                         "hard to tell"};
    unsigned found = 0;

    for (size_t i = 0; i < thought.n; i++)
        for (size_t d = 0; d < COUNT_OF(doubts); d++) {
            size_t n = strlen(doubts[d]);

            if (thought.n - i >= n && strncasecmp(thought.p + i, doubts[d], n) == 0 && ++found == 2)
                return true;
        }
    return false;
}
