/**
 * Builds the example images without a registry or base image: this machine's interpreter and a shell, the shared libraries
 * they need, and the worker's files, imported into the engine as one root file system. Linux only. `node scripts/build-example-images.ts`
 * builds all of them.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { OWN_PACKAGE } from '../../../core/files/own-package.ts';
import { Engine } from '../../../engine/engine.ts';
import { orAbsent } from '../../../engine/refusal.ts';
import { type ImageFile, importImage } from './import-image.ts';
import { familiarName } from './pull-image.ts';

type ExampleName = 'podyard/echo-js' | 'podyard/web-js' | 'podyard/echo-python';

export interface ExampleImage {
  name: ExampleName;
  tag: string;
}

const EXAMPLE_IMAGES: readonly ExampleImage[] = [
  { name: 'podyard/echo-js', tag: 'dev' },
  { name: 'podyard/echo-js', tag: 'v2' },
  { name: 'podyard/web-js', tag: 'dev' },
  { name: 'podyard/web-js', tag: 'v2' },
  { name: 'podyard/echo-python', tag: 'dev' },
];

export interface BuildResult {
  image: string;
  status: 'built' | 'present' | 'skipped';
  /** One sentence: why it was skipped, else its size. */
  note: string;
}

/** The members used of `GET /images/{name}/json`. */
interface Image {
  Id: string;
  Config?: { Labels?: Record<string, string> | null } | null;
}

interface Root {
  entries: ImageFile[];
  entrypoint: string[];
}

/** The same path from src/ and from dist/. */
const WORKERS = fileURLToPath(new URL('workers', OWN_PACKAGE));
const LABEL = 'podyard.example.content';
/** Increase it when images are imported with other settings. */
const FORMAT = 2;

/** Returns the example that an image's name means; undefined if it is another image. */
export function exampleOf(image: string): ExampleImage | undefined {
  return EXAMPLE_IMAGES.find(({ name, tag }) => familiarName(image) === `${name}:${tag}`);
}

/** Builds one image, unless the engine has it with the same content. Rejects when the engine cannot be used. */
export async function buildImage(example: ExampleImage): Promise<BuildResult> {
  const engine = new Engine(undefined);
  try {
    return await buildImageOn(engine, example);
  } finally {
    await engine.close();
  }
}

/** As `buildImage`, on an engine that stays open. */
export async function buildImageOn(engine: Engine, { name, tag }: ExampleImage): Promise<BuildResult> {
  const image = `${name}:${tag}`;
  const root = rootOf(name);
  if (typeof root === 'string') return { image, status: 'skipped', note: root };

  const content = fingerprint(root);
  const present = await orAbsent(engine.json<Image>({ method: 'GET', path: `/images/${image}/json` }));
  if (present?.Config?.Labels?.[LABEL] === content) {
    return { image, status: 'present', note: `${image} is up to date.` };
  }
  await importImage(engine, image, root.entries, [
    `ENTRYPOINT ${JSON.stringify(root.entrypoint)}`,
    'WORKDIR /worker',
    'ENV PATH=/usr/local/bin:/usr/bin:/bin',
    'ENV HOME=/root', // on a line of its own: Podman takes a line for one variable
    `LABEL ${LABEL}=${content}`,
  ]);
  // The image that had this name is now 100 MB of waste. The engine refuses while a container still uses it.
  if (present) await engine.json({ method: 'DELETE', path: `/images/${present.Id}` }).catch(() => {});
  const megabytes = Math.round(root.entries.reduce((sum, entry) => sum + sizeOf(entry), 0) / 1e6);
  return { image, status: 'built', note: `${image} was built from this machine's own files, ${megabytes} MB.` };
}

/** Builds all example images, one after another. */
export async function buildImages(): Promise<BuildResult[]> {
  const results: BuildResult[] = [];
  for (const example of EXAMPLE_IMAGES) results.push(await buildImage(example));
  return results;
}

function rootOf(name: ExampleName): Root | string {
  if (process.platform !== 'linux') return `${name} was skipped: this machine does not run Linux.`;
  if (name === 'podyard/echo-js') return nodeRoot(['package.json', 'podyard-worker.js', 'echo.js']);
  if (name === 'podyard/web-js') return nodeRoot(['package.json', 'web.js']);
  return pythonRoot();
}

/** The last file is the program. */
function nodeRoot(files: readonly string[]): Root {
  const programs = shellPrograms();
  return {
    entries: [
      ...base('node'),
      { path: 'usr/local/bin/node', source: realpathSync(process.execPath), mode: 0o755 },
      ...programs,
      ...(programs.length > 0 ? libraries([process.execPath, ...sourcesOf(programs)]) : ownLibraries()),
      ...files.map((file) => ({ path: `worker/${file}`, source: join(WORKERS, 'javascript', file), mode: 0o644 })),
    ],
    entrypoint: ['node', files.at(-1)!],
  };
}

