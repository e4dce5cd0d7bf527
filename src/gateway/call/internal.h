/* internal.h - a call as its own files see it.
 *
 *   state.c    its states, and the events that arrive in them
 *   call.c     its life: start, attempts, retries, fallbacks, cancel
 *   chain.c    whom it asks, and what the breaker is told
 *   plan.c     what is sent upstream
 *   retry_without.c     the same again without what was refused of it
 *   reply.c    what comes back: frames, events, starved
 *   error.c    the same where it is an error
 *   quotes.c   errors that quote reasoning
 *   budget_cut.c      the budget is spent: the lever that is there
 *   control.c  one of them: the provider is told to end its reasoning
 *   events.c   what an event says about the call
 *   record.c   what is kept of it, as it comes and at the end
 *   pieces.c   what of that is put on record while it runs
 *   mask.c     the same without the secrets in it
 *   tool_vault.c     what goes to the vault
 *   finish.c   what is left of it: facts, metrics, the end
 *   live_publish.c     what those who watch are told of it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/call/parts.h"
#include "wire/error.h"

/* state.c */
void call_init_state(struct call *c);
/* Whether a reply is being read: its frames and its decoder are in use. */
bool call_is_reading(const struct call *c);
extern const struct upstream_handler call_upstream_handler;

/* call.c */
void call_attempt(struct call *c);
/* The attempt at hand has failed before the client saw anything, or not: decides what now. */
void call_fail_attempt(struct call *c, const struct chat_error *error);
void call_ask_second(struct call *c, enum call_phase phase);
/* Before any of what failures need is used. */
void call_make_failure(struct call *c);
/* finish.c: whether another attempt could be made, since nothing of this one has left; if so, what
 * it left here is forgotten. */
bool call_may_restart(struct call *c);
void call_note_attempt(struct call *c, const char *what, str why);
/* The next provider, from its first try. False: there is none. */
bool call_fall_back(struct call *c) MUST_USE;

/* Fails with c->error, but not before whoever started this has returned. */
void call_fail_soon(struct call *c);
/* Fills the error from e, whose text is copied. Returns false. */
bool call_refuse(struct chat_error *error, struct arena *a, int status, const char *code,
                 const struct err *e);

#define CALL_REQUEST_KEEP_MAX ((size_t)4 << 20) /* larger bodies are not put on record */
#define CALL_MASK_NS (250 * CLOCK_NS_PER_MS)    /* of patterns of the user's own */

/* record.c: the client's body, as it is to be kept but for its secrets. */
str call_record_body(struct call *c);
/* mask_request.c: masks the request for the record before the first attempt. False: it takes long,
 * so another thread does it, and the first attempt follows. */
bool call_mask_request(struct call *c) MUST_USE;
void call_mask_request_cancel(struct call *c);

/* admit.c: whether a call can be put on record, now or after waiting for the store. */
bool call_admit_begin(struct gateway_loop *gl, const struct config *c, struct arena *a,
                      struct chat_error *error) MUST_USE;
/* Whether what its key has spent is known, or does not matter: else call_admit waits for it. */
bool call_admit_knows_spent(const struct call *c);
/* The first attempt, or a wait, or a refusal. */
void call_admit(struct call *c);
/* call.c: takes the call from the limits of its key. */
bool call_limits_ok(struct call *c, struct arena *a, struct chat_error *error) MUST_USE;

/* estimate.c: about how many tokens it asks with, for a key's limits. */
int64_t call_estimate(const struct call_request *r);

/* chain.c: finds the first provider, from the one at hand on, that can be asked now. False: e says
 * why nobody can, and left_ms how long a circuit stays open, or 0: keys are missing. */
bool call_choose_provider(struct call *c, uint64_t *left_ms, struct err *e) MUST_USE;
void call_report_outcome(struct call *c, bool ok);
/* It came to no end that says whether the model works: it asked for a pause, or nobody waited. */
void call_leave_breaker(struct call *c);
str call_origin(struct call *c);

/* retry_without.c: before an attempt, what its model is known to refuse is left out; whether there is
 * something to leave out after this error, which then is; and the attempt was accepted, so that it
 * is remembered. */
void call_apply_refusals(struct call *c);
bool call_retry_without(struct call *c, const struct chat_error *error);
void call_remember_refusals(struct call *c);
/* The level that this phase of the call is to be asked with. */
enum chat_level call_level(const struct call *c);

/* control.c. Whether the attempt at hand may be told to end its reasoning: the body must say so. */
bool call_control_arm(struct call *c) MUST_USE;
void call_control_named(struct call *c, str id); /* the reply at hand calls itself so */
/* Tells it; false: it cannot be told. The call is then in CALL_CUTTING until the reasoning ends, or
 * until this fails: call_cut_now. */
bool call_control_ask(struct call *c) MUST_USE;
bool call_control_ignored(const struct call *c); /* it thinks on */
void call_control_stop(struct call *c);          /* cancels the control call */
/* It does not work with this model: remembered for a while. */
void call_control_failed(struct call *c);
/* The same of one that is waited for, on record and in the log. */
void call_control_gave_up(struct call *c, str why);

/* budget_cut.c: the cap was passed in the frame at hand, or the call is in CALL_CUTTING. False: this
 * reply is over for us. */
bool call_cut_reasoning(struct call *c) MUST_USE;
void call_cut_now(struct call *c); /* between two frames */
/* The reasoning ends at the cap and the rest of the reply goes on: for the record and metrics. */
void call_note_truncated(struct call *c);
void call_drop_end_events(struct pipe *p);

