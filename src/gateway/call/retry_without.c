/* retry_without.c - drops the parameters that a provider refused, and repeats the request.
 *
 * The parameter that the error names is dropped first: the control parameter, the usage request of
 * a stream, our maximum of output tokens, sampling, the configured reasoning_params, an effort or
 * the way to express it. If the error names none, a prefill is dropped, then everything that asks
 * for reasoning. Parameters that the client sent itself are dropped only if the provider says that
 * it does not support them; any other error goes to the client.
 *
 * An effort that the model does not take is replaced by the nearest one in the error. Without such
 * a list, none becomes minimal and then low, so that a call without reasoning never gets the
 * provider's default effort.
 *
 * Once the provider accepts the request, the dropped parameters are remembered for its model at
 * this level, for an hour or until the configuration is reloaded.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/internal.h"

#define REMEMBER_MS 3600000
#define EFFORTS_MAX 3 /* efforts tried in place of one that was refused */
#define WORD_MIN 4    /* bytes of a parameter's name that an error is searched for */

enum chat_level call_level(const struct call *c)
{
    return c->attempt.phase == CALL_FIRST ? c->level.asked : CHAT_LEVEL_NONE;
}

/* ---- memory ---- */

void call_apply_refusals(struct call *c)
{
    enum chat_level level = call_level(c);
    struct setup_capability *known =
        setup_find_capability(c->in.setup, call_provider(c), call_model(c)->upstream);

    assert(level < COUNT_OF(known->levels));
    if (!known || known->levels[level].until_ns <= call_now_ns(c))
        return;
    c->attempt.without |= (uint16_t)known->levels[level].without;
    if (c->attempt.effort == CHAT_LEVEL_NOT_GIVEN)
        c->attempt.effort = (uint8_t)known->levels[level].effort;
}

void call_remember_refusals(struct call *c)
{
    enum chat_level level = call_level(c);
    uint64_t now = call_now_ns(c);
    struct setup_capability *known;

    assert(level < COUNT_OF(known->levels) && c->attempt.efforts_tried <= EFFORTS_MAX);
    if (!c->attempt.learning && !c->attempt.efforts_tried)
        return;
    known = setup_add_capability(c->in.setup, call_provider(c), call_model(c)->upstream);
    if (!known)
        return;
    assert(c->attempt.effort < CHAT_LEVEL_COUNT);
    if (known->levels[level].until_ns <= now)
        known->levels[level].without = known->levels[level].effort = 0;
    known->levels[level].without |= c->attempt.learning;
    if (c->attempt.efforts_tried)
        known->levels[level].effort = c->attempt.effort;
    known->levels[level].until_ns = now + (uint64_t)REMEMBER_MS * CLOCK_NS_PER_MS;
    c->attempt.learning = c->attempt.efforts_tried = 0;
}

/* ---- what an error says ---- */

static str call_lower_case(struct call *c, str text)
{
    char *out = arena_alloc(&c->arena, text.n + 1);

    for (size_t i = 0; i < text.n; i++)
        out[i] = (char)(text.p[i] >= 'A' && text.p[i] <= 'Z' ? text.p[i] | 32 : text.p[i]);
    return (str){out, text.n};
}

/* Message, parameter and code, in small letters. */
static str call_error_words(struct call *c, const struct chat_error *error)
{
    return call_lower_case(c,
                           arena_printf(&c->arena,
                                        STR_FMT "\n" STR_FMT "\n" STR_FMT,
                                        STR_ARG(error->message),
                                        STR_ARG(error->param),
                                        STR_ARG(error->code)));
}

/* names: words, with "|" between them. */
static bool retry_without_error_names(str words, const char *names)
{
    for (str rest = str_c(names); rest.n;)
        if (str_find(words, str_cut(&rest, '|')) != STR_NONE)
            return true;
    return false;
}

static bool retry_without_error_names_thinking(str words)
{
    static const char names[] = "reasoning|think|effort|budget|template";

    return retry_without_error_names(words, names);
}

