/** The projects of the contract suite as Dockerfiles on a base image of one static program. */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Recipe } from '../../src/domain/builds/recipe.ts';
import type { Engine } from '../../src/engine/engine.ts';
import { importImage } from '../../src/runtimes/docker/images/import-image.ts';
import type { Project } from './projects.ts';

/** Has a shell and its usual programs. Podman would ask a registry for a name without a host. */
export const BASE = 'localhost/podyard/test-base:1';

const BUSYBOX = '/bin/busybox';

/** Makes the base image of Debian's package busybox-static. */
export async function makeBase(engine: Engine): Promise<void> {
  if (!existsSync(BUSYBOX)) throw new Error('there is no /bin/busybox (Debian: apt-get install busybox-static)');
  const names = execFileSync(BUSYBOX, ['--list'], { encoding: 'utf8' }).trim().split('\n');
  const links = names.filter((name) => name !== 'busybox').map((name) => ({ path: `bin/${name}`, linksTo: 'busybox' }));
  await importImage(engine, BASE, [
    { path: 'bin/' },
    { path: 'bin/busybox', source: BUSYBOX },
    ...links,
    { path: 'etc/' },
    { path: 'etc/passwd', content: 'root:x:0:0::/:/bin/sh\n', mode: 0o644 },
    { path: 'tmp/', mode: 0o1777 },
    { path: 'app/' },
  ]);
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
