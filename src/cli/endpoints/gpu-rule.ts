import type { ApiClient } from '../shared/api-client.ts';
import type { CliOutput } from '../shared/cli-pieces.ts';
import type { Wire } from '../shared/records.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';

export interface GpuRuleOptions {
  exclude?: string[];
  cuda?: string[];
  minCuda?: string;
  clear?: boolean;
  json?: boolean;
}

const COLUMNS: readonly Column<Wire>[] = [
  ['EXCLUDED', (r) => r.excludedGpuTypes.join(', ')],
  ['CUDA', (r) => r.allowedCudaVersions.join(', ')],
  ['MIN CUDA', (r) => r.minCudaVersion],
];

/** Shows the GPU rule of an endpoint, after changing what is given or clearing it. */
export async function editGpuRule(
  client: ApiClient,
  endpointId: string,
  { exclude, cuda, minCuda, clear, json }: GpuRuleOptions,
  output: CliOutput,
): Promise<void> {
  const path = `/v2/serverless/${endpointId}/gpu-rule`;
  const none = { excludedGpuTypes: [], allowedCudaVersions: [], minCudaVersion: null };
  const before = clear ? none : await client.call<typeof none>('GET', path);
  const change = {
    ...(exclude && { excludedGpuTypes: exclude }),
    ...(cuda && { allowedCudaVersions: cuda }),
    ...(minCuda !== undefined && { minCudaVersion: minCuda }),
  };
  const isChanged = clear || Object.keys(change).length > 0;
  const rule = isChanged ? await client.call<Wire>('PUT', path, { ...before, ...change }) : before;
  if (json) return output.print(jsonText(rule));
  output.print(formatTable(COLUMNS, [rule as Wire], output.screen));
}
