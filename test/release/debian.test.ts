/**
 * The archive and the Debian package on machines that have nothing but a minimal Debian, and no network.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DEBIAN_ARCHITECTURE } from '../../release/image/debian-packages.ts';
import type { Architecture } from '../../release/parts/production-packages.ts';
import { until } from '../e2e/api.ts';
import { type BuiltRelease, builtArtifacts, builtRelease } from './built.ts';
import { debianTree } from './debian-tree.ts';
import { Machine } from './machine.ts';

const run = promisify(execFile);
const SUITES = ['bullseye', 'bookworm', 'trixie'] as const;
/** The oldest glibc that archives run on. */
const GLIBC = 2.31;
const FIRST_JOB_MS = process.env.CI ? 40_000 : 12_000; // a machine of CI has other work
/** dpkg and tar write 250 MB, and CI has two processors for everything. */
const MACHINE_TIMEOUT_MS = 300_000;

/** A minimal Debian has no curl. */
const IS_READY = `/opt/podyard/current/node/bin/node -e '
  fetch("http://127.0.0.1:8080/readyz").then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))'`;

let release: BuiltRelease;
/** A layer that has the archive and the package in /artifacts. */
let folder: string;
const machines = new Map<string, Machine>();

beforeAll(async () => {
  release = await builtRelease();
  const artifacts = await builtArtifacts();
  folder = await mkdtemp(join(tmpdir(), 'podyard-artifacts-'));
  await mkdir(`${folder}/artifacts`);
  await cp(release.archive, `${folder}/artifacts/podyard.tar.gz`);
  const architecture = DEBIAN_ARCHITECTURE[process.arch as Architecture];
  await cp(`${release.tree}/install.sh`, `${folder}/artifacts/install.sh`);
  await cp(`${artifacts}/podyard_${release.version}_${architecture}.deb`, `${folder}/artifacts/podyard.deb`);
}, 600_000);
afterAll(async () => {
  for (const machine of machines.values()) await machine.remove();
  if (folder) await rm(folder, { recursive: true, force: true });
});

async function machineOf(suite: (typeof SUITES)[number]): Promise<Machine> {
  const machine = machines.get(suite) ?? (await Machine.start(await debianTree(suite), [folder]));
  machines.set(suite, machine);
  return machine;
}

test.each(SUITES)(
  'on Debian %s without a network, the archive runs its first job within seconds of being unpacked',
  async (suite) => {
    const machine = await machineOf(suite);
    const unpacked = await machine.sh(
      'useradd -m someone && su someone -c "tar -xzf /artifacts/podyard.tar.gz -C /home/someone"',
    );
    expect(unpacked).toMatchObject({ code: 0 });
    // Each line with the time at which it came: the demo goes on after its first job.
    const demo = await machine.sh(
      `cd /home/someone && stamp() { echo "$(date +%s%3N) $*"; } && stamp unpacked &&
       su someone -c "PODYARD_RUNTIME=process podyard-*/bin/podyard demo --exit && echo it ended well" 2>&1 |
       while read -r line; do stamp "$line"; done`,
    );
    expect(demo.output).toContain('it ended well');
    const timeOf = (text: string) => Number(new RegExp(`^(\\d+) .*${text}`, 'm').exec(demo.output)?.[1]);
    const firstJobMs = timeOf('first job') - timeOf('unpacked');
    const secondsTo = (text: string) => ((timeOf(text) - timeOf('unpacked')) / 1000).toFixed(1);
    console.log(
      `after the archive was unpacked, ready in ${secondsTo('is ready at')} s, first job in ${secondsTo('first job')} s`,
    );
    expect(firstJobMs).toBeLessThan(FIRST_JOB_MS);
  },
  MACHINE_TIMEOUT_MS,
);

test.each(['bullseye', 'trixie'] as const)(
  'on Debian %s the package makes a service that is ready, and so does the installer from where the demo ran; both take it away again',
  async (suite) => {
    const machine = await machineOf(suite);
    const done = async (script: string) => {
      const { code, output } = await machine.sh(script);
      expect(code, output).toBe(0);
      return output;
    };
    await done('dpkg --install /artifacts/podyard.deb');
    await until('the package’s service is ready', async () => (await machine.sh(IS_READY)).code === 0);
    await done('dpkg --purge podyard');
    const installed = await done('sh /home/someone/podyard-*/install.sh');
    expect(installed).toContain('one job ran in');
    expect(installed).toContain(`Podyard ${release.version} is ready at http://127.0.0.1:8080`);
    await done(IS_READY);
    expect(await done('sh /home/someone/podyard-*/install.sh --uninstall --purge')).toContain('Podyard is removed');
    await machine.remove();
  },
  MACHINE_TIMEOUT_MS,
);

test('nothing in the archive needs a glibc newer than 2.31, or a library that is neither inside nor part of every Debian', async () => {
  const { stdout } = await run(
    'sh',
    ['-c', 'find node app -type f \\( -name "*.so*" -o -perm -100 \\) -exec readelf -dV {} + 2>/dev/null; true'],
    {
      cwd: release.tree,
      maxBuffer: 2 ** 27,
    },
  );
  const versions = [...stdout.matchAll(/\bGLIBC_(\d+\.\d+)/g)].map(([, version]) =>
    Number(version!.replace(/\.(\d)$/, '.0$1')),
  );
  expect(versions.length).toBeGreaterThan(100);
  expect(Math.max(...versions)).toBeLessThanOrEqual(GLIBC);
});

