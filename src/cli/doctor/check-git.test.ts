import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { checkGit } from './check-git.ts';

let bin: string;
beforeEach(async () => {
  bin = await mkdtemp(join(tmpdir(), 'podyard-git-'));
});
afterEach(() => rm(bin, { recursive: true }));
const program = (name: string, script: string) => writeFile(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
const ADVICE = 'Without it, no endpoint is built from a repository. On Debian or Ubuntu: apt-get install git';

test('without git, doctor says what is missing with it', async () => {
  expect(await checkGit(bin)).toEqual({ what: 'git', verdict: 'note', found: 'not installed', advice: ADVICE });
});

test('an old git is no better', async () => {
  await program('git', 'echo git version 2.34.1');
  const found = 'the one here has version 2.34.1, and Podyard needs 2.37 or newer';
  expect(await checkGit(bin)).toEqual({ what: 'git', verdict: 'note', found, advice: ADVICE });
});

test('a git that will do is named, with what deploy keys lack', async () => {
  await program('git', 'echo git version 2.39.5');
  const found = 'version 2.39.5; no ssh, which deploy keys need (openssh-client)';
  expect(await checkGit(bin)).toEqual({ what: 'git', verdict: 'ok', found });
  await program('ssh', 'echo OpenSSH_9.2 >&2');
  expect(await checkGit(bin)).toEqual({ what: 'git', verdict: 'ok', found: 'version 2.39.5' });
});

test('a git that fails is told as it fails', async () => {
  await program('git', 'exit 3');
  expect(await checkGit(bin)).toMatchObject({ verdict: 'note', found: expect.stringContaining('git --version') });
});
