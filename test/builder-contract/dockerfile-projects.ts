/** The projects of the contract suite as Dockerfiles on a base image of one static program. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { type Header, pack } from 'tar-stream';
import type { Recipe } from '../../src/domain/builds/recipe.ts';
import type { Engine } from '../../src/engine/engine.ts';
import type { Project } from './projects.ts';

/** Has a shell and its usual programs. Podman would ask a registry for a name without a host. */
export const BASE = 'localhost/podyard/test-base:1';

const BUSYBOX = '/bin/busybox';

/**
 * Makes the base image of Debian's package busybox-static. It is the same image each time: files that run side by side build on it, and
 * another image of that name would make another image of an unchanged folder.
 */
export async function makeBase(engine: Engine): Promise<void> {
  if (!existsSync(BUSYBOX)) throw new Error('there is no /bin/busybox (Debian: apt-get install busybox-static)');
  const names = execFileSync(BUSYBOX, ['--list'], { encoding: 'utf8' }).trim().split('\n');
  const layer = await archive([
    [{ name: 'bin/', mode: 0o755 }],
    [{ name: 'bin/busybox', mode: 0o755 }, readFileSync(BUSYBOX)],
    ...names
      .filter((name) => name !== 'busybox')
      .map((name): Entry => [{ name: `bin/${name}`, type: 'symlink', linkname: 'busybox' }]),
    [{ name: 'etc/', mode: 0o755 }],
    [{ name: 'etc/passwd', mode: 0o644 }, 'root:x:0:0::/:/bin/sh\n'],
    [{ name: 'tmp/', mode: 0o1777 }],
    [{ name: 'app/', mode: 0o755 }],
  ]);
  const config = JSON.stringify({
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    os: 'linux',
    created: '2000-01-01T00:00:00Z',
    config: {},
    history: [{ created: '2000-01-01T00:00:00Z' }], // of the layer: Podman counts them
    rootfs: { type: 'layers', diff_ids: [`sha256:${createHash('sha256').update(layer).digest('hex')}`] },
  });
  const manifest = JSON.stringify([{ Config: 'config.json', RepoTags: [BASE], Layers: ['layer.tar'] }]);
  const image = await archive([
    [{ name: 'config.json' }, config],
    [{ name: 'layer.tar' }, layer],
    [{ name: 'manifest.json' }, manifest],
  ]);
  const answer = await engine.stream({ method: 'POST', path: '/images/load', archive: Readable.from([image]) });
  const said = await text(answer);
  if (said.includes('"error"')) throw new Error(`the engine could not load ${BASE}: ${said}`);
}

type Entry = [header: Partial<Header> & { name: string }, content?: string | Buffer];

/** Folders end with `/`. */
async function archive(entries: readonly Entry[]): Promise<Buffer> {
  const tar = pack();
  for (const [header, content] of entries) {
    const type = header.name.endsWith('/') ? 'directory' : 'file';
    tar.entry({ type, mtime: new Date(0), ...header }, content ?? '');
  }
  tar.finalize();
  return buffer(tar);
}

/** A program of the project `endless`, as no other process of the tests has one: files that run side by side build it, too. */
export const ENDLESS = `sleep ${10_000_000 + process.pid}`;

const STEPS: Record<Project, string[]> = {
  plain: ['COPY . .', 'RUN echo building && test -f note.txt'],
  failing: ['RUN echo about to fail; exit 3'],
  endless: [`RUN trap '' TERM; (${ENDLESS} & ${ENDLESS}) & echo started; while true; do ${ENDLESS}; done`],
  chatty: [
    'RUN yes "a line of sixty-four characters, which is repeated a million times" | head -c 67108864; head -c 8388608 /dev/zero | tr "\\0" x; echo',
  ],
  large: ['RUN head -c 12582912 /dev/urandom > /app/large'],
  secret: ['RUN --mount=type=secret,id=TOKEN,required=true echo "$(cut -c1-4 /run/secrets/TOKEN)…"'],
};

/** The recipe of a Dockerfile at the top of a folder. */
export const DOCKERFILE: Recipe = {
  language: 'dockerfile',
  dockerfile: 'Dockerfile',
  target: null,
  base: null,
  version: null,
  installer: null,
  lockFiles: [],
  systemPackages: [],
  secretIds: [],
  buildCommand: null,
  entry: null,
};

export async function writeDockerfile(project: Project, folder: string): Promise<Recipe> {
  const lines = [`FROM ${BASE}`, 'WORKDIR /app', ...STEPS[project], 'CMD ["sleep", "86400"]'];
  await writeFile(join(folder, 'Dockerfile'), `${lines.join('\n')}\n`);
  return DOCKERFILE;
}
