/* `rationale decode`: prints a recorded reply of a provider as chat events, one per line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"
#include "net/frames.h"
#include "wire/json_write.h"

#define READ_SIZE ((size_t)64 << 10)
#define FRAME_SIZE_MAX ((size_t)64 << 20)
#define ARENA_SIZE_MAX ((size_t)512 << 20)
#define LINE_SIZE_MAX ((size_t)512 << 20)

enum { DIALECT, STREAM };

static const struct cli_option options[] = {
    [DIALECT] = {"dialect",
                 'd',
                 "NAME",
                 "openai responses anthropic gemini mistral ollama converse cohere",
                 "whose reply it is; must be given"},
    [STREAM] = {"stream", 's', NULL, NULL, "it was streamed: SSE events, or lines of JSON"},
};

struct decode {
    struct cli *cli;
    struct wire_decoder decoder;
    struct buf line;
    bool stream, failed;
};

static void decode_number(struct json_out *o, const char *key, int64_t n)
{
    if (n >= 0)
        json_member_i64(o, key, n);
}

static void decode_add_usage(struct json_out *o, const struct chat_usage *u)
{
    assert(u);
    decode_number(o, "input", u->input);
    decode_number(o, "output", u->output);
    decode_number(o, "reasoning", u->reasoning);
    decode_number(o, "cache_read", u->cache_read);
    decode_number(o, "cache_write", u->cache_write);
}

static void decode_add_error(struct json_out *o, const struct chat_error *error)
{
    assert(error);
    decode_number(o, "status", error->status);
    json_write_text(o, "type", error->type);
    json_write_text(o, "code", error->code);
    json_write_text(o, "param", error->param);
    json_write_text(o, "message", error->message);
}

/* Whether events of this kind belong to a block. */
static bool decode_has_block(enum chat_event_kind kind)
{
    return kind >= CHAT_TEXT && kind <= CHAT_OPAQUE;
}

static void decode_add_members(struct json_out *o, const struct chat_event *ev)
{
    if (ev->choice)
        decode_number(o, "choice", ev->choice);
    if (decode_has_block(ev->kind))
        decode_number(o, "block", ev->block);
    json_write_text(o, "id", ev->id);
    json_write_text(o, ev->kind == CHAT_START ? "model" : "name", ev->name);
    if (ev->kind == CHAT_REASONING && ev->summary)
        json_member_bool(o, "summary", true);
    if (ev->kind == CHAT_STOP)
        json_write_text(o, "stop", str_c(chat_stop_name(ev->stop)));
    if (ev->kind == CHAT_OPAQUE || ev->kind == CHAT_SIGNATURE)
        json_write_text(o, "dialect", str_c(chat_dialect_name(ev->dialect)));
    if (ev->kind == CHAT_USAGE)
        decode_add_usage(o, ev->usage);
    if (ev->kind == CHAT_ERROR)
        decode_add_error(o, ev->error);
    json_write_text(o, "text", ev->text);
}

static void decode_on_event(void *ctx, const struct chat_event *given)
{
    struct decode *d = ctx;
    struct chat_event ev = *given;
    struct json_out o;

    ev.text = ev.text.p ? ev.text : STR("");
    ev.id = ev.id.p ? ev.id : STR("");
    ev.name = ev.name.p ? ev.name : STR("");
    buf_reset(&d->line);
    json_out_init_object(&o, &d->line);
    json_write_text(&o, "event", str_c(chat_event_name(ev.kind)));
    decode_add_members(&o, &ev);
    json_out_end(&o);
    buf_add_c(&d->line, '\n');
    cli_put_json(d->cli, buf_str(&d->line));
    if (ev.kind == CHAT_ERROR)
        d->failed = true;
}

static void decode_on_frame(void *ctx, const struct frames_frame *frame)
{
    struct decode *d = ctx;
    struct wire_frame f = {.name = frame->name, .data = frame->data, .raw = frame->raw};

    if (d->stream)
        wire_decode(&d->decoder, &f);
    else
        wire_decode_whole(&d->decoder, &f);
    file_out_flush(&d->cli->out);
}

static bool decode_pump(struct decode *d, struct cli_input *in, struct frames *f, struct err *e)
{
    char *piece = base_alloc(READ_SIZE);
    size_t n = 1, seen = 0;
    bool ok = true;

    while (n > 0 && ok && !f->full && !d->cli->out.error) {
        ok = cli_read(in, piece, READ_SIZE, &n, e);
        if (ok)
            frames_feed(f, (str){piece, n});
        seen += ok ? n : 0;
    }
    free(piece);
    if (!ok)
        return false;
    if (f->full)
        return err_set(e, ERR_LIMIT, "%s: an event of more than 64 MiB", in->name);
    if (seen == 0)
        return err_input(e, "%s: there is nothing in it", in->name);
    frames_finish(f);
    if (d->stream)
        wire_decode_end(&d->decoder);
    return true;
}

static int decode_decode(struct cli *cli, const struct wire *w, struct cli_input *in, bool stream)
{
    struct decode d = {.cli = cli, .stream = stream};
    enum frames_kind kind = !stream                            ? FRAMES_WHOLE
                            : w->stream_framing == WIRE_NDJSON ? FRAMES_LINES
                                                               : FRAMES_SSE;
    struct frames frames;
    struct arena arena;
    struct err e;
    bool ok;

    assert(w->decode);
    arena_init(&arena, ARENA_SIZE_MAX);
    buf_init(&d.line, LINE_SIZE_MAX);
    frames_init(&frames, kind, FRAME_SIZE_MAX, (struct frames_sink){decode_on_frame, &d});
    wire_decoder_init(&d.decoder, w, &arena, (struct chat_sink){decode_on_event, &d});
    ok = decode_pump(&d, in, &frames, &e);
    wire_decoder_release(&d.decoder);
    frames_release(&frames);
    buf_release(&d.line);
    arena_release(&arena);
    if (!ok)
        return cli_fail(&e);
    return d.failed ? CLI_NEGATIVE : CLI_OK;
}

static int decode_run(struct cli *cli, const struct cli_args *args)
{
    const char *name = args->value[DIALECT];
    const struct wire *w;
    struct cli_input in;
    struct err e;
    int code;

    if (!name)
        return cli_complain(CLI_USAGE, "decode needs --dialect NAME; `rationale decode --help`");
    w = wire_find(str_c(name));
    if (!w || !w->decode)
        return cli_complain(CLI_USAGE, "there is no dialect \"%s\" in this build", name);
    if (!cli_open(cli, args, &in, &e))
        return cli_fail(&e);
    code = decode_decode(cli, w, &in, args->value[STREAM] != NULL);
    cli_close(&in);
    return code;
}

const struct cli_command cli_decode = {
    .name = "decode",
    .summary = "show a recorded reply as events",
    .words = "[FILE]",
    .about =
        "Reads a provider's reply, as received, from FILE or standard input, and prints it in "
        "the vocabulary that all dialects share: one object a line, with the event (start, text, "
        "reasoning, signature, redacted, refusal, call, arguments, opaque, keep, extra, usage, "
        "stop, error, end), the number of its block and its text.\n\n"
        "The exit code is 1 if the reply is, or ends in, an error.",
    .examples = "  rationale decode --dialect anthropic --stream reply.sse\n"
                "  curl -sN $URL -d @body.json | rationale decode -d responses -s\n"
                "  rationale decode -d gemini reply.json | jq -r 'select(.event==\"text\").text'\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 1,
    .run = decode_run,
};
