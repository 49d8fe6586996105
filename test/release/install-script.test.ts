import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ROOT } from '../../release/release-facts.ts';

const run = promisify(execFile);
const UNIT = `${ROOT}/release/podyard.service`;
/** In tenths. Up to 49 is rated OK; the unit before this one had 5.5. */
const MAX_EXPOSURE = 23;

test('the scripts are POSIX sh, and shellcheck finds nothing in them', async () => {
  for (const script of ['release/install.sh', 'release/files/podyard']) {
    await run('dash', ['-n', script], { cwd: ROOT });
    // SC2015, SC2016: `a && b || c` and programs in quotes are meant as they are. SC2030, SC2031: the first key stays in its subshell.
    await run('shellcheck', ['--shell=sh', '--exclude=SC2015,SC2016,SC2030,SC2031', script], { cwd: ROOT });
  }
});

test('systemd finds no fault in the unit, and rates its exposure as OK', async () => {
  const root = await mkdtemp(join(tmpdir(), 'podyard-unit-'));
  try {
    for (const folder of ['etc/systemd/system', 'opt/podyard/current/bin'])
      await mkdir(join(root, folder), { recursive: true });
    await cp(UNIT, join(root, 'etc/systemd/system/podyard.service'));
    await writeFile(join(root, 'opt/podyard/current/bin/podyard'), '', { mode: 0o755 });
    await cp('/usr/lib/systemd/system', join(root, 'usr/lib/systemd/system'), {
      recursive: true,
      verbatimSymlinks: true,
    });
    const { stderr } = await run('systemd-analyze', ['verify', `--root=${root}`, '--man=no', 'podyard.service']);
    expect(stderr.split('\n').filter((line) => line.includes('podyard'))).toEqual([]);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
  await run('systemd-analyze', ['security', '--offline=true', `--threshold=${MAX_EXPOSURE}`, UNIT]);
});
