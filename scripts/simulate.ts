/**
 * `npm run simulate -- <scenario> [--hours n] [--seed n] [--out file.svg]`: runs a day of traffic through the scaling
 * rules in seconds, prints the outcome and draws a chart. `internet` takes minutes, or fewer `--endpoints n`.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { renderTable } from '../bench/queue/table.ts';
import { drawChart } from '../bench/simulate/chart.ts';
import type { TenantResult } from '../bench/simulate/endpoint.ts';
import { simulateInternet } from '../bench/simulate/internet.ts';
import { internetDay } from '../bench/simulate/internet-day.ts';
import { SCENARIOS, type Scenario } from '../bench/simulate/scenarios.ts';
import { renderSummary } from '../bench/simulate/summary.ts';
import { simulate } from '../bench/simulate/world.ts';

const USAGE = 'usage: npm run simulate -- <scenario> [--hours n] [--seed n] [--out file.svg] [--endpoints n]';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    hours: { type: 'string' },
    seed: { type: 'string', default: '1' },
    out: { type: 'string' },
    endpoints: { type: 'string' },
  },
});
const [name = ''] = positionals;
const hours = values.hours === undefined ? undefined : Number(values.hours);
const build = SCENARIOS[name];
if (name === 'internet') await playInternet();
else if (build) {
  const scenario = build(hours);
  await report(scenario, simulate(scenario, Number(values.seed)));
} else {
  const known = [...Object.values(SCENARIOS).map((scenario) => scenario()), internetDay()];
  const table = renderTable([['scenario', 'what is to be seen'], ...known.map((one) => [one.name, one.about])]);
  process.stderr.write(`${USAGE}\n\n${table}`);
  process.exitCode = 1;
}

async function playInternet(): Promise<void> {
  const day = internetDay(values.endpoints === undefined ? undefined : Number(values.endpoints), hours);
  const startedAt = process.cpuUsage();
  const { results, decisions, placements, mostActive } = simulateInternet(day, Number(values.seed));
  const { user, system } = process.cpuUsage(startedAt);
  const seconds = (user + system) / 1e6;
  const perSecond = (count: number) => Math.round(count / seconds).toLocaleString('en');
  await report(day, results);
  process.stdout.write(
    `${seconds.toFixed(1)} s of processor time: ${perSecond(decisions)} decisions/s and ${perSecond(placements)} placements/s, ` +
      `${decisions.toLocaleString('en')} and ${placements.toLocaleString('en')} in all; ` +
      `at most ${mostActive.toLocaleString('en')} endpoints with work or workers; ` +
      `${Math.round(process.resourceUsage().maxRSS / 1024)} MB of memory\n`,
  );
}

async function report(
  scenario: Pick<Scenario, 'name' | 'about' | 'durationMs'>,
  results: readonly TenantResult[],
): Promise<void> {
  const file = values.out ?? `.cache/simulate/${scenario.name}.svg`;
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, drawChart(scenario, results));
  process.stdout.write(`${scenario.about}\n\n${renderSummary(results)}\n${file}\n`);
}
