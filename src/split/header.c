/* Headers of typed messages.
 *
 *     <|start|>assistant to=functions.f<|channel|>commentary <|constrain|>json<|message|>
 *
 * Role, recipient, channel and content type come in any order that models have been seen to write:
 * the recipient before or after the channel, the channel twice, the role or the start token
 * missing, a filler word between two calls. What can be understood is a header; from the first word
 * that can not, the text is the message's, and the header was malformed. Nothing is an error.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
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
    enum token last;   /* what the words that follow belong to */
    unsigned tokens;   /* how many there were */
    unsigned words;    /* since the last token */
    size_t understood; /* up to where */
    enum channel channel;
    str recipient;
    bool bad;
};

/* What the next element of a header is. */
enum element { TOKEN, WORD, JUNK, CUT, DONE };

/* The token at the front of s, or TOKEN_COUNT; *part if s is only the front of one. */
static enum token token_at(str s, bool *part)
{
    for (enum token t = 0; t < TOKEN_COUNT; t++) {
        if (str_starts(s, token_text[t]))
            return t;
        if (str_starts(token_text[t], s))
            *part = true;
    }
    return TOKEN_COUNT;
}

/* The words that may stand before a channel. */
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

static bool is_plain(str word, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (str_eq(word, plain_word[i]))
            return true;
    return false;
}

/* The channel a word names; content types are sometimes glued to it. */
static enum channel channel_of(str word)
{
    for (enum channel c = ANALYSIS; c <= FINAL; c++)
        if (str_starts(word, channel_name[c]))
            return c;
    return OTHER_CHANNEL;
}

static bool is_name(str word)
{
    for (size_t i = 0; i < word.n; i++) {
        char c = word.p[i];

        if (!(c == '_' || c == '-' || c == '.' || (c >= '0' && c <= '9') ||
              ((c | 32) >= 'a' && (c | 32) <= 'z')))
            return false;
    }
    return word.n > 0;
}

/* Whether a word has a meaning where it stands; the header takes it in if so. */
static bool take_word(struct header *h, str word, bool muse)
{
    bool first = h->words++ == 0;

    if (str_starts(word, STR("to="))) {
        h->recipient = str_slice(word, 3, word.n);
        return true;
    }
    if (h->last == CONSTRAIN)
        return first;
    if (h->last == CHANNEL && first) {
        h->channel = channel_of(word);
        return h->channel != OTHER_CHANNEL || is_name(word);
    }
    if (h->last == CHANNEL)
        return is_plain(word, ROLES, PLAIN_WORDS); /* a content type */
    /* Before any channel: the role, or the word that fills the gap between two calls. */
    return is_plain(word, 0, PLAIN_WORDS) || (!muse && channel_of(word) != OTHER_CHANNEL);
}

/* Whether the front of a word that begins a header may still be one that does. */
static bool may_begin(str word)
{
    for (size_t i = 0; i < PLAIN_WORDS; i++)
        if (str_starts(plain_word[i], word))
            return true;
    for (enum channel c = ANALYSIS; c <= FINAL; c++)
        if (str_starts(channel_name[c], word) || str_starts(word, channel_name[c]))
            return true;
    return str_starts(STR("to="), word) || str_starts(word, STR("to="));
}

/* A word ends at white space or at a token; a bare "<" inside it makes it junk later. */
static size_t word_size(str s)
{
    size_t n = 0;

    while (n < s.n && s.p[n] != ' ' && s.p[n] != '\n' && s.p[n] != '\t' && s.p[n] != '<')
        n++;
    return n;
}

/* Takes in the element at `*at`. */
static enum element next(struct header *h, const struct split_at *in, size_t *at, bool muse)
{
    str s = str_slice(in->text, *at, in->text.n);
    bool part = false;
    size_t n;

    if (*at > HEADER_MAX)
        return JUNK;
    if (s.n == 0)
        return CUT;
    if (s.p[0] == '<') {
        enum token t = token_at(s, &part);

        if (t == TOKEN_COUNT)
            return part ? CUT : JUNK;
        if (t == START && h->tokens > 0)
            return JUNK; /* the next message: this one had no body */
        h->last = t;
        h->tokens++;
        h->words = 0;
        *at += token_text[t].n;
        h->understood = *at;
        return t == MESSAGE ? DONE : TOKEN;
    }
    n = word_size(s);
    if (n == 0) {
        *at += 1;
        return WORD;
    }
    if (*at + n > HEADER_MAX)
        return JUNK; /* however it goes on */
    if (n == s.n && in->more)
        return h->tokens > 0 || may_begin(s) ? CUT : JUNK; /* it may go on */
    if (!take_word(h, str_slice(s, 0, n), muse))
        return n == s.n && !in->more && may_begin(s) ? CUT : JUNK;
    *at += n;
    h->understood = *at;
    return WORD;
}

/* Whether what was understood before a junk element is enough to be a header. In the middle of a
 * message a lone token is more likely talked about than meant. */
static bool is_header(const struct header *h, const struct split_at *in)
{
    if (h->tokens == 0)
        return false;
    return in->between || (h->channel != NO_CHANNEL && h->channel != OTHER_CHANNEL);
}

/* Reads the elements; what the header says is in h. */
static enum split_match read_header(struct header *h, const struct split_at *in, size_t *size,
                                    bool muse)
{
    size_t at = 0;

    for (;;) {
        switch (next(h, in, &at, muse)) {
        case TOKEN:
        case WORD:
            break;
        case DONE:
            *size = at;
            return SPLIT_FULL_MATCH;
        case JUNK:
            if (!is_header(h, in))
                return SPLIT_NO_MATCH;
            h->bad = true;
            *size = h->understood;
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

static bool is_person(str recipient)
{
    return recipient.n == 0 || str_eq(recipient, STR("assistant")) ||
           str_eq(recipient, STR("user")) || str_eq(recipient, STR("all"));
}

static uint8_t harmony_place(const struct header *h)
{
    if (!is_person(h->recipient))
        return SPLIT_TOOLS;
    return h->channel == ANALYSIS ? SPLIT_REASON : SPLIT_WRAP;
}

static uint8_t muse_place(const struct header *h)
{
    if (str_eq(h->recipient, STR("self")))
        return SPLIT_REASON;
    return is_person(h->recipient) ? SPLIT_WRAP : SPLIT_TOOLS;
}

static enum split_match header(const struct split_at *in, struct split_hit *hit, bool muse)
{
    struct header h = {.last = START, .recipient = STR("")};
    enum split_match found;

    if (!in->between && !str_starts(in->text, STR("<|start|>")) &&
        !str_starts(in->text, STR("<|channel|>")) && !in->more)
        return SPLIT_NO_MATCH;
    if (!in->between && in->text.n >= 4 && !str_starts(in->text, STR("<|st")) &&
        !str_starts(in->text, STR("<|ch")))
        return SPLIT_NO_MATCH;
    found = read_header(&h, in, &hit->size, muse);
    if (found != SPLIT_FULL_MATCH)
        return found;
    hit->mark = (struct split_mark){
        .eat = STR(""),
        .rules = SPLIT_NOT_QUOTED | SPLIT_MESSAGE,
        .to = muse ? muse_place(&h) : harmony_place(&h),
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
    return header(at, hit, false);
}

enum split_match split_header_muse(const struct split_at *at, struct split_hit *hit)
{
    return header(at, hit, true);
}
