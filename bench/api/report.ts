import { median } from '../median.ts';
import { number } from '../queue/report.ts';
import { renderTable } from '../queue/table.ts';
import type { Machine } from '../results.ts';
import type { ApiLoadResult } from './load.ts';

/** `…Alone`: one request at a time. Only Podyard has releases, lists, and templates over REST and GraphQL. */
export interface ApiRound {
  getAlone: ApiLoadResult;
  get: ApiLoadResult;
  patchAlone: ApiLoadResult;
  patch: ApiLoadResult;
  release?: ApiLoadResult;
  list?: ApiLoadResult;
  template?: ApiLoadResult;
  saveTemplate?: ApiLoadResult;
  literals?: ApiLoadResult;
}

interface Measured {
  name: 'bare' | 'podyard';
  endpoints: number;
  rounds: ApiRound[];
}

/** The results of a run: the bare routes and Podyard with few endpoints, then both with many. Written as JSON. */
export interface ApiReport {
  startedAt: string;
  machine: Machine;
  subjects: Measured[];
}

type Pick = (round: ApiRound) => number | undefined;

export function renderApiReport(report: ApiReport): string {
  const { cpus, node, fsyncMs } = report.machine;
  const [bareFew, few, bareMany, many] = report.subjects as [Measured, Measured, Measured, Measured];
  const of = (one: Measured, pick: Pick) => median(one.rounds.map((round) => pick(round) ?? Number.NaN));
  const row = (title: string, digits: number, pick: Pick) => [
    title,
    number(of(bareFew, pick), digits),
    number(of(few, pick), digits),
    number(of(few, pick) / of(bareFew, pick), 2),
    number(of(bareMany, pick), digits),
    number(of(many, pick), digits),
    number(of(many, pick) / of(bareMany, pick), 2),
    percent(of(many, pick) / of(few, pick) - 1),
  ];
  const alone = (title: string, digits: number, value: number) => [
    title,
    ...['', '', '', ''],
    number(value, digits),
    '',
    '',
  ];
  /** The maximum of all rounds: a median would hide a pause. */
  const longest = Math.max(...many.rounds.map((round) => round.list?.probeMs?.max ?? Number.NaN));
  return [
    `${cpus}, Node.js ${node}, fdatasync ${fsyncMs.toFixed(2)} ms; medians of the rounds; the load generator runs on the same machine\n`,
    renderTable([
      [
        'bare Fastify and Podyard',
        `bare, ${bareFew.endpoints}`,
        `podyard, ${few.endpoints}`,
        'ratio',
        `bare, ${bareMany.endpoints}`,
        `podyard, ${many.endpoints}`,
        'ratio',
        'podyard, change',
      ],
      row('GET alone, p50 ms', 3, (round) => round.getAlone.latenciesMs.p50),
      row('GET alone, p99 ms', 3, (round) => round.getAlone.latenciesMs.p99),
      row('GET/s', 0, (round) => round.get.perSecond),
      row('  server CPU, us per request', 0, (round) => round.get.serverCpuUs),
      row('  database CPU, us per request', 0, (round) => round.get.storeCpuUs),
      row('PATCH alone, p50 ms', 3, (round) => round.patchAlone.latenciesMs.p50),
      row('PATCH alone, p99 ms', 3, (round) => round.patchAlone.latenciesMs.p99),
      row('PATCH/s', 0, (round) => round.patch.perSecond),
      row('  p50 ms', 2, (round) => round.patch.latenciesMs.p50),
      row('  server CPU, us per request', 0, (round) => round.patch.serverCpuUs),
      row('  database CPU, us per request', 0, (round) => round.patch.storeCpuUs),
      row('PATCH/s, each makes a release', 0, (round) => round.release?.perSecond),
      row('  server CPU, us per request', 0, (round) => round.release?.serverCpuUs),
      alone(
        'list of all, p50 ms',
        0,
        of(many, (round) => round.list?.latenciesMs.p50),
      ),
      alone(
        '  MB',
        1,
        of(many, (round) => round.list && round.list.responseBytes / 2 ** 20),
      ),
      alone(
        '  GET beside it, p50 ms',
        2,
        of(many, (round) => round.list?.probeMs?.p50),
      ),
      alone('  GET beside it, longest ms', 1, longest),
      row('template: PATCH/s by REST', 0, (round) => round.template?.perSecond),
      row('  server CPU, us per request', 0, (round) => round.template?.serverCpuUs),
      row('template: saveTemplate/s, variables', 0, (round) => round.saveTemplate?.perSecond),
      row('  share of PATCH/s', 2, (round) => shareOfPatch(round, round.saveTemplate)),
      row('  server CPU, us per request', 0, (round) => round.saveTemplate?.serverCpuUs),
      row('template: saveTemplate/s, literals', 0, (round) => round.literals?.perSecond),
      row('  share of PATCH/s', 2, (round) => shareOfPatch(round, round.literals)),
      row('  server CPU, us per request', 0, (round) => round.literals?.serverCpuUs),
      row('CPU used by others, %', 0, (round) => median(Object.values(round).map((one) => one.othersCpuShare)) * 100),
      row('failed requests', 0, (round) => Object.values(round).reduce((sum, one) => sum + one.errors, 0)),
    ]),
  ].join('\n');
}

function shareOfPatch(round: ApiRound, other: ApiLoadResult | undefined): number | undefined {
  return round.template && other && other.perSecond / round.template.perSecond;
}

function percent(share: number): string {
  return Number.isNaN(share) ? '-' : `${number(share * 100, 1)} %`;
}
