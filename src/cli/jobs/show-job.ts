import type { ApiClient } from '../shared/api-client.ts';
import type { CommandOutput } from '../shared/cli-pieces.ts';
import type { Wire } from '../shared/records.ts';
import { type Column, formatTable } from '../terminal/table.ts';
import { jsonText } from '../terminal/terminal-text.ts';
import { formatOutput } from './follow-job.ts';

const FIELDS: readonly Column<[name: string, value: unknown]>[] = [
  ['FIELD', ([name]) => name],
  ['VALUE', ([, value]) => value],
];
const STAGES: readonly Column<Wire>[] = [
  ['ATTEMPT', (r) => r.attempt],
  ['STAGE', (r) => r.stage],
  ['FROM', (r) => r.from],
  ['MS', (r) => r.ms],
  ['WORKER', (r) => r.workerId],
  ['WHY', (r) => r.reason],
];
const TRIES: readonly Column<Wire>[] = [
  ['WEBHOOK TRIED', (r) => r.at],
  ['STATUS', (r) => r.status],
  ['ERROR', (r) => r.error],
];

/** Prints a job in sections, or one of its payloads alone. */
export async function showJob(
  client: ApiClient,
  { endpointId, id }: { endpointId: string; id: string },
  options: { input?: boolean; output?: boolean; json?: boolean },
  output: CommandOutput,
): Promise<void> {
  const path = `/v2/serverless/${endpointId}/requests/${id}`;
  for (const payload of ['input', 'output'] as const) {
    if (options[payload]) return printPayload(client, `${path}/${payload}`, output);
  }
  const job = await client.call<Wire>('GET', path);
  if (options.json) return void output.print(jsonText(job));
  const stages = (job.attempts as Wire[]).flatMap(({ stages: all, ...attempt }) =>
    (all as Wire[]).map((stage) => ({ ...attempt, ...stage })),
  );
  const sections = [
    formatTable(FIELDS, fieldsOf(job), output.screen),
    ...(stages.length > 0 ? [formatTable(STAGES, stages, output.screen)] : []),
    ...(job.webhook?.tries.length > 0 ? [formatTable(TRIES, job.webhook.tries, output.screen)] : []),
    ...(job.error ? [`ERROR\n${job.error}`] : []),
    ...payloadOf('input', job),
    ...payloadOf('output', job),
  ];
  output.print(sections.join('\n\n'));
}

function fieldsOf({ wait, webhook, ...job }: Wire): [name: string, value: unknown][] {
  const plain = Object.entries(job).filter(
    ([name, value]) => !['attempts', 'error', 'input', 'output'].includes(name) && typeof value !== 'object',
  );
  return [
    ...plain,
    ...(wait
      ? ([
          ['waits for', wait.text],
          ['jobs ahead', wait.ahead],
        ] as [string, unknown][])
      : []),
    ...(webhook ? ([['webhook', `${webhook.state}, ${webhook.url}`]] as [string, unknown][]) : []),
  ];
}

function payloadOf(name: 'input' | 'output', job: Wire): string[] {
  if (name in job) return [`${name.toUpperCase()}\n${formatOutput(job[name])}`];
  const bytes = job[`${name}Bytes`];
  return bytes ? [`${name.toUpperCase()}\n${bytes} bytes: \`podyard jobs get … --${name}\` prints it`] : [];
}

async function printPayload(client: ApiClient, path: string, { terminal }: CommandOutput): Promise<void> {
  const response = await client.send('GET', path);
  for await (const text of response.body!.pipeThrough(new TextDecoderStream())) terminal.write(text);
  terminal.write('\n');
}
