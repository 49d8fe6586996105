import { readFileSync, statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { type Pack, pack } from 'tar-stream';
import { Failure } from '../../../core/errors.ts';
import type { Engine } from '../../../engine/engine.ts';

/** A file of an image. A path ending with `/` is a folder; `source` is a file of this machine, read when it is sent. */
export interface ImageFile {
  path: string;
  source?: string;
  content?: string | Buffer;
  /** Makes it a symbolic link. */
  linksTo?: string;
  mode?: number;
}

/**
 * Makes an image of these files, owned by root, with `changes` in the form of a Dockerfile's lines. Podman ignores a tag that is
 * not part of `name`, so it names both: `podyard/tool:1`. Holds one file in memory at a time.
 */
export async function importImage(
  engine: Engine,
  name: string,
  files: readonly ImageFile[],
  changes: readonly string[] = [],
): Promise<void> {
  const query = { fromSrc: '-', repo: name, changes };
  const archive = Readable.from(archiveOf(files), { objectMode: false });
  const answer = await engine.stream({ method: 'POST', path: '/images/create', query, archive });
  const said = Buffer.concat(await answer.toArray()).toString();
  const failure = /"error":"([^"]*)"/.exec(said); // the engine answers 200 before it fails
  if (failure) throw new Failure('unavailable', `The container engine could not import ${name}: ${failure[1]}`);
}

function archiveOf(files: readonly ImageFile[]): Pack {
  const archive = pack();
  const add = ({ path, source, content = '', linksTo, mode }: ImageFile) => {
    const body = source === undefined ? Buffer.from(content as Buffer) : readFileSync(source);
    const header = {
      name: path,
      type: linksTo !== undefined ? 'symlink' : path.endsWith('/') ? 'directory' : 'file',
      linkname: linksTo ?? '',
      mode: mode ?? (source === undefined ? 0o755 : statSync(source).mode & 0o777),
      mtime: new Date(0),
    } as const;
    return new Promise<void>((resolve, reject) => {
      archive.entry(header, body, (error) => (error ? reject(error) : resolve()));
    });
  };
  const addAll = async () => {
    for (const file of files) await add(file);
    archive.finalize();
  };
  addAll().catch((error) => archive.destroy(error));
  return archive;
}
