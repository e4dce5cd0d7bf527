/* internal.h - the functions that the files of a call share. state.h has the states, parts.h the
 * struct.
 *
 *   state.c          the table of states, and the events that arrive in them
 *   call.c           start, attempt, retry, fallback, cancel
 *   admit.c          waiting for the store before the first attempt
 *   chain.c          which provider is asked; reports to the breaker
 *   plan.c           the request that is sent: target, headers, body
 *   translatable.c   refuses a request that the provider's dialect cannot express
 *   retry_without.c  drops parameters that a provider refused
 *   reply.c          the reply: bytes, frames, events, delivery, starved replies
 *   reply_row.c      frames of a reply that arrive together and differ only in their text
 *   error.c          the error reply
 *   quotes.c         redacts errors that quote hidden reasoning
 *   budget_cut.c     ends reasoning that passed its cap
 *   control.c        tells a provider to end its reasoning
 *   events.c         reads each event before it enters the pipe
 *   record.c         the row: texts as they arrive, segments, decision
 *   pieces.c         writes texts of a running call to the store
 *   mask.c           masks secrets in texts for the record
 *   mask_request.c   masks the request, in another thread if that is slow
 *   tool_vault.c     keeps a provider's opaque state for tool calls
 *   live_publish.c   sends the running call to watchers
 *   finish.c         usage, cost, metrics, export, storing
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/call/parts.h"
#include "wire/error.h"

#define CALL_REQUEST_KEEP_MAX ((size_t)4 << 20) /* larger bodies are not recorded */
#define CALL_MASK_NS (250 * CLOCK_NS_PER_MS)    /* time limit of the user's patterns for one call */

/* state.c */
void call_init_state(struct call *c);
extern const struct upstream_handler call_upstream_handler;

/* call.c */
/* A stream that waits has no nodes of its request: they take memory for long, and few streams need
 * them again. Before c->in.request->doc is used, the first function parses it if necessary. */
void call_parse_request(struct call *c);
void call_drop_nodes(struct call *c);
void call_attempt(struct call *c);
/* The attempt has failed: retries it, falls back to the next provider, or ends the call. */
void call_fail_attempt(struct call *c, const struct chat_error *error);
/* Makes a second call that continues after a cut, or repairs a starved reply. */
void call_ask_second(struct call *c, enum call_phase phase);
void call_make_failure(struct call *c); /* before c->failure is used */
/* Adds an entry to the record's list of attempts. */
void call_note_attempt(struct call *c, const char *what, str why);
/* Moves to the next provider of the chain. False: no provider is left. */
bool call_fall_back(struct call *c) MUST_USE;
/* Reports c->failure->error after the caller has returned. */
void call_fail_soon(struct call *c);
/* Fills the error from e, whose text is copied. Returns false. */
bool call_refuse(struct chat_error *error, struct arena *a, int status, const char *code,
                 const struct err *e);
/* Reserves the call's tokens and cost from the limits of its key. */
bool call_limits_ok(struct call *c, struct arena *a, struct chat_error *error) MUST_USE;

/* admit.c. False: the store has failed, and the call does not wait for it. */
bool call_admit_begin(struct gateway_loop *gl, const struct config *c, struct arena *a,
                      struct chat_error *error) MUST_USE;
/* Whether the key's spending is known, or has no limit. If not, call_admit waits for it. */
bool call_admit_knows_spent(const struct call *c);
void call_admit(struct call *c);

/* estimate.c: the request's tokens, roughly, for the limits of a key. */
int64_t call_estimate(const struct call_request *r);
double call_estimate_cost(const struct call *c); /* USD; -1: unknown */

/* chain.c. Lists the provider of the route and its fallbacks, in the call's arena. */
void call_build_chain(struct call *c);
/* Finds the first provider that can be asked, starting with the current one. False: `e`
 * says why no provider can be asked; left_ms is how long a circuit stays open, or 0 if keys are
 * missing. */
bool call_choose_provider(struct call *c, uint64_t *left_ms, struct err *e) MUST_USE;
void call_report_outcome(struct call *c, bool ok); /* to the breaker */
void call_leave_breaker(struct call *c);           /* the attempt says nothing about the provider */
str call_origin(struct call *c);

/* plan.c */
bool call_plan_request(struct call *c, struct call_lines *lines, struct err *e) MUST_USE;
void call_send_request(struct call *c, const struct call_lines *lines);

