/* Headers of typed messages.
 *
 *     <|start|>assistant to=functions.f<|channel|>commentary <|constrain|>json<|message|>
 *
 * Role, recipient, channel and content type come in any order that models have been seen to write:
 * the recipient before or after the channel, the channel twice, the role or the start token
 * missing, a filler word between two calls. The header extends to the first word that cannot belong
 * to one; from there on the text belongs to the message, and the header was malformed. An unknown
 * word where a name is possible belongs to the header if a message token follows, otherwise to the
 * text, because a model that forgets <|message|> still writes a message. Nothing is an error.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/ctype.h"
#include "split/format.h"

#define HEADER_MAX 256

enum token { START, CHANNEL, CONSTRAIN, MESSAGE, TOKEN_COUNT };

static const str token_text[TOKEN_COUNT] = {
    [START] = STR_INIT("<|start|>"),
    [CHANNEL] = STR_INIT("<|channel|>"),
    [CONSTRAIN] = STR_INIT("<|constrain|>"),
    [MESSAGE] = STR_INIT("<|message|>"),
};

enum channel { NO_CHANNEL, ANALYSIS, COMMENTARY, FINAL, OTHER_CHANNEL };

static const str channel_name[] = {
    [ANALYSIS] = STR_INIT("analysis"),
    [COMMENTARY] = STR_INIT("commentary"),
    [FINAL] = STR_INIT("final"),
};

struct header {
    enum token last;   /* the token that the next words belong to */
    unsigned tokens;   /* how many there were */
    unsigned words;    /* since the last token */
    size_t understood; /* up to where */
    bool doubt;        /* the next words belong to the header only if a token follows */
    enum channel channel;
    str recipient;
    bool bad;
};

/* Kinds of elements of a header. */
enum element { TOKEN, WORD, JUNK, CUT, DONE };

/* The token at the front of s, or TOKEN_COUNT; *part if s is only the front of one. */
static enum token split_token_at(str s, bool *part)
{
    for (enum token t = 0; t < TOKEN_COUNT; t++) {
        if (str_starts(s, token_text[t]))
            return t;
        if (str_starts(token_text[t], s))
            *part = true;
    }
    return TOKEN_COUNT;
}

/* The words that may come before a channel. */
enum { ROLES = 5, TYPES = 3, PLAIN_WORDS = ROLES + TYPES };

static const str plain_word[PLAIN_WORDS] = {
    STR_INIT("assistant"),
    STR_INIT("user"),
    STR_INIT("system"),
    STR_INIT("developer"),
    STR_INIT("tool"),
    STR_INIT("json"),
    STR_INIT("code"),
    STR_INIT("text"),
};

static bool split_header_is_plain(str word, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (str_eq(word, plain_word[i]))
            return true;
    return false;
}

static bool split_same_letters(const char *p, str lower)
{
    for (size_t i = 0; i < lower.n; i++)
        if ((p[i] | 32) != lower.p[i])
            return false;
    return true;
}

/* The channel that a word names, and the end of the name. Content types may be attached to it and
 * junk may surround it; a hidden channel must stay hidden in spite of that. */
static enum channel split_channel_of(str word, size_t *end)
{
    for (enum channel c = ANALYSIS; c <= FINAL; c++)
        for (size_t at = 0; at + channel_name[c].n <= word.n; at++)
            if ((at == 0 || !char_is_letter(word.p[at - 1])) &&
                split_same_letters(word.p + at, channel_name[c])) {
                *end = at + channel_name[c].n;
                return c;
            }
    *end = 0;
    return OTHER_CHANNEL;
}

/* The word that fills the gap between two calls is a channel's name without its token. */
static enum channel split_filler_of(str word)
{
    for (enum channel c = ANALYSIS; c <= FINAL; c++)
        if (str_starts(word, channel_name[c]))
            return c;
    return NO_CHANNEL;
}

static bool split_header_is_name(str word)
{
    for (size_t i = 0; i < word.n; i++) {
        char c = word.p[i];

        if (!(c == '_' || c == '-' || c == '.' || (c >= '0' && c <= '9') || char_is_letter(c)))
            return false;
    }
    return word.n > 0;
}

