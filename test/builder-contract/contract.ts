import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { BuildEvent, Builder, BuildLimits, BuildRequest, BuiltImage } from '../../src/builders/builder.ts';
import { newId } from '../../src/core/ids.ts';
import { fairMs } from '../fair-ms.ts';
import type { BuilderUnderTest, Project } from './projects.ts';

const LIMITS: BuildLimits = { cpus: 2, memoryBytes: 1e9, timeoutMs: 100_000, maxImageBytes: 2e9 };

/** How soon a cancelled build must have ended. */
const CANCEL_MS = 15_000;
/** Bytes that a builder may hold of a step that prints 72 MiB. */
const MAX_HELD_BYTES = 24 * 2 ** 20;
const MEASURE_MS = 150;
/** The lines of one step together, and one line. */
const MAX_STEP_CHARACTERS = 2 * 2 ** 20;
const MAX_LINE_CHARACTERS = 16 * 2 ** 10;

interface Wanted {
  note?: string;
  limits?: Partial<BuildLimits>;
  request?: Partial<BuildRequest>;
  signal?: AbortSignal;
  onEvent?(event: BuildEvent): void;
}

interface Outcome {
  id: string;
  events: BuildEvent[];
  built?: BuiltImage;
  error?: unknown;
}

/** Tests the guarantees of builder.ts. Each builder calls this in its own test file. */
export function builderContract(name: string, makeBuilder: () => Promise<BuilderUnderTest>): void {
  describe(`${name}: the contract of a builder`, { timeout: 120_000 }, () => {
    let under: BuilderUnderTest;
    let builder: Builder;
    let folder: string;
    const installation = newId<string>();
    /** Names this run: the cache of an earlier one must not decide a test. */
    const scope = newId<string>();

    /** Builds a project in a new folder, and resolves however it ends. */
    const run = async (project: Project, wanted: Wanted = {}, by = builder): Promise<Outcome> => {
      const id = newId<string>();
      const context = await mkdtemp(join(folder, 'context-'));
      await writeFile(join(context, 'note.txt'), wanted.note ?? 'a note');
      const recipe = await under.write(project, context);
      const events: BuildEvent[] = [];
      const request: BuildRequest = {
        id,
        image: `builds.podyard.internal/contract:${id.toLowerCase()}`,
        folder: context,
        recipe,
        args: {},
        secrets: {},
        registries: {},
        admitBase: async () => {},
        prepareBase: async () => {},
        usesCache: true,
        cacheScope: scope,
        ...wanted.request,
      };
      const options = {
        limits: { ...LIMITS, ...wanted.limits },
        signal: wanted.signal ?? new AbortController().signal,
        onEvent: (event: BuildEvent) => {
          events.push(event);
          wanted.onEvent?.(event);
        },
      };
      return by.build(request, options).then(
        (built) => ({ id, events, built }),
        (error) => ({ id, events, error }),
      );
    };
    const success = async (project: Project, wanted: Wanted = {}, by = builder) => {
      const outcome = await run(project, wanted, by);
      if (outcome.error !== undefined) throw outcome.error;
      return { ...outcome, built: outcome.built! };
    };
    const skipIfCannot = (project: Project, skip: (when: boolean, why: string) => void) =>
      skip(under.cannot?.includes(project) ?? false, 'it cannot build that');

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'podyard-contract-'));
      under = await makeBuilder();
      builder = await under.open(installation);
    });
    afterEach(async () => {
      for (const { buildId } of await builder.list()) await builder.remove(buildId);
    });
    afterAll(async () => {
      await under?.close?.();
      await rm(folder, { recursive: true, force: true });
    });

    test('a folder becomes an image with its files, and every step begins and ends', async () => {
      const { id, built, events } = await success('plain', { note: 'of the folder' });
      expect(built).toMatchObject({ image: expect.stringContaining('builds.podyard.internal/contract:') });
      expect(built.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
      expect(built.sizeBytes).toBeGreaterThan(0);
      expect(await under.read(built.image, 'note.txt')).toBe('of the folder');
      const steps = statesOf(events);
      expect(steps.size).toBeGreaterThan(0);
      for (const states of steps.values()) expect(states.at(-1)).toMatch(/^(COMPLETED|CACHED)$/);
      expect(linesOf(events)).toContain('building');
      expect(await builder.list()).toEqual([{ buildId: id, image: built.image, sizeBytes: expect.any(Number) }]);
      expect(await under.leftovers(id)).toEqual([]);
    });

    test('an unchanged folder is built of the cache, unless it may not be used', async ({ skip }) => {
      skip(!under.caches, 'it keeps no steps');
      const first = await success('plain', { note: 'the same' });
      const again = await success('plain', { note: 'the same' });
      expect(endsOf(again.events)).toContain('CACHED');
      expect(linesOf(again.events)).not.toContain('building');
      expect(again.built.digest).toBe(first.built.digest);
      const anew = await success('plain', { note: 'the same', request: { usesCache: false } });
      expect(linesOf(anew.events)).toContain('building');
      const changed = await success('plain', { note: 'another' });
      expect(changed.built.digest).not.toBe(first.built.digest);
      expect(await under.read(changed.built.image, 'note.txt')).toBe('another');
      expect(await under.read(first.built.image, 'note.txt')).toBe('the same');
    });

    test('a step that fails is named, with its exit code, and there is no image', async () => {
      const { id, error, events } = await run('failing');
      expect(error).toMatchObject({ kind: 'unprocessable', message: expect.stringMatching(/\b3\b/) });
      expect(endsOf(events)).toContain('FAILED');
      expect(linesOf(events)).toContain('about to fail');
      expect(await builder.list()).toEqual([]);
      expect(await under.leftovers(id)).toEqual([]);
    });

    test('a cancelled build ends soon, with all its programs', async () => {
      const cancel = new AbortController();
      const { promise: started, resolve: start } = Promise.withResolvers<void>();
      const running = run('endless', {
        signal: cancel.signal,
        onEvent: (event) => {
          if (event.kind === 'line' && event.text === 'started') start();
        },
      });
      await Promise.race([started, running]);
      const tookMs = await fairMs(() => {
        cancel.abort();
        return running;
      });
      const { id, error } = await running;
      expect(error).toBeInstanceOf(Error);
      expect(tookMs).toBeLessThan(CANCEL_MS);
      await expect.poll(() => under.leftovers(id)).toEqual([]);
      expect(await builder.list()).toEqual([]);
    });

    test('a build that was cancelled before it began does not begin', async () => {
      const { error, events } = await run('plain', { signal: AbortSignal.abort() });
      expect(error).toBeInstanceOf(Error);
      expect(linesOf(events)).not.toContain('building');
      expect(await builder.list()).toEqual([]);
    });

    test('a build that takes too long ends with a sentence that says how long it may take', async () => {
      const { id, error } = await run('endless', { limits: { timeoutMs: 5000 } });
      expect(error).toMatchObject({ kind: 'unprocessable', message: expect.stringMatching(/\b5 s\b/) });
      await expect.poll(() => under.leftovers(id)).toEqual([]);
    });

    test('an image over its limit is refused with both figures, and removed', async () => {
      const { id, error } = await run('large', { limits: { maxImageBytes: 10e6 } });
      expect(error).toMatchObject({ kind: 'unprocessable', message: expect.stringMatching(/\d MB.*\b10 MB\b/) });
      expect(await builder.list()).toEqual([]);
      expect(await under.leftovers(id)).toEqual([]);
    });

    test('a step that prints without end is cut, and a line too', async () => {
      const before = heldBytes();
      let peak = 0;
      const timer = setInterval(() => {
        peak = Math.max(peak, heldBytes() - before);
      }, MEASURE_MS);
      const { events } = await success('chatty').finally(() => clearInterval(timer));
      const lines = events.filter((event) => event.kind === 'line');
      const sizes = lines.map(({ text }) => text.length);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(MAX_LINE_CHARACTERS);
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(MAX_STEP_CHARACTERS);
      expect(lines.some(({ text }) => /cut|clipped|left out/.test(text))).toBe(true);
      expect(peak).toBeLessThan(MAX_HELD_BYTES);
    });

    test('a secret reaches the step that asks for it, and nothing else', async ({ skip }) => {
      skipIfCannot('secret', skip);
      const secret = `s3cr-${newId<string>()}`;
      const { built, events } = await success('secret', { request: { secrets: { TOKEN: secret } } });
      expect(linesOf(events)).toContain('s3cr…');
      expect(JSON.stringify([events, built])).not.toContain(secret);
    });

    test('what one made with a secret is not in the cache of another', async ({ skip }) => {
      skipIfCannot('secret', skip);
      await success('secret', { request: { secrets: { TOKEN: 's3cr-of-one' } } });
      const { error } = await run('secret', { request: { cacheScope: newId<string>() } });
      expect(error).toMatchObject({ kind: 'unprocessable' });
    });

    test('a secret that the build was not given is missed with its name', async ({ skip }) => {
      skipIfCannot('secret', skip);
      const { error } = await run('secret', { request: { secrets: {}, usesCache: false } });
      expect(error).toMatchObject({ kind: 'unprocessable', message: expect.stringContaining('TOKEN') });
    });

    test('an installation sees and removes its own images alone', async () => {
      const { id, built } = await success('plain');
      const other = await under.open(newId<string>());
      expect(await other.list()).toEqual([]);
      await other.remove(id);
      await other.tidy();
      const restarted = await under.open(installation);
      expect(await restarted.list()).toMatchObject([{ buildId: id, image: built.image }]);
    });

    test('an image in use is not removed; else it goes, once and for all', async () => {
      const { id, built } = await success('plain');
      const end = await under.use(built.image);
      await expect(builder.remove(id)).rejects.toMatchObject({ kind: 'conflict' });
      expect(await builder.list()).toHaveLength(1);
      await end();
      await builder.remove(id);
      await builder.remove(id);
      expect(await builder.list()).toEqual([]);
      await expect(under.read(built.image, 'note.txt')).rejects.toThrow();
    });

    test('two builds of one folder run side by side, and the end of one leaves the other', async () => {
      const cancel = new AbortController();
      const endless = run('endless', {
        signal: cancel.signal,
        onEvent: (event) => {
          if (event.kind === 'line' && event.text === 'started') started.resolve();
        },
      });
      const started = Promise.withResolvers<void>();
      await started.promise;
      const beside = success('plain', { note: 'beside' });
      cancel.abort();
      expect((await endless).error).toBeInstanceOf(Error);
      expect(await under.read((await beside).built.image, 'note.txt')).toBe('beside');
    });

    test('a build that is made again, as after a kill between its image and its record, is one image', async () => {
      const { id, built } = await success('plain', { note: 'killed' });
      await builder.tidy();
      const again = await success('plain', { note: 'again', request: { id, image: built.image } });
      expect(await under.read(built.image, 'note.txt')).toBe('again');
      expect((await builder.list()).map(({ buildId }) => buildId)).toEqual([id]);
      expect(again.built.image).toBe(built.image);
      expect(await under.leftovers(id)).toEqual([]);
    });

    test('tidy leaves the images of finished builds', async () => {
      const { built } = await success('plain');
      await builder.tidy();
      expect(await builder.list()).toHaveLength(1);
      expect(await under.read(built.image, 'note.txt')).toBe('a note');
    });

    test('it says whether it can build', async () => {
      expect(await builder.hindrance()).toBeNull();
      const away = await under.openAway?.(installation);
      if (away === undefined) return;
      expect(await away.hindrance()).toMatch(/^[A-Z].+\.$/);
      const { error } = await run('plain', {}, away);
      expect(error).toMatchObject({ kind: 'unavailable' });
    });
  });
}

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Returns the bytes in memory, without garbage. The first collection frees buffers in the background, and the second waits for that. */
function heldBytes(): number {
  collect();
  collect();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** The states of each step, in order. */
function statesOf(events: readonly BuildEvent[]): Map<string, string[]> {
  const steps = new Map<string, string[]>();
  for (const event of events) {
    if (event.kind === 'step') steps.set(event.step, [...(steps.get(event.step) ?? []), event.state]);
  }
  return steps;
}

/** The last state of each step. */
function endsOf(events: readonly BuildEvent[]): string[] {
  return [...statesOf(events).values()].map((states) => states.at(-1)!);
}

function linesOf(events: readonly BuildEvent[]): string[] {
  return events.flatMap((event) => (event.kind === 'line' ? [event.text] : []));
}