static bool retry_without_error_names_sampling(str words)
{
    static const char names[] = "temperature|top_p|topp";

    return retry_without_error_names(words, names);
}

/* The parameter is refused, whatever its value. */
static bool retry_without_error_refuses_parameter(str words)
{
    static const char names[] =
        "unsupported parameter|unsupported_parameter|unrecognized|unknown|unexpected|"
        "extra inputs|extra_forbidden|not permitted";

    return retry_without_error_names(words, names);
}

/* The provider does not support it: the client may have given what others take. */
static bool retry_without_error_says_unsupported(str words)
{
    static const char names[] =
        "unsupported|not support|n't support|only the default|not allowed|not enabled|"
        "not available|deprecated|cannot both";

    return retry_without_error_names(words, names) || retry_without_error_refuses_parameter(words);
}

/* The provider refuses the question itself, whatever the parameters: its length or its content. */
static bool retry_without_error_is_about_question(str words)
{
    static const char names[] =
        "context length|context window|context size|context_length|too long|too many tokens|"
        "content policy|content_policy|content management|flagged|credit balance";

    return retry_without_error_names(words, names) && !retry_without_error_names_thinking(words) &&
           !retry_without_error_names_sampling(words);
}

/* A maximum that it does not know, or that is more than the model or its context holds. */
static bool retry_without_error_names_bound(str words)
{
    static const char names[] =
        "max_tokens|max_completion_tokens|max_output_tokens|maxoutputtokens|num_predict|"
        "in the completion|output tokens|completion tokens";

    return retry_without_error_names(words, names);
}

/* ---- what can be left out ---- */

static bool retry_object_named(struct call *c, const struct json *doc,
                               const struct json_node *object, str words)
{
    str key;

    for (const struct json_node *k = json_first(doc, object); k; k = json_next(doc, object, k)) {
        if (json_text(doc, k, &c->arena, &key) && key.n >= WORD_MIN &&
            str_find(words, call_lower_case(c, key)) != STR_NONE)
            return true;
        if (json_value(k)->kind == JSON_OBJECT && retry_object_named(c, doc, json_value(k), words))
            return true;
    }
    return false;
}

static bool retry_params_named(struct call *c, str words)
{
    str params = call_provider(c)->reasoning_params;
    struct json doc;
    struct err e;
    bool named;

    if (!params.n || c->attempt.phase != CALL_FIRST)
        return false;
    named = json_open(&doc, params, &e) && retry_object_named(c, &doc, json_root(&doc), words);
    json_release(&doc);
    return named;
}

/* Both are fine, but not in one request: see plan_pick_sampling. */
static bool retry_without_error_says_conflict(str words)
{
    static const char names[] = "both|only one|one of|mutually exclusive|together";

    return str_find(words, STR("temperature")) != STR_NONE &&
           retry_without_error_names(words, names) &&
           (str_find(words, STR("top_p")) != STR_NONE || str_find(words, STR("topp")) != STR_NONE);
}

/* Both values of a preset go at once; of the client's own only those that the error names. */
static unsigned retry_sampling_refused(struct call *c, str words)
{
    const struct chat_request *r = c->in.request;
    const struct config_preset *preset = c->level.preset;
    bool temperature = str_find(words, STR("temperature")) != STR_NONE;
    bool top_p = retry_without_error_names_sampling(words) &&
                 (!temperature || str_find(words, STR("top_p")) != STR_NONE);
    unsigned out = 0;

    if (!temperature && !top_p)
        return 0;
    if (!(c->attempt.without & CALL_WITHOUT_CONFLICT) && retry_without_error_says_conflict(words))
        return CALL_WITHOUT_CONFLICT;
    if (preset && !r->temperature.n)
        out |= CALL_WITHOUT_TEMPERATURE;
    if (preset && !r->top_p.n)
        out |= CALL_WITHOUT_TOP_P;
    if (temperature && r->temperature.n && retry_without_error_says_unsupported(words))
        out |= CALL_WITHOUT_TEMPERATURE;
    if (top_p && r->top_p.n && retry_without_error_says_unsupported(words))
        out |= CALL_WITHOUT_TOP_P;
    return out & ~(unsigned)c->attempt.without;
}

