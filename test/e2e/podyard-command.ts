import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { expect } from 'vitest';
import { MAIN } from '../podyard-main.ts';

export const COMMAND_TIME_LIMIT_MS = 120_000;

export type Command = ChildProcessByStdio<null, Readable, Readable> & { text: () => string };

/** Starts the command line with only the given environment, PATH and HOME. */
export function podyard(args: readonly string[], env: Record<string, string> = {}): Command {
  const { PATH, HOME } = process.env as Record<string, string>;
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: COMMAND_TIME_LIMIT_MS,
    killSignal: 'SIGKILL',
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      text += chunk;
    });
  }
  return Object.assign(child, { text: () => text });
}

/** Returns the output of a command that must succeed. */
export async function run(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const child = podyard(args, env);
  const [code] = await once(child, 'close');
  expect([code, child.text()]).toEqual([0, expect.anything()]);
  return child.text();
}

/** Returns the output of a command that must fail: with 2 if the command line is wrong. */
export async function runToFailure(
  args: readonly string[],
  env: Record<string, string> = {},
  status = 1,
): Promise<string> {
  const child = podyard(args, env);
  const [code] = await once(child, 'close');
  expect([code, child.text()]).toEqual([status, expect.anything()]);
  return child.text();
}
