// sessions.tsx - sessions as rows; as cards where there is no room for rows. SPDX-License-Identifier: Apache-2.0
import type { Session } from "../api";
import { count, duration, money, short } from "../format";
import { Status, Text, When } from "./basics";

export function sessionAddress(id: string, event?: string | null): string {
  return `/sessions/${encodeURIComponent(id)}${event ? `#${encodeURIComponent(event)}` : ""}`;
}

function Row({ s }: { s: Session }) {
  const title = s.title || (s.agent_type === "gateway" ? "" : s.alert_type) || s.session_id;
  const tools = s.mcp_communication_count;
  return (
    <tr>
      <td class="main">
        <a href={sessionAddress(s.session_id)} data-item><Text>{title}</Text></a>
        <span class="under">
          <Text>{[s.model, s.key_name, s.agent_type === "gateway" ? s.alert_type : s.agent_type].filter(Boolean).join(" · ")}</Text>
        </span>
      </td>
      <td><Status of={s.status} /></td>
      <td class="n" data-label="calls">{count(s.llm_interaction_count)}{tools ? <small> + {count(tools)} tools</small> : null}</td>
      <td class="n" data-label="tokens">{short((s.input_tokens ?? 0) + (s.output_tokens ?? 0))}</td>
      <td class="n" data-label="thought">{s.reasoning_tokens ? short(s.reasoning_tokens) : s.has_reasoning ? "yes" : "–"}</td>
      <td class="n" data-label="cost">{money(s.cost_usd)}</td>
      <td class="n" data-label="took">{duration(s.duration_ms)}</td>
      <td class="n when"><When us={s.started_at_us} /></td>
    </tr>
  );
}

export function SessionTable({ sessions }: { sessions: Session[] }) {
  return (
    <table class="rows sessions">
      <thead>
        <tr><th>Session</th><th>Status</th><th class="n">Calls</th><th class="n">Tokens</th><th class="n">Thought</th><th class="n">Cost</th><th class="n">Took</th><th class="n">Started</th></tr>
      </thead>
      <tbody>{sessions.map((s) => <Row key={s.session_id} s={s} />)}</tbody>
    </table>
  );
}
