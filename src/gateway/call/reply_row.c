/* reply_row.c - a row of frames that differ in their text, read and delivered as one.
 *
 * Fast models, and networks that delay bytes, deliver many frames at once. If the client gets them
 * unchanged, and each has a text that the pipe passes whatever follows it, the joined texts go
 * through the pipe as one event, and the frames go to the client as one piece. The client's bytes
 * are the same as if each frame was processed alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/internal.h"

#define TEXT_MAX 4096 /* of a row */
#define ROW_MAX 3584  /* bytes after which a row takes no more frames; fits the client's buffer */

/* Whether a frame with another text of the answer changes nothing else in this call. The first such
 * frame has ended the wait for an answer, and the client has it. */
static bool reply_may_be_row(const struct call *c)
{
    const struct repeat_event *like = &c->decoder.repeat.event;

    return c->state == CALL_STREAMING && c->attempt.relays && c->client.sink &&
           c->client.received == CALL_RECEIVED_REPLY && c->sum.answer_ns && !c->timer.slot &&
           !c->reply.deferred && !c->reply.stop_seen && !c->reply.end_seen && !c->decoder.deaf &&
           like->kind == CHAT_TEXT && like->choice == 0;
}

size_t call_reply_row(void *ctx, str bytes)
{
    struct call *c = ctx;
    struct wire_frame f = {.raw = str_slice(bytes, 0, 0)};
    char texts[TEXT_MAX];
    size_t n = 0, size;
    str text;

    if (!reply_may_be_row(c))
        return 0;
    while (f.raw.n < ROW_MAX &&
           repeat_frame_next(&c->decoder, str_slice(bytes, f.raw.n, bytes.n), &text, &size) &&
           text.n <= sizeof texts - n &&
           pipe_passes(&c->pipe, c->decoder.repeat.event.block, text)) {
        memcpy(texts + n, text.p, text.n);
        n += text.n;
        f.raw.n += size;
    }
    if (n == 0)
        return 0;
    pipe_begin(&c->pipe);
    call_record_begin_frame(c);
    repeat_frame_decode_row(&c->decoder, &f, (str){texts, n});
    assert(c->pipe.count == 1 && !c->pipe.touched && c->pipe.events[0].text.n == n);
    call_end_frame(c, &f);
    return f.raw.n;
}
