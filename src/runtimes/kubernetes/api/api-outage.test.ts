import { expect, test } from 'vitest';
import { FakeApiServer, send } from '../../../../test/fake-api-server.ts';
import { Failure, isReported } from '../../../core/errors.ts';
import { type Logger, silentLogger } from '../../../core/logger.ts';
import { ApiOutage } from './api-outage.ts';
import { ApiServer } from './api-server.ts';
import { openAccess } from './cluster-access.ts';

function start() {
  const lines: string[] = [];
  const write = (fields: object, message: string) => {
    const { durationMs } = fields as { durationMs: number };
    lines.push(`${durationMs / 1000} s: ${message}`);
    expect(JSON.stringify(fields)).not.toContain(' at '); // no stack
  };
  const logger: Logger = { ...silentLogger, info: write, warn: write };
  const clock = { ms: 0, now: () => clock.ms };
  return { lines, clock, outage: new ApiOutage({ logger, clock }) };
}

const AWAY = '0 s: the Kubernetes API server does not answer; what runs keeps running';

test('an outage has a line when it begins, one a minute, and one when it ends, whatever fails meanwhile', () => {
  const { lines, clock, outage } = start();
  for (clock.ms = 0; clock.ms < 150_000; clock.ms += 500)
    outage.failed(new Failure('unavailable', 'connect ECONNREFUSED'));
  outage.answered();
  outage.answered();
  expect(lines).toEqual([
    AWAY,
    AWAY.replace('0', '60'),
    AWAY.replace('0', '120'),
    '150 s: the Kubernetes API server answers again',
  ]);
});

test('a server that answers now and then has a line a minute, not one for each failure', () => {
  const { lines, clock, outage } = start();
  for (; clock.ms < 59_000; clock.ms += 1_000) {
    outage.failed(new Failure('unavailable', 'socket hang up'));
    outage.answered();
  }
  expect(lines).toEqual([AWAY, '0 s: the Kubernetes API server answers again']);
});

test('requests without an answer are reported there, and nowhere else; refusals and failures of the server are answers', async () => {
  const seen: string[] = [];
  const outage = { failed: () => seen.push('failed'), answered: () => seen.push('answered') };
  const fake = await FakeApiServer.start((_, response) => send(response, { message: 'etcd is gone' }, 500));
  const { port } = fake;
  const api = new ApiServer(async () => openAccess(`http://127.0.0.1:${port}`), outage);
  await expect(api.json({ method: 'GET', path: '/' })).rejects.toThrow('etcd is gone');
  await fake.close();
  await expect(api.json({ method: 'GET', path: '/' })).rejects.toMatchObject({ kind: 'unavailable' });
  await api.close();
  expect(seen).toEqual(['answered', 'failed']);

  const error = new Failure('unavailable', 'The Kubernetes API server does not answer');
  start().outage.failed(error);
  expect(isReported(new Error('a task', { cause: error }))).toBe(true);
});
