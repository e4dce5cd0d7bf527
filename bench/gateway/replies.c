/* replies.c - the texts of the upstream.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "replies.h"

#include "common.h"

#define ZEROS "0000000000000000"
#define STAMP " @" ZEROS " "

static void add(struct bytes *b, const char *p, size_t n)
{
    b->p = realloc(b->p, b->n + n + 1);
    if (!b->p)
        die("realloc");
    memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = '\0';
}

static void add_c(struct bytes *b, const char *text)
{
    add(b, text, strlen(text));
}

static void add_bytes(struct bytes *b, const struct bytes *more)
{
    add(b, more->p, more->n);
}

static size_t add_space(struct bytes *b, size_t size)
{
    size_t at = b->n;

    while (b->n < at + size)
        add_c(b, " ");
    return at;
}

/* Each event is a chunk of its own, as servers send them. */
static void add_chunk(struct bytes *b, const char *event)
{
    char size[32];

    (void)snprintf(size, sizeof size, "%zx\r\n", strlen(event));
    add_c(b, size);
    add_c(b, event);
    add_c(b, "\r\n");
}

static size_t place(const struct bytes *b, const char *mark)
{
    char *at = strstr(b->p, mark);

    assert(at);
    return (size_t)(at - b->p) + strlen(mark);
}

/* ---- whole ---- */

