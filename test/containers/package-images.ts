/**
 * Images for testing deploy/ without a registry: a base with this machine's Node.js, the installed package, and PostgreSQL from
 * the embedded server. Linux only.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { findEmbeddedBinaries } from '../../src/db/embedded-binaries.ts';

/** Creates an image from a folder. */
export function importFolder(folder: string, image: string, changes: readonly string[] = []): void {
  const flags = changes.flatMap((change) => ['--change', change]);
  const script = 'folder=$1; shift; tar -C "$folder" --owner=0 --group=0 --numeric-owner -c . | docker import "$@"';
  execFileSync('sh', ['-c', script, 'sh', folder, ...flags, '-', image], { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** Stands in for `node:24-slim`: Node.js in the PATH, and a folder for temporary files. */
export function makeNodeFolder(folder: string): void {
  copyProgram(process.execPath, join(folder, 'usr/local/bin/node'), folder);
  mkdirSync(join(folder, 'tmp'));
  mkdirSync(join(folder, 'etc'));
  writeFileSync(
    join(folder, 'etc/passwd'),
    'root:x:0:0:root:/:/bin/false\nnode:x:1000:1000::/tmp:/bin/false\npostgres:x:999:999::/tmp:/bin/false\n',
  );
}

/** Stands in for `postgres:18`: a server for $POSTGRES_USER that listens on its socket, and `pg_isready`. */
export async function makePostgresFolder(folder: string): Promise<void> {
  makeNodeFolder(folder);
  const { initdb, postgres } = await findEmbeddedBinaries();
  cpSync(dirname(dirname(postgres)), join(folder, 'pg'), { recursive: true, verbatimSymlinks: true });
  for (const program of [initdb, postgres]) copyLibraries(program, folder);
  copyProgram('/bin/sh', join(folder, 'bin/sh'), folder); // initdb needs it
  for (const name of ['var/lib/postgresql', 'var/run/postgresql', 'tmp']) {
    mkdirSync(join(folder, name), { recursive: true });
    chmodSync(join(folder, name), 0o1777);
  }
  const script = (path: string, text: string) => {
    writeFileSync(join(folder, path), `#!/usr/local/bin/node\n${text}`);
    chmodSync(join(folder, path), 0o755);
  };
  script(
    'usr/local/bin/pg_isready',
    `require('node:net').connect('/var/run/postgresql/.s.PGSQL.5432').on('connect', () => process.exit(0)).on('error', () => process.exit(2));`,
  );
  script(
    'usr/local/bin/start-postgres',
    `const { execFileSync, spawn } = require('node:child_process');
const data = '/var/lib/postgresql/data';
if (!require('node:fs').existsSync(data)) {
  execFileSync('/pg/bin/initdb', ['-D', data, '-U', process.env.POSTGRES_USER, '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']);
  execFileSync('/pg/bin/postgres', ['--single', '-D', data, 'postgres'], { input: 'create database ' + process.env.POSTGRES_DB + '\\n' });
}
const server = spawn('/pg/bin/postgres', ['-D', data, '-k', '/var/run/postgresql', '-c', 'listen_addresses='], { stdio: 'inherit' });
process.on('SIGTERM', () => server.kill('SIGINT'));
server.on('exit', (code) => process.exit(code ?? 1));
`,
  );
}

/** Copies a program with its shared libraries, to where the loader looks for them. */
export function copyProgram(from: string, to: string, folder: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(realpathSync(from), to);
  chmodSync(to, 0o755);
  copyLibraries(from, folder);
}

/** Returns the shared libraries of a program, at the paths where the loader looks for them. */
function copyLibraries(program: string, folder: string): void {
  const text = execFileSync('ldd', [program], { encoding: 'utf8' });
  for (const [, path] of text.matchAll(/(?:=>|^)\s*(\/(?:usr\/)?lib\S+) \(0x/gm)) {
    const to = join(folder, path!);
    mkdirSync(dirname(to), { recursive: true });
    cpSync(realpathSync(path!), to);
  }
}
