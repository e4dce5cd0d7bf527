"""The parameters of each dialect of clients, for dialects_test.py."""
# SPDX-License-Identifier: Apache-2.0

TOOL = {"type": "object", "properties": {}}
CHAT_TOOL = {"tools": [{"type": "function", "function": {"name": "f", "parameters": TOOL}}]}
TOOLS = {"responses": {"tools": [{"type": "function", "name": "f", "parameters": TOOL}]},
         "anthropic": {"tools": [{"name": "f", "input_schema": TOOL}]},
         "gemini": {"tools": [{"functionDeclarations": [{"name": "f"}]}]}}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}
# Each parameter of each dialect alone, without those that only a cache or the form of a stream reads: the
# provider's request differs, or the header names the parameter.
PARAMETERS = {
    "openai": [
        {"frequency_penalty": 0.5}, {"presence_penalty": 0.5}, {"logit_bias": {"5": 1}}, {"logprobs": True},
        {"max_tokens": 50}, {"max_completion_tokens": 50}, {"metadata": {"a": "b"}}, {"modalities": ["text", "audio"]},
        {"n": 2}, {"prediction": {"type": "content", "content": "x"}}, {"reasoning_effort": "high"},
        {"reasoning": {"effort": "low"}}, {"thinking": {"type": "enabled", "budget_tokens": 2000}},
        {"response_format": {"type": "json_object"}}, {"audio": {"voice": "x", "format": "wav"}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": SCHEMA}}},
        {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "description": "d", "schema": SCHEMA}}},
        {"safety_identifier": "a"}, {"seed": 5}, {"service_tier": "flex"}, {"stop": ["x"]}, {"store": True},
        {"temperature": 0.5}, {"top_p": 0.5}, {"top_k": 5}, {"user": "u"}, {"verbosity": "low"},
        {"web_search_options": {"search_context_size": "low"}}, {"min_p": 0.1}, {"repetition_penalty": 1.2},
        {"moderation": {"model": "m"}}, {"chat_template_kwargs": {"custom": 1}}, CHAT_TOOL,
        {**CHAT_TOOL, "tool_choice": "required"}, {**CHAT_TOOL, "parallel_tool_calls": False},
        {**CHAT_TOOL, "tool_choice": {"type": "function", "function": {"name": "f"}}},
        {"tools": [{"type": "function", "function": {"name": "f", "parameters": SCHEMA, "strict": True}}]},
        {"tools": [{"type": "custom", "custom": {"name": "f"}}]},
        {"functions": [{"name": "f", "parameters": TOOL}], "function_call": {"name": "f"}},
        {"messages": [{"role": "user", "content": "hi", "name": "ann"}]},
        {"messages": [{"role": "system", "content": "s", "name": "ann"}, {"role": "user", "content": "hi"}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {
            "url": "data:image/png;base64,aGk=", "detail": "low"}}]}]}],
    "responses": [
        {"instructions": "Be brief."}, {"max_output_tokens": 50}, {"max_tool_calls": 2}, {"metadata": {"a": "b"}},
        {"background": True}, {"conversation": "c"}, {"previous_response_id": "r"}, {"prompt": {"id": "p"}},
        {"reasoning": {"effort": "high"}}, {"reasoning": {"effort": "high", "mode": "pro"}},
        {"safety_identifier": "a"}, {"service_tier": "flex"}, {"temperature": 0.5}, {"top_p": 0.5}, {"user": "u"},
        {"truncation": "auto"}, {"context_management": [{"type": "compaction"}]}, {"moderation": {"model": "m"}},
        {"include": ["message.output_text.logprobs"], "top_logprobs": 2}, {"text": {"verbosity": "low"}},
        {"text": {"format": {"type": "json_object"}}},
        {"text": {"format": {"type": "json_schema", "name": "x", "schema": SCHEMA}}}, TOOLS["responses"],
        {**TOOLS["responses"], "tool_choice": "required"}, {**TOOLS["responses"], "parallel_tool_calls": False},
        {**TOOLS["responses"], "tool_choice": {"type": "function", "name": "f"}},
        {"tools": [{"type": "web_search"}]}, {"tools": [{"type": "custom", "name": "f"}]}],
    "anthropic": [
        {"max_tokens": 50}, {"system": "Be brief."}, {"temperature": 0.5}, {"top_p": 0.5}, {"top_k": 5},
        {"stop_sequences": ["x"]}, {"thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4096},
        {"output_config": {"effort": "high"}}, {"output_config": {"task_budget": {"type": "tokens", "total": 5}}},
        {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}}, {"metadata": {"user_id": "u"}},
        {"container": "c"}, {"mcp_servers": [{"type": "url", "url": "https://a/", "name": "a"}]},
        {"service_tier": "standard_only"}, {"inference_geo": "us"}, {"context_management": {"edits": [{"type": "x"}]}},
        {"speed": "fast"}, {"betas": ["x"]}, TOOLS["anthropic"],
        {**TOOLS["anthropic"], "tool_choice": {"type": "any"}}, {**TOOLS["anthropic"], "tool_choice": {
            "type": "auto", "disable_parallel_tool_use": True}},
        {**TOOLS["anthropic"], "tool_choice": {"type": "tool", "name": "f"}},
        {"tools": [{"name": "f", "input_schema": SCHEMA, "strict": True}]},
        {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
        {"tools": [{"name": "f", "input_schema": TOOL, "input_examples": [{"a": 1}]}]},
        {"messages": [{"role": "user", "content": [{"type": "document", "citations": {"enabled": True}, "source": {
            "type": "text", "media_type": "text/plain", "data": "x"}}]}]}],
    "gemini": [
        {"systemInstruction": {"parts": [{"text": "Be brief."}]}}, {"cachedContent": "cachedContents/a"},
        {"safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}]},
        {"labels": {"a": "b"}}, {"serviceTier": "flex"}, {"service_tier": "flex"}, TOOLS["gemini"],
        {**TOOLS["gemini"], "toolConfig": {"functionCallingConfig": {"mode": "ANY"}}},
        {"toolConfig": {"retrievalConfig": {"languageCode": "en"}}}, {"tools": [{"googleSearch": {}}]},
        {"tools": [{"functionDeclarations": [{"name": "f", "response": {"type": "STRING"}}]}]},
        {"tools": [{"functionDeclarations": [{"name": "f", "behavior": "NON_BLOCKING"}]}]},
        *({"generationConfig": g} for g in (
            {"temperature": 0.5}, {"topP": 0.5}, {"top_p": 0.5}, {"topK": 5}, {"maxOutputTokens": 50},
            {"candidateCount": 2}, {"seed": 5}, {"presencePenalty": 0.5}, {"frequencyPenalty": 0.5},
            {"stopSequences": ["x"]}, {"thinkingConfig": {"thinkingLevel": "HIGH"}},
            {"thinkingConfig": {"thinkingBudget": 2000}}, {"responseMimeType": "application/json"},
            {"responseMimeType": "text/x.enum"}, {"responseMimeType": "text/x.enum", "responseSchema": {
                "type": "STRING", "enum": ["a"]}}, {"responseMimeType": "application/json", "responseJsonSchema": SCHEMA},
            {"responseLogprobs": True}, {"responseModalities": ["TEXT", "IMAGE"]}, {"mediaResolution": "MEDIA_RESOLUTION_LOW"},
            {"speechConfig": {"languageCode": "en-US"}}, {"imageConfig": {"aspectRatio": "1:1"}},
            {"enableEnhancedCivicAnswers": True}, {"audioTimestamp": True}, {"media_resolution": "MEDIA_RESOLUTION_LOW"}))],
    "ollama": [
        CHAT_TOOL, {"format": "json"}, {"format": SCHEMA}, {"think": True}, {"think": "high"}, {"logprobs": True},
        *({"options": o} for o in (
            {"temperature": 0.5}, {"top_p": 0.5}, {"top_k": 5}, {"seed": 5}, {"num_predict": 50}, {"stop": ["x"]},
            {"frequency_penalty": 0.5}, {"presence_penalty": 0.5}, {"num_ctx": 512}, {"num_keep": 1}, {"min_p": 0.1},
            {"typical_p": 0.5}, {"repeat_last_n": 3}, {"repeat_penalty": 1.2}, {"mirostat": 1}, {"mirostat_tau": 5},
            {"mirostat_eta": 0.1}, {"tfs_z": 1}, {"penalize_newline": True}, {"num_gpu": 1}, {"num_thread": 2},
            {"num_batch": 2}, {"use_mmap": True}))]}
ONE_DIALECT = ("logit_bias web_search_options min_p repetition_penalty custom audio max_tool_calls truncation mode "
               "context_management inference_geo speed betas task_budget safetySettings labels serviceTier "
               "behavior responseModalities mediaResolution speechConfig num_ctx num_keep "
               "typical_p repeat_last_n repeat_penalty mirostat mirostat_tau mirostat_eta tfs_z "
               "penalize_newline num_gpu num_thread num_batch use_mmap").split()


def leaf(value, name=""):
    """The innermost name of a parameter that has one member at each level."""
    if isinstance(value, list) and len(value) == 1:
        return leaf(value[0], name)
    if isinstance(value, dict) and len(value) == 1:
        (name, inner), = value.items()
        return leaf(inner, name)
    return name
