// sessions.tsx - sessions as rows; as cards where there is no room for rows. SPDX-License-Identifier: Apache-2.0
import type { Session, SessionDetail } from "../api";
import { count, duration, money, plural, short } from "../format";
import { Figure, Marked, Status, Text, When } from "./basics";
import { CompareBar, Pick, usePicked, type Picked } from "./picked";

export function sessionAddress(id: string, event?: string | null): string {
  return `/sessions/${encodeURIComponent(id)}${event ? `#${encodeURIComponent(event)}` : ""}`;
}

function Row({ s, q, picked }: { s: Session; q: string; picked: Picked | null }) {
  const title = s.title || (s.agent_type === "gateway" ? "" : s.alert_type) || s.session_id;
  const tools = s.tool_call_count;
  return (
    <tr>
      {picked ? <td class="pick-cell"><Pick picked={picked} id={s.session_id} name={title} /></td> : null}
      <td class="main">
        <a href={sessionAddress(s.session_id)} data-item><Marked q={q}>{title}</Marked></a>
        <span class="under">
          <Text>{[s.model, s.key_name, s.agent_type === "gateway" ? s.alert_type : s.agent_type].filter(Boolean).join(" · ")}</Text>
        </span>
      </td>
      <td><Status of={s.status} /></td>
      <td class="n" data-label="calls">{count(s.llm_interaction_count)}{tools ? <small> + {plural(tools, "tool call")}</small> : null}</td>
      <td class="n" data-label="tokens">{short((s.input_tokens ?? 0) + (s.output_tokens ?? 0))}</td>
      <td class="n" data-label="thought">{s.has_reasoning && !s.reasoning_tokens ? "yes" : short(s.reasoning_tokens)}</td>
      <td class="n" data-label="cost">{money(s.cost_usd)}</td>
      <td class="n" data-label="took">{duration(s.duration_ms)}</td>
      <td class="n when"><When us={s.started_at_us} /></td>
    </tr>
  );
}

// q: the words of a search, marked in the titles. picks: two can be chosen to be compared.
export function SessionTable({ sessions, q = "", picks = false }: { sessions: Session[]; q?: string; picks?: boolean }) {
  const picked = usePicked();
  return (
    <>
      {picks ? <CompareBar kind="session" picked={picked} /> : null}
      <table class="rows sessions">
        <thead>
          <tr>{picks ? <th><span class="unseen">Compare</span></th> : null}<th>Session</th><th>Status</th><th class="n">Calls</th><th class="n">Tokens</th><th class="n">Thought</th><th class="n">Cost</th><th class="n">Took</th><th class="n">Started</th></tr>
        </thead>
        <tbody>{sessions.map((s) => <Row key={s.session_id} s={s} q={q} picked={picks ? picked : null} />)}</tbody>
      </table>
    </>
  );
}

// docs/reference/history.md says what each of them counts; every page and command has the same.
export function SessionNumbers({ s }: { s: SessionDetail }) {
  const { reasoning_tokens: reasoning, output_tokens: output } = s;
  const errors = s.summary?.errors ?? 0;
  return (
    <dl class="figures">
      <Figure label="Model calls" value={count(s.llm_interaction_count)} />
      <Figure label="Tool calls" value={count(s.tool_call_count)} />
      <Figure label="Took" value={duration(s.duration_ms)} />
      <Figure label="Tokens" value={`${count(s.input_tokens)} in`} note={`${count(output)} out`} />
      <Figure label="Thought" value={count(reasoning)} note={output && reasoning ? `${Math.round((100 * Math.min(reasoning, output)) / output)} % of out` : "tokens"} />
      <Figure label="Cost" value={money(s.cost_usd)} />
      {errors ? <Figure label="Errors" value={count(errors)} tone="warm" /> : null}
    </dl>
  );
}