/* Accepts a word if it has a meaning in its place. Returns how much of it certainly belongs to the
 * header, or SIZE_MAX if it has no meaning. */
static size_t split_take_word(struct header *h, str word, bool muse)
{
    bool first = h->words++ == 0;
    size_t end;

    if (str_starts(word, STR("to="))) {
        h->recipient = str_slice(word, 3, word.n);
        return word.n;
    }
    if (h->last == CHANNEL && first) {
        h->channel = split_channel_of(word, &end);
        return end;
    }
    if (split_header_is_plain(word, h->last == START ? 0 : ROLES, PLAIN_WORDS))
        return word.n; /* a role, a content type */
    if (h->last == START && !muse && split_filler_of(word)) {
        h->channel = split_filler_of(word);
        return word.n;
    }
    /* An author, which may be a tool; or another content type. */
    return first && h->tokens > 0 && h->last != CHANNEL && split_header_is_name(word) ? 0
                                                                                      : SIZE_MAX;
}

/* Whether a word is the front of one we know, but not all of it. */
static bool split_is_front(str word)
{
    for (size_t i = 0; i < PLAIN_WORDS; i++)
        if (word.n < plain_word[i].n && str_starts(plain_word[i], word))
            return true;
    for (enum channel c = ANALYSIS; c <= FINAL; c++)
        if (word.n < channel_name[c].n && str_starts(channel_name[c], word))
            return true;
    return word.n < 3 && str_starts(STR("to="), word);
}

/* Whether the front of a word that begins a header may still be one that does. */
static bool split_header_may_begin(str word)
{
    return split_is_front(word) || split_header_is_plain(word, 0, PLAIN_WORDS) ||
           split_filler_of(word) || str_starts(word, STR("to="));
}

/* A word ends at white space or at a token, and a recipient at its arguments; a bare "<" inside a
 * word makes it junk later. */
static size_t split_word_size(str s)
{
    bool recipient = str_starts(s, STR("to="));
    size_t n = 0;

    while (n < s.n && s.p[n] != ' ' && s.p[n] != '\n' && s.p[n] != '\t' && s.p[n] != '<' &&
           !(recipient && s.p[n] == '{'))
        n++;
    return n;
}

static enum element split_header_next_token(struct header *h, str s, size_t *at)
{
    bool part = false;
    enum token t = split_token_at(s, &part);

    if (t == TOKEN_COUNT)
        return part ? CUT : JUNK;
    if (t == START && h->tokens > 0)
        return JUNK; /* the next message: this one had no body */
    h->last = t;
    h->tokens++;
    h->words = 0;
    h->doubt = false;
    *at += token_text[t].n;
    h->understood = *at;
    return t == MESSAGE ? DONE : TOKEN;
}

/* Takes in the element at `*at`. */
static enum element split_header_next(struct header *h, const struct split_at *in, size_t *at,
                                      bool muse)
{
    str s = str_slice(in->text, *at, in->text.n);
    bool last;
    size_t n, sure;

    if (*at > HEADER_MAX)
        return JUNK;
    if (s.n == 0)
        return h->doubt && !in->more ? JUNK : CUT;
    if (s.p[0] == '<')
        return split_header_next_token(h, s, at);
    n = split_word_size(s);
    if (n == 0) {
        *at += 1;
        return WORD;
    }
    if (*at + n > HEADER_MAX)
        return JUNK; /* whatever follows */
    last = n == s.n;
    if (last && in->more)
        return h->tokens > 0 || split_header_may_begin(s) ? CUT : JUNK; /* more may follow */
    if (last && !h->doubt && split_is_front(s))
        return CUT;
    sure = split_take_word(h, str_slice(s, 0, n), muse);
    if (sure == SIZE_MAX)
        return JUNK;
    if (!h->doubt)
        h->understood = *at + sure;
    h->doubt |= sure < n;
    *at += n;
    assert(h->understood <= *at);
    return WORD;
}