/* The gateway asks every stream for its usage, which some servers refuse: their tokens are counted
 * here. A client that sent the parameter itself gets the error. */
static bool retry_usage_can_go(const struct call *c)
{
    bool own = c->in.request->stream_usage && c->in.request->dialect == CHAT_OPENAI;

    return c->attempt.streams && c->attempt.wire->dialect == CHAT_OPENAI && !own &&
           !(c->attempt.without & CALL_WITHOUT_USAGE);
}

static bool retry_usage_refused(const struct call *c, str words)
{
    static const char names[] = "stream_options|include_usage|stream option";

    return retry_usage_can_go(c) && retry_without_error_names(words, names);
}

/* The error names nothing: it may mean what the gateway added to the client's request. A prefill is
 * dropped before. */
static bool retry_usage_suspected(const struct call *c, const struct chat_error *error, str words)
{
    return retry_usage_can_go(c) && !c->attempt.prefilled && !error->param.n &&
           !retry_without_error_names_thinking(words) &&
           !retry_without_error_names_sampling(words) && !retry_without_error_names_bound(words);
}

/* ---- efforts ---- */

/* Levels that the error has in quotes; bits. */
static unsigned retry_efforts_quoted(str words)
{
    unsigned out = 0;

    for (size_t i = 0, end; i < words.n; i++) {
        enum chat_level level;

        if (!memchr("'`\"", words.p[i], 3))
            continue;
        for (end = i + 1; end < words.n && words.p[end] != words.p[i]; end++)
            ;
        if (end - i <= 8 && chat_level_parse(str_slice(words, i + 1, end), &level))
            out |= 1u << level;
    }
    return out;
}

/* The listed level nearest to `level`; "none" only if `level` asks for no reasoning. */
static enum chat_level retry_effort_nearest(unsigned listed, enum chat_level level)
{
    assert(level < CHAT_LEVEL_COUNT);
    if (level > CHAT_LEVEL_NONE)
        listed &= ~(1u << CHAT_LEVEL_NONE);
    for (unsigned far = 1; far < CHAT_LEVEL_COUNT; far++) {
        if (level > far && (listed & (1u << (level - far))))
            return level - far;
        if (level + far < CHAT_LEVEL_COUNT && (listed & (1u << (level + far))))
            return level + far;
    }
    return CHAT_LEVEL_NOT_GIVEN;
}

/* The effort to try in place of the refused one; NOT_GIVEN: there is no other. */
static enum chat_level retry_effort_instead(const struct call *c, str words)
{
    static const enum chat_level next[CHAT_LEVEL_COUNT] = {[CHAT_LEVEL_NONE] = CHAT_LEVEL_MINIMAL,
                                                           [CHAT_LEVEL_MINIMAL] = CHAT_LEVEL_LOW,
                                                           [CHAT_LEVEL_MEDIUM] = CHAT_LEVEL_LOW,
                                                           [CHAT_LEVEL_XHIGH] = CHAT_LEVEL_HIGH,
                                                           [CHAT_LEVEL_MAX] = CHAT_LEVEL_XHIGH};
    enum chat_level level = call_level(c),
                    now = c->attempt.effort ? (enum chat_level)c->attempt.effort : level;
    unsigned quoted = retry_efforts_quoted(words), listed = quoted & ~(1u << now);

    assert(now < CHAT_LEVEL_COUNT);
    if (now == CHAT_LEVEL_NOT_GIVEN || c->attempt.efforts_tried == EFFORTS_MAX ||
        retry_without_error_refuses_parameter(words) ||
        !(retry_without_error_names_thinking(words) || (listed && listed != quoted)))
        return CHAT_LEVEL_NOT_GIVEN;
    if (listed)
        return retry_effort_nearest(listed, level);
    if (level != CHAT_LEVEL_NONE && (str_find(words, str_c(chat_level_name(now))) == STR_NONE ||
                                     !retry_without_error_says_unsupported(words)))
        return CHAT_LEVEL_NOT_GIVEN;
    return next[now];
}

