// run.tsx - one run of an agent or workflow, by its address. SPDX-License-Identifier: Apache-2.0
import { Title } from "../parts/basics";
import { RunView } from "../parts/run";

export function RunPage({ id }: { id: string }) {
  const root = id.split("/")[0] ?? id; // steps of a part are shown with their run
  return (
    <>
      <p class="crumbs"><a href="/agents">Agents</a></p>
      <Title title={`Run ${root.slice(-8)}`} />
      <RunView key={root} id={root} whole={id} />
    </>
  );
}