describe('the Debian package', { timeout: MACHINE_TIMEOUT_MS }, () => {
  let machine: Machine;

  beforeAll(async () => {
    machine = await machineOf('bookworm');
  });

  test('installs the program, its user, its data folder and settings, and starts the service', async () => {
    const installed = await machine.sh('dpkg --install /artifacts/podyard.deb');
    expect(installed, installed.output).toMatchObject({ code: 0 });
    const { stdout } = await machine.sh(
      'podyard --version; stat -c "%U %a" /var/lib/podyard /etc/podyard.env; id -un podyard',
    );
    expect(stdout).toBe(`${release.version}\npodyard 700\nroot 600\npodyard\n`);
    await until('the service is ready', async () => (await machine.sh(IS_READY)).code === 0);
    const proof = await machine.sh(
      'systemctl stop podyard && setpriv --reuid=podyard --regid=podyard --init-groups podyard prove --data-dir /var/lib/podyard',
    );
    expect(proof, proof.output).toMatchObject({ code: 0 });
    expect(await machine.sh('systemctl start podyard')).toMatchObject({ code: 0 });
    expect(await machine.sh('dpkg --verify podyard')).toMatchObject({ code: 0, output: '' });
  });

  test('is upgraded in place: the new version runs, its data and settings stay, and nothing of the old one', async () => {
    await machine.sh('echo PODYARD_LOG_LEVEL=warn >/etc/podyard.env; touch /var/lib/podyard/mine');
    const { version } = release;
    // The same package, as a later version, of which root has run the one before.
    const made =
      await machine.sh(`podyard --version && dpkg-deb --raw-extract /artifacts/podyard.deb /next && cd /next &&
      mv opt/podyard/${version} opt/podyard/9.0.0 && ln -sfn 9.0.0 opt/podyard/current &&
      sed -i 's/"version": "${version}"/"version": "9.0.0"/' opt/podyard/9.0.0/app/package.json &&
      sed -i 's/^Version:.*/Version: 9.0.0/' DEBIAN/control &&
      (find opt usr -type f -print0 | xargs -0 md5sum) >DEBIAN/md5sums && dpkg-deb -Znone --build . /next.deb`);
    expect(made, made.output).toMatchObject({ code: 0 });
    expect(machine.has(`/opt/podyard/${version}/app/node_modules/.cache`)).toBe(true);
    const upgraded = await machine.sh('dpkg --install /next.deb');
    expect(upgraded, upgraded.output).toMatchObject({ code: 0 });
    expect(upgraded.output).not.toContain('warning');
    expect((await machine.sh('podyard --version; ls /opt/podyard')).stdout).toBe('9.0.0\n9.0.0\ncurrent\n');
    expect(await machine.read('/etc/podyard.env')).toBe('PODYARD_LOG_LEVEL=warn\n');
    expect(machine.has('/var/lib/podyard/mine')).toBe(true);
    await until('the service is ready', async () => (await machine.sh(IS_READY)).code === 0);
    expect(await machine.sh('dpkg --verify podyard')).toMatchObject({ code: 0, output: '' });
  });

  test('install.sh and `podyard upgrade` leave it to dpkg, and say so', async () => {
    const refused = await machine.sh('sh /artifacts/install.sh --upgrade --from /artifacts/podyard.tar.gz');
    expect(refused.output).toContain('the Debian package podyard is installed here: upgrade that with apt-get install');
    const upgrade = await machine.sh('podyard upgrade --from /artifacts');
    expect(upgrade.output).toContain(
      'this Podyard was not installed by install.sh: upgrade it the way it was installed',
    );
    expect([refused.code, upgrade.code]).toEqual([1, 1]);
  });

  test('refuses a machine on which install.sh has installed, and says what to do', async () => {
    await machine.sh('ln -s /opt/podyard/current/bin/podyard /usr/local/bin/podyard');
    const refused = await machine.sh('dpkg --install /next.deb');
    expect(refused.code).not.toBe(0);
    expect(refused.output).toContain('install.sh --uninstall');
    await machine.sh('rm /usr/local/bin/podyard');
    expect(await machine.sh('dpkg --install /next.deb')).toMatchObject({ code: 0 });
  });

  test('keeps data and settings when it is removed, and takes both and the user when it is purged', async () => {
    const removed = await machine.sh('dpkg --remove podyard');
    expect(removed, removed.output).toMatchObject({ code: 0 });
    expect(machine.has('/opt/podyard/current/bin/podyard')).toBe(false);
    expect(machine.has('/var/lib/podyard/mine')).toBe(true);
    expect(machine.has('/etc/podyard.env')).toBe(true);
    const purged = await machine.sh('dpkg --purge podyard');
    expect(purged, purged.output).toMatchObject({ code: 0 });
    for (const path of ['/var/lib/podyard', '/etc/podyard.env', '/opt/podyard']) expect(machine.has(path)).toBe(false);
    expect((await machine.sh('id podyard')).code).not.toBe(0);
  });
});
