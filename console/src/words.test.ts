/** The same event has the same name in the API, on the command line and in the console. */
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { ApiClient } from '../../src/cli/shared/api-client.ts';
import { WAIT_WORDS } from '../../src/core/text/wait-words.ts';
import { showItem } from '../../src/outbound/notice-texts.ts';
import { because, CAUSES } from '../../src/scaling/because.ts';
import { readApiError } from './api/api-error.ts';
import { BUILD_STATUSES } from './pages/builds/build-values.ts';
import { BATCH_STATES } from './pages/endpoints/batches/batch-values.ts';
import { ENDPOINT_STATES } from './pages/endpoints/endpoint-states.ts';
import { JOB_STATUSES } from './pages/endpoints/jobs/job-status.ts';
import { type JobDetail, stepsOf } from './pages/endpoints/jobs/job-steps.ts';
import { WORKER_STATUSES } from './pages/endpoints/workers/worker-status.ts';
import { KEY_STATES } from './pages/keys/key-values.ts';
import { MODEL_STATES } from './pages/models/model-values.ts';
import { DELIVERY_STATES, EVENTS } from './pages/notices/notice-values.ts';
import { POD_STATUSES } from './pages/pods/pod-details.ts';
import { TEAM_STATES } from './pages/teams/team-values.ts';

const ROOT = new URL('../..', import.meta.url).pathname;

test.each(Object.entries(WAIT_WORDS))('a job that waits for the stage %s says so in one wording', (stage, words) => {
  const attempts = [{ stages: [{ stage, from: null, to: null, ms: 1, reason: null }], workerId: null }];
  const job = { createdAt: '', attempts, finishedAt: null, webhook: null } as unknown as JobDetail;
  expect(stepsOf(job).at(-1)!.label.toLowerCase()).toBe(words.toLowerCase());
});

/** Words that a notice in the console's form and the message that is sent must share. */
const NOTICES = {
  ENDPOINT_FAILING: /endpoint\b.* fails/i,
  WAITING_FOR_CAPACITY: /endpoint\b.* waits for capacity/i,
  QUEUE_SLOW: /jobs\b.* wait long/i,
  BUDGET: /budget\b.* pass\w* a threshold/i,
  KEY_EXPIRES: /key\b.* expires soon/i,
  DISK: /the disk is nearly full/i,
  LEADER_CHANGED: /the leader change/i,
  AUDIT_STREAM: /the audit log is not sent/i,
  UPDATE_AVAILABLE: /a newer version of podyard is available/i,
} satisfies Record<(typeof EVENTS)[number]['value'], RegExp>;

test.each(EVENTS)('the notice $value is sent in the words that it was chosen by', ({ value, label }) => {
  const item = { event: value, phase: 'BEGAN', name: 'x', owner: null, detail: '', page: '' } as const;
  const { title } = showItem(item as unknown as Parameters<typeof showItem>[0], '');
  expect(label).toMatch(NOTICES[value]);
  expect(title.replace('has passed', 'passes')).toMatch(NOTICES[value]);
});

test.each([
  ['a state of an endpoint', ENDPOINT_STATES, []],
  ['a state of a job', JOB_STATUSES, []],
  ['a state of a worker', WORKER_STATUSES, []],
  ['a state of a pod', POD_STATUSES, []],
  ['a state of a build', BUILD_STATUSES, []],
  ['a state of a batch', BATCH_STATES, []],
  ['a state of a team', TEAM_STATES, []],
  ['a state of a message to a destination', DELIVERY_STATES, []],
  // The console's own: the API has no word for them.
  ['a state of a key', KEY_STATES, ['UNUSED']],
  ['a state of a model on a machine', MODEL_STATES, ['FAILED']],
] as const)('%s is the API’s own word', (_, table, own) => {
  for (const [value, { label }] of Object.entries(table)) {
    if ((own as readonly string[]).includes(value)) continue;
    expect(label.toUpperCase().replaceAll(' ', '_')).toBe(value);
  }
});

test('every cause is one sentence, without a capital or a full stop, and names versions as everything else does', () => {
  expect(CAUSES.length).toBeGreaterThan(25);
  expect(because('OUTDATED', { version: 1, newest: 2 }).reason).toBe('version 2 replaces version 1');
  expect(because('TRIAL', 2).reason).toBe('version 2 is tried');
  expect(
    because('OVER_BUDGET', { amount: '10', isOfEndpoint: false, isByAdmin: false, until: '2026-12-01' }).reason,
  ).toBe('the monthly budget of 10 USD is used up; it is renewed on 2026-12-01 (UTC)');
});

