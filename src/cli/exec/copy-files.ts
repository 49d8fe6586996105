import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { createReadStream, type Stats } from 'node:fs';
import { lstat, readdir, readlink, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { pack as createPack, type Pack } from 'tar-stream';
import { makeFolder } from '../../core/files/make-folder.ts';
import { UsageError } from '../../core/usage-error.ts';
import type { ApiClient } from '../shared/api-client.ts';
import type { CliPieces } from '../shared/cli-pieces.ts';
import { refuseSpecial } from '../shared/refuse-special.ts';
import { COMPLETE, CONTENT, RECEIVE, SEND } from './copy-scripts.ts';
import { openSession, type RemoteSession, type SessionPlace } from './remote-session.ts';
import { unpack } from './unpack.ts';

type Output = Pick<CliPieces, 'terminal' | 'note'>;

const MAX_ERROR_CHARACTERS = 2_000;
const PROGRESS_MS = 200;

/** Copies a file or folder of this machine to a pod or worker, with its permissions and times. */
export async function copyThere(client: ApiClient, place: SessionPlace, from: string, to: string, output: Output) {
  const info = await stat(from).catch(() => {
    throw new UsageError(`${from}: no such file or folder on this machine`);
  });
  if (!info.isFile() && !info.isDirectory()) throw new UsageError(`${from} is neither a file nor a folder`);
  const command = ['sh', '-c', RECEIVE, 'podyard', to, basename(resolve(from))];
  const session = await run(client, place, { command, input: true }, output.terminal);
  session.output.resume();
  const archive = createPack();
  const progress = new Progress(output);
  const written = Promise.all([
    pipeline(progress.count(archive as AsyncIterable<Buffer>), session.input),
    writeArchive(archive, from, info),
  ]).catch(async (error: Error) => {
    archive.destroy();
    session.close();
    throw error;
  });
  try {
    await Promise.all([finish(session), written.catch((error) => failUnlessEnded(session, error))]);
  } finally {
    progress.end();
  }
}

/** Copies a file or folder of a pod or worker to this machine, with its permissions and times. */
export async function copyHere(client: ApiClient, place: SessionPlace, from: string, to: string, output: Output) {
  const name = basename(from) || 'root';
  const isFolder = await stat(to).then((info) => info.isDirectory(), () => false); // biome-ignore format: one thing
  const target = isFolder || to.endsWith('/') ? join(to, name) : to;
  const exists = await stat(target).then((info) => info.isDirectory(), () => false); // biome-ignore format: one thing
  if (exists) throw new UsageError(`${target} is a folder that exists: remove it, or name another destination`);
  await refuseSpecial(target);
  await makeFolder(dirname(resolve(target)));
  const command = ['sh', '-c', SEND, 'podyard', from];
  const session = await run(client, place, { command, input: false }, output.terminal);
  const progress = new Progress(output);
  const part = new PartFolder(dirname(resolve(target)));
  try {
    const unpacked = unpack(progress.count(session.output), part.path, (text) => output.note(`podyard: ${text}`)).catch(
      (error) => {
        session.close();
        throw error;
      },
    );
    // Both must be over before the folder is removed.
    const failed = (await Promise.allSettled([finish(session), unpacked])).find(({ status }) => status === 'rejected');
    if (failed) throw (failed as PromiseRejectedResult).reason;
    await rename(join(part.path, CONTENT), target);
  } finally {
    progress.end();
    await part.remove();
  }
}

/** Ctrl-C ends it. */
async function run(
  client: ApiClient,
  place: SessionPlace,
  request: { command: string[]; input: boolean },
  { interrupted }: Output['terminal'],
): Promise<RemoteSession> {
  const session = await openSession(client, place, { ...request, terminal: null });
  const onInterrupt = () => session.abandon('it was interrupted');
  interrupted.addEventListener('abort', onInterrupt);
  void session.ended.then(() => interrupted.removeEventListener('abort', onInterrupt));
  if (interrupted.aborted) onInterrupt();
  return session;
}

/** Throws what the program said when it failed. */
async function finish(session: RemoteSession): Promise<void> {
  let said = '';
  session.errors.on('data', (chunk: Buffer) => {
    said = (said + String(chunk)).slice(-MAX_ERROR_CHARACTERS);
  });
  const { code, reason } = await session.ended;
  if (code === 0) return;
  const words = said.trim().replaceAll('\n', '; ');
  const why = code === 127 ? 'its image needs the programs sh and tar' : `exit status ${code}`;
  throw new Error(`the copy failed: ${reason ?? (words || why)}`);
}

/** When the program has ended, what it said is the reason; a broken connection is only its effect. */
async function failUnlessEnded(session: RemoteSession, error: Error): Promise<never> {
  await session.ended;
  await new Promise((resolve) => setImmediate(resolve));
  throw error;
}

async function writeArchive(archive: Pack, from: string, info: Stats): Promise<void> {
  await addTree(archive, from, info, CONTENT);
  archive.entry({ name: COMPLETE }, '');
  archive.finalize();
}

async function addTree(archive: Pack, path: string, info: Stats, name: string): Promise<void> {
  const header = { name, mode: info.mode & 0o7777, mtime: info.mtime };
  if (info.isDirectory()) {
    archive.entry({ ...header, type: 'directory' });
    for (const child of (await readdir(path)).toSorted()) {
      const inner = join(path, child);
      await addTree(archive, inner, await lstat(inner), `${name}/${child}`);
    }
  } else if (info.isSymbolicLink()) {
    archive.entry({ ...header, type: 'symlink', linkname: await readlink(path) });
  } else if (info.isFile()) {
    const entry = archive.entry({ ...header, size: info.size });
    await pipeline(createReadStream(path, { end: Math.max(0, info.size - 1) }), entry);
  }
}

/** Shows on a terminal how much has passed. */
class Progress {
  readonly #terminal: Output['terminal'];
  readonly #timer: NodeJS.Timeout;
  #bytes = 0;

  constructor({ terminal }: Output) {
    this.#terminal = terminal;
    this.#timer = setInterval(() => terminal.progress(`${(this.#bytes / 1e6).toFixed(1)} MB copied`), PROGRESS_MS);
  }

  async *count(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      this.#bytes += chunk.length;
      yield chunk;
    }
  }

  end(): void {
    clearInterval(this.#timer);
    this.#terminal.progress('');
  }
}

/** Waits for the end of its input, which comes when this process ends, however it does. */
const REMOVE = `read -r done; while ! rm -rf -- "$1" && [ -e "$1" ]; do sleep 1; done`;

/**
 * A folder for files that are not complete yet, next to their final place. A shell removes it when this process is killed.
 */
class PartFolder {
  /** The folder does not exist yet: the first writer creates it. */
  readonly path: string;
  readonly #remover: ChildProcess;

  constructor(folder: string) {
    this.path = join(folder, `.podyard-copy-${randomBytes(6).toString('hex')}`);
    // In a session of its own, where Ctrl-C does not reach it.
    this.#remover = spawn('/bin/sh', ['-c', REMOVE, 'podyard', this.path], {
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    this.#remover.on('error', () => {}); // a machine without a shell
    this.#remover.unref();
  }

  async remove(): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
    this.#remover.stdin?.end();
  }
}
