import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { pack as createPack } from 'tar-stream';
import { OWN_PACKAGE } from '../../../core/files/own-package.ts';
import { openSession, type SessionPlace } from '../../exec/remote-session.ts';
import type { ApiClient } from '../../shared/api-client.ts';
import { changeOf, type FolderState } from './remote-folder.ts';

const SCRIPT = new URL('workers/dev/take-files.sh', OWN_PACKAGE);
/** Exit codes of the script. */
const [NOT_YET, OTHER_STATE] = [75, 76];

/** How a worker got files: `later` if it does not take any yet, `all` if it has other files than was thought. */
export type SendResult = 'done' | 'later' | 'all';

/**
 * Sends a worker the files that differ from those that it has (null: unknown), and has it run the new code. Resolves once it does. Throws
 * what went wrong in the worker; then its files are unknown.
 */
export async function sendFiles(
  client: ApiClient,
  place: SessionPlace,
  root: string,
  { before, after }: { before: FolderState | null; after: FolderState },
): Promise<SendResult> {
  const script = await readFile(SCRIPT, 'utf8');
  const command = ['sh', '-c', script, 'podyard', before === null ? 'none' : nameOf(before), nameOf(after)];
  const session = await openSession(client, place, { command, terminal: null, input: true });
  session.output.resume();
  const said = text(session.errors);
  const sent = writeArchive(root, changeOf(before, after), session.input).catch((error: Error) => {
    session.close();
    return error;
  });
  const { code, reason } = await session.ended;
  const failed = await sent;
  if (code === 0) return 'done';
  if (code === NOT_YET) return 'later';
  if (code === OTHER_STATE) return 'all';
  const words = (await said).trim().replaceAll('\n', '; ');
  throw new Error(reason ?? (words || (failed?.message ?? `exit status ${code}`)));
}

/** Names a state by all that it has. */
function nameOf(state: FolderState): string {
  return createHash('sha256')
    .update(JSON.stringify([...state.values()]))
    .digest('hex');
}

async function writeArchive(
  root: string,
  { write, remove }: ReturnType<typeof changeOf>,
  input: NodeJS.WritableStream,
): Promise<undefined> {
  const archive = createPack();
  const fill = async () => {
    archive.entry({ name: 'content', type: 'directory', mode: 0o755 });
    for (const entry of write) {
      const name = `content/${entry.path}`;
      if ('link' in entry) archive.entry({ name, type: 'symlink', linkname: entry.link });
      else {
        const mode = (entry.mode & 0o100) === 0 ? 0o644 : 0o755;
        const bytes = createReadStream(join(root, entry.path), { end: Math.max(0, entry.size - 1) });
        await pipeline(bytes, archive.entry({ name, mode, size: entry.size }));
      }
    }
    archive.entry({ name: 'remove' }, remove.map((path) => `${path}\n`).join(''));
    archive.entry({ name: 'complete' }, '');
    archive.finalize();
  };
  await Promise.all([
    pipeline(archive as AsyncIterable<Buffer>, input),
    fill().catch((error) => {
      archive.destroy(error);
      throw error;
    }),
  ]);
}