/* An Anthropic model takes a budget, or is adaptive and takes an effort. An effort that it does not
 * know is no refusal of the way: see effort_instead. */
static bool retry_anthropic_way_refused(const struct call *c, str words)
{
    static const char mismatch[] = "does not match|expected|input should be";
    enum chat_level now = c->attempt.effort ? (enum chat_level)c->attempt.effort : call_level(c);
    bool unsupported = retry_without_error_says_unsupported(words);

    if (!c->attempt.sets_level || now == CHAT_LEVEL_NONE)
        return false; /* the request says not to think */
    if (str_find(words, STR("adaptive")) != STR_NONE)
        return unsupported || retry_without_error_names(words, mismatch);
    if (str_find(words, STR("effort parameter")) != STR_NONE)
        return unsupported;
    return str_find(words, STR("output_config")) != STR_NONE &&
           retry_without_error_refuses_parameter(words);
}

/* A level can be sent as an effort or as a budget, and each model accepts one of the two. */
static bool retry_way_refused(const struct call *c, str words)
{
    static const char names[] = "thinking level is not supported|thinking_level is not supported|"
                                "thinkinglevel is not supported|thinking budget is not supported|"
                                "thinking_budget is not supported|thinkingbudget is not supported";

    if (c->attempt.without & CALL_WITHOUT_USUAL_WAY)
        return false;
    if (c->attempt.wire->dialect == CHAT_ANTHROPIC)
        return retry_anthropic_way_refused(c, words);
    return c->attempt.wire->dialect == CHAT_GEMINI && retry_without_error_names(words, names);
}

/* ---- asking again ---- */

static const char *retry_leave_out_bit(struct call *c, unsigned bits, const char *what)
{
    assert(bits && !(c->attempt.without & bits) && bits <= UINT16_MAX);
    c->attempt.without |= (uint16_t)bits;
    c->attempt.learning |= (uint16_t)bits;
    return what;
}

static const char *retry_leave_out_control(struct call *c, str words)
{
    bool named = str_find(words, STR("reasoning_control")) != STR_NONE;

    if (!c->control || (!named && !(c->attempt.without & CALL_WITHOUT_REASONING)))
        return NULL;
    if (named)
        call_control_failed(c);
    c->attempt.without |= CALL_WITHOUT_CONTROL;
    return "control dropped";
}

/* Drops all parameters that ask for reasoning; of the client's own only unsupported ones. */
static const char *retry_leave_out_reasoning(struct call *c, str words)
{
    bool ours = c->level.preset || c->level.cap >= 0 || c->attempt.phase != CALL_FIRST ||
                (c->level.source != LEVEL_BY_NOBODY && c->level.source != LEVEL_BY_REQUEST) ||
                call_provider(c)->reasoning_params.n;

    if (c->attempt.without & CALL_WITHOUT_REASONING)
        return NULL;
    if (!ours &&
        !(c->level.source == LEVEL_BY_REQUEST && retry_without_error_names_thinking(words) &&
          retry_without_error_says_unsupported(words)))
        return NULL;
    if (c->attempt.prefilled)
        return retry_leave_out_bit(c, CALL_WITHOUT_PREFILL, "prefill dropped");
    if (!retry_without_error_names_thinking(words))
        c->attempt.without |= CALL_WITHOUT_CONTROL;
    return retry_leave_out_bit(c, CALL_WITHOUT_REASONING, "reasoning parameters dropped");
}