/* plan.c, reply.c */
/* What has come of the frame at hand goes on; f: as it came, or NULL. */
void call_deliver_events(struct call *c, const struct wire_frame *f);
/* Lets the upstream go; what it still has to say is of no interest. `well`: it has said enough. */
void call_hang_up(struct call *c, bool well);
bool call_plan_request(struct call *c, struct err *e) MUST_USE;
/* translatable.c: whether the provider at hand can be asked all of it. */
bool call_check_translatable(struct call *c, struct err *e) MUST_USE;
/* The place in the chain of the next that can be; its length if there is none. */
uint8_t call_next_provider(struct call *c);
/* reply.c: the events of an exchange with the provider. */
void call_reply_head(struct call *c, const struct upstream_head *head);
void call_reply_bytes(struct call *c, str bytes);
void call_reply_end(struct call *c);
void call_reply_error(struct call *c, const struct err *e);
void call_reply_silent(struct call *c);   /* a head came, and no event in time */
void call_reply_complete(struct call *c); /* all of the reply was delivered */
void call_on_rest(void *ctx);
/* error.c: more of an error reply, and all of it. */
void call_error_bytes(struct call *c, str bytes);
void call_error_reply(struct call *c);
/* The frame that reports an error of the provider, kept in the call's arena, if a client may get it
 * as it came; else empty. */
str call_error_frame(struct call *c, const struct wire_frame *f);
/* quotes.c: replaces the message of an error that quotes reasoning the client may not see. */
void call_redact_error(struct call *c, struct chat_error *error);
void call_reply_own(struct call *c); /* it is lent no longer */
void call_reply_release(struct call *c);
void call_reply_drop(struct call *c); /* the same, and nobody asks what it said */
/* What could not be mended is still a reply: it ends without an answer. False: it has begun one. */
bool call_end_starved(struct call *c);
/* events.c: for decoder and pipe; the cap may be raised once. And: it has come to its answer. */
void call_on_event(void *ctx, const struct chat_event *ev);
/* Tells a reply that was translated, and whose provider reported no usage, what was counted. */
void call_synthesize_usage(struct call *c);
void call_on_reasoning(void *ctx, str text);
int64_t call_on_cap(void *ctx);
void call_note_answer(struct call *c);
/* All of the reasoning that there was, or its front; and: what lies in the reply is copied. */
str call_get_reasoning(struct call *c);
void call_copy_texts(struct call *c);

/* mask.c: what may be kept or shown to a watcher; in the call's arena, or the text itself if there
 * is nothing to mask. */
str call_mask_text(struct call *c, str text);
str call_mask_error(struct call *c); /* what was said of the last failure; or "" */
/* The provider's key does not stand in what it says of a call. */
void call_clean_error(struct call *c, struct chat_error *error);
str call_mask_json(struct call *c, str json);
str call_mask_valid_json(struct call *c, str json); /* the same for what is JSON for certain */
/* The same for a text that stays as it is while the call lives, of the request or configuration:
 * the call remembers what came out. */
str call_mask_asked(struct call *c, str text);
void call_mask_init(struct call *c);
void call_mask_release(struct call *c);
/* More of a text that comes in pieces; what may yet become a secret is held back until `last`. */
void call_mask_some(struct call *c, struct mask_stream *s, str text, bool last, struct buf *out);

/* record.c: nothing is done where nothing is recorded. */
void call_record_init(struct call *c); /* if there is to be one, before all else */
void call_record_begin(struct call *c);
/* What a failed attempt left is forgotten. */
void call_record_reset(struct call *c);
void call_record_begin_frame(struct call *c); /* another frame begins */
/* Reasoning as it goes into the pipe, hidden or not; and what has come out of it since. */
void call_record_reasoning(struct call *c, str text);
void call_record_events(struct call *c);
void call_record_opaque(struct call *c); /* reasoning that nobody can read */
/* What came of the text at hand, masked, goes behind what is kept of it. */
void call_record_flush_text(struct call *c, bool over);
/* Nothing more comes. */
void call_record_finish(struct call *c);
void call_build_row(struct call *c, struct store_call *out);
void call_build_row_facts(struct call *c, struct store_call *out); /* all but its texts */

/* pieces.c: puts what has come since on record, if it is much or long ago; and no more. */
void call_pieces_put(struct call *c);
void call_pieces_reset(struct call *c); /* what a failed attempt left does not count */
void call_pieces_stop(struct call *c);
/* tool_vault.c */
void call_vault_reset(struct call *c); /* before each reply */
void call_vault_add_event(struct call *c, const struct chat_event *ev);
void call_vault_put(struct call *c);
void call_vault_rewind(struct call *c); /* before the history's calls are looked for, in order */
/* What the vault has for the next call of this id: a wire_vault. */
size_t call_vault_find(void *ctx, str id, struct wire_kept *out, size_t n_max);
/* Whether the history holds calls that another model made: none of one message is known from this
 * one. After a rewind. */
bool call_vault_has_foreign(struct call *c);
void call_vault_release(struct call *c);

/* finish.c: in USD; -1: the model has no price */
double call_price(const struct config_model *m, const struct chat_usage *u);
void call_summarize(struct call *c);
void call_finish(struct call *c);
void call_release(struct call *c);

/* live_publish.c: begun; reasoning under its cap; the frame at hand, out of the pipe; done, its row made;
 * on record. */
void call_live_begin(struct call *c);
/* What comes now lies where it is until the call is over, or until the next of these. */
void call_live_begin_whole(struct call *c);
void call_live_copy(struct call *c);
void call_live_reasoning(struct call *c, str text);
void call_live_frame(struct call *c);
void call_live_finish(struct call *c, const struct store_call *row);
void call_live_detach(struct call *c); /* the request goes, and the call is not over */
void call_live_end(struct call *c);
