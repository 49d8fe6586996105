import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { testTerminal } from '../../../test/test-terminal.ts';
import { ENDPOINT_WIRE_2026_07 } from '../../rest/endpoints/wire-2026-07.ts';
import { buildCli, GROUPS } from '../program.ts';
import { runCli } from '../run-cli.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { EXAMPLES } from './examples.ts';

function build(printed: string[] = [], groups = GROUPS): Promise<Command> {
  const pieces = { print: (text: string) => printed.push(text), note: (text: string) => printed.push(text) };
  return buildCli(pieces as unknown as CliPieces, groups);
}

/** Run by containers that a server starts, and by nobody else. */
const INTERNAL = ['copy-models', 'serve-files'];

function walk(command: Command, path: readonly string[] = []): [path: string, command: Command][] {
  const children = command.commands.filter((child) => !INTERNAL.includes(child.name()));
  const below = children.flatMap((child) => walk(child, [...path, child.name()]));
  return path.length === 0 ? below : [[path.join(' '), command], ...below];
}

const PATHS = walk(await build()).map(([path]) => path);

test('every command has a description, and every option and argument says what it is', async () => {
  for (const [path, command] of walk(await build())) {
    expect([path, command.description()]).toEqual([path, expect.stringMatching(/\w/)]);
    for (const { flags, description } of command.options) {
      expect([path, flags, description]).toEqual([path, flags, expect.stringMatching(/\w/)]);
    }
  }
});

test('a group of commands, which alone is loaded for one of them, has those that it names', async () => {
  for (const group of GROUPS) {
    const { commands } = await build([], [group]);
    expect(commands.flatMap((command) => [command.name(), ...command.aliases()])).toEqual(group[0].split(' '));
  }
});

test.each(PATHS)('the help of %s ends with at least two examples', async (path) => {
  const printed: string[] = [];
  await (await build(printed)).parseAsync([...path.split(' '), '--help'], { from: 'user' }).catch(() => {});
  const examples = printed.join('\n').split('\nExamples:\n')[1]?.trim().split('\n') ?? [];
  expect(new Set(examples).size).toBeGreaterThanOrEqual(2);
});

test('every command that shows something has --json', async () => {
  const without = walk(await build()).filter(
    ([, command]) => command.commands.length === 0 && !command.options.some(({ long }) => long === '--json'),
  );
  expect(without.map(([path]) => path).toSorted()).toEqual(
    [
      ...[
        'serve',
        'demo',
        'prove',
        'upgrade',
        'kit',
        'dev',
        'init',
        'completion',
        'complete',
        'backup',
        'restore',
        'move',
        'stop-workers',
        'secrets rotate-key',
      ],
      ...['login', 'logout', 'contexts use', 'contexts remove', 'templates mark'],
    ].toSorted(),
  );
});

test('examples belong to commands that exist', () => {
  expect(Object.keys(EXAMPLES).filter((path) => !PATHS.includes(path))).toEqual([]);
});

/** The words that follow `podyard` in a line for a shell. */
function wordsOf(line: string): string[] {
  const [, command = ''] = /(?:^|[(|]\s*|npx )podyard\b([^|<>)]*)/.exec(line) ?? [];
  return [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!);
}

test.each(Object.entries(EXAMPLES).flatMap(([path, lines]) => lines.map((line) => [line, path] as const)))(
  'the parser accepts: %s',
  async (line, path) => {
    const printed: string[] = [];
    const ran: string[] = [];
    const program = await build(printed);
    for (const [name, command] of walk(program)) command.action(() => void ran.push(name));
    await program.parseAsync(wordsOf(line), { from: 'user' }).catch((error: Error) => printed.push(error.message));
    expect(printed).toEqual([]);
    const isGroup = PATHS.some((other) => other.startsWith(`${path} `));
    expect(ran).toEqual([isGroup ? expect.stringMatching(new RegExp(`^${path} ?`)) : path]);
  },
);

test('the defaults in the help of endpoints create are those of the server', async () => {
  const create = walk(await build()).find(([path]) => path === 'endpoints create')![1];
  const made = ENDPOINT_WIRE_2026_07.toNew({ name: 'tts', gpu: { pools: ['ADA_24'] } });
  const { workers, scaling, timeoutMs, flashboot, gpu } = made;
  const defaults = {
    '--workers-min': workers.min,
    '--workers-max': workers.max,
    '--scaler': scaling.type,
    '--scaler-value': scaling.value,
    '--idle-timeout': scaling.idleTimeoutSeconds,
    '--timeout': timeoutMs,
    '--flashboot': flashboot,
    '--gpu-count': gpu!.count,
  };
  for (const [name, value] of Object.entries(defaults)) {
    const option = create.options.find(({ long }) => long === name)!;
    expect([name, option.description]).toEqual([name, expect.stringContaining(`(default: ${value})`)]);
  }
});

test.each([
  [['kyes', 'list'], "podyard has no command 'kyes'", "Did you mean 'keys'?"],
  [['endponts'], "podyard has no command 'endponts'", "Did you mean 'endpoints'?"],
  [['jobs', 'cancle', 'a', 'b'], "podyard jobs has no command 'cancle'", "Did you mean 'cancel'?"],
  [['pods', 'delte', 'x'], "podyard pods has no command 'delte'", "Did you mean 'delete'?"],
  [['endpoints', 'list', '--jsn'], "unknown option '--jsn'", 'Did you mean --json?'],
  [['--prot', '9'], "unknown option '--prot'", 'Did you mean --port?'],
])('a typo (%j) is answered with what was meant, and status 2', async (args, wrong, meant) => {
  const said: string[] = [];
  const pieces = { print: () => {}, note: (text: string) => said.push(text), terminal: testTerminal() };
  expect(await runCli(pieces as unknown as CliPieces, args)).toBe(2);
  expect(said.join('\n')).toContain(wrong);
  expect(said.join('\n')).toContain(meant);
});
