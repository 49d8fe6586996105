/**
 * Bundles the program into `dist/`, in few files: Node.js takes as long to find and load a small module as to run it, and a command
 * has a hundred, a server twelve hundred. Packages stay where they are, but those that commands load. Nothing is renamed or shortened, so
 * that a stack trace can be read. Node.js's own modules are asked for by name: an `import` of one evaluates all that it exports, also what
 * Node.js would load only when it is used, such as `process.report`, or worker threads for `node:util`.
 */
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { type Plugin, type PluginContext, type RolldownOutput, rolldown } from 'rolldown';

/** The programs, as they are called in `dist/`: `programFile` in src/core/files/own-package.ts finds those that are started by their path. */
const PROGRAMS = ['main', 'data-process', 'models/fetch/fetch-thread'];

/** The modules that every command needs. Not run.ts, which waits for its command, so that no other file may need the one that it is in. */
const COMMAND = [
  'cli/run-cli',
  'cli/program',
  'cli/shared/api-client',
  'cli/shared/command-shape',
  'cli/terminal/process-terminal',
  'compose/process/end-on-signal',
  'compose/process/process-messages',
  'config/config',
  'db/make-data-dir',
];
/** The packages of commands, which are in the bundle: alone, they would be a hundred files. Their licenses are in LICENSES beside it. */
const PACKAGES = ['commander', 'eventsource-parser', 'ignore', 'smol-toml', 'yaml'];

/** The modules of commands that talk to a server. The others act on a server's data, and may load its code. */
const CLIENT = /\/src\/cli\/(?!(server|storage|doctor)\/|access\/database-side|audit\/verify-audit)/;

const MAIN = 'main.js';
/** A file that other files name with its hash. */
const CHUNK = /-[\w-]{8}\.js$/;
const OLD_CHUNK_MS = 24 * 3_600_000;

if (import.meta.main) await replaceProgram('dist');

/**
 * Builds the program of this checkout into `out`, beside what is there: servers may run from an earlier build, whose files stay for a day.
 * `main.js` comes last, with the time at which its sources were read.
 */
async function replaceProgram(out: string): Promise<void> {
  const begunAt = new Date();
  const building = join(out, `program.${process.pid}`);
  try {
    await buildProgram(process.cwd(), building);
    const files = await filesBelow(building);
    await utimes(join(building, MAIN), begunAt, begunAt);
    for (const file of [...files.filter((name) => name !== MAIN), MAIN]) {
      await mkdir(dirname(join(out, file)), { recursive: true });
      await rename(join(building, file), join(out, file));
    }
    await removeOldChunks(out, new Set(files), begunAt);
  } finally {
    await rm(building, { recursive: true, force: true });
  }
}

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.flatMap((one) => (one.isFile() ? [relative(folder, join(one.parentPath, one.name))] : []));
}

async function removeOldChunks(out: string, current: ReadonlySet<string>, begunAt: Date): Promise<void> {
  const old = (await readdir(out)).filter((name) => CHUNK.test(name) && !current.has(name));
  for (const name of old) {
    const { mtimeMs } = await stat(join(out, name));
    if (mtimeMs < begunAt.getTime() - OLD_CHUNK_MS) await rm(join(out, name));
  }
}

/** Bundles programs of the checkout at `root` into the folder `out`. */
export async function buildProgram(
  root: string,
  out: string,
  { programs = PROGRAMS, plugins = [] }: { programs?: string[]; plugins?: Plugin[] } = {},
): Promise<RolldownOutput> {
  let chunks: Chunk[] = [];
  const bundle = await rolldown({
    cwd: root,
    input: Object.fromEntries(programs.map((name) => [name, `src/${name}.ts`])),
    external: (id) =>
      !id.startsWith('.') && !isAbsolute(id) && !PACKAGES.some((name) => `${id}/`.startsWith(`${name}/`)),
    platform: 'node',
    resolve: { symlinks: false }, // a part has the name of its source from here, also where node_modules is a link
    preserveEntrySignatures: 'allow-extension',
    plugins: [
      ...plugins,
      {
        name: 'chunks',
        buildEnd() {
          chunks = chunksOf(this, join(root, 'src'));
        },
        renderChunk: (code) => withoutImports(code),
      },
    ],
    checks: { ineffectiveDynamicImport: false },
  });
  const name = (id: string) => chunks.find(({ modules }) => modules.has(id))?.name;
  try {
    const written = await bundle.write({
      dir: out,
      comments: false,
      chunkFileNames: '[name]-[hash].js',
      codeSplitting: { includeDependenciesRecursively: false, groups: [{ name, debugName: 'chunks' }] },
    });
    await writeFile(join(out, 'LICENSES'), await licensesOf(join(root, 'node_modules')));
    return written;
  } finally {
    await bundle.close();
  }
}

/** Returns a file with its imports of Node.js's own modules as calls that leave alone what is not used of them. */
function withoutImports(code: string): string {
  return code.replaceAll(/^import (.+) from "(node:[\w/]+)";$/gm, (_, names: string, id: string) => {
    const [, whole, named] = /^([\w$]+)?(?:, )?(?:\{(.+)\})?$/.exec(names) ?? [];
    const found = [whole, named && `{${named.replaceAll(' as ', ': ')}}`].filter((one) => one !== undefined);
    if (found.length === 0) throw new Error(`this import of ${id} has another form: ${names}`);
    return `const ${found.map((one) => `${one} = process.getBuiltinModule("${id}")`).join(', ')};`;
  });
}

/** Returns the texts that those who pass on the packages in the bundle must pass on. */
async function licensesOf(modules: string): Promise<string> {
  const texts = PACKAGES.map(async (name) => {
    const file = (await readdir(join(modules, name))).find((one) => /^licen[cs]e/i.test(one));
    if (file === undefined) throw new Error(`the package ${name} has no license text`);
    return `${name}\n\n${(await readFile(join(modules, name, file), 'utf8')).trim()}\n`;
  });
  return ['The program has code of these packages.\n', ...(await Promise.all(texts))].join(`\n${'='.repeat(80)}\n\n`);
}

/** Modules that are in one file. */
interface Chunk {
  name: string;
  modules: Set<string>;
}

/**
 * Returns the large files. A module is in the first that has it; all that it imports is there or in one before, so that no two files
 * need each other. The modules of no chunk are in the file of the program or the `import()` that needs them, or in one with their like.
 */
function chunksOf(build: PluginContext, src: string): Chunk[] {
  const imported = (ids: Iterable<string>, found = new Set<string>()): Set<string> => {
    for (const id of ids) {
      if (found.has(id)) continue;
      found.add(id);
      imported(build.getModuleInfo(id)?.importedIds ?? [], found);
    }
    return found;
  };
  const from = (...names: string[]) => imported(names.map((name) => join(src, `${name}.ts`)));
  const loaded = (id: string) => build.getModuleInfo(id)?.dynamicallyImportedIds ?? [];
  const ofClients = [...build.getModuleIds()]
    .filter((id) => CLIENT.test(id))
    .flatMap(loaded)
    .filter((id) => CLIENT.test(id));
  const launch = from('server', 'compose/create-logger', 'compose/process/survive-shortage');
  const server = from('compose/build-server');
  const client = imported([...loaded(join(src, 'cli/program.ts')), ...ofClients]);
  return [
    { name: 'command', modules: from(...COMMAND) },
    { name: 'shared', modules: new Set([...client].filter((id) => server.has(id) || launch.has(id))) },
    { name: 'launch', modules: launch },
    { name: 'server', modules: server },
  ];
}
