import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
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

test('the installer uses the settings that the service gets, also those of a drop-in of its unit', async () => {
  const root = await mkdtemp(join(tmpdir(), 'podyard-settings-'));
  try {
    const text = await readFile(`${ROOT}/release/install.sh`, 'utf8');
    const functions = ['service', 'load_settings', 'export_lines'].map(
      (name) => new RegExp(`^${name}\\(\\) \\{(?:.*\\}|[^]*?^\\})$`, 'm').exec(text)![0],
    );
    await writeFile(join(root, 'unit'), '');
    await writeFile(join(root, 'env'), `PODYARD_PORT=9000\nHOSTILE="$(touch ${root}/run-by-sh)"\n`);
    await writeFile(
      join(root, 'systemctl'),
      `#!/bin/sh
case "$*" in
  'show --property=Environment --value podyard') echo 'PODYARD_DATA_DIR=/srv/moved "PODYARD_PORT=8000" "NOTE=two words"' ;;
  'show --property=EnvironmentFiles --value podyard') echo '${root}/env (ignore_errors=yes)' ;;
esac
`,
      { mode: 0o755 },
    );
    const script = functions.join('\n').replaceAll('/run/systemd/system', root);
    const settingsOf = async (unit: string) => {
      const print = 'load_settings; printf "%s|" "$DATA" "$PODYARD_PORT" "$NOTE"';
      const before = `set -eu; SCOPE=system DATA=/var/lib/podyard SETTINGS=${root}/env UNIT=${unit} NOTE=`;
      const env = { PATH: `${root}:/usr/bin:/bin` };
      return (await run('sh', ['-c', `${before}\n${script}\n${print}`], { env })).stdout;
    };
    expect(await settingsOf(join(root, 'unit'))).toBe('/srv/moved|9000|two words|');
    expect(await settingsOf(join(root, 'none'))).toBe('/var/lib/podyard|9000||');
    expect(existsSync(join(root, 'run-by-sh'))).toBe(false);
  } finally {
    await rm(root, { recursive: true, force: true });
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