/** A wording that was in use beside another one, and what is said now. */
const GONE: readonly [words: RegExp, now: string][] = [
  [/[Tt]he rollout\b|(?:Pause|Resume) rollout/, 'roll-out'],
  [/\brelease \$\{/, 'version N of an endpoint'],
  [/max workers is 0/, 'workers.max is 0'],
  [/is pulling its image/, 'pulls its image'],
  [/the api key was/, 'the API key was'],
  [/budget (?:is exhausted|is exceeded|ran out)/i, 'is used up'],
  [/(?:queue|endpoint) is overloaded/i, 'is full'],
  [/out of capacity|no free GPUs/i, 'no capacity'],
  [/job (?:has )?timed-out|time-out\b/i, 'timed out, timeout'],
  [/rejected immediately/, 'refused at once'],
  [/\bhealthcheck\b/i, 'health check, health path'],
  [/image could not be downloaded|download(?:ing)? the image/i, 'pull'],
  [/key is no longer valid|key is outdated/i, 'has expired'],
  [/\b(?:an|for|the) administrators?\b/i, 'admin'],
  [/\be-mails?\b/i, 'email'],
  [/can't reach the server/i, 'cannot be reached'],
  [/is not rolled out/, 'failed its trial'],
  [/denied in the browser/, 'denied in the console'],
  [/Created a new release with/, 'a new version has'],
  [/No line matches/, 'no lines match'],
  [/is not reached:/, 'cannot be reached'],
  [/[Cc]onnected, no output/, 'nothing was logged yet'],
  [/[Qq]uota of (?:GPUs|workers)/, 'GPU quota, worker quota'],
  [/can be used no more\./, 'is revoked'],
  [/ended without an order/, 'ended unexpectedly'],
];

test('a wording that was mended does not come back', () => {
  const files = globSync(['src/**/*.ts', 'console/src/**/*.{ts,tsx}'], {
    cwd: ROOT,
  });
  const found = files
    .filter((file) => !file.includes('.test.'))
    .flatMap((file) => {
      const text = readFileSync(`${ROOT}/${file}`, 'utf8');
      const texts = text.match(/'[^'\n]*'|"[^"\n]*"|`[^`]*`|>[^<>{}\n]+</g) ?? [];
      return GONE.filter(([words]) => texts.some((one) => words.test(one))).map(([words]) => `${file}: ${words}`);
    });
  expect(found).toEqual([]);
});

/** Sources of an interface in one text, without tests: as they are, and with `…` for what a template fills in. */
function sourcesOf(...patterns: string[]): string {
  const files = globSync(patterns, { cwd: ROOT, exclude: (name) => name.includes('.test.') });
  const sources = files.map((file) => readFileSync(`${ROOT}/${file}`, 'utf8'));
  return [...sources, ...sources.map(withoutValues)].join('\n');
}

/** `${…}` becomes `…`, however many braces are in it. */
function withoutValues(source: string): string {
  const parts: string[] = [];
  let from = 0;
  for (let at = source.indexOf('${'); at >= 0; at = source.indexOf('${', from)) {
    parts.push(source.slice(from, at), '…');
    from = at + 2;
    for (let depth = 1; depth > 0 && from < source.length; from++) depth += BRACES[source[from]!] ?? 0;
  }
  return parts.join('') + source.slice(from);
}
const BRACES: Record<string, number> = { '{': 1, '}': -1 };

test('each sentence of docs/checklists/words.md is one of the interface that it stands under', () => {
  const rows = readFileSync(`${ROOT}/docs/checklists/words.md`, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| ') && line.includes('`'))
    .map((line) => [...line.matchAll(/`([^`]+)`/g)].map(([, cell]) => cell!));
  expect(rows.length).toBeGreaterThan(40);
  const sources = [
    sourcesOf('src/!(cli)/**/*.ts'),
    sourcesOf('src/cli/**/*.ts'),
    sourcesOf('console/src/**/*.{ts,tsx}'),
  ];
  const unfound = rows.flatMap((cells) => {
    expect([cells, cells.length]).toEqual([cells, 3]);
    return cells.filter((cell, column) => cell !== '=' && !sources[column]!.includes(cell));
  });
  expect(unfound).toEqual([]);
});

test('the command line and the console show the sentence of an error as the API says it', async () => {
  const detail = 'The template is in use by an endpoint.';
  const server = createServer((_, response) => {
    response.writeHead(409, { 'content-type': 'application/problem+json' }).end(JSON.stringify({ detail }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const target = { url, key: 'k' };
  const client = new ApiClient(target, { interrupted: new AbortController().signal, env: {} });
  await expect(client.json('GET', '/')).rejects.toThrow(detail);
  expect((await readApiError(await fetch(url))).message).toBe(detail);
});