/* Drops or changes the reasoning parameter that the error names. */
static const char *retry_leave_out_named(struct call *c, str words)
{
    enum chat_level effort;

    if (c->attempt.without & CALL_WITHOUT_REASONING)
        return NULL;
    if (!(c->attempt.without & CALL_WITHOUT_PARAMS) && retry_params_named(c, words))
        return retry_leave_out_bit(c, CALL_WITHOUT_PARAMS, "reasoning_params dropped");
    if (retry_way_refused(c, words))
        return retry_leave_out_bit(c, CALL_WITHOUT_USUAL_WAY, "asked in the other way");
    effort = retry_effort_instead(c, words);
    if (effort != CHAT_LEVEL_NOT_GIVEN) {
        c->attempt.effort = (uint8_t)effort;
        c->attempt.efforts_tried++;
        return "another effort";
    }
    return NULL;
}

/* Drops a parameter that the error refuses, and describes the change; NULL: none can be dropped. */
static const char *retry_leave_out(struct call *c, const struct chat_error *error)
{
    str words = call_error_words(c, error);
    const char *what = retry_leave_out_control(c, words);
    unsigned sampling;

    if (what)
        return what;
    if (retry_usage_refused(c, words))
        return retry_leave_out_bit(c, CALL_WITHOUT_USAGE, "usage request dropped");
    if (c->attempt.bounded && retry_without_error_names_bound(words))
        return retry_leave_out_bit(c, CALL_WITHOUT_BOUND, "maximum of output dropped");
    if (wire_error_is_context(error) ||
        (c->attempt.phase == CALL_FIRST && retry_without_error_is_about_question(words)))
        return NULL;
    sampling = retry_sampling_refused(c, words);
    if (sampling)
        return retry_leave_out_bit(c, sampling, "sampling dropped");
    what = retry_leave_out_named(c, words);
    if (what)
        return what;
    if (!c->in.inside && retry_usage_suspected(c, error, words)) {
        c->attempt.guessed = true;
        return retry_leave_out_bit(c, CALL_WITHOUT_USAGE, "usage request dropped");
    }
    return retry_leave_out_reasoning(c, words);
}

/* The names of the parameters of these bits, for the log. */
static str retry_left_out_names(struct call *c, unsigned bits)
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {{CALL_WITHOUT_TEMPERATURE, "temperature"},
                 {CALL_WITHOUT_TOP_P, "top_p"},
                 {CALL_WITHOUT_BOUND, "max_tokens"},
                 {CALL_WITHOUT_PARAMS, "reasoning_params"},
                 {CALL_WITHOUT_USUAL_WAY, "thinkingConfig"},
                 {CALL_WITHOUT_REASONING, "reasoning"},
                 {CALL_WITHOUT_CONTROL, "reasoning_control"},
                 {CALL_WITHOUT_USAGE, "stream_options"},
                 {CALL_WITHOUT_PREFILL, "prefill"}};
    str out = STR("");

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (bits & names[i].bit)
            out = arena_join(&c->arena, out, out.n ? STR(" ") : STR(""), str_c(names[i].name));
    return out;
}

bool call_retry_without(struct call *c, const struct chat_error *error)
{
    unsigned before = c->attempt.without;
    const char *what;

    if (error->status != 400 && error->status != 422)
        return false;
    if (c->attempt.guessed) /* wrong: it is not remembered */
        c->attempt.learning &= (uint16_t)~CALL_WITHOUT_USAGE;
    c->attempt.guessed = false;
    what = retry_leave_out(c, error);
    if (!what)
        return false;
    assert(c->attempt.without != before || c->attempt.efforts_tried > 0);
    call_note_attempt(c, what, error->message);
    log_info("a provider refused parameters and is asked again without",
             LOG_STR("id", c->in.id),
             LOG_STR("provider", call_provider(c)->name),
             LOG_STR("model", call_mask_text(c, call_model(c)->upstream)),
             LOG_TEXT("what", what),
             LOG_STR("left_out", retry_left_out_names(c, c->attempt.without & ~before)),
             LOG_BOOL("reasoning", !(c->attempt.without & CALL_WITHOUT_REASONING)));
    return true;
}
