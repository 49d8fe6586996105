import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { newId } from '../../src/core/ids.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { MAIN } from '../podyard-main.ts';
import { hasTmux } from '../real-terminal.ts';
import { until } from './api.ts';
import { ServerProcess } from './server-process.ts';

let database: TestDatabase;
let server: ServerProcess;
let home: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  database = await createTestDatabase();
  server = await ServerProcess.start({ runtime: 'process', databaseUrl: database.url });
  home = await mkdtemp(join(tmpdir(), 'podyard-cli-'));
  env = { ...process.env, HOME: home, XDG_CONFIG_HOME: '', PODYARD_URL: server.url, PODYARD_API_KEY: server.key };
  await podyard(
    ...['endpoints', 'create', '--name', 'echo', '--image', 'podyard/echo-js:dev', '--pool', 'ADA_24'],
    ...['--idle-timeout', '600', '--workers-max', '1'],
  );
});
afterAll(async () => {
  await server?.dispose();
  await database?.drop();
  await rm(home, { recursive: true, force: true });
});

/** Runs the command and returns any exit status. */
async function podyard(...args: string[]): Promise<{ status: number; out: string; err: string }> {
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [MAIN, ...args], { env });
    return { status: 0, out: stdout, err: stderr };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { status: code, out: stdout, err: stderr };
  }
}

test('run prints the output to stdout and everything else to stderr', async () => {
  const done = await podyard('run', 'echo', '{"echo": {"answer": 42}, "progress": ["half way"]}');
  expect(JSON.parse(done.out)).toEqual({ answer: 42 });
  expect(done.err).toMatch(/COMPLETED: waited \d+ ms, ran \d+ ms, on worker \w+/);
  const file = join(home, 'input.json');
  await writeFile(file, '{"echo": "from a file"}');
  expect((await podyard('run', 'echo', '--file', file)).out).toBe('from a file\n');
});

test('run distinguishes failures, rejected inputs and streams', async () => {
  expect(await podyard('run', 'echo', '{"throw": "no such model"}')).toMatchObject({
    status: 7,
    err: expect.stringContaining('no such model'),
  });
  expect(await podyard('run', 'echo', '{oops')).toMatchObject({
    status: 2,
    err: expect.stringContaining('not valid JSON'),
  });
  const stream = await podyard('run', 'echo', '{"stream": 3, "echo": "x"}', '--stream');
  expect(stream.out.match(/"index": \d/g)).toEqual(['"index": 0', '"index": 1', '"index": 2']);
  const { out } = await podyard('run', 'echo', '{}', '--async');
  expect(out).toMatch(/^[\w-]+\n$/);
});

test('Ctrl-C with --cancel-on-interrupt cancels the job and exits with 130', async () => {
  const args = ['run', 'echo', '{"delayMs": 600000}', '--cancel-on-interrupt'];
  const child = spawn(process.execPath, [MAIN, ...args], { env, stdio: 'ignore' });
  const running = () => server.query<{ id: string }>("select id from jobs where status = 'IN_PROGRESS'");
  await until('the job runs', async () => (await running()).length === 1);
  child.kill('SIGINT');
  const [status] = (await once(child, 'exit')) as [number];
  expect(status).toBe(130);
  await until('the job is cancelled', async () => (await running()).length === 0);
});

