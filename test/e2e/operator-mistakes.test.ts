import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { until } from './api.ts';
import { type Command, podyard, run, runToFailure } from './podyard-command.ts';

const TLS = fileURLToPath(new URL('../fixtures/tls/', import.meta.url));
const SHORT_KEY = 'pyk_short';

let dataDir: string;
let server: Command;
let url: string;
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'podyard-mistakes-'));
  const args = ['serve', '--data-dir', dataDir, '--port', '0', '--runtime', 'simulated'];
  server = podyard([...args, ...tls('first.crt', 'first.key')], { PODYARD_ADMIN_KEY: SHORT_KEY });
  await until('it is ready', async () => server.text().includes('Podyard is ready at'), 60_000);
  url = /ready at (\S+)/.exec(server.text())![1]!;
});
afterAll(async () => {
  if (server.exitCode === null) {
    server.kill('SIGTERM');
    await once(server, 'close');
  }
  await rm(dataDir, { recursive: true, force: true });
});

/** Runs a server until it is ready. */
async function runOnce(args: readonly string[]): Promise<void> {
  const started = podyard(args);
  await until('it is ready', async () => started.text().includes('Podyard is ready at'), 60_000);
  started.kill('SIGTERM');
  await once(started, 'close');
}

test('commands for a database make none where no server has run, and say where they looked', async () => {
  const empty = await mkdtemp(join(tmpdir(), 'podyard-mistakes-'));
  const data = join(empty, 'data');
  const places = ['--data-dir', data];
  for (const args of [
    ['keys', 'list'],
    ['users', 'list'],
    ['simulate', 'show'],
    ['templates', 'mark', 'x', 'none'],
    ['secrets', 'rotate-key'],
    ['stop-workers'],
    ['backup', join(empty, 'file')],
    ['move', '--to', 'postgresql://127.0.0.1:9/x'],
  ]) {
    expect(await runToFailure([...args, ...places])).toMatch(
      /^podyard: there is no (Podyard )?database in \S+\/data: /,
    );
  }
  await once(podyard(['doctor', ...places, '--port', '0']), 'close');
  expect(await readdir(empty)).toEqual([]);
  await rm(empty, { recursive: true });
});

const tls = (cert: string, key: string) => ['--tls-cert', join(TLS, cert), '--tls-key', join(TLS, key)];

test('a wrong certificate ends the start with one sentence', async () => {
  const other = await mkdtemp(join(tmpdir(), 'podyard-mistakes-'));
  const start = (...files: [string, string]) =>
    runToFailure(['serve', '--data-dir', other, '--port', '0', '--runtime', 'simulated', ...tls(...files)]);
  expect(await start('missing.crt', 'first.key')).toMatch(
    /^podyard: --tls-cert: \S+missing\.crt cannot be read: .*\n$/,
  );
  expect(await start('first.key', 'first.crt')).toMatch(
    /^podyard: \S+ and \S+ are not a certificate and its private key\n$/,
  );
  await rm(other, { recursive: true });
});

test('a second server on a data directory is refused with the pid of the first', async () => {
  const second = ['serve', '--data-dir', dataDir, '--port', '0', '--runtime', 'simulated'];
  expect(await runToFailure(second)).toContain(`podyard: a server with pid ${server.pid} runs on this directory`);
});

test('a short admin key is warned of at the start, in the console’s facts and by doctor', async () => {
  const warning = 'WARNING: PODYARD_ADMIN_KEY has fewer than 16 characters';
  expect(server.text()).toContain(`! ${warning}`);
  const { body } = await request('/v2/account/installation');
  expect(JSON.parse(body).notices[0]).toContain(warning);
  const doctor = podyard(['doctor', '--data-dir', dataDir, '--port', '0'], { PODYARD_ADMIN_KEY: SHORT_KEY });
  await once(doctor, 'close');
  expect(doctor.text()).toContain(warning);
});

test('the process runtime refuses to start with several users, unless told to', async () => {
  const own = await mkdtemp(join(tmpdir(), 'podyard-mistakes-'));
  await runOnce(['serve', '--data-dir', own, '--port', '0', '--runtime', 'simulated']);
  for (const name of ['anna', 'bert']) await run(['users', 'create', name, '--data-dir', own]);
  const args = ['serve', '--data-dir', own, '--port', '0', '--runtime', 'process'];
  expect(await runToFailure(args)).toContain('podyard: the process runtime does not separate users, and there are 3:');
  await runOnce([...args, '--insecure-process-runtime']);
  await rm(own, { recursive: true, force: true });
});

test('egress that cannot be enforced ends the start, and doctor says so', async () => {
  const own = await mkdtemp(join(tmpdir(), 'podyard-mistakes-'));
  const args = ['--data-dir', own, '--port', '0', '--runtime', 'process', '--egress', 'internet'];
  expect(await runToFailure(['serve', ...args])).toContain('podyard: --egress internet: processes cannot be limited');
  const doctor = podyard(['doctor', ...args]);
  await once(doctor, 'close');
  expect(doctor.text()).toContain('MISS  egress     not limited: workers and pods reach all services');
  expect(await runToFailure(['serve', '--egress', 'lan', '--egress-allow', 'example.com'], {}, 2)).toContain(
    "podyard: --egress-allow has 'example.com', but takes networks",
  );
  await rm(own, { recursive: true, force: true });
});

test('doctor says that no server could keep its data there', async () => {
  for (const place of ['/proc/podyard', '/dev/null']) {
    const doctor = podyard(['doctor', '--data-dir', place, '--port', '0', '--runtime', 'process']);
    await once(doctor, 'close');
    expect(doctor.text()).toMatch(/^MISS {2}data /m);
  }
});

test('doctor advises several users to close private networks', async () => {
  await run(['users', 'create', 'anna', '--data-dir', dataDir]);
  const ask = async (...more: string[]) => {
    const doctor = podyard(['doctor', '--data-dir', dataDir, '--port', '0', '--runtime', 'process', ...more]);
    await once(doctor, 'close');
    return doctor.text();
  };
  const advice = '2 users, whose code reaches the private networks of this machine';
  expect(await ask()).toContain(advice);
  expect(await ask('--egress', 'internet')).not.toContain(advice);
});

test('with TLS, answers tell browsers to stay with it', async () => {
  for (const path of ['/', '/healthz', '/v2/serverless', '/v2/none/health', '/graphql']) {
    expect((await request(path)).headers['strict-transport-security']).toBe('max-age=31536000');
  }
});

/** With the admin's key, whatever the certificate. */
async function request(path: string) {
  const headers = { authorization: `Bearer ${SHORT_KEY}` };
  const [response] = await once(get(url + path, { headers, rejectUnauthorized: false }), 'response');
  let body = '';
  for await (const chunk of response) body += chunk;
  return { headers: response.headers as Record<string, string>, body };
}
