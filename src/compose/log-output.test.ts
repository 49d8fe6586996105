import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';

const MODULE = new URL('create-logger.ts', import.meta.url).href;
const LINES = 20_000;

/** Runs a program that logs many lines and exits with 3 at the given moment. */
function logMany(stderr: 'pipe' | number, exit: string) {
  const program = `
    import { createLogger } from '${MODULE}';
    const logger = await createLogger({ logLevel: 'info' }, null);
    for (let i = 0; i < ${LINES}; i++) logger.info({ i }, 'a line');
    ${exit}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'ignore', stderr],
  });
  return { child, ended: new Promise((resolve) => child.once('exit', resolve)) };
}

test('lines come whole and in their order, also what waits when the process exits', async () => {
  const { child, ended } = logMany('pipe', 'process.exit(3);');
  const lines = (await text(child.stderr!)).trimEnd().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { i: number }).i)).toEqual(
    Array.from({ length: LINES }, (_, i) => i),
  );
  expect(await ended).toBe(3);
});

test('a log that cannot be written, as on a full disk, ends nothing and keeps no process from its end', async () => {
  const full = openSync('/dev/full', 'w');
  const { ended } = logMany(full, "setImmediate(() => { logger.info('more'); process.exit(3); });");
  closeSync(full);
  expect(await ended).toBe(3);
});
