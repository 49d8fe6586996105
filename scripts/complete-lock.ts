/**
 * Adds packages of other platforms to package-lock.json. npm leaves out those that the registry lacked when a dependency was
 * installed, and `npm ci` then fails everywhere. Their platforms follow from their names, their hashes are the registry's. With
 * `--check` it changes nothing and fails if a package or its hash is missing.
 */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';

interface LockEntry {
  version?: string;
  integrity?: string;
  /** A workspace's folder, which has no hash. */
  link?: boolean;
  dev?: boolean;
  optional?: boolean;
  os?: string[];
  cpu?: string[];
  libc?: string[];
  optionalDependencies?: Record<string, string>;
}

const FILE = new URL('../package-lock.json', import.meta.url);
const SYSTEMS = ['linux', 'darwin', 'win32', 'android', 'freebsd', 'openharmony'];
const PROCESSORS = ['x64', 'arm64', 'arm', 'ia32', 'ppc64', 'riscv64', 's390x', 'loong64', 'wasm32'];

/** `@biomejs/cli-linux-x64-musl` → linux, x64, musl. Throws for a name without a system or a processor. */
function describe(name: string, version: string, isDev: boolean): LockEntry {
  const words = name.split(/[/-]/);
  const os = words.filter((word) => SYSTEMS.includes(word));
  const cpu = words.filter((word) => PROCESSORS.includes(word));
  if (os.length + cpu.length === 0 || !/^\d+\.\d+\.\d+/.test(version)) {
    throw new Error(`${name}@${version} is missing from package-lock.json, and its name names no platform`);
  }
  const libc = words.includes('gnu') ? ['glibc'] : words.includes('musl') ? ['musl'] : [];
  return {
    version,
    ...(cpu.length > 0 ? { cpu } : {}),
    ...(isDev ? { dev: true } : {}),
    ...(libc.length > 0 && os[0] === 'linux' ? { libc } : {}),
    optional: true,
    ...(os.length > 0 ? { os } : {}),
  };
}

function findMissing(packages: Record<string, LockEntry>): Record<string, LockEntry> {
  const missing: Record<string, LockEntry> = {};
  for (const [path, entry] of Object.entries(packages)) {
    for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
      if (packages[`${path}/node_modules/${name}`] || packages[`node_modules/${name}`]) continue;
      missing[`node_modules/${name}`] = describe(name, version, entry.dev === true);
    }
  }
  return missing;
}

/** Returns `[path, entry]` of the packages whose content is not pinned by a hash. */
function findUnpinned(packages: Record<string, LockEntry>): [path: string, entry: LockEntry][] {
  const installed = Object.entries(packages).filter(([path]) => path.includes('node_modules/'));
  return installed.filter(([, { integrity, link }]) => integrity === undefined && !link);
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}

/** Asks npm, so that its configured registry and credentials are used. */
async function fetchIntegrity(name: string, version: string): Promise<string> {
  const { stdout } = await promisify(execFile)('npm', ['view', `${name}@${version}`, 'dist.integrity']);
  if (!stdout.startsWith('sha512-')) throw new Error(`the registry has no SHA-512 hash of ${name}@${version}`);
  return stdout.trim();
}

const lock = JSON.parse(await readFile(FILE, 'utf8')) as { packages: Record<string, LockEntry> };
const missing = findMissing(lock.packages);
const { '': root, ...others } = lock.packages;
const packages = { ...others, ...missing };
const unpinned = findUnpinned(packages);
if (process.argv.includes('--check')) {
  const names = unpinned.map(([path]) => nameOf(path));
  if (names.length > 0) {
    console.log(`package-lock.json lacks ${names.join(', ')}, or their hashes; run: node scripts/complete-lock.ts`);
  }
  process.exitCode = names.length > 0 ? 1 : 0;
} else if (unpinned.length > 0) {
  for (const [path, entry] of unpinned) {
    const { version, ...rest } = entry;
    packages[path] = { version: version!, integrity: await fetchIntegrity(nameOf(path), version!), ...rest };
  }
  const sorted = Object.entries(packages).sort(([a], [b]) => a.localeCompare(b, 'en'));
  lock.packages = { '': root!, ...Object.fromEntries(sorted) };
  await writeFile(FILE, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`completed in package-lock.json: ${unpinned.length}`);
}
