import { spawn, spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DOCS_SECTIONS } from '../../scripts/docs-sections.ts';
import { buildIfStale } from '../build-if-stale.ts';
import { createTestDatabase, type TestDatabase } from '../database.ts';
import { MAIN } from '../podyard-main.ts';
import { type Block, missingOutput, readBlocks, scriptOf } from './docs-commands.ts';
import { ServerProcess } from './server-process.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PAGES = ['README.md', ...DOCS_SECTIONS.flatMap(({ files }) => files.map((file) => `docs/${file}`))];
const PAGE_LIMIT_MS = 240_000; // many pages share two cores
/** Affects the whole server, so it runs alone. */
const ALONE = 'docs/guide/shortage.md';

const pages = new Map<string, Block[]>();
for (const page of PAGES) pages.set(page, readBlocks(await readFile(join(ROOT, page), 'utf8')));
const withCommands = PAGES.filter((page) => pages.get(page)!.some(({ info }) => info === 'sh run'));
/** Pages that write files: they are run in a checkout too. */
const withFiles = withCommands.filter((page) => pages.get(page)!.some(({ info }) => /\bfile=/.test(info)));

let folder: string;
let database: TestDatabase;
let server: ServerProcess;
beforeAll(async () => {
  buildIfStale('docs'); // a guide fetches a file from the server
  folder = await mkdtemp(join(tmpdir(), 'podyard-docs-'));
  await mkdir(join(folder, 'bin'));
  const program = `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`;
  await writeFile(join(folder, 'bin/podyard'), program, { mode: 0o755 });
  database = await createTestDatabase();
  const folders = [...withCommands.map(makeReadersFolder), ...withFiles.map(makeCheckout)];
  const imagesFiles = (await Promise.all(folders)).map(imagesFileOf);
  server = await ServerProcess.start({
    runtime: 'process',
    databaseUrl: database.url,
    gpus: 'ADA_24:16',
    env: { PODYARD_IMAGES_FILES: imagesFiles.join(':'), PODYARD_INSECURE_PROCESS_RUNTIME: 'true' }, // guides create users
  });
});
afterAll(async () => {
  await server?.dispose();
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

function readersFolder(page: string): string {
  return join(folder, page.replaceAll('/', '-'));
}

function checkoutFolder(page: string): string {
  return `${readersFolder(page)}-checkout`;
}

/** Where the server looks for the images of a page, as a reader's server looks in its data directory. */
function imagesFileOf(path: string): string {
  return `${path}-images.json`;
}

/** Creates a folder like a newcomer's, which is empty; what a page tells to install from npm is there. */
async function makeReadersFolder(page: string): Promise<string> {
  const path = readersFolder(page);
  await mkdir(path);
  const wanted = /`npm install ([\w-]+)`/.exec(await readFile(join(ROOT, page), 'utf8'))?.[1];
  if (wanted === undefined) return path;
  await mkdir(join(path, 'node_modules'));
  await symlink(join(ROOT, 'node_modules', wanted), join(path, 'node_modules', wanted));
  return path;
}

/** Creates a folder like a checkout: everything that the repository tracks, and its packages. */
async function makeCheckout(page: string): Promise<string> {
  const path = checkoutFolder(page);
  await mkdir(path);
  const tracked = spawnSync('git', ['ls-tree', '--name-only', 'HEAD'], { cwd: ROOT, encoding: 'utf8' }).stdout;
  for (const name of [...tracked.trim().split('\n'), 'node_modules']) await symlink(join(ROOT, name), join(path, name));
  return path;
}

/** Runs a script in a shell. Resolves with its output; rejects with the place of the command that failed. */
async function runScript(script: string, cwd: string): Promise<string> {
  const { PATH, HOME, TMPDIR } = process.env;
  const env = {
    PATH: `${join(folder, 'bin')}:${PATH}`,
    HOME,
    ...(TMPDIR && { TMPDIR }),
    PODYARD_URL: server.url,
    PODYARD_API_KEY: server.key,
    PODYARD_DATABASE_URL: database.url,
    PAGE_IMAGES: imagesFileOf(cwd),
    PODYARD_INSECURE_PROCESS_RUNTIME: 'true', // the server's runtime; readers use docker
  };
  const child = spawn('bash', ['-c', script], { cwd, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const timer = setTimeout(() => process.kill(-child.pid!, 'SIGKILL'), PAGE_LIMIT_MS - 10_000);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  child.stderr.on('data', (chunk) => {
    stderr += chunk;
  });
  const code = await new Promise((resolve) => child.once('close', (status, signal) => resolve(status ?? signal)));
  clearTimeout(timer);
  if (code !== 0)
    throw new Error(`the script ended with ${code}:\n${stderr.slice(-4000)}\n--- stdout\n${stdout.slice(-2000)}`);
  return stdout;
}

async function runPage(page: string, cwd = readersFolder(page)): Promise<void> {
  const blocks = pages.get(page)!;
  const stdout = await runScript(scriptOf(blocks), cwd);
  expect(missingOutput(blocks, stdout)).toEqual([]);
}

const TITLE = 'every command of %s works and prints what the page shows';
/** True when this machine lacks a program that the commands call. */
const isMissing =
  process.env.CI !== 'true' && ['jq', 'curl', 'python3'].some((name) => spawnSync(name, ['--version']).status !== 0);
const together = withCommands.filter((page) => page !== ALONE);
describe('in an empty folder, with only the command', () => {
  test.skipIf(isMissing).concurrent.each(together)(TITLE, { timeout: PAGE_LIMIT_MS }, (page) => runPage(page));
});
describe('in a checkout', () => {
  test.skipIf(isMissing).concurrent.each(withFiles)(TITLE, { timeout: PAGE_LIMIT_MS }, (page) =>
    runPage(page, checkoutFolder(page)),
  );
});
test.skipIf(isMissing).each([ALONE])(TITLE, { timeout: PAGE_LIMIT_MS }, (page) => runPage(page));

/** Commands of pages on installation that no test machine can run. */
const NEEDS_A_PLACE = new Set(
  ['gpus', 'a-cluster', 'a-domain', 'your-repository', 'the-hub'].map((place) => `sh not-run=needs-${place}`),
);

/** Run on machines made for them, from the files of a release: test/release/install-page.test.ts. */
const INSTALL_PAGE = 'docs/guide/install.md';

/** Returns the lines of a block without their comments. */
const commandsOf = (text: string) => text.split('\n').flatMap((line) => line.replace(/(^| +)# .*/, '').trim() || []);

test('all commands on the pages are run, except a few that state why not', () => {
  const others = [...pages].filter(([page]) => page !== INSTALL_PAGE).flatMap(([, blocks]) => blocks);
  const shown = others.filter(({ info }) => /^sh\b/.test(info));
  const left = shown.filter(({ info }) => info !== 'sh run');
  expect(left.filter(({ info }) => !/^sh not-run=[\w-]+$/.test(info))).toEqual([]);
  const runOnInstallPage = new Set(pages.get(INSTALL_PAGE)!.flatMap(({ text }) => commandsOf(text)));
  const isRunThere = ({ text }: Block) => commandsOf(text).every((command) => runOnInstallPage.has(command));
  const runnable = shown.filter((block) => !NEEDS_A_PLACE.has(block.info) && !isRunThere(block));
  expect(runnable.filter((block) => left.includes(block)).length).toBeLessThan(runnable.length / 4);
});