/* translatable.c */
bool call_check_translatable(struct call *c, struct err *e) MUST_USE;
/* The place in the chain of the next provider that passes the check; chain.count if none does. */
uint8_t call_next_provider(struct call *c);

/* dropped_params.c */
/* Lists the parameters that the translation dropped, once the request for the provider is
 * written. */
void call_list_dropped(struct call *c);

/* retry_without.c */
void call_apply_refusals(struct call *c);    /* those known for the model, before an attempt */
void call_remember_refusals(struct call *c); /* those of this call, once a provider accepted it */
/* Whether the error names a parameter that can be dropped; if so, drops it. */
bool call_retry_without(struct call *c, const struct chat_error *error);
enum chat_level call_level(const struct call *c); /* of this phase */

/* control.c. Whether the provider can be asked to end its reasoning; the body must announce it. */
bool call_control_arm(struct call *c) MUST_USE;
void call_control_keep_lines(struct call *c, const struct call_lines *lines);
void call_control_named(struct call *c, str id); /* the reply has this id */
/* Asks the provider to end its reasoning, and enters CALL_CUTTING. False: it cannot be asked. */
bool call_control_ask(struct call *c) MUST_USE;
bool call_control_ignored(const struct call *c); /* too much reasoning since then */
void call_control_stop(struct call *c);          /* leaving CALL_CUTTING */
void call_control_failed(struct call *c);        /* this model is not asked again for a while */
void call_control_gave_up(struct call *c, str why);

/* budget_cut.c. Called after a frame in which the cap was passed, and after each frame in
 * CALL_CUTTING. False: the rest of the reply is not read. */
bool call_cut_reasoning(struct call *c) MUST_USE;
void call_cut_now(struct call *c);        /* between two frames */
void call_note_truncated(struct call *c); /* the pipe dropped the reasoning after the cap */
void call_drop_end_events(struct pipe *p);

/* reply.c: the actions of the states that read a reply, see state.c. */
void call_reply_head(struct call *c, const struct upstream_head *head);
void call_reply_bytes(struct call *c, str bytes);
void call_reply_end(struct call *c);
void call_reply_error(struct call *c, const struct err *e);
void call_reply_silent(struct call *c);   /* no event came in time after the head */
void call_reply_complete(struct call *c); /* all of it was delivered */
void call_on_rest(void *ctx);
size_t call_reply_row(void *ctx, str bytes); /* reply_row.c: for frames_offer_rows */
void call_end_frame(struct call *c, const struct wire_frame *f); /* its events are in the pipe */
/* Delivers the pipe's events. f: the frame as received, or NULL. */
void call_deliver_events(struct call *c, const struct wire_frame *f);
void call_hang_up(struct call *c, bool well); /* well: the exchange may be recorded as complete */
/* Releases the reply; call_reply_own copies its texts before, call_reply_drop does not. */
void call_reply_own(struct call *c);
void call_reply_release(struct call *c);
void call_reply_drop(struct call *c);
bool call_repairs_starved(const struct call *c); /* a starved reply is asked for its answer */
/* A repair failed: ends the call without an answer. False: the client has part of an answer. */
bool call_end_starved(struct call *c);

/* error.c */
void call_error_bytes(struct call *c, str bytes);
void call_error_reply(struct call *c); /* the error reply is complete */
/* Copies the error's texts to the call's arena, except raw and frame. */
void call_own_error(struct call *c, struct chat_error *error);
/* Keeps the provider's bytes of an error event, as a frame and as a body, where the client may get
 * the original. The frame may be NULL. */
void call_error_keep(struct call *c, const struct wire_frame *f);
/* quotes.c: replaces the message of an error that quotes hidden reasoning. */
void call_redact_error(struct call *c, struct chat_error *error);

/* events.c */
void call_on_event(void *ctx, const struct chat_event *ev); /* called by the decoder */
void call_on_reasoning(void *ctx, str text);                /* called by the pipe */
void call_on_next_thought(void *ctx);                       /* before the reasoning */
int64_t call_on_cap(void *ctx);                             /* returns the cap, maybe raised */
/* Whether the request has the tag; whether that may yet be asked. */
bool call_asks_for(void *ctx, str tag), call_may_ask_for(struct call *c);
void call_note_answer(struct call *c); /* the answer has begun */
/* Reports our count to the client of a translated reply whose provider reported no usage. */
void call_synthesize_usage(struct call *c);
str call_get_reasoning(struct call *c); /* all of it so far, or its beginning */
void call_copy_texts(struct call *c);   /* those that the reply lends */

