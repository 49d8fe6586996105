/**
 * `npm run simulate -- <scenario> [--hours n] [--seed n] [--out file.svg]`: runs a day of traffic through the scaling
 * rules in seconds, prints the outcome and draws a chart.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { renderTable } from '../bench/queue/table.ts';
import { drawChart } from '../bench/simulate/chart.ts';
import { SCENARIOS } from '../bench/simulate/scenarios.ts';
import { renderSummary } from '../bench/simulate/summary.ts';
import { simulate } from '../bench/simulate/world.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { hours: { type: 'string' }, seed: { type: 'string', default: '1' }, out: { type: 'string' } },
});
const build = SCENARIOS[positionals[0] ?? ''];
if (!build) {
  const known = Object.values(SCENARIOS).map((scenario) => [scenario().name, scenario().about]);
  process.stderr.write(`usage: npm run simulate -- <scenario> [--hours n] [--seed n] [--out file.svg]\n\n`);
  process.stderr.write(renderTable([['scenario', 'what is to be seen'], ...known]));
  process.exitCode = 1;
} else {
  const scenario = build(values.hours === undefined ? undefined : Number(values.hours));
  const results = simulate(scenario, Number(values.seed));
  const file = values.out ?? `.cache/simulate/${scenario.name}.svg`;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, drawChart(scenario, results));
  process.stdout.write(`${scenario.about}\n\n${renderSummary(results)}\n${file}\n`);
}
