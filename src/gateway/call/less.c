/* less.c - what a provider refuses of that which we added is left out, and it is asked again.
 *
 * In turn: what it names; then all that asks for reasoning. What may end the reasoning is another
 * matter: it stays as long as it is reasoning that is refused, and goes last. Models that think
 * often refuse sampling, which is remembered.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/log.h"
#include "gateway/call/internal.h"

struct setup_learnt *call_learnt(struct call *c)
{
    return setup_learnt(c->in.setup, c->chain[c->at].provider, c->chain[c->at].model->upstream);
}

bool call_refuses_sampling(struct call *c)
{
    const struct setup_learnt *learnt = call_learnt(c);

    return learnt && learnt->no_sampling;
}

bool call_refuses_usage(struct call *c)
{
    const struct setup_learnt *learnt = call_learnt(c);

    return c->uncounted || (learnt && learnt->no_usage);
}

static bool names_one_of(const struct chat_error *error, const char *const *names)
{
    for (; *names; names++)
        if (str_find(error->message, str_c(*names)) != STR_NONE)
            return true;
    return false;
}

static bool names_sampling(const struct chat_error *error)
{
    static const char *const names[] = {"temperature", "top_p", "topP", NULL};

    return names_one_of(error, names);
}

static bool names_usage(const struct chat_error *error)
{
    static const char *const names[] = {
        "stream_options", "include_usage", "stream option", "Stream option", NULL};

    return names_one_of(error, names) || str_starts(error->param, STR("stream_options"));
}

static bool names_control(const struct chat_error *error)
{
    static const char *const names[] = {"reasoning_control", NULL};

    return names_one_of(error, names);
}

static bool names_thinking(const struct chat_error *error)
{
    static const char *const names[] = {"reasoning", "think", "effort", "budget", "template", NULL};

    return names_one_of(error, names);
}

/* What was asked is refused, however it is asked: its length, or what it says. */
static bool about_the_question(const struct chat_error *error)
{
    static const char *const names[] = {"context length",
                                        "context window",
                                        "context size",
                                        "context_length",
                                        "too long",
                                        "too many tokens",
                                        "content policy",
                                        "content_policy",
                                        "content management",
                                        "flagged",
                                        "credit balance",
                                        NULL};

    return names_one_of(error, names) && !names_thinking(error) && !names_sampling(error);
}

/* What was added that the call can do without, which it then is; or NULL. */
static const char *leave_out(struct call *c, const struct chat_error *error)
{
    struct setup_learnt *learnt = call_learnt(c);

    if (c->control && (c->plain || names_control(error))) {
        if (names_control(error))
            call_control_failed(c);
        c->uncontrolled = true;
        return "control dropped";
    }
    if (c->plain)
        return NULL;
    if (c->level.preset && !c->unsampled && names_sampling(error)) {
        if (learnt)
            learnt->no_sampling = true;
        c->unsampled = true;
        return "sampling dropped";
    }
    c->plain = true;
    c->uncontrolled = !names_thinking(error);
    return "reasoning parameters dropped";
}

/* The gateway asks every stream for its usage. Some OpenAI-compatible servers refuse the parameter.
 * A client that sent the parameter itself gets the error. */
static bool leave_out_usage(struct call *c, const struct chat_error *error)
{
    struct setup_learnt *learnt = call_learnt(c);

    if (!c->stream_up || c->in.request->stream_usage || call_refuses_usage(c) ||
        !names_usage(error))
        return false;
    if (learnt)
        learnt->no_usage = true;
    c->uncounted = true;
    call_note(c, "usage request dropped", error->message);
    log_info("a provider refuses to be asked for the usage of a stream: tokens are counted here",
             LOG_STR("provider", c->chain[c->at].provider->name),
             LOG_STR("model", c->chain[c->at].model->upstream));
    return true;
}

bool call_asks_less(struct call *c, const struct chat_error *error)
{
    const struct config_provider *p = c->chain[c->at].provider;
    bool refused = error->status == 400 || error->status == 422;
    bool asked =
        c->level.asked != CHAT_LEVEL_NOT_GIVEN || p->reasoning_params.n || c->phase != CALL_FIRST;
    const char *what;

    if (refused && leave_out_usage(c, error))
        return true;
    if (!refused || !asked || wire_error_is_context(error) ||
        (c->phase == CALL_FIRST && about_the_question(error)))
        return false;
    what = leave_out(c, error);
    if (!what)
        return false;
    call_note(c, what, error->message);
    log_info("a provider refused parameters and is asked again without",
             LOG_STR("provider", p->name),
             LOG_BOOL("reasoning", !c->plain));
    return true;
}
