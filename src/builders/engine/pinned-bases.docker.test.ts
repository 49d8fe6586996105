/** Base images on the real engine: they ask no address of the machine's network, and are gone afterwards. */
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BASE, DOCKERFILE, makeBase } from '../../../test/builder-contract/dockerfile-projects.ts';
import { docker, hasEngine, whileImagesGo } from '../../../test/engine.ts';
import { newId } from '../../core/ids.ts';
import { Engine } from '../../engine/engine.ts';
import type { BuildEvent, BuildRequest } from '../builder.ts';
import { createEngineBuilder } from './engine-builder.ts';

const LIMITS = { cpus: 1, memoryBytes: 128 * 2 ** 20, timeoutMs: 60_000, maxImageBytes: 1e9 };
/** Reachable from the machine of the engine, and from no container. */
let asked: string[];
let service: Server;
let address: string;

describe.skipIf(!hasEngine)('a base image with triggers', { timeout: 60_000 }, () => {
  const engine = new Engine(undefined);
  const installation = newId<string>();
  const builder = createEngineBuilder({ engine, installation });
  const made: string[] = [];
  let folder: string;

  beforeAll(async () => {
    await makeBase(engine);
    folder = await mkdtemp(join(tmpdir(), 'podyard-bases-'));
    asked = [];
    service = createServer(({ url }, answer) => {
      asked.push(url ?? '');
      answer.end('found');
    }).listen(0, '127.0.0.1');
    await once(service, 'listening');
    address = `http://127.0.0.1:${(service.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    for (const { buildId } of await builder.list()) await builder.remove(buildId);
    for (const name of made) await whileImagesGo(() => docker.getImage(name).remove({ force: true }));
    service.close();
    await engine.close();
    await rm(folder, { recursive: true });
  });

  const withTrigger = async (...triggers: string[]): Promise<string> => {
    const id = newId<string>();
    const container = await docker.createContainer({ Image: BASE, Cmd: ['true'] });
    const changes = triggers.map((trigger) => `ONBUILD ${trigger}`).join('\n');
    const image = { repo: 'localhost/podyard/with-trigger', tag: id, changes };
    await whileImagesGo(() => container.commit(image)).finally(() => container.remove());
    made.push(`localhost/podyard/with-trigger:${id}`);
    return made.at(-1)!;
  };
  const build = async (
    dockerfile: string,
    given: Partial<Pick<BuildRequest, 'args' | 'prepareBase'>> = {},
  ): Promise<BuildEvent[]> => {
    const id = newId<string>();
    const context = await mkdtemp(join(folder, 'context-'));
    await writeFile(join(context, 'Dockerfile'), dockerfile);
    const events: BuildEvent[] = [];
    const request: BuildRequest = {
      ...{ id, image: `builds.podyard.internal/bases:${id}`, folder: context, recipe: DOCKERFILE },
      ...{ args: {}, secrets: {}, registries: {}, usesCache: false, cacheScope: installation },
      admitBase: async () => {},
      prepareBase: async () => {},
      ...given,
    };
    const onEvent = (event: BuildEvent) => void events.push(event);
    await builder.build(request, { limits: LIMITS, signal: new AbortController().signal, onEvent });
    return events;
  };
  const namesOfOurs = async () =>
    (await engine.list<{ RepoTags: string[] | null }>('/images/json', {}))
      .flatMap(({ RepoTags }) => RepoTags ?? [])
      .filter((name) => name.includes(installation) && name.startsWith('bases.'));

  test('whose ADD names an address is refused with its line, and nothing is asked', async () => {
    const base = await withTrigger(`ADD ${address}/keys /keys`);
    const stages = [
      [1, `FROM ${base}\nRUN true\n`],
      [2, `ARG WHICH=${BASE}\nFROM $WHICH AS first\nRUN true\nFROM first\nCOPY --from=0 /etc/passwd /x\n`],
      [
        3,
        `FROM scratch AS empty\nFROM ${BASE} AS ok\nFROM --platform=$TARGETPLATFORM ${base} AS last\nFROM ok\nCOPY --from=last / /\n`,
      ],
    ] as const;
    for (const [line, dockerfile] of stages) {
      const text = `Dockerfile, line ${line}: the image '${base}' has a trigger: ADD takes files of the folder only, not '${address}/keys'`;
      await expect(build(dockerfile, { args: { WHICH: base } })).rejects.toMatchObject({
        kind: 'unprocessable',
        message: expect.stringContaining(text),
      });
    }
    expect(asked).toEqual([]);
    expect(await namesOfOurs()).toEqual([]);
  });

  test('that is harmless runs them, with the name that the user knows, and leaves no name of ours', async () => {
    const base = await withTrigger('COPY Dockerfile /triggered', 'RUN test -f /triggered');
    const events = await build(`FROM ${base}\nFROM scratch\nCOPY --from=0 /triggered /\n`);
    // The last stage could not be built without the file of the trigger.
    const names = events.flatMap((event) => (event.kind === 'step' ? [event.name] : []));
    expect(names.join('\n')).toContain(base.slice(0, base.lastIndexOf(':')));
    expect(names.join('\n')).not.toContain('bases.podyard');
    expect(await namesOfOurs()).toEqual([]);
  });

  test('that it gets once it was looked at does not count', async () => {
    const evil = await withTrigger(`ADD ${address}/later /later`);
    const moving = await withTrigger('RUN true');
    const [repo, tag] = [moving.slice(0, moving.lastIndexOf(':')), moving.slice(moving.lastIndexOf(':') + 1)];
    await build(`FROM ${moving}\nFROM ${BASE}\nCOPY --from=0 /etc/passwd /x\n`, {
      prepareBase: async (image) => {
        if (image === BASE) await docker.getImage(evil).tag({ repo, tag });
      },
    });
    expect((await docker.getImage(moving).inspect()).Id).toBe((await docker.getImage(evil).inspect()).Id);
    expect(asked).toEqual([]);
  });

  test('that a killed process has given a name of ours loses it when the next one begins', async () => {
    await docker.getImage(BASE).tag({ repo: `bases.podyard.internal/${installation}`, tag: 'left' });
    await createEngineBuilder({ engine, installation }).tidy();
    expect(await namesOfOurs()).toEqual([]);
    await docker.getImage(BASE).inspect();
  });
});
