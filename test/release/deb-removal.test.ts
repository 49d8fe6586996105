import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';

/** The scripts run below a folder, with stand-ins for the programs that they call. */
let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podyard-removal-'));
  for (const folder of [
    'bin',
    'etc',
    'run/systemd/system',
    'opt/podyard/current/bin',
    'var/lib/podyard',
    'srv/moved',
  ]) {
    await mkdir(join(root, folder), { recursive: true });
  }
  const programs = {
    'bin/systemctl': '',
    'bin/getent': 'exit 2',
    'bin/setpriv': 'while case $1 in --*) ;; *) false ;; esac; do shift; done; exec "$@"',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell fills it
    'opt/podyard/current/bin/podyard': 'echo "$* | ${PODYARD_DATA_DIR-} | ${PODYARD_DATABASE_URL-} | ${HOSTILE-}"',
  };
  for (const [path, text] of Object.entries(programs)) {
    await writeFile(join(root, path), `#!/bin/sh\n${text}\n`);
    await chmod(join(root, path), 0o755);
  }
});
afterEach(() => rm(root, { recursive: true }));

async function runScript(name: 'prerm' | 'postrm', what: string, settings: string | null): Promise<string> {
  if (settings !== null) await writeFile(join(root, 'etc/podyard.env'), settings);
  const text = await readFile(new URL(`../../release/deb/${name}`, import.meta.url), 'utf8');
  const here = text.replace(
    /(?<![\w/])\/(?=etc\/podyard|etc\/systemd|opt\/podyard|var\/lib\/podyard|run\/systemd)/g,
    `${root}/`,
  );
  return execFileSync('sh', ['-c', here, name, what], { env: { PATH: `${root}/bin:/usr/bin:/bin` }, encoding: 'utf8' });
}

const SETTINGS = (dataDir: string) =>
  `# PODYARD_DATA_DIR=/wrong\nPODYARD_DATA_DIR=/also/wrong\nPODYARD_DATA_DIR=${dataDir}\nHOSTILE=$(touch ${root}/run-by-sh)\nnot a setting\n`;

test.each(['%', '"%"', "'%'"])('a removal stops the workers of the data that the settings name: %s', async (quoted) => {
  const moved = join(root, 'srv/moved');
  const output = await runScript('prerm', 'remove', SETTINGS(quoted.replace('%', moved)));
  expect(output).toBe(`stop-workers | ${moved} |  | $(touch ${root}/run-by-sh)\n`);
  expect(existsSync(join(root, 'run-by-sh'))).toBe(false);
});

test('a removal stops the workers of the data that a drop-in of the unit names, as systemd understands it', async () => {
  const moved = join(root, 'srv/moved');
  const more = join(root, 'etc/more settings');
  await writeFile(more, `PODYARD_DATABASE_URL=postgresql://db/podyard\n`);
  await writeFile(
    join(root, 'bin/systemctl'),
    `#!/bin/sh
case "$*" in
  'show --property=Environment --value podyard') echo 'PODYARD_DATA_DIR=${moved} "HOSTILE=two words $(touch ${root}/run-by-sh)"' ;;
  'show --property=EnvironmentFiles --value podyard') printf '%s\\n' '${root}/etc/podyard.env (ignore_errors=yes)' '${more} (ignore_errors=no)' ;;
esac
`,
  );
  const hostile = `two words $(touch ${root}/run-by-sh)`;
  const url = 'postgresql://db/podyard';
  expect(await runScript('prerm', 'remove', null)).toBe(`stop-workers | ${moved} | ${url} | ${hostile}\n`);
  const named = await runScript('prerm', 'remove', 'PODYARD_DATA_DIR=/srv/named by file\n');
  expect(named, 'a file counts more').toBe(`stop-workers | /srv/named by file | ${url} | ${hostile}\n`);
  expect(existsSync(join(root, 'run-by-sh'))).toBe(false);
});

test('a database of one’s own counts, and without settings it is the package’s folder', async () => {
  const data = join(root, 'var/lib/podyard');
  const url = 'postgresql://db/podyard';
  expect(await runScript('prerm', 'remove', `PODYARD_DATABASE_URL=${url}`)).toBe(
    `stop-workers | ${data} | ${url} | \n`,
  );
  await rm(join(root, 'etc/podyard.env'));
  expect(await runScript('prerm', 'remove', null)).toBe(`stop-workers | ${data} |  | \n`);
});

test('a purge takes the package’s folder, and says that data elsewhere stays', async () => {
  const moved = join(root, 'srv/moved');
  const output = await runScript('postrm', 'purge', SETTINGS(`"${moved}"`));
  expect(output).toBe(`podyard: the data in ${moved} stays: the package did not make that folder\n`);
  for (const gone of ['var/lib/podyard', 'etc/podyard.env', 'opt/podyard'])
    expect(existsSync(join(root, gone))).toBe(false);
  expect(existsSync(moved)).toBe(true);
});

test.each(['%', '"%"'])('a purge says that data which a drop-in names stays: %s', async (quoted) => {
  const folder = join(root, 'etc/systemd/system/podyard.service.d');
  await mkdir(folder, { recursive: true });
  const setting = quoted.replace('%', 'PODYARD_DATA_DIR=/srv/moved');
  await writeFile(join(folder, 'override.conf'), `[Service]\nEnvironment=${setting}\n`);
  const output = await runScript('postrm', 'purge', null);
  expect(output).toBe('podyard: the data in /srv/moved stays: the package did not make that folder\n');
});

test('a purge of data where the package keeps it says nothing', async () => {
  expect(await runScript('postrm', 'purge', SETTINGS(join(root, 'var/lib/podyard')))).toBe('');
  expect(await runScript('postrm', 'purge', null)).toBe('');
});
