// calllist.tsx - calls as rows; two of them can be chosen and compared. SPDX-License-Identifier: Apache-2.0
import type { CallRow } from "../api";
import { count, duration, money, short } from "../format";
import { errorWords } from "../labels";
import { momentIn } from "../zone";
import { Badge, Text } from "./basics";
import { CompareBar, Pick, usePicked } from "./picked";
import { sessionAddress } from "./sessions";

function Outcome({ c }: { c: CallRow }) {
  if (c.error_code || (c.status ?? 200) >= 400) return <Badge tone="bad" title={`failed with status ${c.status ?? "–"}`}><Text>{errorWords(c.error_code, c.status)}</Text></Badge>;
  return <>{c.starved ? <Badge tone="bad">starved</Badge> : null}{c.cut ? <Badge tone="warm">cut</Badge> : null}{!c.starved && !c.cut ? <span class="status good"><i aria-hidden="true" />ok</span> : null}</>;
}

export function CallTable({ calls, zone }: { calls: CallRow[]; zone: string }) {
  const picked = usePicked();
  return (
    <>
      <CompareBar kind="call" picked={picked} />
      <div class="wide"><table class="rows calllist">
        <thead><tr><th><span class="unseen">Compare</span></th><th>Call</th><th>Ended</th><th class="n">Took</th><th class="n">In</th><th class="n">Out</th><th class="n">Thought</th><th class="n">Cost</th><th class="n">Started</th></tr></thead>
        <tbody>
          {calls.map((c) => (
            <tr key={c.interaction_id}>
              <td class="pick-cell"><Pick picked={picked} id={c.interaction_id} name={c.title || c.interaction_id} /></td>
              <td class="main">
                <a href={sessionAddress(c.session_id ?? "", c.interaction_id)} data-item><Text>{c.title || c.interaction_id}</Text></a>
                <span class="under"><Text>{[c.model, c.key_name, c.application === "gateway" ? "" : c.application].filter(Boolean).join(" · ")}</Text></span>
              </td>
              <td data-label="ended"><Outcome c={c} /></td>
              <td class="n" data-label="took">{duration(c.duration_ms)}</td>
              <td class="n" data-label="in">{short(c.input_tokens)}</td>
              <td class="n" data-label="out">{short(c.output_tokens)}</td>
              <td class="n" data-label="thought">{c.has_reasoning && !c.reasoning_tokens ? "yes" : count(c.reasoning_tokens)}</td>
              <td class="n" data-label="cost">{money(c.cost_usd)}</td>
              <td class="n when"><time dateTime={new Date(c.started_at_us / 1000).toISOString()}>{momentIn(c.started_at_us / 1000, zone)}</time></td>
            </tr>
          ))}
        </tbody>
      </table></div>
    </>
  );
}