/* mask.c. Results are in the call's arena, or the text itself if nothing was masked. */
/* The time that the user's own patterns may take for one text, out of the call's remaining time:
 * the loop waits for them and has other calls to serve. */
struct mask_budget call_mask_slice(uint64_t left_ns, size_t size);
str call_mask_text(struct call *c, str text);
str call_mask_json(struct call *c, str json);
str call_mask_valid_json(struct call *c, str json); /* skips the check that it is JSON */
/* For a text of the request or the configuration: the result is cached. */
str call_mask_asked(struct call *c, str text);
str call_mask_error(struct call *c); /* message of the last failure; or "" */
/* Removes the provider's key from the texts of an error. */
void call_clean_error(struct call *c, struct chat_error *error);
void call_mask_count(struct call *c, const struct mask_counts *counts); /* for the metrics */
void call_mask_init(struct call *c);
void call_mask_release(struct call *c);
/* More of a text. Bytes that may become a secret are held back until `last`. */
void call_mask_some(struct call *c, struct mask_stream *s, str text, bool last, struct buf *out);

/* mask_request.c. False: the call is in CALL_MASKING, and the first attempt follows. */
bool call_mask_request(struct call *c) MUST_USE;
void call_mask_request_cancel(struct call *c);

/* record.c. Nothing happens where nothing is recorded. */
void call_record_init(struct call *c);
void call_record_begin(struct call *c);
void call_record_reset(struct call *c);       /* drops the texts of a failed attempt */
void call_record_begin_frame(struct call *c); /* the next frame enters the pipe */
void call_record_next_thought(struct call *c);
void call_record_reasoning(struct call *c, str text); /* whether or not the client sees it */
void call_record_events(struct call *c);              /* those that left the pipe since */
void call_record_opaque(struct call *c);              /* reasoning that is encrypted */
/* Masks the current text and appends it. over: its segment has ended. */
void call_record_flush_text(struct call *c, bool over);
void call_record_finish(struct call *c);
str call_record_body(struct call *c); /* the client's body for the record, not masked */
void call_build_row(struct call *c, struct store_call *out);
void call_build_row_facts(struct call *c, struct store_call *out); /* without texts */
/* decide.c: the row's decision and tools. `thought`: the reasoning that may be kept, masked. */
void call_decide(struct call *c, str thought, struct store_call *row);

/* segments.c: the segments of the reply as JSON, in the call's arena. "" for one that is only an
 * answer: the row itself says all of it. */
str call_write_segments(struct call *c);

/* pieces.c */
void call_pieces_put(struct call *c);   /* writes new text if it is long or old */
void call_pieces_reset(struct call *c); /* drops the texts of a failed attempt */
void call_pieces_stop(struct call *c);

/* tool_vault.c */
void call_vault_reset(struct call *c); /* before each reply */
void call_vault_add_event(struct call *c, const struct chat_event *ev);
void call_vault_put(struct call *c);
void call_vault_rewind(struct call *c); /* before the tool calls of the history are looked up */
/* The vault's entries for the next tool call of this id: a wire_vault. */
size_t call_vault_find(void *ctx, str id, struct wire_kept *out, size_t n_max);
/* After a rewind: whether another model made tool calls of the history. A message shows this if the
 * vault knows none of its calls from this model. */
bool call_vault_has_foreign(struct call *c);
void call_vault_release(struct call *c);

/* live_publish.c */
void call_live_begin(struct call *c);
void call_live_begin_whole(struct call *c); /* texts stay in place until call_live_copy */
void call_live_copy(struct call *c);
/* Called around the reading of a reply's bytes. While nobody watches, the hub gets all texts of one
 * read together: at on_rest, or when the reply ends or is abandoned. */
void call_live_begin_bytes(struct call *c);
void call_live_end_bytes(struct call *c);
void call_live_reasoning(struct call *c, str text);
void call_live_frame(struct call *c); /* the pipe's events */
void call_live_finish(struct call *c, const struct store_call *row);
void call_live_detach(struct call *c); /* the request is freed before the call is */
void call_live_end(struct call *c);    /* the row is stored */

/* finish.c */
/* Whether the call may start again: the client got nothing, or its reply can be reset; if so,
 * resets it. */
bool call_may_restart(struct call *c);
double call_price(const struct config_model *m, const struct chat_usage *u); /* USD; -1: unknown */
void call_summarize(struct call *c);
void call_finish(struct call *c);
void call_release(struct call *c);
