import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type CliFixture, startCliFixture } from '../../../test/cli-fixture.ts';
import { buildCli } from '../program.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { completionScript, namesOf } from './completion.ts';

let cli: CliFixture;
beforeAll(async () => {
  const gpus = [{ pool: 'ADA_24', gpuTypeId: 'NVIDIA GeForce RTX 4090', dataCenterId: 'LOCAL-1', total: 8, free: 8 }];
  cli = await startCliFixture({ capacity: { read: async () => ({ gpus, cpus: 8, memoryBytes: 2 ** 35 }) } });
  for (const name of ['first', 'first two', '$(touch pwned)', 'two\nlines']) {
    await cli.podyard(['endpoints', 'create', name, '--image', 'i:1', '--pool', 'ADA_24']);
  }
  await cli.podyard(['templates', 'create', 'torch', '--image', 'i:1']);
});
afterAll(() => cli.close());

const complete = async (words: string[], env: Record<string, string> = {}) =>
  (await cli.podyard(['complete', '--', ...words], { env })).out.split('\n');

describe('what was typed is completed', () => {
  test.each([
    [['rollb'], ['rollback']],
    [['endpoints', 'cr'], ['create']],
    [
      ['endpoints', 'create', 'x', '--pool', 'ADA_24', '--workers-m'],
      ['--workers-min', '--workers-max'],
    ],
    [['jobs', 'list', 'first', '--status', 'FA'], ['FAILED']],
    [
      ['endpoints', 'get', 'fi'],
      ['first', 'first two'],
    ],
    [['endpoints', 'get', 'first\\ t'], ['first two']],
    [['endpoints', 'get', '"first t'], ['first two']],
    [
      ['run', 'fi'],
      ['first', 'first two'],
    ],
    [['logs', '--tail', '5', 'first t'], ['first two']],
    [['endpoints', 'get', '$'], ['$(touch pwned)']],
    [['endpoints', 'create', 'x', '--template', ''], ['torch']],
    [['endpoints', 'create', 'x', '--pool', 'ADA_3', 'ADA_2'], ['ADA_24']],
    [['pods', 'create', 'x', '--gpu', 'NVIDIA GeForce RTX 409'], ['NVIDIA GeForce RTX 4090']],
    [
      ['pods', 'create', 'x', '--cpu', 'cpu5'],
      ['cpu5c', 'cpu5g', 'cpu5m'],
    ],
    [['volumes', 'create', 'x', '--data-center', 'LOC'], ['LOCAL-1']],
    [['completion', 'z'], ['zsh']],
    [['keys', 'revoke', 'te'], ['test']],
    [['budgets', 'set', '5', '--endpoint', 'first t'], ['first two']],
    [['batch', 'submit', 'ni'], [':files']],
    [['run', 'first', '--file', ''], [':files']],
    [['exec', 'box', '--', 'ls', ''], ['']],
    [['run', 'first', ''], ['']],
    [['endpoints', 'get', 'two'], ['']], // its name has two lines
  ])('%j', async (words, expected) => {
    expect(await complete(words)).toEqual(expected);
  });
});

test('a server that does not answer, refuses the key or is nowhere completes nothing, silently and within seconds', async () => {
  const silent = createServer(() => {});
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  const startedAt = performance.now();
  for (const env of [
    { PODYARD_URL: url },
    { PODYARD_API_KEY: 'pyk_wrong' },
    { PODYARD_URL: 'http://127.0.0.1:9' },
    { PODYARD_URL: 'not a URL' },
    { PODYARD_URL: '', PODYARD_API_KEY: '' },
  ]) {
    expect(await cli.podyard(['complete', '--', 'endpoints', 'get', ''], { env })).toEqual({
      status: 0,
      out: '',
      err: '',
    });
  }
  expect(performance.now() - startedAt).toBeLessThan(8_000);
  silent.closeAllConnections();
  silent.close();
});

test('every argument that is an id or a name is completed', async () => {
  const walk = (command: Command): Command[] => [command, ...command.commands.flatMap(walk)];
  const commands = walk(await buildCli({ print: () => {}, note: () => {} } as unknown as CliPieces));
  const without = commands.flatMap((command) =>
    command.registeredArguments
      .filter(
        (argument) =>
          command.name() !== 'create' &&
          /id or name|name or id|name of the user/.test(argument.description) &&
          namesOf(command, argument).length === 0,
      )
      .map((argument) => `${command.parent?.name()} ${command.name()} ${argument.name()}`),
  );
  expect(without).toEqual([]);
});

test('bash quotes a name and runs nothing in it', async () => {
  const script = `podyard() { printf '%s\\n' '$(echo pwned)' 'first two'; }
${completionScript('bash')}
COMP_WORDS=(podyard endpoints get ''); COMP_CWORD=3; _podyard; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await promisify(execFile)('bash', ['-c', script]);
  expect(stdout).toBe('\\$\\(echo\\ pwned\\)\nfirst\\ two\n');
});