/* Whether the elements before an unknown one are enough for a header. In the middle of a message a
 * single token is more likely quoted than used. */
static bool split_is_header(const struct header *h, const struct split_at *in)
{
    if (h->tokens == 0)
        return false;
    return in->between || (h->channel != NO_CHANNEL && h->channel != OTHER_CHANNEL);
}

/* The white space between a header and text that turned out not to be part of it. */
static size_t split_white_at(str s)
{
    size_t n = 0;

    while (n < s.n && (s.p[n] == ' ' || s.p[n] == '\n' || s.p[n] == '\t'))
        n++;
    return n;
}

/* Reads the elements into h. */
static enum split_match split_read_header(struct header *h, const struct split_at *in, size_t *size,
                                          bool muse)
{
    size_t at = 0;

    for (;;) {
        switch (split_header_next(h, in, &at, muse)) {
        case TOKEN:
        case WORD:
            break;
        case DONE:
            *size = at;
            return SPLIT_FULL_MATCH;
        case JUNK:
            if (!split_is_header(h, in))
                return SPLIT_NO_MATCH;
            h->bad = true;
            *size = h->understood + split_white_at(str_slice(in->text, h->understood, at));
            return SPLIT_FULL_MATCH;
        case CUT:
            if (in->more)
                return SPLIT_PART_MATCH;
            if (h->tokens == 0 && h->recipient.n == 0 && !(in->begun && h->understood > 0))
                return SPLIT_NO_MATCH;
            *size = in->text.n;
            h->last = START; /* no body: nothing to enter */
            return SPLIT_FULL_MATCH;
        }
    }
}

static bool split_is_person(str recipient)
{
    return recipient.n == 0 || str_eq(recipient, STR("assistant")) ||
           str_eq(recipient, STR("user")) || str_eq(recipient, STR("all"));
}

static uint8_t split_harmony_place(const struct header *h)
{
    if (!split_is_person(h->recipient))
        return SPLIT_TOOLS;
    return h->channel == ANALYSIS ? SPLIT_REASON : SPLIT_WRAP;
}

static uint8_t split_muse_place(const struct header *h)
{
    if (str_eq(h->recipient, STR("self")))
        return SPLIT_REASON;
    return split_is_person(h->recipient) ? SPLIT_WRAP : SPLIT_TOOLS;
}

/* Whether the text begins with the token, or may yet. */
static bool split_header_can_open(const struct split_at *in, enum token t)
{
    return str_starts(in->text, token_text[t]) || (in->more && str_starts(token_text[t], in->text));
}

static enum split_match split_header_match(const struct split_at *in, struct split_hit *hit,
                                           bool muse)
{
    struct header h = {.last = START, .recipient = STR("")};
    enum split_match found;

    if (!in->between && !split_header_can_open(in, START) && !split_header_can_open(in, CHANNEL))
        return SPLIT_NO_MATCH;
    found = split_read_header(&h, in, &hit->size, muse);
    if (found != SPLIT_FULL_MATCH)
        return found;
    hit->mark = (struct split_mark){
        .eat = STR(""),
        .rules = SPLIT_NOT_QUOTED | SPLIT_MESSAGE,
        .to = muse ? split_muse_place(&h) : split_harmony_place(&h),
    };
    if (h.bad || h.channel == OTHER_CHANNEL)
        hit->mark.rules |= SPLIT_BAD;
    if (h.last != MESSAGE && !h.bad)
        hit->mark.to = SPLIT_OUT; /* the text ended before the message began */
    hit->token = token_text[str_starts(in->text, token_text[CHANNEL]) ? CHANNEL : START].n;
    hit->name = h.recipient;
    return SPLIT_FULL_MATCH;
}

enum split_match split_header_harmony(const struct split_at *at, struct split_hit *hit)
{
    return split_header_match(at, hit, false);
}

enum split_match split_header_muse(const struct split_at *at, struct split_hit *hit)
{
    return split_header_match(at, hit, true);
}