static void whole_body(struct whole *w, struct bytes *b, bool anthropic,
                       const struct prose_size *size)
{
    add_c(b,
          anthropic ? "{\"id\":\"msg_01XFDUDYJgAACzvnptvVoYEL\",\"type\":\"message\",\"role\":"
                      "\"assistant\",\"model\":\"bench\",\"content\":[{\"type\":\"thinking\","
                      "\"thinking\":\""
                    : "{\"id\":\"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT\",\"object\":"
                      "\"chat.completion\",\"created\":1741569952,\"model\":\"bench\",\"choices\":"
                      "[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"<think>");
    w->thought_at = add_space(b, size->thought);
    add_c(b,
          anthropic ? "\",\"signature\":\"c2lnbmF0dXJl\"},{\"type\":\"text\",\"text\":\""
                    : "</think>");
    add_c(b, NONCE_MARK "00000000 ");
    w->answer_at = add_space(b, size->answer);
    add_c(b,
          anthropic ? "End.\"}],\"stop_reason\":\"end_turn\",\"stop_sequence\":null,\"usage\":{"
                      "\"input_tokens\":219,\"cache_creation_input_tokens\":0,"
                      "\"cache_read_input_tokens\":0,\"output_tokens\":320}}"
                    : "End.\",\"refusal\":null,\"annotations\":[]},\"logprobs\":null,"
                      "\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":219,"
                      "\"completion_tokens\":320,\"total_tokens\":539,\"prompt_tokens_details\":{"
                      "\"cached_tokens\":0,\"audio_tokens\":0},\"completion_tokens_details\":{"
                      "\"audio_tokens\":0,\"accepted_prediction_tokens\":0,"
                      "\"rejected_prediction_tokens\":0}},\"service_tier\":\"default\","
                      "\"system_fingerprint\":\"fp_b376dfbbd5\"}");
}

static void whole_init(struct replies *r, enum size size, bool anthropic)
{
    struct whole *w = &r->whole[size];
    struct bytes body = {0};
    char head[512];

    whole_body(w, &body, anthropic, &prose_sizes[size]);
    (void)snprintf(head,
                   sizeof head,
                   "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n"
                   "x-request-id: req_9f3c1a52d0b84e6c\r\nopenai-processing-ms: 412\r\n"
                   "Date: Mon, 10 Mar 2025 01:25:52 GMT\r\nServer: stub\r\n\r\n",
                   body.n);
    add_c(&w->bytes, head);
    w->thought_at += w->bytes.n;
    w->answer_at += w->bytes.n;
    add_bytes(&w->bytes, &body);
    w->nonce_at = place(&w->bytes, NONCE_MARK);
    free(body.p);
}

/* ---- streamed ---- */

#define CHUNK                                                                                      \
    "data: {\"id\":\"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT\",\"object\":"                         \
    "\"chat.completion.chunk\",\"created\":1741569952,\"model\":\"bench\",\"service_tier\":"       \
    "\"default\",\"system_fingerprint\":\"fp_b376dfbbd5\",\"choices\":[{\"index\":0,\"delta\":{"
#define CHUNK_END "},\"logprobs\":null,\"finish_reason\":null}]}\n\n"

static void openai_events(struct replies *r)
{
    add_chunk(&r->first, CHUNK "\"role\":\"assistant\",\"content\":\"<think>\"" CHUNK_END);
    add_chunk(&r->think, CHUNK "\"content\":\"" STAMP "two walls and the wind\"" CHUNK_END);
    add_chunk(&r->turn, CHUNK "\"content\":\"</think>\"" CHUNK_END);
    add_chunk(&r->text, CHUNK "\"content\":\"" STAMP "the wall was built twice\"" CHUNK_END);
    add_chunk(&r->last,
              "data: {\"id\":\"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT\",\"object\":"
              "\"chat.completion.chunk\",\"created\":1741569952,\"model\":\"bench\",\"choices\":[{"
              "\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"stop\"}]}\n\n");
    add_chunk(&r->last,
              "data: {\"id\":\"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT\",\"object\":"
              "\"chat.completion.chunk\",\"created\":1741569952,\"model\":\"bench\",\"choices\":[],"
              "\"usage\":{\"prompt_tokens\":219,\"completion_tokens\":320,\"total_tokens\":539}}"
              "\n\n");
    add_chunk(&r->last, "data: [DONE]\n\n");
}

#define BLOCK(index, kind)                                                                         \
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":" index         \
    ",\"content_block\":{" kind "}}\n\n"
#define DELTA(index, kind)                                                                         \
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":" index         \
    ",\"delta\":{" kind "}}\n\n"
#define STOP(index)                                                                                \
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":" index "}\n\n"

static void anthropic_events(struct replies *r)
{
    add_chunk(&r->first,
              "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":"
              "\"msg_01XFDUDYJgAACzvnptvVoYEL\",\"type\":\"message\",\"role\":\"assistant\","
              "\"content\":[],\"model\":\"bench\",\"stop_reason\":null,\"stop_sequence\":null,"
              "\"usage\":{\"input_tokens\":219,\"output_tokens\":1}}}\n\n");
    add_chunk(&r->first, BLOCK("0", "\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\""));
    add_chunk(
        &r->think,
        DELTA("0", "\"type\":\"thinking_delta\",\"thinking\":\"" STAMP "two walls and the wind\""));
    add_chunk(&r->turn, DELTA("0", "\"type\":\"signature_delta\",\"signature\":\"c2lnbmF0dXJl\""));
    add_chunk(&r->turn, STOP("0"));
    add_chunk(&r->turn, BLOCK("1", "\"type\":\"text\",\"text\":\"\""));
    add_chunk(&r->text,
              DELTA("1", "\"type\":\"text_delta\",\"text\":\"" STAMP "the wall was built twice\""));
    add_chunk(&r->last, STOP("1"));
    add_chunk(&r->last,
              "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":"
              "\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":320}}\n\n");
    add_chunk(&r->last, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n");
}

static void joined(const struct replies *r, struct bytes *out, int events)
{
    size_t at;

    add_bytes(out, &r->head);
    add_bytes(out, &r->first);
    for (int i = 0; i < events; i++) {
        if (i == EVENTS_THINK)
            add_bytes(out, &r->turn);
        at = out->n + (i < EVENTS_THINK ? r->think_at : r->text_at);
        add_bytes(out, i < EVENTS_THINK ? &r->think : &r->text);
        put_digits(out->p + at, (uint64_t)i + 1, MARK_DIGITS);
    }
    add_bytes(out, &r->last);
}

void replies_init(struct replies *r, bool anthropic)
{
    *r = (struct replies){0};
    for (int size = 0; size < SIZES; size++)
        whole_init(r, (enum size)size, anthropic);
    /* X-Accel-Buffering: nginx passes each event on when it arrives. */
    add_c(&r->head,
          "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
          "Cache-Control: no-cache\r\nX-Accel-Buffering: no\r\n"
          "x-request-id: req_9f3c1a52d0b84e6c\r\nTransfer-Encoding: chunked\r\n\r\n");
    if (anthropic)
        anthropic_events(r);
    else
        openai_events(r);
    add_c(&r->last, "0\r\n\r\n");
    r->think_at = place(&r->think, "@");
    r->text_at = place(&r->text, "@");
    assert(r->think.n < EVENT_MAX && r->text.n < EVENT_MAX);
    joined(r, &r->burst, EVENTS);
    joined(r, &r->flood, FLOOD_EVENTS);
}
