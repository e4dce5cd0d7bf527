/* images.h - images that a model drew, from one dialect to another.
 *
 *     Gemini     a part {inlineData: {mimeType, data}}
 *     Responses  an item {type: image_generation_call, output_format, result}
 *     Chat       images: [{type: image_url, image_url: {url: "data:..."}}], as OpenRouter has it
 *
 * Who writes Chat or Gemini asks of each event whether it is an image in other words, and encodes
 * in its place what it is given:
 *
 *     if (image_needs_conversion(ev, CHAT_OPENAI))
 *         image_convert(ev, CHAT_OPENAI, (struct chat_sink){encode, en});
 *
 * An image that was only thought of stays in its dialect, and so does one that is known by its
 * address alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "chat/chat.h"

bool image_needs_conversion(const struct chat_event *ev, enum chat_dialect to);
/* Gives the sink an event for each image of one that image_needs_conversion was true for. */
void image_convert(const struct chat_event *ev, enum chat_dialect to, struct chat_sink sink);