test('logs prints the output of the newest worker and follows it', async () => {
  await podyard('run', 'echo', '{"logLines": 2}');
  expect((await podyard('logs', 'echo', '--source', 'container')).out).toContain('line 2');
  const child = spawn(process.execPath, [MAIN, 'logs', 'echo', '-f', '--tail', '0'], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let seen = '';
  child.stdout.on('data', (chunk) => {
    seen += chunk;
  });
  await until('new lines come', async () => {
    await podyard('run', 'echo', '{"logLines": 7}');
    return seen.includes('line 7');
  });
  child.kill('SIGINT');
  await once(child, 'exit');
});

test('update --wait rolls a release out, and rollback returns to the one before', async () => {
  // Its own endpoint with a ready worker, so that a retry starts from the same state.
  const name = `rolls-${newId(6)}`;
  await podyard(
    ...['endpoints', 'create', '--name', name, '--image', 'podyard/echo-js:dev', '--pool', 'ADA_24'],
    ...['--workers-min', '1', '--workers-max', '2'],
  );
  expect((await podyard('run', name, '{"env": "RUNPOD_POD_ID"}')).status).toBe(0);
  const updated = await podyard('endpoints', 'update', name, '--image', 'podyard/echo-js:v2', '--wait');
  expect(updated).toMatchObject({ status: 0, err: expect.stringMatching(/Version 2 is rolled out: [1-9]/) });
  expect(await podyard('rollback', name)).toMatchObject({
    status: 0,
    err: expect.stringMatching(/Version 3 has the settings of version 1(.|\n)*Version 3 is rolled out: [1-9]/),
  });
  expect((await podyard('endpoints', 'delete', name, '--yes')).status).toBe(0);
});

test('pods create --wait waits until the pod runs or fails', async () => {
  const made = await podyard(
    ...['pods', 'create', '--name', 'box', '--image', 'podyard/web-js:dev', '--cpu', 'cpu3c', '--port', '8127/http'],
    ...['--env', 'PORT=8127', '--wait'],
  );
  expect(made).toMatchObject({ status: 0, err: expect.stringContaining('The pod is running.') });
  expect((await podyard('pods')).out).toMatch(/box +RUNNING/);
  expect((await podyard('pods', 'stop', 'box')).status).toBe(0);
  expect((await podyard('pods', 'delete', 'box', '--yes')).status).toBe(0);
  const missing = await podyard(
    'pods',
    'create',
    '--name',
    'lost',
    '--image',
    'no/such:image',
    '--cpu',
    'cpu3c',
    '--wait',
  );
  expect(missing).toMatchObject({ status: 1, err: expect.stringContaining('the pod is ERROR') });
  await podyard('pods', 'delete', 'lost', '--yes');
});

test('an endpoint without batches says how to submit one', async () => {
  const { out, err } = await podyard('batch', 'list', 'echo');
  expect([out, err]).toEqual(['', 'echo has no batches. Submit one: `podyard batch submit <file> --endpoint echo`.\n']);
});

test('doctor reports what this machine has', async () => {
  const { status, out } = await podyard(
    'doctor',
    '--offline',
    '--port',
    '0',
    '--data-dir',
    join(home, 'data'),
    '--json',
  );
  expect(status).toBe(0);
  const findings = JSON.parse(out) as { what: string; verdict: string }[];
  expect(findings.map(({ what }) => what)).toEqual([
    'Node.js',
    'machine',
    'engine',
    'GPUs',
    'GPU sleep',
    'git',
    'disks',
    'egress',
    'database',
    'data',
    'models',
    'port',
  ]);
  expect(findings[0]!.verdict).toBe('ok');
});

describe.skipIf(!hasTmux)('on a terminal', () => {
  const socket = `podyard-${process.pid}`;
  const tmux = (...args: string[]) => execFileSync('tmux', ['-L', socket, ...args], { encoding: 'utf8', env });
  const screen = () => tmux('capture-pane', '-p', '-t', 'cli');
  afterAll(() => {
    try {
      tmux('kill-server');
    } catch {
      // It ended together with its shell.
    }
  });

  test('a job shows its progress, and Tab completes commands', async () => {
    const script = join(home, 'completion.bash');
    await writeFile(
      script,
      `podyard() { ${process.execPath} ${MAIN} "$@"; }\n${(await podyard('completion', 'bash')).out}`,
    );
    // CI=true would turn the progress display off.
    tmux('new-session', '-d', '-s', 'cli', '-x', '120', '-y', '30', 'env', '-u', 'CI', 'bash', '--norc');
    tmux('send-keys', '-t', 'cli', `source ${script}`, 'Enter');
    tmux('send-keys', '-t', 'cli', `podyard run echo '{"delayMs": 3000, "echo": "at last"}'`, 'Enter');
    await until('progress is drawn', async () => /IN_(PROGRESS|QUEUE) \d+ s/.test(screen()));
    await until('the output is there, and the progress is gone', async () => {
      const text = screen();
      return text.includes('at last\n') && !/IN_PROGRESS \d/.test(text);
    });
    tmux('send-keys', '-t', 'cli', 'clear', 'Enter');
    tmux('send-keys', '-t', 'cli', 'podyard rollb', 'Tab');
    await until('the command is completed', async () => screen().includes('podyard rollback'));
    tmux('send-keys', '-t', 'cli', 'C-c', '');
    tmux('send-keys', '-t', 'cli', 'podyard endpoints get ec');
    await until('the name is completed', async () => {
      tmux('send-keys', '-t', 'cli', 'Tab'); // again, where the server was too slow for a completion, which waits a second
      const isShown = async () => screen().includes('podyard endpoints get echo');
      return until('it is shown', isShown, 5_000).catch(() => false);
    });
    tmux('send-keys', '-t', 'cli', 'C-c', '');
    tmux('send-keys', '-t', 'cli', 'clear; export PODYARD_URL=http://127.0.0.1:9', 'Enter');
    tmux('send-keys', '-t', 'cli', 'podyard endpoints get ec', 'Tab', 'Tab', ' --js', 'Tab');
    await until('the rest is completed without the server', async () => screen().includes('get ec --json'));
    expect(screen()).not.toMatch(/reach|error|podyard:/i);
  });

  test('tables fit it, sequences in names are shown, and deleting asks for the name', async () => {
    const name = 'evil\u001b]0;pwned\u0007\u001b[2J🚀';
    const image = `registry.example.com/${'long-'.repeat(20)}image:1`;
    const { out } = await podyard('templates', 'create', '--name', name, '--image', image, '--json');
    const { id } = JSON.parse(out) as { id: string };
    tmux('new-session', '-d', '-s', 'narrow', '-x', '70', '-y', '30', 'env', '-u', 'CI', 'bash', '--norc');
    const shown = () => tmux('capture-pane', '-p', '-t', 'narrow');
    const type = (args: string) =>
      tmux('send-keys', '-t', 'narrow', `clear; ${process.execPath} ${MAIN} ${args}; echo "status $?"`, 'Enter');
    type('templates');
    await until('the table is there', async () => shown().includes('status 0'));
    expect(shown()).toMatch(new RegExp(`^${id}  evil\\\\x1b\\]0;p`, 'm'));
    expect(shown()).toMatch(/^ID +NAME +IMAGE +FOR +PUBLIC$/m);
    type(`templates delete ${id}`);
    await until('it asks', async () => shown().includes('to confirm:'));
    tmux('send-keys', '-t', 'narrow', id, 'Enter');
    await until('it is deleted', async () => shown().includes('is deleted.'));
    expect((await podyard('templates', 'get', id)).status).toBe(4);
  });

  test('a secret typed at a prompt is not shown, and Ctrl-C there ends the command as it does elsewhere', async () => {
    tmux('new-session', '-d', '-s', 'ask', '-x', '120', '-y', '30', 'env', '-u', 'CI', 'bash', '--norc');
    const asked = () => tmux('capture-pane', '-p', '-t', 'ask');
    tmux(
      'send-keys',
      '-t',
      'ask',
      `${process.execPath} ${MAIN} import --from ${server.url}; echo "status $?"`,
      'Enter',
    );
    await until('it asks', async () => asked().includes('API key of the other side:'));
    tmux('send-keys', '-t', 'ask', 'pyk_typed', 'C-c');
    await until('it ended', async () => asked().includes('status 130'));
    expect(asked()).not.toContain('pyk_typed');
  });
});

test('a command whose reader has ended, as with `| head`, ends without a word', async () => {
  const file = join(home, 'lines.jsonl');
  await writeFile(file, '{"input": {"echo": 1}}\n');
  const submitted = await podyard('batch', 'submit', file, '--endpoint', 'echo');
  const [batch = ''] = /batch_\w+/.exec(submitted.out + submitted.err) ?? [];
  await until('it ended', async () => /COMPLETED/.test((await podyard('batch', 'status', 'echo', batch)).out));
  const child = spawn(process.execPath, [MAIN, 'batch', 'results', 'echo', batch], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  child.stdout.destroy();
  let err = '';
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  const [status] = await once(child, 'close');
  expect({ status, err }).toEqual({ status: 0, err: '' });
});

test('a result that cannot be written, as on a full disk, is a failure', async () => {
  const full = openSync('/dev/full', 'w');
  for (const args of [['--version'], ['endpoints', 'list', '--json'], ['logs', 'echo', '--json']]) {
    const { status, stderr } = spawnSync(process.execPath, [MAIN, ...args], { env, stdio: ['ignore', full, 'pipe'] });
    expect({ status, err: String(stderr) }).toEqual({
      status: 1,
      err: 'podyard: the output cannot be written: ENOSPC: no space left on device, write\n',
    });
  }
  closeSync(full);
});
