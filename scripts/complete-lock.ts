/**
 * Adds to package-lock.json the packages of other platforms that the registry did not have when somebody installed a
 * dependency; npm leaves them out, and then refuses `npm ci` everywhere. What they are follows from their names; their
 * checksums are unknown here. With --check it changes nothing and fails if something is missing.
 */
import { readFile, writeFile } from 'node:fs/promises';

interface LockEntry {
  version?: string;
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

/** `@biomejs/cli-linux-x64-musl` → linux, x64, musl. Throws for a name that says neither system nor processor. */
function describe(name: string, version: string, isDev: boolean): LockEntry {
  const words = name.split(/[/-]/);
  const os = words.filter((word) => SYSTEMS.includes(word));
  const cpu = words.filter((word) => PROCESSORS.includes(word));
  if (os.length + cpu.length === 0 || !/^\d+\.\d+\.\d+/.test(version)) {
    throw new Error(`${name}@${version} is missing in package-lock.json, and its name does not tell its platform`);
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

const lock = JSON.parse(await readFile(FILE, 'utf8')) as { packages: Record<string, LockEntry> };
const missing = findMissing(lock.packages);
const names = Object.keys(missing);
if (process.argv.includes('--check')) {
  if (names.length > 0) console.log(`package-lock.json lacks ${names.join(', ')}; run: node scripts/complete-lock.ts`);
  process.exitCode = names.length > 0 ? 1 : 0;
} else if (names.length > 0) {
  const { '': root, ...others } = lock.packages;
  const sorted = Object.entries({ ...others, ...missing }).sort(([a], [b]) => a.localeCompare(b, 'en'));
  lock.packages = { '': root!, ...Object.fromEntries(sorted) };
  await writeFile(FILE, `${JSON.stringify(lock, null, 2)}\n`);
  console.log(`added to package-lock.json: ${names.length}`);
}
