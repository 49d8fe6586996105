import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';

const MODULE = new URL('survive-shortage.ts', import.meta.url).href;

/** Runs a program in which a callback fails twice with this code; returns what it logs and how it ends. */
async function failTwice(code: string): Promise<{ output: string; exitCode: number | null }> {
  const program = `
    import { surviveShortage } from '${MODULE}';
    surviveShortage({ error: (_fields, message) => console.log(message) });
    const fail = () => { throw Object.assign(new Error('failed'), { code: '${code}' }); };
    setTimeout(fail, 1);
    setTimeout(fail, 10);
    setTimeout(() => { console.log('went on'); process.exit(0); }, 50);
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const output = await text(child.stdout);
  return { output, exitCode: child.exitCode ?? (await new Promise((resolve) => child.once('exit', resolve))) };
}

test.each(['EMFILE', 'ENOSPC'])('a callback that fails with %s ends no process, and is logged once', async (code) => {
  expect(await failTwice(code)).toEqual({ output: 'short of a resource: failed\nwent on\n', exitCode: 0 });
});

test('any other error in a callback ends the process', async () => {
  expect(await failTwice('EINVAL')).toEqual({ output: '', exitCode: 1 });
});