/** Parts of the standard library that no worker needs; they are most of its size. */
const PYTHON_UNUSED =
  /^(test|tests|idlelib|tkinter|turtledemo|ensurepip|lib2to3|pydoc_data|distutils|site-packages|dist-packages|__pycache__|config-.*)$/;

function pythonRoot(): Root | string {
  const python = findPython();
  if (python === undefined) return 'podyard/echo-python was skipped: no python3 (3.9 or newer) on this machine.';
  const library = `usr/local/lib/python${python.version}`;
  const modules = walk(python.library, library);
  const programs = shellPrograms();
  const native = modules.filter((entry) => entry.path.endsWith('.so')).map((entry) => entry.source!);
  return {
    entries: [
      ...base('python'),
      { path: 'usr/local/bin/python3', source: python.binary, mode: 0o755 },
      ...modules,
      ...programs,
      ...libraries([python.binary, ...native, ...sourcesOf(programs)]),
      ...['podyard_worker.py', 'echo.py'].map((file) => ({
        path: `worker/${file}`,
        source: join(WORKERS, 'python', file),
        mode: 0o644,
      })),
    ],
    entrypoint: ['python3', '-u', 'echo.py'],
  };
}

/** Finds the interpreter itself, not a shim that finds one. */
function findPython(): { binary: string; library: string; version: string } | undefined {
  const script =
    'import json,os,sys,sysconfig; assert sys.version_info >= (3, 9); print(json.dumps([os.path.realpath(sys.executable), sysconfig.get_path("stdlib"), "%d.%d" % sys.version_info[:2]]))';
  try {
    const text = execFileSync('python3', ['-I', '-c', script], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [binary, library, version] = JSON.parse(text) as [string, string, string];
    return { binary, library, version };
  } catch {
    return undefined;
  }
}

function walk(folder: string, target: string): ImageFile[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((item): ImageFile[] => {
    if (PYTHON_UNUSED.test(item.name)) return [];
    const source = join(folder, item.name);
    if (!existsSync(source)) return []; // a link to nowhere
    if (statSync(source).isDirectory()) return walk(source, `${target}/${item.name}`);
    return [{ path: `${target}/${item.name}`, source }];
  });
}

function base(user: string): ImageFile[] {
  return [
    { path: 'tmp/', mode: 0o1777 },
    { path: 'root/', mode: 0o700 },
    { path: 'worker/' },
    {
      path: 'etc/passwd',
      content: `root:x:0:0:root:/root:/bin/false\n${user}:x:1000:1000::/worker:/bin/false\n`,
      mode: 0o644,
    },
    { path: 'etc/group', content: `root:x:0:\n${user}:x:1000:\n`, mode: 0o644 },
  ];
}

/** Programs that a terminal and a copy of files need in an image, as far as this machine has them: 3 MB. */
const SHELL_PROGRAMS = ['sh', 'cat', 'env', 'grep', 'ls', 'mkdir', 'mv', 'ps', 'rm', 'sleep', 'stty', 'tar', 'tty'];

function shellPrograms(): ImageFile[] {
  return SHELL_PROGRAMS.flatMap((name) => {
    const source = ['/bin', '/usr/bin'].map((folder) => join(folder, name)).find((path) => existsSync(path));
    return source === undefined ? [] : [{ path: `bin/${name}`, source: realpathSync(source), mode: 0o755 }];
  });
}

function sourcesOf(entries: readonly ImageFile[]): string[] {
  return entries.map(({ source }) => source!);
}

/** The shared libraries of the binaries, at the paths where the loader looks for them. */
function libraries(binaries: string[]): ImageFile[] {
  const paths = new Set<string>();
  for (const binary of binaries) {
    const text = execFileSync('ldd', [binary], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
    for (const match of text.matchAll(/(?<!\S)(\/\S+) \(0x/g)) paths.add(match[1]!);
  }
  return [...paths].map((path) => ({ path: path.slice(1), source: realpathSync(path), mode: 0o755 }));
}

/** Those of this process, for Podyard's own image, which has neither a shell nor `ldd`. */
function ownLibraries(): ImageFile[] {
  Object.assign(process.report, { excludeNetwork: true }); // which takes seconds
  const { sharedObjects } = process.report.getReport() as unknown as { sharedObjects: string[] };
  const paths = sharedObjects.filter((path) => /^\/.*\.so(\.|$)/.test(path));
  return paths.map((path) => ({ path: path.slice(1), source: realpathSync(path), mode: 0o755 }));
}

function sizeOf(entry: ImageFile): number {
  return entry.source === undefined ? 0 : statSync(entry.source).size;
}

/** Changes when a file of the image does. Hashes paths, sizes and times: reading 100 MB at each start would be slow. */
function fingerprint(root: Root): string {
  const hash = createHash('sha256').update(JSON.stringify([root.entrypoint, FORMAT]));
  for (const { path, source } of root.entries) {
    const stat = source === undefined ? undefined : statSync(source);
    hash.update(`${path} ${stat?.size} ${stat?.mtimeMs}\n`);
  }
  return hash.digest('hex').slice(0, 16);
}
